"""One file of rubrics: each row a question with its checks in tiers, and the snippets that they cite."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gamut_analysis.errors import InputError, RubricError
from gamut_analysis.readers.delivery import Reject, as_text, delivered_schema
from gamut_analysis.readers.release_files import Content
from gamut_analysis.readers.release_gathered import File, Gathered, as_json, clean, mapped_columns, prose, short, spoken
from gamut_analysis.readers.release_profile import KEPT, NOT_READ, Column, Oddities, Profile, listed
from gamut_analysis.readers.release_shape import (
    CHECK_FIELDS,
    CITATION,
    OF_RUBRIC,
    QUESTION_FIELDS,
    Record,
    columns_of,
    is_object,
    is_rubric,
    is_tier,
    plain,
    rubric_column,
    structure,
    tier_of,
    value_of,
)
from gamut_analysis.vocabulary import TIERS, VARIANTS, as_variant

MULTIMODAL, TEXT_ONLY = VARIANTS


class RubricsFile:
    """Reads one file of rubrics into questions, checks and items."""

    def __init__(self, file: File, content: Content, gathered: Gathered, *, infer_roles: bool) -> None:
        self.file, self.content, self.gathered, self.infer_roles = file, content, gathered, infer_roles
        records = content.records()
        self.rubric = rubric_column(records)
        at_top = self.rubric is None and any(is_rubric(record) for record in records)
        self.tier_columns = _tier_columns(content) if at_top else []
        self.columns = columns_of(content.columns, QUESTION_FIELDS)
        if "image" not in self.columns and content.pictures:
            self.columns["image"] = next(iter(content.pictures))
        nothing = [None] * len(content.numbers)
        self.pictures = content.pictures[self.columns["image"]] if "image" in self.columns else nothing
        self.odd = Oddities()
        self.tiers: Counter[str] = Counter()
        self.roles: Counter[str] = Counter()
        self.metas: Counter[str] = Counter()
        self.meta_fault = ""

    def read(self) -> None:
        """Add all rows of the file to what is gathered. Raises InputError when the file lacks what rubrics need."""
        self._check_needed()
        variant, why = self._variant()
        for record, picture, row in zip(self.content.records(), self.pictures, self.content.numbers, strict=True):
            self._read_row(record, picture, row, variant)
        columns = self.columns | ({"checks": self.rubric} if self.rubric else {})
        self.gathered.add_file(self.file, "checks", self.content, mapped_columns(columns), self._profile(why))

    def _check_needed(self) -> None:
        has = ", ".join(self.content.kinds) or "nothing"
        if self.rubric is None and not self.tier_columns:
            raise InputError(
                f"{self.file.path}: no rubric here. A column `rubrics` with lists of checks under Answer_Critical, "
                f"Valuable and Context is needed, or these three as columns; the file has: {has}"
            )
        lacking = []
        if "question_id" not in self.columns:
            lacking.append(f"a question id (a column {' or '.join(QUESTION_FIELDS['question_id'])})")
        if "question" not in self.columns and not self._asks_within():
            lacking.append("a question (a column `question`, or `Question` in the rubric)")
        if lacking:
            raise InputError(f"{self.file.path}: the rubrics need {' and '.join(lacking)}; the file has: {has}")

    def _asks_within(self) -> bool:
        rubrics = map(structure, self.content.columns[self.rubric] if self.rubric else ())
        return any("question" in columns_of(rubric, OF_RUBRIC) for rubric in rubrics if is_object(rubric))

    # -- the variant

    def _variant(self) -> tuple[str, str]:
        """The variant of rows that do not name their own, and what tells it."""
        has_pictures = any(picture is not None for picture in self.pictures)
        if self._is_named_text_only():
            beside = ", though it holds pictures" if has_pictures else ""
            return TEXT_ONLY, f"text-only: the file's name says so{beside}"
        otherwise = MULTIMODAL if has_pictures else TEXT_ONLY
        why = "it holds pictures" if has_pictures else "it holds no pictures"
        if told := self._told_variants():
            return otherwise, f"the column {self.columns['variant']} tells the variant: {', '.join(map(spoken, told))}"
        return otherwise, f"{spoken(otherwise)}: {why}"

    def _is_named_text_only(self) -> bool:
        return TEXT_ONLY in plain(self.file.path.name)

    def _told_variants(self) -> list[str]:
        values = self.content.columns[self.columns["variant"]] if "variant" in self.columns else ()
        return list(dict.fromkeys(variant for text in map(clean, values) if text and (variant := as_variant(text))))

    def _variant_of(self, record: Record, otherwise: str, row: int) -> str | None:
        """The variant of one row, null for a row that names one which there is not."""
        text = self._of(record, "variant")
        told = as_variant(text) if text else otherwise
        if told is None:
            reason = f"unknown variant: {' or '.join(VARIANTS)} is needed"
            self._reject(row, self.columns["variant"], text, reason)
        if told and told != otherwise and self._is_named_text_only():
            self.odd.note("rows name another variant than the file, and the file's counts", row)
            return otherwise
        return told

    # -- one row

    def _read_row(self, record: Record, picture: str | None, row: int, variant: str) -> None:
        told = self._variant_of(record, variant, row)
        question_id = self._usable_id(record, told, row) if told else None
        if told is None or question_id is None:
            return
        rubric = self._rubric_of(record, row)
        question = self._question(record, rubric, row)
        snippets = self._snippets(record, rubric, row)
        common = {"question_id": question_id, "variant": told, "source_id": self.file.source_id, "row": row}
        checks = list(self._checks(rubric, snippets, row))
        if not checks:
            self.odd.note("rubrics are empty", row)
        meta, unread_meta = self._meta(record, rubric, common, question)
        self._add_roles(checks, meta, told, row)
        rows = self.gathered.rows
        rows["checks"] += [check | common for check in checks]
        rows["questions"].append(
            common
            | {name: self._of(record, name) for name in ("domain", "entity", "cluster", "image_id")}
            | {"question": question, "image": picture, "extra": self._extra(record, rubric, snippets, unread_meta)}
            | ({"entity": meta.entity, "domain": meta.domain} if meta else {})
        )

    def _of(self, record: Record, field: str) -> str | None:
        return clean(value_of(record, self.columns, field))

    def _reject(self, row: int, field: str, value: Any, reason: str) -> None:
        self.gathered.rejects.append((self.file.source_id, Reject(row, field, short(value), reason)))

    def _usable_id(self, record: Record, variant: str, row: int) -> str | None:
        """The id of the question, null when it is blank or was read before."""
        question_id, column = self._of(record, "question_id"), self.columns["question_id"]
        if question_id is None:
            self.odd.note("question ids are blank", row)
            self._reject(row, column, None, "blank: every question needs an id")
            return None
        here = (self.file.source_id, f"row {row} of {self.file.name}")
        first = self.gathered.first.setdefault((variant, question_id), here)
        if first != here:
            self.odd.note("question ids stand twice", row)
            reason = f"the {spoken(variant)} question of this id stands in {first[1]}; the first one is kept"
            self._reject(row, column, question_id, reason)
            return None
        self.gathered.files_of[variant][self.file.name] = None
        return question_id

    def _rubric_of(self, record: Record, row: int) -> Record:
        if self.rubric is None:
            return {name: record[name] for name in self.tier_columns}
        value = structure(record[self.rubric])
        if is_object(value):
            return value
        if value is not None:
            self._reject(row, self.rubric, value, "lists of checks under their tiers are needed")
        return {}

    def _question(self, record: Record, rubric: Record, row: int) -> str | None:
        within = _of_rubric(rubric, "question")
        question = prose(value_of(record, self.columns, "question")) or prose(within)
        if question is None:
            self.odd.note("questions are blank", row)
        return question

    def _snippets(self, record: Record, rubric: Record, row: int) -> list[dict[str, Any]]:
        value = structure(_of_rubric(rubric, "snippets") or value_of(record, self.columns, "snippets"))
        found = [_snippet(entry) for entry in value if is_object(entry)] if isinstance(value, list) else []
        for _ in range(len(found) - len({snippet["id"] for snippet in found})):
            self.odd.note("snippet ids stand twice in their question", row)
        return found

    # -- checks

    def _checks(self, rubric: Record, snippets: Sequence[Record], row: int) -> Iterator[dict[str, Any]]:
        known = {snippet["id"] for snippet in snippets}
        for tier, entries in self._entries(rubric, row).items():
            seen: set[str | None] = set()
            for position, entry in enumerate(entries, 1):
                check, citations = self._check(entry, row)
                self._look_over(check["text"], citations, known, seen, row)
                self.tiers[tier] += 1
                check_id = f"{tier_of(tier) or plain(tier)}/{position:02d}"
                yield check | {"check_id": check_id, "tier": tier, "position": str(position)}

    def _entries(self, rubric: Record, row: int) -> dict[str, list[Any]]:
        """The checks of each tier. A tier that is spelt in two ways is one; an unknown one keeps its spelling."""
        found: dict[str, list[Any]] = defaultdict(list)
        for key, value in rubric.items():
            entries = structure(value)
            if entries is None or not is_tier(key, entries):
                continue
            if not isinstance(entries, list):
                self._reject(row, key, entries, "a list of checks is needed")
                continue
            if tier_of(key) is None and entries:
                self.odd.note(f"tiers are unknown: {key!r}", row)
            found[tier_of(key) or key] += entries
        return {tier: found[tier] for tier in (*TIERS, *found) if tier in found}

    def _check(self, entry: Any, row: int) -> tuple[dict[str, Any], list[str]]:
        """One check and the snippets that it cites; its handle, its specifics and whatever else it holds is extra."""
        if not is_object(entry):
            if entry is not None and not isinstance(entry, str):
                self.odd.note("checks are neither objects nor text", row)
            return {"text": prose(entry)}, []
        columns = columns_of(entry, CHECK_FIELDS)
        values = {field: structure(entry[name]) for field, name in columns.items()}
        text, handle = prose(values.get("text")), prose(values.get("handle"))
        if text is None and handle is not None:
            self.odd.note("checks without a text are read by their handle", row)
        others = {name: value for name, value in entry.items() if name not in columns.values()}
        extra = as_json({"handle": handle, "specifics": values.get("specifics"), **others})
        return {"text": text or handle, "extra": extra}, _citations(values.get("specifics"))

    def _look_over(
        self, text: str | None, citations: Iterable[str], known: set[str | None], seen: set[str | None], row: int
    ) -> None:
        if text is None:
            self.odd.note("checks have no text", row)
        elif text in seen:
            self.odd.note("checks say the same as another of their tier", row)
        seen.add(text)
        for citation in citations:
            if not known:
                self.odd.note("citations stand in questions without snippets", row)
            elif citation not in known:
                self.odd.note("citations name no snippet", row)

    def _add_roles(self, checks: list[dict[str, Any]], meta: Any, variant: str, row: int) -> None:
        """Give each check the role of the compiled check of the same text, or else one inferred from its wording."""
        compiled = _compiled(meta, variant) if meta else {}
        inferred = _inferred(checks) if self.infer_roles else [None] * len(checks)
        for check, guess in zip(checks, inferred, strict=True):
            known = compiled.get((check["tier"], check["text"]))
            if known is not None:
                check |= _provenance(known) | {"role_inferred": "false"}
                check["is_identification"] = as_text(known.is_identification)
                self.roles[f"{known.role} (from the meta-rubric)"] += 1
            elif guess is not None and guess.role is not None:
                check |= _provenance(guess) | {"role_inferred": "true"}
                self.roles[f"{guess.role} (inferred)"] += 1
            elif guess is not None:
                self.odd.note("coverage checks write out a list that cannot be read", row)

    # -- the meta-rubric

    def _meta(self, record: Record, rubric: Record, common: Record, question: str | None) -> tuple[Any, Any]:
        """The row's meta-rubric when it has our shape, with its items added; else null, and what was there."""
        value = _of_rubric(rubric, "meta_rubric") or value_of(record, self.columns, "meta_rubric")
        if not value:
            return None, None
        told = {name: self._of(record, name) for name in ("entity", "domain")}
        try:
            meta = _parsed_meta(value, common, question, told)
        except RubricError as error:
            self.metas["not of our shape, kept in extra"] += 1
            self.meta_fault = self.meta_fault or f"row {common['row']}: {str(error).splitlines()[0]}"
            return None, structure(value)
        self.metas["read"] += 1
        self.gathered.rows["items"] += _items(meta, common)
        return meta, None

    # -- what is left, and what is said

    def _extra(self, record: Record, rubric: Record, snippets: Sequence[Record], unread_meta: Any) -> str | None:
        """All that has no place of its own: other columns, other keys of the rubric, snippets."""
        used = {*self.columns.values(), *self.tier_columns, self.rubric}
        columns = {name: value for name, value in record.items() if name not in used}
        own = set(columns_of(rubric, OF_RUBRIC).values())
        keys = {key: value for key, value in rubric.items() if key not in own and not is_tier(key, structure(value))}
        return as_json({**columns, **keys, "snippets": list(snippets) or None, "meta_rubric": unread_meta})

    def _uses(self) -> Iterator[Column]:
        uses = {name: f"-> {field}" for field, name in self.columns.items()}
        uses |= {name: f"-> checks of {tier_of(name) or 'an unknown tier'}" for name in self.tier_columns}
        uses |= {self.rubric: "-> checks"} if self.rubric else {}
        if "image" in self.columns:
            uses[self.columns["image"]] = "-> image (the path; bytes are not read)"
        if "meta_rubric" in self.columns:
            uses[self.columns["meta_rubric"]] = f"-> items ({listed(self.metas) or 'all empty'})"
        uses |= dict.fromkeys(self.content.unread, NOT_READ)
        for name, kind in self.content.kinds.items():
            yield Column(name, kind, uses.get(name, KEPT))

    def _profile(self, why: str) -> Profile:
        checks = sum(self.tiers.values())
        inferred = sum(count for role, count in self.roles.items() if role.endswith("(inferred)"))
        decisions = [why]
        if inferred:
            decisions.append(f"roles of {inferred:,} of {checks:,} checks inferred from their wording")
        if self.meta_fault:
            decisions.append(f"meta-rubrics {listed(self.metas)} ({self.meta_fault})")
        return Profile(
            file=self.file.name,
            holds="rubrics",
            rows=self.content.rows_read,
            columns=tuple(self._uses()),
            decisions=tuple(decisions),
            tiers={tier: self.tiers[tier] for tier in dict.fromkeys((*TIERS, *self.tiers)) if self.tiers[tier]},
            roles=dict(self.roles.most_common()),
            oddities=self.odd.found(),
        )


