"""What a judge wrote, read as verdicts: the strictest reading that works, and a reason for each check left ungraded.

A reply is searched from left to right for JSON values; text around them, fences and reasoning blocks are passed over.
The reading starts after the last reasoning block. An object with a check id and a label, wherever it stands, is an
entry; so is a check id as a key with its label. If the last list of entries speaks of every check, it stands; if
not, all lists count together, and a check that was given two labels is ungraded. Where a list is cut off or its JSON
breaks, its closed entries stand, what came before it is a draft, and nothing after it is read: it may be inside a
string. No reply makes the functions raise, and no failure becomes a verdict.
"""

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple, NoReturn

import msgspec

from gamut_analysis.vocabulary import VERDICTS, as_verdict, normalise_label

ID_NAMES = ("id", "check_id", "check")
LABEL_NAMES = ("verdict", "label", "grade")
REASON_NAMES = ("reason", "rationale", "explanation", "justification")
FIELD_NAMES = frozenset((*ID_NAMES, *LABEL_NAMES, *REASON_NAMES))

# Inspect's words for why a model stopped.
CUT_STOPS = ("max_tokens", "model_length")
REFUSAL_STOP = "content_filter"

# A list of verdicts is four deep; deeper than this is no reply to us.
MAX_DEPTH = 32
# A reply for a thousand checks has 15,000 tokens of JSON; hostile text must not cost more than a second.
MAX_TOKENS = 100_000
# Longer than this, text without any JSON is no bare refusal or error message.
MAX_NOTICE_LETTERS = 600
SHOWN_LETTERS = 60

EMPTY, REFUSAL, ERROR, NO_VERDICTS = "empty reply", "refusal", "error", "no verdicts in the reply"
ONLY_REASONING, CUT, MALFORMED = "no verdict after the reasoning block", "cut off", "malformed"
ABSENT, NO_LABEL, UNKNOWN, TWICE = "not in the reply", "no verdict", "unknown label", "answered twice"

_FAULTS = {
    EMPTY: "The reply was empty.",
    REFUSAL: "The reply was a refusal.",
    ERROR: "The reply was an error message.",
    NO_VERDICTS: "The reply held no verdicts.",
    ONLY_REASONING: "There was no verdict after the reasoning block.",
    CUT: "The reply was cut off before its end: keep the reasons shorter.",
    MALFORMED: "The reply was not valid JSON: quotes and backslashes inside a text need a backslash before them.",
}

