"""The meta-rubric as typed objects, the files that hold it, and what makes one invalid.

A file is first read into nodes that remember their lines and hold every scalar as text, so that an id such as ``007``,
``1e5``, ``yes`` or ``2026-07-01`` stays what was written. Only the numbers and the truth values of the format are then
converted. All faults are collected before any is raised.
"""

import bisect
import difflib
import json
import json.decoder
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, TypeAlias, TypeGuard, cast, get_args

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from gamut_analysis.errors import RubricError

MAX_SNIPPET_WORDS = 40
# A rubric is six levels deep; anything much deeper is an attack or a mistake.
MAX_DEPTH = 20
# So many faults tell what is wrong; a message of thousands of lines would not.
MAX_FAULTS_SHOWN = 50

Place: TypeAlias = tuple[str | int, ...]
Tier = Literal["answer_critical", "valuable", "context"]


# ---------------------------------------------------------------------------------------------------------------------
# The objects


def _not_blank(text: str) -> str:
    if not any(character.isprintable() and not character.isspace() for character in text):
        raise PydanticCustomError("blank", "is blank")
    return text


def _short(text: str) -> str:
    words = len(text.split())
    if words > MAX_SNIPPET_WORDS:
        raise PydanticCustomError(
            "long_snippet",
            "holds {words} words; at most {most} may be quoted",
            {"words": words, "most": MAX_SNIPPET_WORDS},
        )
    return text


Text = Annotated[
    str,
    StringConstraints(strip_whitespace=True),
    AfterValidator(_not_blank),
    Field(json_schema_extra={"pattern": r"\S"}),
]
SnippetText = Annotated[Text, AfterValidator(_short)]
Count = Annotated[StrictInt, Field(json_schema_extra={"minimum": 1})]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Snippet(_Part):
    """A page that was looked up."""

    id: Text
    title: Text
    url: Text
    text: SnippetText | None = None
    """What the page says, in at most 40 words."""


class Insight(_Part):
    """A synthesis over the members of a list or a process."""

    tier: Tier
    text: Text
    citations: tuple[Text, ...] = ()


class Step(_Part):
    """One step of a process."""

    text: Text
    required: StrictBool


class _Item(_Part):
    id: Text
    """Unique in the question: lower-case words joined by hyphens."""
    type: str
    tier: Tier
    """How important the item is to an answer."""
    description: Text
    """What the item is about, in a few words; it opens the text of its checks."""
    is_identification: StrictBool = False
    """True when the item names the subject of the question."""
    citations: tuple[Text, ...] = ()
    """Ids of the snippets that support it."""


class SimpleKnowledge(_Item):
    """One fact."""

    type: Literal["simple_knowledge"]
    fact: Text


class StrictList(_Item):
    """A list of which every element is required."""

    type: Literal["strict_list"]
    elements: Annotated[tuple[Text, ...], Field(min_length=1)]
    insight: Insight | None = None


class FlexibleList(_Item):
    """A list of which some number of options is enough."""

    type: Literal["flexible_list"]
    options: Annotated[tuple[Text, ...], Field(min_length=1)]
    baseline: Count
    """How many of the options must be named."""
    cap: Count | None = None
    """Only when the question itself asks for so many."""
    thresholds: Annotated[tuple[Count, ...], Field(min_length=1)] | None = None
    """Higher coverage thresholds; null for the usual ones."""
    insight: Insight | None = None

    @property
    def top(self) -> int:
        """The most that can be asked for: the cap, or else all options."""
        return self.cap or len(self.options)


class Process(_Item):
    """Steps in an order."""

    type: Literal["process"]
    steps: Annotated[tuple[Step, ...], Field(min_length=2)]
    insight: Insight | None = None


class Relationship(_Item):
    """Connections and contrasts between entities, each aspect one of them."""

    type: Literal["relationship"]
    entities: Annotated[tuple[Text, ...], Field(min_length=1)]
    aspects: Annotated[tuple[Text, ...], Field(min_length=1)]