def _tier_columns(content: Content) -> list[str]:
    """The columns that hold the checks of a tier, where tiers are columns of their own."""
    columns = content.columns.items()
    return [name for name, values in columns if any(is_tier(name, structure(value)) for value in values)]


def _of_rubric(rubric: Record, field: str) -> Any:
    """What a rubric holds under one of the keys that have a place of their own."""
    return value_of(rubric, columns_of(rubric, OF_RUBRIC), field)


def _snippet(entry: Record) -> dict[str, Any]:
    """A snippet under lower-case keys, its id as text."""
    snippet = {plain(str(key)): value for key, value in entry.items() if value is not None}
    return {**snippet, "id": clean(snippet.get("id"))}


def _citations(specifics: Any) -> list[str]:
    """The ids of the snippets that the specifics of a check name."""
    found: list[Any] = []
    for entry in specifics if isinstance(specifics, list) else []:
        value = value_of(entry, columns_of(entry, CITATION), "citation") if is_object(entry) else None
        found += value if isinstance(value, list) else [value]
    return [text for text in map(clean, found) if text is not None]


def _inferred(checks: Sequence[Record]) -> list[Any]:
    from gamut_analysis.readers.wording import infer  # late: the compiler is for rubrics alone

    return list(infer([(check["tier"], check["text"]) for check in checks]))