_TAGS = ("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "analysis", "scratchpad")
_BLOCKS = (
    *((rf"<(?:\w{{1,9}}:)?{tag}(?:\s[^<>/]*)?>", rf"</(?:\w{{1,9}}:)?{tag}\s*>") for tag in _TAGS),
    (r"\[think\]", r"\[/think\]"),
    (r"◁think▷", r"◁/think▷"),
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    (r"<\|channel\|>analysis<\|message\|>", r"<\|channel\|>final<\|message\|>"),
)
_CLOSINGS = tuple(re.compile(closing, re.IGNORECASE) for _, closing in _BLOCKS)
_ANY_CLOSING = re.compile("|".join(closing for _, closing in _BLOCKS), re.IGNORECASE)
_LANDMARK = re.compile(
    "|".join(f"(?P<open{n}>{opening})|(?P<close{n}>{closing})" for n, (opening, closing) in enumerate(_BLOCKS))
    + r"|(?P<json>[\[{])",
    re.IGNORECASE,
)
_TOKEN = re.compile(
    r"""(?:\s++|//[^\n]*+)*+
    (?:(?P<mark>[\[\]{},:])
    |(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+"|'[^'\\]*+(?:\\.[^'\\]*+)*+')
    |(?P<word>(?:-?\d[\d.eE+-]*+|true|false|null|True|False|None|NaN|-?Infinity)(?!\w))
    |(?P<end>\Z|["'].*+\Z|/\Z|[tfnTFNI-][a-z]{0,7}\Z)
    |)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}|.)|\"", re.DOTALL)
_APOSTROPHE = re.compile(r"\s*'")
_PLACEHOLDER = re.compile(r"\s*(?:\.\.\.|\.{1,2}\Z|…|\||<)")
_REFUSAL = re.compile(
    r"\W*(?:(?:i['’]?m|i am)?\s*(?:very |so )?sorry\b|i apologi[sz]e\b|my apologies\b"
    r"|i (?:can['’]?t|can ?not|won['’]?t|am (?:unable|not able)|must decline)\b|i['’]m (?:unable|not able)\b)",
    re.IGNORECASE,
)
_ERROR = re.compile(r"\W*(?:error\b|(?:http )?[45]\d\d [a-z])", re.IGNORECASE)
_ID_MARKUP = " \t\r\n\u00a0\u200b\ufeff*`\"'“”‘’[](){}<>"


@dataclass(frozen=True)
class CheckVerdict:
    """What one reply says of one check: a verdict with its reason, or why there is none."""

    check_id: str
    verdict: str | None
    rationale: str | None
    ungraded_reason: str | None


@dataclass(frozen=True)
class Reading:
    """One reply, read: the asked checks in their order, what was wrong, and the ids that nobody asked for."""

    checks: tuple[CheckVerdict, ...]
    faults: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every asked check has a verdict."""
        return all(check.verdict is not None for check in self.checks)


def read_reply(
    reply: str | None,
    asked: Sequence[str],
    *,
    stop_reason: str = "stop",
    labels: Mapping[str, str] | None = None,
) -> Reading:
    """Read the verdicts on the asked checks from a reply; ``labels`` adds a user's own spellings of the verdicts."""
    if stop_reason == REFUSAL_STOP:
        return failed(asked, REFUSAL)
    if not isinstance(reply, str) or not reply.strip("\ufeff \t\r\n"):
        return failed(asked, CUT if stop_reason in CUT_STOPS else EMPTY)
    if exact := _exact(reply, asked):
        return exact
    ids = _Ids(asked)
    found = _search(_whole(reply), ids)
    entries = _standing(found, ids)
    spoken = {entry.check_id for entry in entries if entry.check_id in ids.exact}
    if not spoken and not found.failure:
        return _noted(failed(asked, _why_nothing(reply, found, stop_reason)), entries)
    absent = found.failure or (CUT if found.reached_end or stop_reason in CUT_STOPS else ABSENT)
    aliases = {normalise_label(name): as_verdict(verdict) for name, verdict in (labels or {}).items()}
    checks = [_verdict(check_id, entries, absent, aliases) for check_id in asked]
    return _noted(Reading(tuple(checks), _faults(checks)), [entry for entry in entries if entry.check_id not in spoken])


def failed(asked: Sequence[str], reason: str) -> Reading:
    """The reading of a call that gave no verdict at all: a refusal, an error, a timeout."""
    checks = [CheckVerdict(check_id, None, None, reason) for check_id in asked]
    return Reading(tuple(checks), _faults(checks))


def fault_message(reading: Reading) -> str:
    """What the judge is told so that it can mend its reply: the faults, and the ids of the checks still wanted."""
    wanted = list(dict.fromkeys(check.check_id for check in reading.checks if check.verdict is None))
    return "\n".join(
        (
            "Your last reply could not be used in full.",
            *(f"- {fault}" for fault in reading.faults),
            "Grade the checks below, and these alone, each by itself, in the format asked for. Reply with JSON only.",
            f"Wanted: {json.dumps(wanted)}",
        )
    )


# The reply that was asked for, to the letter: nearly every one of a good judge.


class _Wanted(msgspec.Struct, forbid_unknown_fields=True):
    """One entry in the form that the prompt asks for."""

    id: str
    reason: str
    verdict: Literal["meets", "partially_meets", "missing", "contradicts"]


class _Reply(msgspec.Struct, forbid_unknown_fields=True):
    verdicts: list[_Wanted]


_DECODER = msgspec.json.Decoder(_Reply)


def _exact(reply: str, asked: Sequence[str]) -> Reading | None:
    """The reading of a reply that is just what was asked for; None where there is anything to look at twice."""
    try:
        entries = _DECODER.decode(reply).verdicts
    except (ValueError, RecursionError):
        return None
    told = {entry.id: CheckVerdict(entry.id, entry.verdict, entry.reason, None) for entry in entries}
    # A doubled key shows as one mention too many; a quote inside a text never stands bare.
    doubled = len(told) != len(entries) or any(
        reply.count(f'"{key}"') != len(told) for key in ("id", "reason", "verdict")
    )
    if doubled or told.keys() != set(asked):
        return None
    return Reading(tuple(told[check_id] for check_id in asked))


# From entries to verdicts.


class _Entry(NamedTuple):
    """What one place of a reply says of one check: its labels (more than one if a key was doubled) and its reason."""

    check_id: str
    labels: list[Any]
    reason: str | None


class _Ids:
    """The asked ids, found again under blanks, quotes and brackets where that leaves no doubt."""

    def __init__(self, asked: Iterable[str]) -> None:
        self.exact = dict.fromkeys(asked)
        self.bare: dict[str, str | None] = {}
        for check_id in self.exact:
            bare = check_id.strip(_ID_MARKUP)
            self.bare[bare] = None if bare in self.bare else check_id

    def find(self, text: Any) -> str | None:
        if not isinstance(text, str):
            return None
        return text if text in self.exact else self.bare.get(text.strip(_ID_MARKUP))


def _standing(found: "_Found", ids: _Ids) -> list[_Entry]:
    """The entries that count: those of the last list if it broke or speaks of every check, else those of all."""
    if found.failure:
        return found.lists[-1].entries if found.lists else []
    speaking = [part for part in found.lists if any(entry.check_id in ids.exact for entry in part.entries)]
    if speaking and ids.exact.keys() <= {entry.check_id for entry in speaking[-1].entries}:
        return speaking[-1].entries
    return [entry for part in found.lists for entry in part.entries]


def _verdict(check_id: str, entries: Sequence[_Entry], absent: str, aliases: Mapping[str, str | None]) -> CheckVerdict:
    """The verdict on one check, if the entries that speak of it agree on one of the four labels."""
    own = [entry for entry in entries if entry.check_id == check_id]
    if not own:
        return CheckVerdict(check_id, None, None, absent)
    given = {_read_label(label, aliases): None for entry in own for label in entry.labels}
    rationale = own[-1].reason
    if len(given) > 1:
        shown = ", ".join(verdict or _shown(reason) for verdict, reason in given)
        return CheckVerdict(check_id, None, rationale, f"{TWICE}: {shown[: 2 * SHOWN_LETTERS]}")
    ((verdict, reason),) = given
    if verdict is None and reason != NO_LABEL:
        reason = f"{UNKNOWN}: {_shown(reason)}"
    return CheckVerdict(check_id, verdict, rationale, reason or None)


def _read_label(label: Any, aliases: Mapping[str, str | None]) -> tuple[str | None, str]:
    """The verdict that a label spells, or None with the label as it was written."""
    if label is None:
        return None, NO_LABEL
    if not isinstance(label, str):
        return None, "not a text"
    verdict = as_verdict(label) or aliases.get(normalise_label(label))
    return verdict, "" if verdict else label


def _shown(text: str) -> str:
    text = " ".join(text.split()) or "(blank)"
    return text if len(text) <= SHOWN_LETTERS else text[: SHOWN_LETTERS - 1] + "…"


def _why_nothing(reply: str, found: "_Found", stop_reason: str) -> str:
    """Why a reply without any entry for an asked check has none."""
    if found.after_reasoning and not found.reached_end:
        return ONLY_REASONING
    if found.reached_end or stop_reason in CUT_STOPS:
        return CUT
    notice = not found.lists and "{" not in reply and len(reply) <= MAX_NOTICE_LETTERS
    if notice and _ERROR.match(reply):
        return f"{ERROR}: {_shown(reply)}"
    return REFUSAL if notice and _REFUSAL.match(reply) else NO_VERDICTS


def _faults(checks: Iterable[CheckVerdict]) -> tuple[str, ...]:
    """One sentence for each thing that was wrong, each once."""
    return tuple(dict.fromkeys(_fault(check) for check in checks if check.ungraded_reason))


def _fault(check: CheckVerdict) -> str:
    name = json.dumps(check.check_id)
    kind, _, detail = (check.ungraded_reason or "").partition(": ")
    if kind == UNKNOWN:
        return f"{json.dumps(detail)} for {name} is none of the labels {', '.join(VERDICTS)}."
    if kind == TWICE:
        return f"{name} was given two labels: {json.dumps(detail)}."
    if kind == NO_LABEL:
        return f"{name} was given no label."
    if kind == ABSENT:
        return f"{name} was not in the reply."
    return _FAULTS.get(kind, f"There was no reply: {json.dumps(kind)}.")


def _noted(reading: Reading, others: Iterable[_Entry]) -> Reading:
    """The reading with the ids that were not asked for, and a fault that names them."""
    extra = tuple(dict.fromkeys(entry.check_id for entry in others))
    if not extra:
        return reading
    shown = ", ".join(json.dumps(_shown(check_id)) for check_id in extra[:10])
    return Reading(reading.checks, (*reading.faults, f"Not asked for: {shown}."), extra)


# From text to entries.


class _Object(list[tuple[str, Any]]):
    """The pairs of a JSON object in their order, doubled keys kept; closed once its last brace was read."""

    is_closed = False

    def put(self, key: str, value: Any) -> None:
        """Add a pair."""
        self.append((key, value))

    def fields(self) -> dict[str, list[Any]]:
        """The values under each key, whatever its spelling."""
        fields: dict[str, list[Any]] = {}
        for key, value in self:
            fields.setdefault(normalise_label(key), []).append(value)
        return fields

    def is_flat(self) -> bool:
        """Whether no value is an object or an array."""
        return not any(isinstance(value, list) for _, value in self)


@dataclass
class _List:
    """Entries that stand together in a reply: a list of verdicts, or a run of single objects."""

    entries: list[_Entry]
    is_run: bool


@dataclass
class _Found:
    """What the search of a reply came upon, and where it had to stop."""

    lists: list[_List] = field(default_factory=list)
    failure: str = ""
    after_reasoning: bool = False
    reached_end: bool = False

    def add(self, value: Any, ids: _Ids) -> None:
        """Take in a value; objects that each hold one entry make one list together."""
        entries = list(_entries(value, ids))
        is_run = _is_single(value)
        if is_run and self.lists and self.lists[-1].is_run:
            self.lists[-1].entries.extend(entries)
        elif is_run or entries:
            self.lists.append(_List(entries, is_run))

    def break_off(self, value: Any, ids: _Ids, failure: str) -> None:
        """Take in the part of a value that was read before its JSON ended or broke."""
        if not _is_single(value):
            self.lists.append(_List([], is_run=False))
        self.add(value, ids)
        self.failure = failure

    def forget(self) -> None:
        """Drop what was read: it was reasoning."""
        self.lists, self.reached_end, self.after_reasoning = [], False, True


def _is_single(value: Any) -> bool:
    """Whether a value is one entry, or the beginning of one, that stands by itself."""
    if not isinstance(value, _Object):
        return False
    return not value or (value.is_flat() and not FIELD_NAMES.isdisjoint(value.fields()))


def _search(text: str, ids: _Ids) -> _Found:
    """Go through a reply from left to right, from one JSON value or mark of a reasoning block to the next."""
    found, parser, position = _Found(), _Parser(text), 0
    while landmark := _LANDMARK.search(text, position):
        kind = landmark.lastgroup or ""
        position = landmark.end()
        if kind.startswith("open"):
            found.forget()
            closing = _CLOSINGS[int(kind.removeprefix("open"))].search(text, position)
            if closing is None:
                return found
            position = closing.end()
        elif kind.startswith("close"):
            found.forget()
        else:
            parser.read(landmark.start())
            if not parser.failure:
                found.add(parser.root, ids)
                position = parser.position
            elif parser.is_committed(ids):
                closing = _ANY_CLOSING.search(text, parser.position) if parser.failure == MALFORMED else None
                if closing is None:
                    found.break_off(parser.root, ids, parser.failure)
                    return found
                position = closing.start()
            else:
                found.reached_end |= parser.failure == CUT
    return found


def _entries(value: Any, ids: _Ids) -> Iterator[_Entry]:
    """The entries inside a value, in the order of the reply; what is still open gives none."""
    if isinstance(value, _Object):
        yield from _entries_of_object(value, ids)
    elif isinstance(value, list):
        for child in value:
            yield from _entries(child, ids)


def _entries_of_object(value: _Object, ids: _Ids) -> Iterator[_Entry]:
    fields = value.fields()
    given = _pick(fields, ID_NAMES)
    names = list(dict.fromkeys(ids.find(name) or name for name in given if isinstance(name, str)))
    is_entry = bool(names) and (names[0] in ids.exact or _has_verdict(fields))
    if names and (is_entry or not value.is_closed):
        if value.is_closed and len(names) == 1:
            yield _entry(names[0], fields)
        return
    for key, child in value:
        keyed = _keyed(key, child, ids)
        if keyed:
            yield keyed
        else:
            yield from _entries(child, ids)


def _keyed(key: str, child: Any, ids: _Ids) -> _Entry | None:
    """The entry of a check id that stands as a key, with its label or an object that holds the label."""
    if normalise_label(key) in FIELD_NAMES or type(child) is list:
        return None
    fields = child.fields() if isinstance(child, _Object) else {LABEL_NAMES[0]: [child]}
    is_open = isinstance(child, _Object) and not child.is_closed
    if is_open or not _pick(fields, LABEL_NAMES) or _pick(fields, ID_NAMES):
        return None
    name = ids.find(key)
    return _entry(name or key, fields) if name is not None or _has_verdict(fields) else None


def _has_verdict(fields: Mapping[str, list[Any]]) -> bool:
    return any(isinstance(label, str) and as_verdict(label) for label in _pick(fields, LABEL_NAMES))


def _entry(check_id: str, fields: Mapping[str, list[Any]]) -> _Entry:
    reasons = [reason for reason in _pick(fields, REASON_NAMES) if isinstance(reason, str)]
    return _Entry(check_id, _pick(fields, LABEL_NAMES) or [None], reasons[-1] if reasons else None)


def _pick(fields: Mapping[str, list[Any]], names: Iterable[str]) -> list[Any]:
    return next((fields[name] for name in names if name in fields), [])


# From text to JSON values.


class _Break(Exception):
    """The JSON ended or broke at the parser's position."""


@dataclass
class _Parser:
    """JSON with doubled keys and numbers kept as text; Python's quotes and words, trailing commas and // are forgiven.

    ``root`` is the value, or as much of it as was read; ``failure`` is empty, "cut off" or "malformed".
    """

    text: str
    tokens: int = 0
    position: int = 0
    failure: str = ""
    root: Any = None
    strings: list[str] = field(default_factory=list)
    has_keys: bool = False

    def read(self, position: int) -> None:
        """Read the value that starts at a position."""
        self.position, self.failure, self.root, self.strings, self.has_keys = position, "", None, [], False
        with contextlib.suppress(_Break):
            self._value(*self._next(), lambda value: setattr(self, "root", value), 0)

    def is_committed(self, ids: _Ids) -> bool:
        """Whether the value that failed was meant as JSON: no bracket in prose, no format shown as an example."""
        if self.failure == CUT:
            return self.has_keys or not _APOSTROPHE.match(self.text, self.position)
        speaks = any(ids.find(text) is not None for text in self.strings if text not in FIELD_NAMES)
        is_example = _PLACEHOLDER.match(self.text, self.position) and not speaks
        return self.tokens > MAX_TOKENS or (self.has_keys and not is_example)

    def _value(self, kind: str, token: str, put: Callable[[Any], None], depth: int) -> None:
        if token == "{" and depth < MAX_DEPTH:
            members = _Object()
            put(members)
            self._members(members, depth + 1)
            members.is_closed = True
        elif token == "[" and depth < MAX_DEPTH:
            elements: list[Any] = []
            put(elements)
            self._elements(elements, depth + 1)
        elif kind == "string":
            put(self._string(token))
        elif kind == "word":
            put(None if token in ("null", "None") else re.sub(r"^(-?\d+)\.0+$", r"\1", token))
        else:
            self._fail()

    def _elements(self, elements: list[Any], depth: int) -> None:
        kind, token = self._next()
        while token != "]":
            self._value(kind, token, elements.append, depth)
            kind, token = self._after_value("]")

    def _members(self, members: _Object, depth: int) -> None:
        kind, token = self._next()
        while token != "}":
            if kind != "string":
                self._fail()
            key = self._string(token)
            if self._next()[1] != ":":
                self._fail()
            self.has_keys = True
            self._value(*self._next(), partial(members.put, key), depth)
            kind, token = self._after_value("}")

    def _after_value(self, closing: str) -> tuple[str, str]:
        """The token after a comma, or the closing bracket."""
        kind, token = self._next()
        if token == ",":
            return self._next()
        if token != closing:
            self._fail()
        return kind, token

    def _string(self, token: str) -> str:
        text = _text(token)
        self.strings.append(text)
        return text

    def _next(self) -> tuple[str, str]:
        match = _TOKEN.match(self.text, self.position)
        self.tokens += 1
        if match is None or match.lastgroup is None or self.tokens > MAX_TOKENS:
            self._fail()
        if match.lastgroup == "end":
            self.failure = CUT
            raise _Break
        self.position = match.end()
        return match.lastgroup, match[match.lastgroup]

    def _fail(self) -> NoReturn:
        self.failure = MALFORMED
        raise _Break


def _text(token: str) -> str:
    """The text of a quoted token, with its escapes resolved."""
    try:
        text = json.loads(token, strict=False)
    except ValueError:
        text = json.loads(f'"{_ESCAPE.sub(_legal, token[1:-1])}"', strict=False)
    return _whole(text)


def _whole(text: str) -> str:
    """The text with a stand-in for half surrogate pairs, which no file can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _legal(match: re.Match[str]) -> str:
    """An escape as JSON writes it; a backslash that escapes nothing is kept."""
    escape = match[0]
    if escape in ('"', "\\'"):
        return json.dumps(escape[-1])[1:-1]
    if escape[1] in "xU" and len(escape) > 2:
        return json.dumps(chr(int(escape[2:], 16)))[1:-1]
    return escape if escape[1] in '"\\/bfnrt' or len(escape) == 6 else f"\\{escape}"
