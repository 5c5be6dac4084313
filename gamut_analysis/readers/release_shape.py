"""What files of the release look like: names of columns and keys, and how their kind is told by content."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from gamut_analysis.readers import jsonl
from gamut_analysis.vocabulary import TIERS, as_tier, normalise_label

Record: TypeAlias = Mapping[str, Any]

# What a column or a key may be called, in order of preference; case, blanks and hyphens do not matter.
QUESTION_FIELDS: dict[str, tuple[str, ...]] = {
    "question_id": ("session_id", "question_id", "id"),
    "question": ("question", "question_text", "prompt", "query"),
    "variant": ("variant",),
    "domain": ("domain", "category"),
    "entity": ("entity",),
    "cluster": ("cluster",),
    "image_id": ("image_id",),
    "image": ("image", "images", "image_path", "picture"),
    "meta_rubric": ("meta_rubric", "meta_rubrics", "structured_rubric"),
    "snippets": ("snippets",),
}
ANSWER_FIELDS: dict[str, tuple[str, ...]] = {
    "question_id": QUESTION_FIELDS["question_id"],
    "answer": ("response", "answer", "prediction", "output"),
    "model": ("model", "model_name", "model_id"),
    "variant": ("variant",),
    "error": ("error",),
    "answered_at": ("answered_at", "timestamp", "created_at"),
}
CHECK_FIELDS: dict[str, tuple[str, ...]] = {
    "text": ("ingredient", "criterion", "text", "description"),
    "handle": ("handle", "title", "name"),
    "specifics": ("specifics",),
}
CITATION = {"citation": ("citation", "citations")}
RUBRIC_NAMES = ("rubrics", "rubric", "ground_truth")
PICTURE_NAMES = QUESTION_FIELDS["image"]
# Keys of a rubric that have a place of their own beside the checks.
OF_RUBRIC = {name: QUESTION_FIELDS[name] for name in ("question", "snippets", "meta_rubric")}
# A file with one of these holds verdicts, not answers.
_OF_VERDICTS = frozenset({"verdict", "verdicts", "check_id", "judge"})
_TEXT_NAMES = {
    name
    for fields in (QUESTION_FIELDS, ANSWER_FIELDS)
    for field, names in fields.items()
    if field != "image"
    for name in names
} | set(RUBRIC_NAMES)


@lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """The name of a column or a key as it is compared; the same few names come with every check."""
    return normalise_label(name)


@lru_cache(maxsize=4096)
def tier_of(name: str) -> str | None:
    """The tier that a column or a key is the name of."""
    return as_tier(name)


def kind_of(records: Sequence[Record]) -> str | None:
    """``rubrics`` or ``answers``, by what records hold, else None."""
    if rubric_column(records) is not None or any(is_rubric(record) for record in records):
        return "rubrics"
    names = {plain(name) for record in records for name in record}
    needed = (ANSWER_FIELDS["question_id"], ANSWER_FIELDS["answer"])
    return None if names & _OF_VERDICTS or not all(names.intersection(group) for group in needed) else "answers"


def rubric_column(records: Sequence[Record]) -> str | None:
    """The column whose values hold lists of checks by tier; a usual name goes before any other."""
    names = list(dict.fromkeys(name for record in records for name in record))
    usual = [name for name in names if plain(name) in RUBRIC_NAMES]
    holding = (name for name in (*usual, *names) if any(is_rubric(structure(record.get(name))) for record in records))
    return next(holding, None)


def is_rubric(value: Any) -> bool:
    """Whether an object holds lists under tiers; ``context`` alone is the name of many other things."""
    if not isinstance(value, Mapping):
        return False
    tiers = {tier: structure(inner) for key, inner in value.items() if (tier := tier_of(str(key)))}
    return any(isinstance(inner, list) for inner in tiers.values()) and (TIERS[0] in tiers or len(tiers) > 1)


def is_tier(key: str, entries: Any) -> bool:
    """Whether a key holds checks: it is a tier of ours, or its list holds what looks like checks."""
    if tier_of(key) is not None:
        return True
    found = entries if isinstance(entries, list) else []
    return any({"ingredient", "handle"} & set(map(plain, entry)) for entry in found if is_object(entry))


def is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


def is_text_column(name: str) -> bool:
    """Whether a column of this name holds text or lists of text, never pictures."""
    return plain(name) in _TEXT_NAMES or tier_of(name) is not None


def structure(value: Any) -> Any:
    """A value, decoded when it is an object or a list that was written as text."""
    if not (isinstance(value, str) and value.lstrip()[:1] in ("{", "[")):
        return value
    try:
        return jsonl.decode(value.encode("utf-8", "replace"))
    except ValueError:
        return value


def value_of(record: Record, columns: Mapping[str, str], field: str) -> Any:
    """What a record holds of a field; null where there is no such column."""
    return record[columns[field]] if field in columns else None


def columns_of(names: Iterable[str], fields: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """For each field that is there, the column or key that holds it, by order of preference."""
    by_name: dict[str, str] = {}
    for name in names:
        by_name.setdefault(plain(name), name)
    found = {field: next((by_name[one] for one in wanted if one in by_name), None) for field, wanted in fields.items()}
    return {field: name for field, name in found.items() if name is not None}