def _provenance(known: Any) -> dict[str, str | None]:
    """Role, item, numbers and members of a check, compiled or inferred, as delivered text."""
    return {
        "role": known.role,
        "item_id": known.item_id,
        "item_type": known.item_type,
        "needed": as_text(known.needed),
        "members": as_text(list(known.members)) if known.members else None,
    }


def _compiled(meta: Any, variant: str) -> dict[tuple[str, str], Any]:
    from gamut_analysis.compiler import compile_rubric, variants

    checks = compile_rubric(meta, variant) if variant in variants(meta) else ()
    return {(check.tier, check.text): check for check in checks}


def _parsed_meta(value: Any, common: Record, question: str | None, told: Record) -> Any:
    """The meta-rubric that a value holds; the row stands in for what it leaves out. Raises RubricError."""
    from gamut_analysis.rubric import parse_rubric, rubric_from_yaml

    content = structure(value)
    if isinstance(content, str):
        return rubric_from_yaml(content)
    said = _without_nulls({"items": content} if isinstance(content, list) else content)
    if not is_object(said):
        raise RubricError(f"a meta-rubric is an object of fields, and this is {short(content)!r}")
    without_picture = question if common["variant"] == TEXT_ONLY else None
    filled = {"question": question, "question_text_only": without_picture, **told, **said}
    return parse_rubric({**filled, "question_id": common["question_id"]})


def _without_nulls(value: Any) -> Any:
    """A value without its null fields: in a column of structs, each item has the fields of all types."""
    if isinstance(value, Mapping):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _items(meta: Any, common: Record) -> Iterator[dict[str, Any]]:
    from gamut_analysis.compiler import items_frame

    place = {name: common[name] for name in ("question_id", "source_id", "row")}
    for item in items_frame([meta]).iter_rows(named=True):
        yield {name: as_text(item.get(name)) for name in delivered_schema("items")} | place