Item = Annotated[
    SimpleKnowledge | StrictList | FlexibleList | Process | Relationship,
    Field(discriminator="type"),
]
ITEM_CLASSES: tuple[type[_Item], ...] = (SimpleKnowledge, StrictList, FlexibleList, Process, Relationship)


class MetaRubric(_Part):
    """One question with all that a factually complete answer should hold."""

    question_id: Text
    question: Text
    """As one would ask it with the image in view."""
    question_text_only: Text | None
    """The same question without the image; null when it cannot be asked so."""
    entity: Text
    """What the image shows."""
    domain: Text
    image_id: Text | None = None
    snippets: tuple[Snippet, ...] = ()
    items: Annotated[tuple[Item, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _keeps_the_rules(self) -> "MetaRubric":
        broken = list(_broken_rules(self.model_dump()))
        if broken:
            text = "; ".join(f"{_dotted(path)}: {message}" for path, message in broken)
            raise PydanticCustomError("rubric_rules", "{text}", {"text": text, "broken": broken})
        return self


def meta_rubric_schema() -> dict[str, Any]:
    """The JSON Schema of one meta-rubric, for editors and validators."""
    schema = MetaRubric.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


# ---------------------------------------------------------------------------------------------------------------------
# Faults


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a meta-rubric, where it is, and what would be right."""

    message: str
    file: str | None = None
    line: int | None = None
    question_id: str | None = None
    item_id: str | None = None
    field: str | None = None

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        subject = ", ".join(
            f"{label} {_printable(name)}"
            for label, name in (("question", self.question_id), ("item", self.item_id), ("field", self.field))
            if name is not None
        )
        return ": ".join(part for part in (place, subject, self.message) if part)


class InvalidRubric(RubricError):
    """Meta-rubrics that cannot be used; `faults` holds every fault that was found."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        lines = [str(fault) for fault in self.faults[:MAX_FAULTS_SHOWN]]
        if len(self.faults) > MAX_FAULTS_SHOWN:
            lines.append(f"... and {len(self.faults) - MAX_FAULTS_SHOWN} more faults")
        super().__init__("\n".join(lines))


def _printable(text: str) -> str:
    """Text from a file without the marks that a terminal would obey."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def _dotted(path: Place) -> str:
    """A path as people write it, counting from one: ``items[2].options[1]``."""
    text = ""
    for step in path:
        text += f"[{step + 1}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")


def _repeated(field_name: str, entries: Iterable[tuple[int, Mapping[str, Any]]]) -> Iterator[tuple[Place, str]]:
    """Ids that were used before in the same list."""
    first: dict[str, int] = {}
    for position, entry in entries:
        name = entry.get("id")
        if isinstance(name, str) and first.setdefault(name, position) != position:
            message = f"{name!r} is already the id of {field_name}[{first[name] + 1}]; give each its own id"
            yield (field_name, position, "id"), message


def _entries(value: object) -> list[tuple[int, Mapping[str, Any]]]:
    """The mappings of a list with their positions; whatever else stands there is reported by the types."""
    if not isinstance(value, list | tuple):
        return []
    return [(position, entry) for position, entry in enumerate(value) if isinstance(entry, Mapping)]


def _dangling(path: Place, citations: object, known: list[str]) -> Iterator[tuple[Place, str]]:
    """Citations that name no snippet."""
    if not isinstance(citations, list | tuple):
        return
    for position, name in enumerate(citations):
        if isinstance(name, str) and name not in known:
            legal = f"the snippets are {_listed(known)}" if known else "the rubric has no snippets"
            yield (*path, "citations", position), f"{name!r} names no snippet; {legal}"


def _coverage_faults(path: Place, item: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Numbers of a flexible list that do not fit its options or one another."""
    options, baseline, cap = item.get("options"), item.get("baseline"), item.get("cap")
    if not isinstance(options, list | tuple) or not options:
        return
    n, top = len(options), f"the number of options ({len(options)})"
    if _is_count(baseline) and not 1 <= baseline <= n:
        yield (*path, "baseline"), f"is {baseline}; it must be within 1 and {top}"
    lowest = baseline if _is_count(baseline) and baseline >= 1 else 1
    if _is_count(cap) and not lowest <= cap <= n:
        yield (*path, "cap"), f"is {cap}; it must be within the baseline ({lowest}) and {top}"
    elif _is_count(cap):
        n, top = cap, f"the cap ({cap})"
    thresholds = item.get("thresholds")
    before, name = lowest, f"the baseline ({lowest})"
    for position, threshold in enumerate(thresholds if isinstance(thresholds, list | tuple) else ()):
        if not _is_count(threshold):
            continue
        place = (*path, "thresholds", position)
        if threshold <= before:
            yield place, f"is {threshold}; it must be above {name}"
        if threshold > n:
            yield place, f"is {threshold}; it must not be above {top}"
        before, name = threshold, f"the threshold before it ({threshold})"


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _broken_rules(data: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Every rule between fields that plain data breaks; what has the wrong type is passed over."""
    snippets, items = _entries(data.get("snippets")), _entries(data.get("items"))
    yield from _repeated("snippets", snippets)
    yield from _repeated("items", items)
    known = list(dict.fromkeys(entry["id"] for _, entry in snippets if isinstance(entry.get("id"), str)))
    for position, item in items:
        path: Place = ("items", position)
        yield from _dangling(path, item.get("citations"), known)
        if isinstance(item.get("insight"), Mapping):
            yield from _dangling((*path, "insight"), item["insight"].get("citations"), known)
        if item.get("type") == "flexible_list":
            yield from _coverage_faults(path, item)


# ---------------------------------------------------------------------------------------------------------------------
# What pydantic finds, in our words

_EXPECTED = {
    "string_type": "must be text",
    "string_unicode": "is not valid Unicode text",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list",
    "model_type": "must be a mapping of fields",
    "model_attributes_type": "must be a mapping of fields",
    "dict_type": "must be a mapping of fields",
}
_WANTED = {
    "question_text_only": "write null when the question cannot be asked without its image",
    "tier": "it must be answer_critical, valuable or context",
    "required": "it must be true or false",
    "baseline": "it must be a whole number",
    **dict.fromkeys(("items", "elements", "options", "steps", "entities", "aspects"), "it must be a list"),
}
_TAG_ERRORS = frozenset({"union_tag_invalid", "union_tag_not_found"})
_TOO_FEW = {
    "items": "is empty; a rubric has at least one item",
    "elements": "is empty; a strict list has at least one element",
    "options": "is empty; a flexible list has at least one option",
    "thresholds": "is empty; leave it out, or write null, for the usual thresholds",
    "entities": "is empty; a relationship names at least one entity",
    "aspects": "is empty; a relationship has at least one aspect",
}


def _listed(names: Iterable[str], last: str = "and") -> str:
    *front, final = [*names]
    return f"{', '.join(front)} {last} {final}" if front else final


def _unknown(what: str, given: object, legal: Sequence[str]) -> str:
    if given is None:
        return f"is missing; it must be {_listed(legal, 'or')}"
    return f"{_got(given)} is an unknown {what}; {_suggested(given, legal)}it must be {_listed(legal, 'or')}"


def _suggested(name: object, legal: Sequence[str]) -> str:
    near = difflib.get_close_matches(str(name)[:80].lower(), legal, n=1, cutoff=0.6)
    return f"did you mean {near[0]!r}? " if near else ""


def _type_of(item_class: type[_Item]) -> str:
    return get_args(item_class.model_fields["type"].annotation)[0]


_CLASS_OF = {_type_of(each): each for each in ITEM_CLASSES}
_PART_OF: dict[str, type[_Part]] = {"insight": Insight, "steps": Step, "snippets": Snippet}


def _legal_fields(path: Place, data: object) -> list[str]:
    """The fields of the mapping that a path leads to."""
    named = [step for step in path if isinstance(step, str)]
    if not named:
        return list(MetaRubric.model_fields)
    part = _PART_OF.get(named[-1]) or _CLASS_OF.get(_at(data, (*path, "type")), _Item)
    return list(part.model_fields)


def _at(data: object, path: Place) -> Any:
    """The value that a path leads to in plain data, or None."""
    for step in path:
        try:
            data = data[step]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _got(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, Mapping):
        return "a mapping"
    return f"{str(value)[:40]!r}" if isinstance(value, str) else f"{type(value).__name__} {value}"


def _explained(error: ErrorDetails, path: Place, data: object) -> str:
    """One pydantic error as what was got and what would be right."""
    kind, last = error["type"], path[-1] if path else ""
    if kind == "missing":
        return f"is missing; {_WANTED.get(str(last), 'it must be text')}"
    if kind == "extra_forbidden":
        legal = _legal_fields(path[:-1], data)
        return f"is an unknown field; {_suggested(last, legal)}the fields here are {_listed(legal)}"
    if kind == "literal_error":
        return _unknown("tier", error["input"], get_args(Tier))
    if kind in _TAG_ERRORS:
        return _unknown("type", _at(data, path), [*_CLASS_OF])
    if kind == "too_short" and last == "steps":
        n = len(cast(Sequence[Any], error["input"]))
        return "is empty; a process has at least two steps" if n == 0 else "has one step; a process has at least two"
    if kind == "too_short":
        return _TOO_FEW[str(last)]
    if kind == "blank":
        return "is blank; write what it says, or take it out"
    if kind in _EXPECTED:
        hint = "; put quotes around it when the word itself is meant" if error["input"] is None else ""
        return f"is {_got(error['input'])}; it {_EXPECTED[kind]}{hint}"
    return error["msg"]


def _own_path(location: Place) -> Place:
    """Pydantic puts the tag of a union into the path of its errors; take it out."""
    if len(location) > 2 and location[0] == "items" and isinstance(location[1], int) and location[2] in _CLASS_OF:
        return location[:2] + location[3:]
    return location


def _shape_faults(error: ValidationError, data: object) -> Iterator[tuple[Place, str]]:
    """What the types alone find wrong, one fault for each place."""
    for detail in error.errors(include_url=False):
        if detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]:
            continue  # pydantic counts the valid members only, and the invalid ones have faults of their own
        path = _own_path(detail["loc"])
        if detail["type"] in _TAG_ERRORS:
            yield from _faults_beside_the_type(path, _at(data, path))
            path = (*path, "type")
        yield path, _explained(detail, path, data)


def _faults_beside_the_type(path: Place, item: object) -> Iterator[tuple[Place, str]]:
    """An item of unknown type still has the fields that all items have."""
    if not isinstance(item, Mapping):
        return
    common = {name: item[name] for name in _Item.model_fields if name in item}
    try:
        _Item.model_validate({**common, "type": "unknown"})
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            yield (*path, *detail["loc"]), _explained(detail, (*path, *detail["loc"]), item)


def _validated(data: object) -> tuple[MetaRubric | None, list[tuple[Place, str]]]:
    """The meta-rubric that plain data is, or all that is wrong with it."""
    try:
        return MetaRubric.model_validate(data), []
    except ValidationError as error:
        details = error.errors(include_url=False)
        if details[0]["type"] == "rubric_rules":
            return None, details[0]["ctx"]["broken"]
        if not isinstance(data, Mapping):
            return None, [((), f"is {_got(data)}; a meta-rubric is a mapping of fields")]
        return None, [*_shape_faults(error, data), *_broken_rules(data)]


def _placed(broken: Iterable[tuple[Place, str]], data: object, file: str | None = None) -> list[Fault]:
    """Faults with the question and the item that they are about."""
    question_id = _at(data, ("question_id",))
    faults = []
    for path, message in broken:
        in_item = len(path) > 1 and path[0] == "items" and isinstance(path[1], int)
        item_id = _at(data, (*path[:2], "id")) if in_item else None
        shown = _dotted(path[2:] if isinstance(item_id, str) else path) or None
        faults.append(
            Fault(
                message,
                file=file,
                question_id=question_id if isinstance(question_id, str) else None,
                item_id=item_id if isinstance(item_id, str) else None,
                field=shown,
            )
        )
    return faults


def parse_rubric(data: Mapping[str, Any]) -> MetaRubric:
    """The meta-rubric that plain data describes; raises `InvalidRubric` with every fault."""
    meta, broken = _validated(data)
    if meta is None:
        raise InvalidRubric(_placed(broken, data))
    return meta


# ---------------------------------------------------------------------------------------------------------------------
# Files as nodes: every scalar is text, every node knows its line


@dataclass(slots=True)
class _Node:
    """A value in a file: text, None, a list of nodes or a mapping to nodes."""

    value: Any
    line: int
    key_lines: dict[str, int] = field(default_factory=dict)
    repeated_keys: list[tuple[str, int]] = field(default_factory=list)

    def children(self) -> Iterable[tuple[str | int, "_Node"]]:
        """The nodes below, each with the step that leads to it."""
        if isinstance(self.value, dict):
            return self.value.items()
        return enumerate(self.value) if isinstance(self.value, list) else ()

    def put(self, key: "_Node | None", child: "_Node") -> None:
        """Hang a node below: into a list, or into a mapping under a key that may not repeat."""
        if key is None:
            self.value.append(child)
        elif key.value in self.value:
            self.repeated_keys.append((key.value, key.line))
        else:
            self.value[key.value] = child
            self.key_lines[key.value] = key.line


class _Unreadable(Exception):
    """Text that is not YAML or JSON, or that is of a kind which a rubric never needs."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line, self.message = line, message


class _YamlBuilder:
    """Builds nodes from parser events, so that nothing in the file is expanded, run or converted."""

    _NULLS = frozenset({"", "~", "null", "Null", "NULL"})

    def __init__(self) -> None:
        self.root: _Node | None = None
        self.open: list[_Node] = []
        self.keys: list[_Node | None] = []

    def take(self, event: Any) -> None:
        """Add one event of the parser."""
        if isinstance(event, yaml.DocumentStartEvent) and self.root is not None:
            raise _Unreadable(self.line(event), "starts a second document; a file holds one rubric")
        if isinstance(event, yaml.CollectionEndEvent):
            self.open.pop()
            self.keys.pop()
        elif isinstance(event, yaml.NodeEvent):
            self.refuse_special(event)
            self.place(self.node(event))

    @staticmethod
    def line(event: Any) -> int:
        return event.start_mark.line + 1

    def refuse_special(self, event: Any) -> None:
        """Anchors, aliases and tags serve attacks and type tricks; a rubric needs none of them."""
        if event.anchor is not None:
            what = "anchors and aliases (& and *) are not read; write the text out, or put quotes around it"
            raise _Unreadable(self.line(event), what)
        if getattr(event, "tag", None) is not None:
            what = f"the tag {event.tag[:40]!r} is not read; put quotes around text that starts with '!'"
            raise _Unreadable(self.line(event), what)

    def node(self, event: Any) -> _Node:
        if isinstance(event, yaml.ScalarEvent):
            is_null = event.implicit[0] and event.value in self._NULLS and not self.awaits_key()
            return _Node(None if is_null else event.value, self.line(event))
        return _Node({} if isinstance(event, yaml.MappingStartEvent) else [], self.line(event))

    def awaits_key(self) -> bool:
        return bool(self.open) and isinstance(self.open[-1].value, dict) and self.keys[-1] is None

    def place(self, node: _Node) -> None:
        if self.awaits_key():
            if not isinstance(node.value, str):
                raise _Unreadable(node.line, "has a field name that is not plain text")
            self.keys[-1] = node
            return
        if self.open:
            self.open[-1].put(self.keys[-1], node)
            self.keys[-1] = None
        else:
            self.root = node
        if isinstance(node.value, list | dict):
            self.open.append(node)
            self.keys.append(None)
        if len(self.open) > MAX_DEPTH:
            raise _Unreadable(node.line, f"is nested more than {MAX_DEPTH} levels deep")


def _yaml_nodes(text: str) -> _Node | None:
    """The nodes of one YAML document; None when it is empty."""
    builder = _YamlBuilder()
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            builder.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise _Unreadable(mark.line + 1 if mark else 1, f"is not YAML: {problem}") from error
    return builder.root


class _JsonReader:
    """A JSON reader that keeps lines, repeated keys and the spelling of numbers, which the standard one loses."""

    _SPACE = re.compile(r"[ \t\r\n]*")
    _LITERAL = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null")

    def __init__(self, text: str, first_line: int = 1) -> None:
        self.text, self.at, self.first_line = text, 0, first_line
        self.breaks = [match.start() for match in re.finditer("\n", text)]

    def line(self, at: int) -> int:
        return self.first_line + bisect.bisect_left(self.breaks, at)

    def fail(self, wanted: str) -> NoReturn:
        raise _Unreadable(
            self.line(self.at), f"is not JSON: {wanted} expected, got {self.text[self.at : self.at + 20]!r}"
        )

    def peek(self) -> str:
        self.at = self._SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
        return self.text[self.at : self.at + 1]

    def document(self) -> _Node:
        node = self.value(0)
        if self.peek():
            self.fail("the end of the text")
        return node

    def value(self, depth: int) -> _Node:
        start = self.peek()
        if depth > MAX_DEPTH:
            raise _Unreadable(self.line(self.at), f"is nested more than {MAX_DEPTH} levels deep")
        if start == "{":
            return self.members(_Node({}, self.line(self.at)), "}", depth)
        if start == "[":
            return self.members(_Node([], self.line(self.at)), "]", depth)
        if start == '"':
            return self.string()
        literal = self._LITERAL.match(self.text, self.at)
        if literal is None:
            self.fail("a value")
        node = _Node(None if literal[0] == "null" else literal[0], self.line(self.at))
        self.at = literal.end()
        return node

    def string(self) -> _Node:
        line = self.line(self.at)
        try:
            text, self.at = json.decoder.scanstring(self.text, self.at + 1, True)  # type: ignore[attr-defined]
        except json.JSONDecodeError as error:
            raise _Unreadable(self.line(error.pos), f"is not JSON: {error.msg}") from error
        return _Node(text, line)

    def members(self, parent: _Node, close: str, depth: int) -> _Node:
        self.at += 1
        if self.peek() == close:
            self.at += 1
            return parent
        while True:
            key = None
            if close == "}":
                if self.peek() != '"':
                    self.fail("a field name in double quotes")
                key = self.string()
                if self.peek() != ":":
                    self.fail("':'")
                self.at += 1
            parent.put(key, self.value(depth + 1))
            mark = self.peek()
            if mark not in {",", close} or not mark:
                self.fail(f"',' or {close!r}")
            self.at += 1
            if mark == close:
                return parent


_WHOLE = re.compile(r"[+-]?[0-9]{1,9}")
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NUMBER_FIELDS = frozenset({"baseline", "cap", "thresholds"})
_TRUTH_FIELDS = frozenset({"required", "is_identification"})


def _plain(node: _Node, name: str = "") -> Any:
    """Nodes as plain data: numbers and truth values at the fields that hold them, text everywhere else."""
    if isinstance(node.value, dict):
        return {key: _plain(child, key) for key, child in node.value.items()}
    if isinstance(node.value, list):
        return [_plain(child, name) for child in node.value]
    if node.value is None:
        return None
    text = node.value.strip()
    if name in _NUMBER_FIELDS and _WHOLE.fullmatch(text):
        return int(text)
    if name in _TRUTH_FIELDS:
        return _TRUTH.get(text, text)
    return text


def _line_of(node: _Node, path: Place) -> int:
    """The line of the deepest place on a path that the file has."""
    line = node.line
    for step in path:
        if isinstance(node.value, dict) and step in node.value:
            line, node = node.key_lines[cast(str, step)], node.value[step]
        elif isinstance(node.value, list) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.line
        else:
            break
    return line


def _repeated_fields(node: _Node, path: Place = ()) -> Iterator[tuple[Place, int, str]]:
    """Fields that a mapping holds twice, which most readers resolve in silence."""
    for key, line in node.repeated_keys:
        yield (*path, key), line, f"is written twice (first on line {node.key_lines[key]}); keep one"
    for step, child in node.children():
        yield from _repeated_fields(child, (*path, step))


def _read_node(node: _Node, file: str | None) -> tuple[MetaRubric | None, list[Fault]]:
    """The meta-rubric of one node, or every fault of it with its line."""
    data = _plain(node)
    meta, broken = _validated(data)
    faults = [
        replace(fault, line=_line_of(node, path))
        for fault, (path, _) in zip(_placed(broken, data, file), broken, strict=True)
    ]
    for path, line, message in _repeated_fields(node):
        faults += [replace(fault, line=line) for fault in _placed([(path, message)], data, file)]
    faults.sort(key=lambda fault: fault.line or 0)
    return (None, faults) if faults else (meta, [])


# ---------------------------------------------------------------------------------------------------------------------
# Doors

_Outcome: TypeAlias = tuple[list[MetaRubric], list[Fault]]


def _read_nodes(nodes: Iterable[_Node], file: str | None) -> _Outcome:
    metas, faults = [], []
    for node in nodes:
        meta, found = _read_node(node, file)
        metas += [meta] if meta else []
        faults += found
    return metas, faults


def _read_yaml(text: str, file: str | None) -> _Outcome:
    root = _yaml_nodes(text)
    if root is None:
        raise _Unreadable(1, "is empty; a meta-rubric is expected")
    return _read_nodes([root], file)


def _read_json(text: str, file: str | None) -> _Outcome:
    root = _JsonReader(text).document()
    return _read_nodes(root.value if isinstance(root.value, list) else [root], file)


def _read_jsonl(text: str, file: str | None) -> _Outcome:
    metas: list[MetaRubric] = []
    faults: list[Fault] = []
    # Only a line feed ends a record: JSON text may hold the other line separators of Unicode.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found, wrong = _read_nodes([_JsonReader(line, number).document()], file)
        except _Unreadable as error:
            found, wrong = [], [Fault(error.message, file=file, line=error.line)]
        metas += found
        faults += wrong
    return metas, faults


_READERS = {
    ".yaml": _read_yaml,
    ".yml": _read_yaml,
    ".json": _read_json,
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
}


def _read_text(text: str, suffix: str, file: str | None) -> _Outcome:
    try:
        return _READERS[suffix](text, file)
    except _Unreadable as error:
        return [], [Fault(error.message, file=file, line=error.line)]


def _read_file(path: Path) -> _Outcome:
    if path.suffix.lower() not in _READERS:
        return [], [Fault(f"is not a rubric file; its name must end in {_listed(_READERS, 'or')}", file=str(path))]
    try:
        raw = path.read_bytes()
    except OSError as error:
        return [], [Fault(f"cannot be read: {error.strerror}", file=str(path))]
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return [], [Fault(f"byte {error.start} is not UTF-8; save the file as UTF-8", file=str(path), line=line)]
    return _read_text(text, path.suffix.lower(), str(path))


def _files(path: Path) -> list[Path]:
    """A file is itself; a folder stands for the YAML files below it, hidden ones left out."""
    if not path.is_dir():
        return [path]
    found = (each for suffix in ("*.yaml", "*.yml") for each in path.rglob(suffix))
    return sorted(each for each in found if not any(part.startswith(".") for part in each.relative_to(path).parts))


def _repeated_questions(metas: Sequence[tuple[MetaRubric, str]]) -> Iterator[Fault]:
    first: dict[str, str] = {}
    for meta, file in metas:
        if meta.question_id in first:
            message = f"is already the id of a question in {first[meta.question_id]}; give each its own id"
            yield Fault(message, file=file, question_id=meta.question_id, field="question_id")
        first.setdefault(meta.question_id, file)


def _raised_or(outcome: _Outcome) -> list[MetaRubric]:
    metas, faults = outcome
    if faults:
        raise InvalidRubric(faults)
    return metas


def load_rubrics(paths: Iterable[str | Path]) -> list[MetaRubric]:
    """Read rubrics from files (.yaml, .json, .jsonl) and folders (their .yaml files), each folder in sorted order.

    Raises `InvalidRubric` with every fault of every file; a question id that comes twice is one of them.
    """
    metas: list[tuple[MetaRubric, str]] = []
    faults: list[Fault] = []
    for path in map(Path, paths):
        files = _files(path)
        if not files:
            faults.append(Fault("holds no .yaml file; name the JSON files themselves", file=str(path)))
        for file in files:
            found, wrong = _read_file(file)
            metas += [(meta, str(file)) for meta in found]
            faults += wrong
    faults += _repeated_questions(metas)
    return _raised_or(([meta for meta, _ in metas], faults))


def rubric_from_yaml(text: str) -> MetaRubric:
    """The one meta-rubric of a YAML text."""
    return _raised_or(_read_text(text, ".yaml", None))[0]


def rubrics_from_json(text: str) -> list[MetaRubric]:
    """The meta-rubrics of a JSON text: one object, or a list of them."""
    return _raised_or(_read_text(text, ".json", None))


def rubrics_from_jsonl(text: str) -> list[MetaRubric]:
    """The meta-rubrics of JSON lines, one object a line."""
    return _raised_or(_read_text(text, ".jsonl", None))


def to_data(meta: MetaRubric) -> dict[str, Any]:
    """Plain data without the fields that say nothing; an item's citations come last, as people write them."""
    data = meta.model_dump(mode="json", exclude_defaults=True)
    for item in data["items"]:
        if "citations" in item:
            item["citations"] = item.pop("citations")
    return data


class _Dumper(yaml.SafeDumper):
    """Writes text that holds a rare line break in double quotes, where it is escaped; elsewhere YAML would fold it."""


def _written(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = '"' if any(mark in text for mark in "\x85\u2028\u2029") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _written)


def to_yaml(meta: MetaRubric, *, schema: str | None = None) -> str:
    """One meta-rubric as YAML, the same bytes every time; `schema` is where editors find the JSON Schema."""
    head = f"# yaml-language-server: $schema={schema}\n" if schema else ""
    return head + yaml.dump(to_data(meta), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


def to_json(metas: Iterable[MetaRubric]) -> str:
    """Meta-rubrics as an indented JSON list, the same bytes every time."""
    return json.dumps([to_data(meta) for meta in metas], ensure_ascii=False, indent=2) + "\n"


def to_jsonl(metas: Iterable[MetaRubric]) -> str:
    """Meta-rubrics as JSON lines, the same bytes every time."""
    return "".join(json.dumps(to_data(meta), ensure_ascii=False) + "\n" for meta in metas)
