"""From a meta-rubric to the binary checks that a judge grades, by fixed rules, with the provenance of each check."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
import polars as pl

from gamut_analysis.errors import RubricError, UnknownName
from gamut_analysis.rubric import (
    FlexibleList,
    Item,
    MetaRubric,
    Process,
    Relationship,
    SimpleKnowledge,
    StrictList,
)
from gamut_analysis.vocabulary import ITEM_TYPES, ROLES, TIERS, VARIANTS

# A flexible list of at most so many options gives one bonus check for each of them.
MAX_BONUSES = 7
MAX_THRESHOLDS = 3

_DROP = dict(zip(TIERS, (*TIERS[1:], TIERS[-1]), strict=True))


def drop(tier: str) -> str:
    """The tier one below; the lowest stays.

    >>> [drop(tier) for tier in ("answer_critical", "valuable", "context")]
    ['valuable', 'context', 'context']
    """
    return _DROP[tier]


class Check(NamedTuple):
    """One thing that a judge grades, and where it comes from.

    `position` counts from 1 within the members of the item (the third option, the second step), for thresholds within
    the thresholds. `needed` is how many of `members` a coverage check asks for; the members of an order check are its
    steps in order; any other check speaks of one member.
    """

    check_id: str
    item_id: str
    item_type: str
    item_tier: str
    item_position: int
    role: str
    tier: str
    position: int
    text: str
    needed: int | None
    members: tuple[str, ...]
    is_identification: bool


class _Draft(NamedTuple):
    """What one rule says of a check; the item adds the rest."""

    role: str
    tier: str
    position: int
    text: str
    members: tuple[str, ...]
    needed: int | None = None


# ---------------------------------------------------------------------------------------------------------------------
# Wording: every check stands alone, so it opens with what its item is about


def _lead(description: str) -> str:
    text = description.rstrip(" .:;,")
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(("?", "!")) else ".")


def _numbered(members: Sequence[str]) -> str:
    text = "; ".join(f"({number}) {member}" for number, member in enumerate(members, 1))
    return text if text.endswith(".") else f"{text}."


def _coverage_text(item: FlexibleList, needed: int) -> str:
    return (
        f"{_lead(item.description)} Names at least {needed} of the following {len(item.options)}: "
        f"{_numbered(item.options)} Valid ones beyond these neither count nor hurt."
    )


def _order_text(item: Process, steps: Sequence[str]) -> str:
    return (
        f"{_lead(item.description)} Those of the numbered steps that are given keep this relative order; "
        f"missing steps do not fail this check, an inversion does: {_numbered(steps)}"
    )


# ---------------------------------------------------------------------------------------------------------------------
# The rules


def thresholds_of(item: FlexibleList) -> tuple[int, ...]:
    """The coverage thresholds above the baseline, as written or evenly spread up to the top; none for a short list.

    With ``top`` the cap or the number of options and ``k = min(3, top - baseline)``, they are
    ``baseline + ceil(i * (top - baseline) / k)`` for i = 1..k.
    """
    if _gives_bonuses(item):
        return ()
    if item.thresholds is not None:
        return item.thresholds
    above = item.top - item.baseline
    k = min(MAX_THRESHOLDS, above)
    return tuple(item.baseline + math.ceil(i * above / k) for i in range(1, k + 1))


def _gives_bonuses(item: FlexibleList) -> bool:
    return len(item.options) <= MAX_BONUSES and item.tier != TIERS[-1]


def _fact(item: SimpleKnowledge) -> Iterator[_Draft]:
    yield _Draft("fact", item.tier, 1, item.fact, (item.fact,))


def _strict_list(item: StrictList) -> Iterator[_Draft]:
    for position, element in enumerate(item.elements, 1):
        yield _Draft("list_item", item.tier, position, f"{_lead(item.description)} Includes: {element}", (element,))


def _flexible_list(item: FlexibleList) -> Iterator[_Draft]:
    lower = drop(item.tier)
    yield _Draft("baseline", item.tier, 1, _coverage_text(item, item.baseline), item.options, item.baseline)
    if _gives_bonuses(item):
        for position, option in enumerate(item.options, 1):
            yield _Draft("bonus", lower, position, f"{_lead(item.description)} Names: {option}", (option,))
    for position, needed in enumerate(thresholds_of(item), 1):
        yield _Draft("threshold", lower, position, _coverage_text(item, needed), item.options, needed)


def _process(item: Process) -> Iterator[_Draft]:
    lower = drop(item.tier)
    for position, step in enumerate(item.steps, 1):
        role, tier = ("step", item.tier) if step.required else ("optional_step", lower)
        yield _Draft(role, tier, position, f"{_lead(item.description)} Gives the step: {step.text}", (step.text,))
    required = tuple(step.text for step in item.steps if step.required)
    every = tuple(step.text for step in item.steps)
    if len(required) >= 2:
        yield _Draft("sequence", item.tier, 1, _order_text(item, required), required)
    if len(required) < len(every):
        yield _Draft("full_sequence", lower, 1, _order_text(item, every), every)


def _relationship(item: Relationship) -> Iterator[_Draft]:
    lead = f"{_lead(item.description)} On {' and '.join(item.entities)}:"
    for position, aspect in enumerate(item.aspects, 1):
        yield _Draft("relationship", item.tier, position, f"{lead} {aspect}", (aspect,))


def _insight(item: Item) -> Iterator[_Draft]:
    insight = getattr(item, "insight", None)
    if insight is not None:
        yield _Draft("insight", insight.tier, 1, insight.text, (insight.text,))


_RULES = {
    "simple_knowledge": _fact,
    "strict_list": _strict_list,
    "flexible_list": _flexible_list,
    "process": _process,
    "relationship": _relationship,
}


def _compile_item(item: Item, item_position: int) -> Iterator[Check]:
    for rule in (_RULES[item.type], _insight):
        for draft in rule(item):  # type: ignore[operator]
            yield Check(
                check_id=f"{item.id}/{draft.role}/{draft.position:02d}",
                item_id=item.id,
                item_type=item.type,
                item_tier=item.tier,
                item_position=item_position,
                role=draft.role,
                tier=draft.tier,
                position=draft.position,
                text=draft.text,
                needed=draft.needed,
                members=draft.members,
                is_identification=item.is_identification,
            )


def variants(meta: MetaRubric) -> tuple[str, ...]:
    """The variants in which a question can be put."""
    return VARIANTS if meta.question_text_only is not None else VARIANTS[:1]


def compile_rubric(meta: MetaRubric, variant: str = "multimodal") -> tuple[Check, ...]:
    """The checks of one question, in the order of its items.

    The text-only variant leaves out the checks of items that name the subject. Raises `UnknownName` for a variant that
    does not exist, and `RubricError` for text-only when the question cannot be asked without its image.
    """
    if variant not in VARIANTS:
        raise UnknownName(f"variant {variant!r} is unknown; it must be {' or '.join(VARIANTS)}")
    if variant not in variants(meta):
        raise RubricError(
            f"question {meta.question_id}: has no text-only variant, because question_text_only is null; "
            "write the wording that names the subject, or leave the question out"
        )
    return tuple(
        check
        for position, item in enumerate(meta.items, 1)
        if not (variant == "text_only" and item.is_identification)
        for check in _compile_item(item, position)
    )


# ---------------------------------------------------------------------------------------------------------------------
# Back again, from the provenance alone


class ItemStructure(NamedTuple):
    """An item as its checks remember it: `members` are its facts, elements, options, steps or aspects."""

    item_id: str
    item_type: str
    tier: str
    is_identification: bool
    members: tuple[str, ...]
    required: tuple[bool, ...] = ()
    baseline: int | None = None
    thresholds: tuple[int, ...] = ()
    insight_tier: str | None = None


_MEMBER_ROLES = frozenset({"fact", "list_item", "step", "optional_step", "relationship"})


def structure_of(item: Item) -> ItemStructure:
    """The structure of an item as written; `decompile` gives the same from its checks."""
    insight = getattr(item, "insight", None)
    common = (item.id, item.type, item.tier, item.is_identification)
    insight_tier = insight.tier if insight else None
    match item:
        case SimpleKnowledge():
            return ItemStructure(*common, (item.fact,))
        case StrictList():
            return ItemStructure(*common, item.elements, insight_tier=insight_tier)
        case FlexibleList():
            return ItemStructure(*common, item.options, (), item.baseline, thresholds_of(item), insight_tier)
        case Process():
            texts, required = zip(*((step.text, step.required) for step in item.steps), strict=True)
            return ItemStructure(*common, texts, required, insight_tier=insight_tier)
        case Relationship():
            return ItemStructure(*common, item.aspects)


def decompile(checks: Iterable[Check]) -> tuple[ItemStructure, ...]:
    """Rebuild the items of one question from the provenance of its checks, texts left aside, in any order of checks."""
    ordered = sorted(checks, key=lambda check: (check.item_position, check.position))
    return tuple(_rebuilt([*group]) for _, group in groupby(ordered, key=lambda check: check.item_position))


def _rebuilt(checks: list[Check]) -> ItemStructure:
    first = checks[0]
    singles = [check for check in checks if check.role in _MEMBER_ROLES]
    baseline = next((check for check in checks if check.role == "baseline"), None)
    return ItemStructure(
        item_id=first.item_id,
        item_type=first.item_type,
        tier=first.item_tier,
        is_identification=first.is_identification,
        members=baseline.members if baseline else tuple(check.members[0] for check in singles),
        required=tuple(check.role == "step" for check in singles) if first.item_type == "process" else (),
        baseline=baseline.needed if baseline else None,
        thresholds=tuple(check.needed for check in checks if check.role == "threshold" and check.needed is not None),
        insight_tier=next((check.tier for check in checks if check.role == "insight"), None),
    )


# ---------------------------------------------------------------------------------------------------------------------
# What checks imply about each other

IMPLICATIONS = (
    "threshold_lower",
    "threshold_baseline",
    "bonuses_baseline",
    "baseline_bonuses",
    "full_sequence_sequence",
)


class Implication(NamedTuple):
    """When `premise_needed` of the premises are met, `needed` of the conclusions are met.

    For ``baseline_bonuses`` alone a conclusion that is partially met counts as well.
    """

    kind: str
    item_id: str
    premises: tuple[str, ...]
    premise_needed: int
    conclusions: tuple[str, ...]
    needed: int


def implications(checks: Iterable[Check]) -> list[Implication]:
    """Everything that verdicts on the compiled checks of one question imply about each other."""
    ordered = sorted(checks, key=lambda check: (check.item_position, check.position))
    groups = groupby(ordered, key=lambda check: (check.item_position, check.item_id))
    return [each for (_, item_id), group in groups for each in _item_implications(item_id, [*group])]


def _item_implications(item_id: str, checks: list[Check]) -> Iterator[Implication]:
    ids = {role: tuple(check.check_id for check in checks if check.role == role) for role in ROLES}
    thresholds, bonuses, baseline = ids["threshold"], ids["bonus"], ids["baseline"]
    for position, threshold in enumerate(thresholds):
        if position:
            yield Implication("threshold_lower", item_id, (threshold,), 1, thresholds[:position], position)
        yield Implication("threshold_baseline", item_id, (threshold,), 1, baseline, 1)
    if bonuses:
        needed = next(check.needed for check in checks if check.role == "baseline") or 1
        yield Implication("bonuses_baseline", item_id, bonuses, needed, baseline, 1)
        yield Implication("baseline_bonuses", item_id, baseline, 1, bonuses, needed)
    if ids["full_sequence"] and ids["sequence"]:
        yield Implication("full_sequence_sequence", item_id, ids["full_sequence"], 1, ids["sequence"], 1)


# ---------------------------------------------------------------------------------------------------------------------
# Frames

CHECKS_SCHEMA = pl.Schema(
    {
        "question_id": pl.String(),
        "variant": pl.Enum(VARIANTS),
        "check_id": pl.String(),
        "item_id": pl.String(),
        "item_type": pl.Enum(ITEM_TYPES),
        "item_tier": pl.Enum(TIERS),
        "item_position": pl.Int32(),
        "role": pl.Enum(ROLES),
        "tier": pl.Enum(TIERS),
        "position": pl.Int32(),
        "text": pl.String(),
        "needed": pl.Int32(),
        "members": pl.List(pl.String()),
        "is_identification": pl.Boolean(),
        "role_inferred": pl.Boolean(),
    }
)
ITEMS_SCHEMA = pl.Schema(
    {
        "question_id": pl.String(),
        "item_id": pl.String(),
        "item_type": pl.Enum(ITEM_TYPES),
        "tier": pl.Enum(TIERS),
        "item_position": pl.Int32(),
        "description": pl.String(),
        "is_identification": pl.Boolean(),
        "n_members": pl.Int32(),
        "n_required": pl.Int32(),
        "n_entities": pl.Int32(),
        "baseline": pl.Int32(),
        "cap": pl.Int32(),
        "n_thresholds": pl.Int32(),
        "thresholds": pl.List(pl.Int32()),
        "has_insight": pl.Boolean(),
        "insight_tier": pl.Enum(TIERS),
        "n_citations": pl.Int32(),
    }
)
QUESTIONS_SCHEMA = pl.Schema(
    {
        "question_id": pl.String(),
        "variant": pl.Enum(VARIANTS),
        "question": pl.String(),
        "domain": pl.String(),
        "entity": pl.String(),
        "image_id": pl.String(),
        "cluster": pl.String(),
        "n_snippets": pl.Int32(),
    }
)


def checks_frame(metas: Iterable[MetaRubric], variant: str = "multimodal") -> pl.DataFrame:
    """One row per check of every question that has the variant, in compiled order."""
    rows = [
        (meta.question_id, variant, *check, False)
        for meta in metas
        if variant not in VARIANTS or variant in variants(meta)
        for check in compile_rubric(meta, variant)
    ]
    return _frame(rows, CHECKS_SCHEMA)


def items_frame(metas: Iterable[MetaRubric]) -> pl.DataFrame:
    """One row per item; `n_required` is null where the type knows no requirement of members."""
    rows = [
        _item_row(meta.question_id, position, item) for meta in metas for position, item in enumerate(meta.items, 1)
    ]
    return _frame(rows, ITEMS_SCHEMA)


def _item_row(question_id: str, item_position: int, item: Item) -> tuple:
    built = structure_of(item)
    required = {"process": sum(built.required), "strict_list": len(built.members)}
    return (
        question_id,
        item.id,
        item.type,
        item.tier,
        item_position,
        item.description,
        item.is_identification,
        len(built.members),
        required.get(item.type),
        len(item.entities) if isinstance(item, Relationship) else None,
        built.baseline,
        getattr(item, "cap", None),
        len(built.thresholds),
        built.thresholds,
        built.insight_tier is not None,
        built.insight_tier,
        len(item.citations),
    )


def questions_frame(metas: Sequence[MetaRubric]) -> pl.DataFrame:
    """One row per question and variant; questions that share an image or an entity share a cluster."""
    clusters = _clusters(metas)
    rows = [
        (
            meta.question_id,
            variant,
            meta.question if variant == "multimodal" else meta.question_text_only,
            meta.domain,
            meta.entity,
            meta.image_id,
            cluster,
            len(meta.snippets),
        )
        for meta, cluster in zip(metas, clusters, strict=True)
        for variant in variants(meta)
    ]
    return _frame(rows, QUESTIONS_SCHEMA)


def _clusters(metas: Sequence[MetaRubric]) -> list[str]:
    """For each question the first one that it is tied to, through a shared image or a shared entity."""
    parent = list(range(len(metas)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    first: dict[tuple[str, str], int] = {}
    for place, meta in enumerate(metas):
        ties = [("entity", " ".join(meta.entity.casefold().split()))]
        ties += [("image", meta.image_id)] if meta.image_id is not None else []
        for tie in ties:
            one, other = sorted((root(place), root(first.setdefault(tie, place))))
            parent[other] = one
    return [metas[root(place)].question_id for place in range(len(metas))]


def _frame(rows: list[tuple], schema: pl.Schema) -> pl.DataFrame:
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    return pl.DataFrame([_series(*field, values) for field, values in zip(schema.items(), columns, strict=True)])


def _series(name: str, dtype: pl.DataType, values: Sequence) -> pl.Series:
    if isinstance(dtype, pl.List):
        return _list_series(name, dtype, values)
    return pl.Series(name, values, dtype=dtype)


def _list_series(name: str, dtype: pl.List, values: Sequence[tuple]) -> pl.Series:
    """A column of lists, gathered from one flat column: ten times faster than from nested Python sequences."""
    lengths = [len(members) for members in values]
    flat = pl.Series(name, [member for members in values for member in members], dtype=dtype.inner)
    owner = pl.Series("row", np.repeat(np.arange(len(lengths)), lengths))
    lists = pl.DataFrame([owner, flat]).group_by("row", maintain_order=True).agg(name)
    every = pl.DataFrame({"row": np.arange(len(lengths))}).join(lists, on="row", how="left", maintain_order="left")
    return every.select(pl.col(name).fill_null(pl.lit([], dtype=dtype)).cast(dtype)).to_series()


def tier_counts(checks: Iterable[Check]) -> dict[str, int]:
    """How many checks each tier has."""
    counted = Counter(check.tier for check in checks)
    return {tier: counted[tier] for tier in TIERS}
