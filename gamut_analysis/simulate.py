"""Worlds of GAMUT's shape with a known truth: rubrics, answers and judges drawn from a latent-trait model.

An answer conveys each element of a rubric (a fact, a list member, a step, an aspect) to some degree:

    conveyed = ability of the model in the tier - difficulty of the question, of its rubric's size and of the element
               + what the model happens to know about this question - a penalty when it mistook the subject + noise

Each judge sees that degree through a leniency and a noise of its own. What it sees above zero meets the check, down to
the model's partial width below zero partially meets it; otherwise the check is missing or, where a second latent (the
tendency to assert something false, far higher when the subject was mistaken) is above zero, contradicted. A coverage
check looks at the needed-th best option of its list, so the checks of one list agree until a judge slips.
Naming the subject in the question takes away the mistakes: that alone makes the text-only scores higher.

Verdicts come from these draws and from nothing else. The constants of `calibration/` were solved by `calibrate` so that
the expected tables equal the published ones; other targets give other constants and so another world.
"""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gamut_analysis.compiler import MAX_BONUSES, MAX_THRESHOLDS, checks_frame, items_frame, questions_frame
from gamut_analysis.errors import UnknownName
from gamut_analysis.paths import PACKAGE
from gamut_analysis.rubric import MetaRubric
from gamut_analysis.vocabulary import TIERS, VARIANTS, VERDICTS

SEED = 0
QUESTIONS = 1813
# Chosen among some dozens so that the world of the default seed strays little from its expectation; the scores of
# other seeds stray by about 0.3 points.
_SALTS = {"rubrics": 14, "questions": 11, "grasp": 62, "answers": 62, "judge": 62}
CALIBRATION = PACKAGE / "calibration"
REFERENCE_JUDGE = "gemini-3.1-pro"

_MEETS, _PARTIALLY_MEETS, _MISSING, _CONTRADICTS = range(len(VERDICTS))
_SOLVED = (*TIERS, "partial_width", "contradiction", "misrecognition", "rubric_size")
_MULTIMODAL_TARGETS = ("gamut", *TIERS, *VERDICTS)

# ---------------------------------------------------------------------------------------------------------------------
# Constants


@dataclass(frozen=True)
class Traits:
    """Spreads of the latent traits, common to all models (units: standard deviations of the latent scale).

    They were chosen so that a question's score has a standard deviation near 36 points, scores of two models correlate
    near 0.4 over questions, and mean-of-question tier scores exceed the pooled ratios as much as published.

    `block` balances the draws: neighbours in the order of what is already known share out the quantiles of the next
    latent among them, `block` at a time, so that a world's tables lie much closer to their expectation than those of
    independently drawn questions would. With ``block=1`` all draws are independent, which coverage studies need.
    """

    question: float = 0.5
    """Difficulty of questions."""
    element: float = 0.8
    """Difficulty of elements, the same for all models."""
    knowledge: float = 0.25
    """What a model happens to know about a question."""
    kept_between_variants: float = 0.7
    """Correlation of that knowledge between the variants."""
    noise: float = 0.45
    """Of a model on an element."""
    mistake: float = 0.9
    """What mistaking the subject takes off everything in the answer; twice more off the name itself."""
    shared_recognition: float = 0.65
    """Share of the variance of recognising a subject that is the question's and not the model's."""
    mistake_falsehood: float = 0.6
    """What mistaking the subject adds to the tendency to falsehood."""
    naming_falsehood: float = 1.5
    """The same, further, for the check that asks for the subject's name."""
    falsehood_question: float = 0.15
    """Of a model's tendency to falsehood between questions."""
    falsehood_noise: float = 0.6
    """Of that tendency between checks."""
    block: int = 64
    """How many neighbours share out the quantiles; 1 for independent draws."""


@dataclass(frozen=True)
class Calibration:
    """What is known about the models and judges of a world: its truth.

    `models`: model, name, maker, family, weights; ability by tier, partial_width, contradiction (tendency to
    falsehood), misrecognition (share of questions whose subject the model mistakes), rubric_size (what six more checks
    in the rubric take off). `judges`: judge, name, kind, model, noise, slip (how often a check that others imply is not
    met all the same). `leniency`: judge, model, leniency.
    """

    models: pl.DataFrame
    judges: pl.DataFrame
    leniency: pl.DataFrame


@dataclass(frozen=True)
class Targets:
    """Tables that a world should show, in points and percent.

    `models`: model, name, maker, family, weights, gamut, the three tiers, the four verdicts, text_only.
    `gaps`: judge, model, gap (score under that judge minus score under the reference judge).
    `judges`: judge, name, kind, model, noise, slip.
    """

    models: pl.DataFrame
    gaps: pl.DataFrame
    judges: pl.DataFrame


@dataclass(frozen=True)
class About:
    """What a world says of itself in its `gamut.toml`."""

    name: str
    title: str
    note: str


@dataclass(frozen=True)
class World:
    """A simulated benchmark: frames as a reader would deliver them, and the truth that they were drawn from."""

    models: pl.DataFrame
    judges: pl.DataFrame
    questions: pl.DataFrame
    items: pl.DataFrame
    checks: pl.DataFrame
    verdicts: pl.DataFrame
    truth: Calibration
    seed: int
    about: About


def paper_targets() -> Targets:
    """The published tables, completed by what had to be assumed (column `source` says which is which)."""
    return Targets(_read("target_models"), _read("target_gaps"), _read("target_judges"))


def paper_calibration() -> Calibration:
    """The constants of the paper world, as `calibrate` solved them."""
    known = _read("target_models").select("model", "name", "maker", "family", "weights")
    return Calibration(known.join(_read("models"), on="model"), _read("target_judges"), _read("leniency"))


def _read(name: str) -> pl.DataFrame:
    frame = pl.read_csv(CALIBRATION / f"{name}.csv", infer_schema=False, comment_prefix="#")
    texts = {"model", "name", "maker", "family", "weights", "judge", "kind", "source"}
    return frame.with_columns(pl.col(column).cast(pl.Float64) for column in frame.columns if column not in texts)


# ---------------------------------------------------------------------------------------------------------------------
# Random numbers


def _stream(seed: int, purpose: str, *names: str) -> np.random.Generator:
    """A generator of its own for each purpose and name: leaving a model out does not change the others."""
    words = (zlib.crc32(word.encode()) for word in (purpose, *names))
    return np.random.default_rng([_SALTS[purpose], seed, *words])


def _balanced(rng: np.random.Generator, order: np.ndarray, block: int) -> np.ndarray:
    """Standard normals of which each `block` neighbours in `order` take one from each of `block` equal slices."""
    from scipy.special import ndtri

    n = len(order)
    block = min(block, n)
    rows = -(-n // block)
    slices = rng.random((rows, block)).argsort(axis=1)
    uniform = ((slices + rng.random((rows, block))) / block).ravel()[:n]
    out = np.empty(n)
    out[order] = ndtri(np.clip(uniform, 1e-9, 1 - 1e-9))
    return out


def _quota(rng: np.random.Generator, n: int, share: float) -> np.ndarray:
    """Which of n are chosen, when exactly that share of them is."""
    chosen = np.zeros(n, dtype=bool)
    chosen[rng.permutation(n)[: round(share * n)]] = True
    return chosen


def _dealt(rng: np.random.Generator, n: int, weights: Mapping[Any, float]) -> np.ndarray:
    """n values in random order, each as often as its weight says, to the nearest whole number."""
    exact = n * np.array([*weights.values()]) / sum(weights.values())
    counts = np.floor(exact).astype(int)
    counts[np.argsort(counts - exact, kind="stable")[: n - counts.sum()]] += 1
    return rng.permutation(np.repeat(np.array([*weights]), counts))


# ---------------------------------------------------------------------------------------------------------------------
# Rubrics: structure as published, texts plainly placeholders

# Questions a domain: the first five are published, the names of the last three and the other sizes are assumed.
DOMAINS = {
    "Plants & Gardening": 300,
    "Local": 290,
    "Vehicle": 258,
    "Food": 244,
    "Everyday Objects": 196,
    "Animals": 130,
    "Consumer Products": 120,
    "Art & Culture": 105,
    "Books & Media": 90,
    "Sports & Leisure": 80,
}
MAX_CHECKS = 41

_AC, _V, _C = range(len(TIERS))
_PLAIN_SHARE = 0.02
_UNLISTED_SHARE = 0.14
_STRICT_SHARE = 0.49
_PROCESS_SHARE = 0.17
_RELATIONSHIP_SHARE = 0.06
_INSIGHT_SHARE = 0.13
_CONTEXT_SHARE = 5 / 6
_MIXED_PROCESS_SHARE = 182 / 318
_IMAGE_ONLY_SHARE = 7 / 1813
_NAMED_SHARE = 0.85
# Lists, processes and insights a question that has any.
_FLEXIBLE_LISTS = 357 / 0.12 / (0.86 * 1813)
_STRICT_LISTS = 1.25
_PROCESSES = 318 / (0.17 * 1813)
_RELATIONSHIPS = 1.1
_INSIGHTS = 295 / (0.13 * 1813)
_FLEXIBLE_OPTIONS = {2: 6, 3: 20, 4: 27, 5: 17, 6: 12, 7: 6, 8: 5, 9: 3, 10: 2, 12: 2}
_STRICT_ELEMENTS = {2: 58, 3: 25, 4: 10, 5: 5, 6: 2}
_PROCESS_STEPS = {3: 25, 4: 34, 5: 22, 6: 12, 7: 7}
_ASPECTS = {1: 45, 2: 35, 3: 20}
_ENTITIES = {1: 48, 2: 40, 3: 12}
_FLEXIBLE_TIERS = {_AC: 40, _V: 27, _C: 33}
_STRICT_TIERS = {_AC: 65, _V: 25, _C: 10}
_PROCESS_TIERS = {_AC: 60, _V: 40}
_RELATIONSHIP_TIERS = {_AC: 30, _V: 45, _C: 25}
_INSIGHT_TIERS = {_AC: 20, _V: 45, _C: 35}
# Facts fill a tier up towards this many checks, the fewer the more checks its lists and processes give already.
_FACTS = ((4.27, 0.55, 3), (2.42, 0.15, 3), (0.44, 0.07, 2))
_FILLED = 0.6
_BREADTH_SHAPE = 11

_ITEM_COLUMNS = ("question", "type", "tier", "size", "needed", "required", "insight", "identification", "entities")


def draw_rubrics(*, seed: int = SEED, questions: int = QUESTIONS) -> list[MetaRubric]:
    """Meta-rubrics with the published structure (checks by tier, lists, processes, insights) and placeholder texts."""
    rng = _stream(seed, "rubrics")
    domains = _dealt(rng, questions, DOMAINS)
    image_only = _quota(rng, questions, _IMAGE_ONLY_SHARE)
    items = _draw_items(rng, questions).sort(
        "question", "identification", "tier", descending=[False, True, False], maintain_order=True
    )
    by_question: dict[int, list[dict]] = {number: [] for number in range(questions)}
    for row in items.iter_rows(named=True):
        by_question[row["question"]].append(row)
    width = len(str(questions))
    return [
        _meta_rubric(f"{number + 1:0{width}d}", str(domains[number]), bool(image_only[number]), rows)
        for number, rows in by_question.items()
    ]


def _draw_items(rng: np.random.Generator, n: int) -> pl.DataFrame:
    """One row per item: its question, type, tier (as a code) and numbers of members."""
    order = rng.permutation(n)
    plain, unlisted, listed = np.split(order, [round(_PLAIN_SHARE * n), round(_UNLISTED_SHARE * n)])
    context = _quota(rng, n, _CONTEXT_SHARE)
    # Questions without a flexible list carry their structure in a strict list (three of four) or a process.
    strict_only, process_only = np.split(unlisted, [round(0.75 * len(unlisted))])
    strict = np.concatenate([strict_only, rng.permutation(listed)[: round(_STRICT_SHARE * n) - len(strict_only)]])
    process = np.concatenate([process_only, rng.permutation(listed)[: round(_PROCESS_SHARE * n) - len(process_only)]])
    relationship = rng.permutation(order[len(plain) :])[: round(_RELATIONSHIP_SHARE * n)]
    items = pl.concat(
        [
            _rows(np.flatnonzero(_quota(rng, n, _NAMED_SHARE)), "simple_knowledge", _AC, 1, identification=True),
            _flexible_lists(rng, _again(rng, listed, _FLEXIBLE_LISTS), context),
            _strict_lists(rng, _again(rng, strict, _STRICT_LISTS), context),
            _processes(rng, _again(rng, process, _PROCESSES), context),
            _relationships(rng, _again(rng, relationship, _RELATIONSHIPS), context),
        ]
    )
    items = _with_insights(rng, items, n, context)
    return _trimmed(pl.concat([items, *_facts(rng, items, n, context, plain)]))


def _again(rng: np.random.Generator, questions: np.ndarray, mean: float) -> np.ndarray:
    """Every question once, and so many drawn again that the mean is reached."""
    if not len(questions):
        return questions
    return np.concatenate([questions, rng.choice(questions, round((mean - 1) * len(questions)))])


def _rows(question: np.ndarray, item_type: str, tier: Any, size: Any, **others: Any) -> pl.DataFrame:
    values = {"tier": tier, "size": size, "needed": 0, "required": 0, "insight": -1, "entities": 0, **others}
    columns = {name: np.broadcast_to(np.asarray(value, np.int32), len(question)) for name, value in values.items()}
    columns.setdefault("identification", np.zeros(len(question), np.int32))
    frame = pl.DataFrame({"question": question.astype(np.int32), **columns})
    return frame.with_columns(pl.lit(item_type).alias("type")).select(_ITEM_COLUMNS)


def _flexible_lists(rng: np.random.Generator, question: np.ndarray, context: np.ndarray) -> pl.DataFrame:
    size = _dealt(rng, len(question), _FLEXIBLE_OPTIONS)
    needed = np.clip(np.rint(size * rng.choice([0.3, 0.5, 0.65], len(question))), 1, size - 1)
    # Options of a Valuable list are Context checks, so a question without Context has only Answer-Critical lists.
    tier = np.where(context[question], _dealt(rng, len(question), _FLEXIBLE_TIERS), _AC)
    return _rows(question, "flexible_list", tier, size, needed=needed)


def _strict_lists(rng: np.random.Generator, question: np.ndarray, context: np.ndarray) -> pl.DataFrame:
    tier = _within(context[question], _dealt(rng, len(question), _STRICT_TIERS))
    return _rows(question, "strict_list", tier, _dealt(rng, len(question), _STRICT_ELEMENTS))


def _processes(rng: np.random.Generator, question: np.ndarray, context: np.ndarray) -> pl.DataFrame:
    size = _dealt(rng, len(question), _PROCESS_STEPS)
    mixed = _quota(rng, len(question), _MIXED_PROCESS_SHARE)
    tier = np.where(context[question], _dealt(rng, len(question), _PROCESS_TIERS), _AC)
    return _rows(question, "process", tier, size, required=size - mixed * rng.integers(1, size - 1))


def _relationships(rng: np.random.Generator, question: np.ndarray, context: np.ndarray) -> pl.DataFrame:
    tier = _within(context[question], _dealt(rng, len(question), _RELATIONSHIP_TIERS))
    aspects, entities = _dealt(rng, len(question), _ASPECTS), _dealt(rng, len(question), _ENTITIES)
    return _rows(question, "relationship", tier, aspects, entities=entities)


def _within(context: np.ndarray, tier: np.ndarray) -> np.ndarray:
    """No Context item where the question has none."""
    return np.where(context, tier, np.minimum(tier, _V))


def _with_insights(rng: np.random.Generator, items: pl.DataFrame, n: int, context: np.ndarray) -> pl.DataFrame:
    """Insights on lists and processes, first one a question, then on further items of the questions that have one."""
    holds = items["type"].is_in(["strict_list", "flexible_list", "process"]).to_numpy()
    row = rng.permutation(np.flatnonzero(holds))
    question = items["question"].to_numpy()[row]
    first = np.unique(question, return_index=True)[1]
    chosen = rng.permutation(first)[: round(_INSIGHT_SHARE * n)]
    others = np.setdiff1d(np.flatnonzero(np.isin(question, question[chosen])), chosen)
    more = rng.permutation(others)[: round((_INSIGHTS - 1) * len(chosen))]
    with_insight = row[np.concatenate([chosen, more])]
    tier = _dealt(rng, len(with_insight), _INSIGHT_TIERS)
    insight = np.full(len(items), -1)
    insight[with_insight] = _within(context[items["question"].to_numpy()[with_insight]], tier)
    return items.with_columns(pl.Series("insight", insight, dtype=pl.Int32))


def _facts(
    rng: np.random.Generator, items: pl.DataFrame, n: int, context: np.ndarray, plain: np.ndarray
) -> Iterator[pl.DataFrame]:
    """Facts that fill each tier up; no tier stays empty but Context, in the questions that go without it."""
    breadth = rng.gamma(_BREADTH_SHAPE, 1 / _BREADTH_SHAPE, n)
    present = _checks_by_tier(items, n)
    for tier, (full, least, more_if_plain) in enumerate(_FACTS):
        expected = np.maximum(full * breadth - _FILLED * present[:, tier], least)
        count = np.maximum(rng.poisson(expected), present[:, tier] == 0)
        count[plain] += more_if_plain
        if tier == _C:
            count[~context] = 0
        yield _rows(np.repeat(np.arange(n), count), "simple_knowledge", tier, 1)


def _with_check_numbers(items: pl.DataFrame) -> pl.DataFrame:
    """How many checks each item gives in its own tier and in the tier below."""
    listed, process = pl.col("type") == "flexible_list", pl.col("type") == "process"
    optional = pl.col("size") - pl.col("required")
    short = (pl.col("size") <= MAX_BONUSES) & (pl.col("tier") < _C)
    thresholds = pl.min_horizontal(pl.col("size") - pl.col("needed"), pl.lit(MAX_THRESHOLDS))
    return items.with_columns(
        pl.when(listed)
        .then(1)
        .when(process)
        .then(pl.col("required") + (pl.col("required") >= 2))
        .otherwise(pl.col("size"))
        .alias("own"),
        pl.when(listed)
        .then(pl.when(short).then(pl.col("size")).otherwise(thresholds))
        .when(process)
        .then(optional + (optional > 0))
        .otherwise(0)
        .alias("below"),
    )


def _checks_by_tier(items: pl.DataFrame, n: int) -> np.ndarray:
    numbered = _with_check_numbers(items)
    question, tier, own, below, insight = (
        numbered[name].to_numpy() for name in ("question", "tier", "own", "below", "insight")
    )
    counts = np.zeros((n, len(TIERS)), dtype=int)
    np.add.at(counts, (question, tier), own)
    np.add.at(counts, (question, np.minimum(tier + 1, _C)), below)
    np.add.at(counts, (question[insight >= 0], insight[insight >= 0]), 1)
    return counts


def _trimmed(items: pl.DataFrame) -> pl.DataFrame:
    """A rubric keeps its items, lists first, up to the largest published number of checks."""
    total = pl.col("own") + pl.col("below") + (pl.col("insight") >= 0)
    return _with_check_numbers(items).filter(total.cum_sum().over("question") <= MAX_CHECKS).select(_ITEM_COLUMNS)


def _meta_rubric(number: str, domain: str, image_only: bool, rows: Sequence[dict]) -> MetaRubric:
    seen: dict[str, int] = {}
    items = []
    for row in rows:
        seen[row["type"]] = seen.get(row["type"], 0) + 1
        items.append(_item(row, seen[row["type"]]))
    subject = f"simulated subject {number}"
    return MetaRubric.model_validate(
        {
            "question_id": f"simulated-{number}",
            "question": f"Simulated question {number}: what should one know about this ({domain})?",
            "question_text_only": None
            if image_only
            else f"Simulated question {number}: what should one know about {subject} ({domain})?",
            "entity": subject,
            "domain": domain,
            "items": items,
        }
    )


def _item(row: dict, number: int) -> dict[str, Any]:
    """One item as a meta-rubric holds it; every text says that it is simulated."""
    words = row["type"].replace("_", " ")
    item: dict[str, Any] = {
        "id": f"{row['type'].replace('_', '-')}-{number}",
        "type": row["type"],
        "tier": TIERS[row["tier"]],
        "description": f"Simulated check: {words} {number}",
        "is_identification": bool(row["identification"]),
    }
    members = [f"simulated member {member}" for member in range(1, row["size"] + 1)]
    match row["type"]:
        case "simple_knowledge":
            item["fact"] = f"Simulated check: fact {number}."
        case "strict_list":
            item["elements"] = members
        case "flexible_list":
            item |= {"options": members, "baseline": row["needed"]}
        case "process":
            required = [position < row["required"] for position in range(row["size"])]
            item["steps"] = [{"text": text, "required": need} for text, need in zip(members, required, strict=True)]
        case "relationship":
            item |= {"aspects": members, "entities": [f"simulated entity {n}" for n in range(1, row["entities"] + 1)]}
    if row["insight"] >= 0:
        item["insight"] = {"tier": TIERS[row["insight"]], "text": "Simulated check: insight."}
    return item


# ---------------------------------------------------------------------------------------------------------------------
# What each check looks at


@dataclass(frozen=True)
class _Layout:
    """The compiled checks as arrays, in the order of their keys.

    A latent degree is drawn for each element: for what a single check asks, and for options and orders that only pooled
    checks speak of. A single check looks at its element; a pooled check (baseline, threshold, the order of all steps)
    at the needed-th best element of its item's pool.
    """

    question: np.ndarray
    tier: np.ndarray
    cell: np.ndarray
    """Checks of one tier whose question has equally many of that tier, and so weigh the same, share a cell."""
    naming: np.ndarray
    asked: np.ndarray
    """By variant, whether the check is put."""
    question_size: np.ndarray
    owner: np.ndarray
    """The check that each element belongs to."""
    element: np.ndarray
    """The element that each single check looks at; -1 for pooled checks."""
    pools: np.ndarray
    """Elements by pool, short rows padded with -1."""
    pooled: np.ndarray
    pool: np.ndarray
    needed: np.ndarray
    bonus_lists: np.ndarray
    """Which of the pooled checks are baselines of lists whose options have checks of their own."""
    implied: np.ndarray
    implying: np.ndarray


def _layout(multimodal: pl.DataFrame, text_only: pl.DataFrame) -> _Layout:
    """Arrange the checks of the multimodal variant; those of the text-only variant are among them."""
    question = _codes(multimodal, "question_id")
    item = _codes(multimodal, "question_id", "item_id")
    role = multimodal["role"].to_numpy().astype(str)
    tier = multimodal["tier"].to_physical().to_numpy().astype(np.int64)
    members = multimodal["members"].list.len().to_numpy()
    has_bonuses = np.isin(item, item[role == "bonus"])
    second_order = (role == "full_sequence") & np.isin(item, item[role == "sequence"])
    is_pooled = second_order | np.isin(role, ("baseline", "threshold"))
    hidden = np.where(second_order, 1, np.where((role == "baseline") & ~has_bonuses, members, 0))
    owner = np.concatenate([np.flatnonzero(~is_pooled), np.repeat(np.arange(len(role)), hidden)])
    in_pool = np.flatnonzero((is_pooled | np.isin(role, ("bonus", "sequence")))[owner])
    pool_items, pools = _padded(item[owner[in_pool]], in_pool)
    pooled = np.flatnonzero(is_pooled)
    bonus_lists = np.flatnonzero((role[pooled] == "baseline") & has_bonuses[pooled])
    lower, higher = _chains(item, role, multimodal["position"].to_numpy())
    place = question * len(TIERS) + tier
    return _Layout(
        question=question,
        tier=tier,
        cell=tier * len(tier) + np.bincount(place)[place],
        naming=multimodal["is_identification"].to_numpy(),
        asked=np.stack([np.ones(len(role), dtype=bool), _is_among(multimodal, text_only)]),
        question_size=np.bincount(question),
        owner=owner,
        element=np.where(is_pooled, -1, np.cumsum(~is_pooled) - 1),
        pools=pools,
        pooled=pooled,
        pool=np.searchsorted(pool_items, item[pooled]),
        # The order of all steps is right when both its own part and the order of the required steps are.
        needed=multimodal["needed"].fill_null(2).to_numpy().astype(np.int64)[pooled],
        bonus_lists=bonus_lists,
        # A list whose options have checks is met when enough of them are: its baseline implies itself.
        implied=np.concatenate([lower, pooled[bonus_lists]]),
        implying=np.concatenate([higher, pooled[bonus_lists]]),
    )


def _codes(frame: pl.DataFrame, *columns: str) -> np.ndarray:
    ranks = frame.select(pl.struct(columns).rank("dense")).to_series()
    return ranks.to_numpy().astype(np.int64) - 1


def _is_among(checks: pl.DataFrame, others: pl.DataFrame) -> np.ndarray:
    keys = ["question_id", "check_id"]
    found = checks.select(keys).join(
        others.select(*keys, pl.lit(True).alias("found")), on=keys, how="left", maintain_order="left"
    )
    return found["found"].fill_null(False).to_numpy()


def _chains(item: np.ndarray, role: np.ndarray, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of neighbouring checks of an item of which the higher implies the lower."""
    rows = np.flatnonzero(np.isin(role, ("baseline", "threshold", "sequence", "full_sequence")))
    level = np.where(np.isin(role[rows], ("baseline", "sequence")), 0, position[rows])
    rows = rows[np.lexsort((level, item[rows]))]
    same = item[rows[1:]] == item[rows[:-1]]
    return rows[:-1][same], rows[1:][same]


def _padded(key: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The keys, and the values of each as one row of a matrix, short rows padded with -1."""
    order = np.argsort(key, kind="stable")
    keys, start, counts = np.unique(key[order], return_index=True, return_counts=True)
    row = np.repeat(np.arange(len(keys)), counts)
    matrix = np.full((len(keys), counts.max(initial=1)), -1)
    matrix[row, np.arange(len(key)) - start[row]] = value[order]
    return keys, matrix


# ---------------------------------------------------------------------------------------------------------------------
# Answers and judges


@dataclass(frozen=True)
class _Questions:
    """What all models have in common: difficulties, and how hard the subject of a question is to recognise."""

    difficulty: np.ndarray
    recognition: np.ndarray
    element: np.ndarray


@dataclass(frozen=True)
class _Grasp:
    """How one model stands to each question: what it knows, whether it mistakes the subject, how prone to falsehood."""

    knowledge: np.ndarray
    mistaken: np.ndarray
    falsehood: np.ndarray


@dataclass(frozen=True)
class _Answers:
    """One model's answers in one variant: how far elements are conveyed, how near each check is to a falsehood."""

    conveyed: np.ndarray
    falsehood: np.ndarray
    by_conveyed: np.ndarray
    by_falsehood: np.ndarray


def _draw_questions(layout: _Layout, traits: Traits, seed: int) -> _Questions:
    rng = _stream(seed, "questions")
    difficulty = _balanced(rng, np.argsort(layout.question_size, kind="stable"), traits.block)
    recognition = _balanced(rng, np.argsort(difficulty), traits.block)
    by_difficulty = _by(layout.tier[layout.owner], difficulty[layout.question[layout.owner]])
    return _Questions(difficulty, recognition, _balanced(rng, by_difficulty, traits.block))


def _draw_grasp(traits: Traits, shared: _Questions, model: dict[str, Any], variant: str, seed: int) -> _Grasp:
    """What a model knows of a question is mostly the same in both variants; naming the subject prevents mistakes."""
    from scipy.special import ndtri

    rng = _stream(seed, "grasp", model["model"])
    common, kept = traits.shared_recognition, traits.kept_between_variants
    own_recognition = _balanced(rng, np.argsort(shared.recognition), traits.block)
    recognition = np.sqrt(common) * shared.recognition + np.sqrt(1 - common) * own_recognition
    mistaken = recognition < ndtri(model["misrecognition"])
    order = _by(mistaken, shared.difficulty)
    knowledge, falsehood = (_balanced(rng, order, traits.block) for _ in range(2))
    if variant == "multimodal":
        return _Grasp(knowledge, mistaken, falsehood)
    anew = _balanced(rng, order, traits.block)
    return _Grasp(kept * knowledge + np.sqrt(1 - kept**2) * anew, np.zeros_like(mistaken), falsehood)


def _draw_answers(
    layout: _Layout, traits: Traits, shared: _Questions, model: dict[str, Any], variant: str, seed: int
) -> _Answers:
    rng = _stream(seed, "answers", model["model"], variant)
    grasp = _draw_grasp(traits, shared, model, variant, seed)
    conveyed = _conveyed(layout, traits, shared, grasp, model)
    false = _falsehood(layout, traits, grasp, model)
    cell = layout.cell[layout.owner]
    conveyed += traits.noise * _balanced(rng, _by(cell, conveyed), traits.block)
    unmet_cell = 2 * layout.cell + (_values(layout, conveyed) < -model["partial_width"])
    false += traits.falsehood_noise * _balanced(rng, _by(unmet_cell, false), traits.block)
    return _Answers(conveyed, false, _by(cell, conveyed), _by(unmet_cell, false))


def _conveyed(layout: _Layout, traits: Traits, shared: _Questions, grasp: _Grasp, model: dict[str, Any]) -> np.ndarray:
    """How far each element is conveyed, but for noise."""
    of_question = (
        traits.knowledge * grasp.knowledge
        - traits.question * shared.difficulty
        - model["rubric_size"] * (layout.question_size - 15) / 6
        - traits.mistake * grasp.mistaken
    )
    ability = np.array([model[tier] for tier in TIERS])
    question = layout.question[layout.owner]
    misnamed = layout.naming[layout.owner] & grasp.mistaken[question]
    return (
        ability[layout.tier[layout.owner]]
        + of_question[question]
        - traits.element * shared.element
        - 2 * traits.mistake * misnamed
    )


def _falsehood(layout: _Layout, traits: Traits, grasp: _Grasp, model: dict[str, Any]) -> np.ndarray:
    """How near each check is to being contradicted should it not be met, but for noise."""
    of_question = traits.falsehood_question * grasp.falsehood + traits.mistake_falsehood * grasp.mistaken
    misnamed = layout.naming & grasp.mistaken[layout.question]
    return model["contradiction"] + of_question[layout.question] + traits.naming_falsehood * misnamed


def _by(group: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The order by group, then by value; latent values are far below a thousand, and one sort is faster than two."""
    return np.argsort(1000.0 * group + value)


def _values(layout: _Layout, elements: np.ndarray) -> np.ndarray:
    """What each check looks at: its element, or the needed-th best of its pool."""
    values = elements[layout.element]
    best_first = -np.sort(-_options(layout, elements), axis=1)
    values[layout.pooled] = best_first[layout.pool, layout.needed - 1]
    return values


def _options(layout: _Layout, elements: np.ndarray) -> np.ndarray:
    return np.where(layout.pools >= 0, elements[layout.pools], -np.inf)


def _judge_answers(
    layout: _Layout, answers: _Answers, judge: dict[str, Any], width: float, block: int, rng: np.random.Generator
) -> np.ndarray:
    """One judge's verdict codes on one model's answers, all checks."""
    seen = answers.conveyed + judge["leniency"] + judge["noise"] * _balanced(rng, answers.by_conveyed, block)
    false = answers.falsehood - judge["leniency"] + judge["noise"] * _balanced(rng, answers.by_falsehood, block)
    value = _values(layout, seen)
    unmet = np.where(value > -width, _PARTIALLY_MEETS, np.where(false > 0, _CONTRADICTS, _MISSING))
    codes = np.where(value > 0, _MEETS, unmet).astype(np.int8)
    return _slipped(layout, codes, _options(layout, seen), judge["slip"], rng)


def _slipped(
    layout: _Layout, codes: np.ndarray, options: np.ndarray, slip: float, rng: np.random.Generator
) -> np.ndarray:
    """Break what checks imply, each implication at the judge's rate: it may fail only where its premise holds.

    A check that others imply is only partially met; below a met baseline, options are overlooked until too few stay.
    """
    met = codes == _MEETS
    failing = (rng.random(len(layout.implied)) < slip) & met[layout.implying]
    overlooking = rng.random(len(layout.bonus_lists)) < slip
    lists = layout.bonus_lists[overlooking & met[layout.pooled[layout.bonus_lists]]]
    codes[layout.implied[failing]] = _PARTIALLY_MEETS
    pools = layout.pool[lists]
    ranked = np.take_along_axis(layout.pools[pools], np.argsort(-options[pools], axis=1), axis=1)
    beyond = (np.arange(ranked.shape[1]) >= layout.needed[lists][:, None] - 1) & (ranked >= 0)
    rows = layout.owner[ranked[beyond]]
    codes[rows[codes[rows] <= _PARTIALLY_MEETS]] = _MISSING
    return codes


# ---------------------------------------------------------------------------------------------------------------------
# Worlds


PAPER = About(
    name="paper",
    title="SIMULATED paper world: simulated rubrics and verdicts, calibrated to the published tables",
    note=(
        "Rubrics, answers and judges are drawn from a latent-trait model. Published: table 1, five rows of the "
        "text-only table, statements on the judges, the structure of rubrics. Assumed: the other nine text-only gains, "
        "the gap of each judge for each model within the published limits, noise and slips of judges, spreads of "
        "latent traits, three names and five sizes of domains."
    ),
)
SAMPLE = About(
    name="sample",
    title="SIMULATED verdicts on the written sample benchmark: real rubrics, simulated answers and judges",
    note=(
        "No model was asked and no judge graded: verdicts are drawn from the latent-trait model of the paper world, "
        "with abilities settled so that the expected scores on these rubrics equal the published ones. What is assumed "
        "there is assumed here."
    ),
)


def paper_world(
    *,
    seed: int = SEED,
    questions: int = QUESTIONS,
    models: Sequence[str] | None = None,
    judges: Sequence[str] | None = None,
    calibration: Calibration | None = None,
    traits: Traits | None = None,
) -> World:
    """Draw a world of the paper's shape: simulated rubrics, simulated answers, simulated judges.

    `models` and `judges` name those to draw, by default all of the calibration; what one model or judge does is the
    same whoever else is drawn. Raises `UnknownName` for a name that the calibration does not have.

    >>> paper_world(questions=2, models=["gpt-4o"], judges=["claude-opus-4.8"]).verdicts.columns
    ['model', 'judge', 'variant', 'question_id', 'check_id', 'replicate', 'verdict']
    """
    truth = _chosen(calibration or paper_calibration(), models, judges)
    metas = draw_rubrics(seed=seed, questions=questions)
    return _world(metas, truth, traits or Traits(), seed, PAPER)


def sample_world(
    metas: Sequence[MetaRubric],
    *,
    seed: int = SEED,
    models: Sequence[str] | None = None,
    judges: Sequence[str] | None = None,
    targets: Targets | None = None,
) -> World:
    """Draw answers and judges on given rubrics, with abilities settled so that expected scores equal the targets.

    The draw itself strays from its expectation as far as so few questions allow. Raises `UnknownName` as `paper_world`.
    """
    chosen = _chosen(paper_calibration(), models, judges)
    truth = _settled(metas, chosen, targets or paper_targets(), Traits())
    return _world(metas, truth, Traits(), seed, SAMPLE)


def _chosen(calibration: Calibration, models: Sequence[str] | None, judges: Sequence[str] | None) -> Calibration:
    known_models, known_judges = calibration.models["model"].to_list(), calibration.judges["judge"].to_list()
    for what, names, known in (("model", models, known_models), ("judge", judges, known_judges)):
        for name in names or ():
            if name not in known:
                raise UnknownName(f"{what} {name!r} is unknown; this calibration has {', '.join(known)}")
    return Calibration(
        calibration.models.filter(pl.col("model").is_in(models or known_models)).sort("model"),
        calibration.judges.filter(pl.col("judge").is_in(judges or known_judges)).sort("judge"),
        calibration.leniency.filter(
            pl.col("model").is_in(models or known_models), pl.col("judge").is_in(judges or known_judges)
        ).sort("judge", "model"),
    )


def _compiled(metas: Sequence[MetaRubric]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The checks of both variants, by key."""
    multimodal, text_only = (checks_frame(metas, variant).sort("question_id", "check_id") for variant in VARIANTS)
    return multimodal, text_only


def _world(metas: Sequence[MetaRubric], truth: Calibration, traits: Traits, seed: int, about: About) -> World:
    compiled = _compiled(metas)
    layout = _layout(*compiled)
    codes = _draw_verdicts(layout, truth, traits, seed)
    return World(
        models=truth.models.select("model", "name", "maker", "family", "weights"),
        judges=truth.judges.select("judge", "name", "kind", "model"),
        questions=questions_frame(metas).sort("question_id", "variant"),
        items=items_frame(metas).sort("question_id", "item_id"),
        checks=pl.concat(compiled).sort("question_id", "variant", "check_id"),
        verdicts=_verdicts_frame(compiled[0], layout.asked, truth, codes),
        truth=truth,
        seed=seed,
        about=about,
    )


def _draw_verdicts(layout: _Layout, calibration: Calibration, traits: Traits, seed: int) -> np.ndarray:
    """Verdict codes: model, judge, variant, check; what is not asked in a variant is drawn and left unused."""
    shared = _draw_questions(layout, traits, seed)
    models, judges = calibration.models.to_dicts(), calibration.judges.to_dicts()
    leniency = {(row["judge"], row["model"]): row["leniency"] for row in calibration.leniency.to_dicts()}
    codes = np.empty((len(models), len(judges), len(VARIANTS), len(layout.question)), dtype=np.int8)
    for m, model in enumerate(models):
        for v, variant in enumerate(VARIANTS):
            answers = _draw_answers(layout, traits, shared, model, variant, seed)
            for j, judge in enumerate(judges):
                seen_by = judge | {"leniency": leniency.get((judge["judge"], model["model"]), 0.0)}
                rng = _stream(seed, "judge", judge["judge"], model["model"], variant)
                codes[m, j, v] = _judge_answers(layout, answers, seen_by, model["partial_width"], traits.block, rng)
    return codes


def _verdicts_frame(checks: pl.DataFrame, asked: np.ndarray, truth: Calibration, codes: np.ndarray) -> pl.DataFrame:
    """One row per graded check, sorted by key; names are spelled from codes, never row by row."""
    models, judges = truth.models["model"].to_list(), truth.judges["judge"].to_list()
    variant, check = np.nonzero(asked)
    rows, grids = len(check), len(models) * len(judges)
    keys = checks.select("question_id", "check_id")[check]
    return pl.DataFrame(
        {
            "model": _spelled(models, np.repeat(np.arange(len(models)), len(judges) * rows)),
            "judge": _spelled(judges, np.tile(np.repeat(np.arange(len(judges)), rows), len(models))),
            "variant": _spelled(VARIANTS, np.tile(variant, grids)),
            "question_id": pl.concat([keys["question_id"]] * grids, rechunk=True),
            "check_id": pl.concat([keys["check_id"]] * grids, rechunk=True),
            "replicate": np.zeros(grids * rows, dtype=np.int32),
            "verdict": _spelled(VERDICTS, codes[:, :, asked].ravel()),
        }
    ).with_columns(pl.col("model", "judge").cast(pl.String))


def _spelled(labels: Sequence[str], codes: np.ndarray) -> pl.Series:
    return pl.Series(codes.astype(np.uint8)).cat.to(pl.Enum(labels))


def write(world: World, folder: Path) -> None:
    """Write a world as Parquet files with a `gamut.toml` that labels them SIMULATED; same world, same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in ("models", "judges", "questions", "items", "checks", "verdicts"):
        getattr(world, table).write_parquet(folder / f"{table}.parquet", compression="zstd", compression_level=3)
    (folder / "gamut.toml").write_text(_manifest(world), encoding="utf-8", newline="\n")


def _manifest(world: World) -> str:
    judges = world.judges["judge"].to_list()
    return (
        "# Simulated data: no model was asked and no judge graded.\n"
        "[data]\n"
        f'name = "{world.about.name}"\n'
        f'title = "{world.about.title}"\n'
        'benchmark = "gamut"\n'
        "simulated = true\n"
        f"seed = {world.seed}\n"
        f'note = "{world.about.note}"\n'
        f'default_judge = "{REFERENCE_JUDGE if REFERENCE_JUDGE in judges else judges[0]}"\n'
    )


# ---------------------------------------------------------------------------------------------------------------------
# Calibration: constants under which the expected tables equal the targets

_LOWER = np.array([-6.0, -6.0, -6.0, 0.05, -6.0, 0.005, -0.3])
_UPPER = np.array([6.0, 6.0, 6.0, 2.0, 6.0, 0.8, 0.5])
_STEP = np.array([0.1, 0.1, 0.1, 0.08, 0.1, 0.04, 0.08])
_START = np.array([0.0, 0.0, 0.0, 0.4, -1.2, 0.25, 0.06])
# A score must be hit twice as closely as a tier or a share.
_TOLERANCE = np.array([0.5, *[1.0] * 7, 0.5])
_WORLDS, _FITTED_WORLDS = 32, 4
# Points that a unit of leniency or of ability adds to a score, and a unit of misrecognition to the text-only gain.
_SCORE_PER_LENIENCY = 40.0
_SCORE_PER_ABILITY = 33.0
_GAIN_PER_MISRECOGNITION = 55.0
# Far from the seeds of worlds, so that no world is one of those that its constants were solved on.
_TRIAL_SEED = 1_000_000


def _table_row(layout: _Layout, codes: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Score, tier scores and verdict shares of one answer set, in points and percent (`_MULTIMODAL_TARGETS`)."""
    key = (layout.question * len(TIERS) + layout.tier) * len(VERDICTS) + codes
    counts = (
        np.bincount(key[asked], minlength=len(layout.question_size) * 12)
        .reshape(len(layout.question_size), 3, 4)
        .astype(float)
    )
    checks = counts.sum(axis=2)
    points = counts @ np.array([1, 0.5, 0, -2])
    tiers = np.divide(points, checks + counts[..., 3], out=np.full_like(points, np.nan), where=checks > 0)
    weights = np.array([0.6, 0.3, 0.1]) * (checks > 0)
    graded = weights.sum(axis=1) > 0
    scores = (np.nan_to_num(tiers) * weights).sum(axis=1)[graded] / weights.sum(axis=1)[graded]
    shares = counts.sum(axis=(0, 1)) / max(counts.sum(), 1)
    return 100 * np.array([_mean(scores), *(_mean(tier) for tier in tiers.T), *shares])


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan


def calibrate(
    targets: Targets,
    *,
    rubrics: Sequence[Sequence[MetaRubric]] | None = None,
    traits: Traits | None = None,
    start: pl.DataFrame | None = None,
    iterations: int = 20,
) -> Calibration:
    """Solve the constants of every model and judge for a table of targets.

    The expectation of a table is its mean over worlds, one for each set of `rubrics` (by default 32 of the paper's
    shape), drawn from the same random numbers for every trial of constants. Seven constants of a model answer to its
    nine targets by damped least squares (Levenberg-Marquardt) on the first four worlds, from `start`; all worlds then
    settle its abilities; each leniency answers to its gap.
    """
    traits = traits or Traits()
    trials = [_trial(metas, traits, seed) for seed, metas in enumerate(rubrics or _paper_rubrics(), _TRIAL_SEED)]
    first = trials[:_FITTED_WORLDS]
    judges = {row["judge"]: row for row in targets.judges.to_dicts()}
    reference = judges[REFERENCE_JUDGE] | {"leniency": 0.0}
    begin = {row["model"]: row for row in start.to_dicts()} if start is not None else {}
    models, leniency = [], []
    for target in targets.models.to_dicts():
        fitted = _fitted_model(first, target, reference, begin.get(target["model"]), iterations)
        model = _settled_model(trials, fitted, reference, target)
        models.append(model)
        leniency.append({"judge": REFERENCE_JUDGE, "model": model["model"], "leniency": 0.0})
        for gap in targets.gaps.filter(model=model["model"]).to_dicts():
            value = _solve_leniency(first, model, reference, judges[gap["judge"]], gap["gap"])
            leniency.append({"judge": gap["judge"], "model": model["model"], "leniency": value})
    known = targets.models.select("model", "name", "maker", "family", "weights")
    return Calibration(
        known.join(pl.DataFrame(models).select("model", *_SOLVED), on="model", maintain_order="left"),
        targets.judges,
        pl.DataFrame(leniency).sort("judge", "model"),
    )


@dataclass(frozen=True)
class _Trial:
    """One world of a calibration: its checks, and the random numbers that every trial of constants shares."""

    layout: _Layout
    traits: Traits
    shared: _Questions
    seed: int

    def codes(self, model: dict[str, Any], judge: dict[str, Any], variant: str) -> np.ndarray:
        answers = _draw_answers(self.layout, self.traits, self.shared, model, variant, self.seed)
        rng = _stream(self.seed, "judge", judge["judge"], model["model"], variant)
        return _judge_answers(self.layout, answers, judge, model["partial_width"], self.traits.block, rng)

    def row(self, model: dict[str, Any], judge: dict[str, Any], variant: str) -> np.ndarray:
        """The expected row of a table, in the order of `_MULTIMODAL_TARGETS`."""
        codes = self.codes(model, judge, variant)
        return _table_row(self.layout, codes, self.layout.asked[VARIANTS.index(variant)])


def _trial(metas: Sequence[MetaRubric], traits: Traits, seed: int) -> _Trial:
    layout = _layout(*_compiled(metas))
    return _Trial(layout, traits, _draw_questions(layout, traits, seed), seed)


def _paper_rubrics() -> Iterator[list[MetaRubric]]:
    return (draw_rubrics(seed=_TRIAL_SEED + number) for number in range(_WORLDS))


def _fitted_model(
    trials: Sequence[_Trial],
    target: dict[str, Any],
    judge: dict[str, Any],
    start: dict[str, Any] | None,
    iterations: int,
) -> dict[str, Any]:
    wanted = np.array([target[name] for name in (*_MULTIMODAL_TARGETS, "text_only")])

    def off(constants: np.ndarray) -> np.ndarray:
        model = _as_model(target["model"], constants)
        multimodal = np.mean([trial.row(model, judge, "multimodal") for trial in trials], axis=0)
        text_only = np.mean([trial.row(model, judge, "text_only")[0] for trial in trials])
        return (wanted - np.append(multimodal, text_only)) / _TOLERANCE

    begin = _START if start is None else np.array([start[name] for name in _SOLVED])
    return _as_model(target["model"], _least_squares(off, begin, iterations))


def _settled_model(
    trials: Sequence[_Trial], model: dict[str, Any], judge: dict[str, Any], wanted: dict[str, Any]
) -> dict[str, Any]:
    """Move abilities and misrecognition until score and text-only gain are on target, tier scores near theirs.

    Full steps bring them near; the shrinking ones after them average the grain of the draws (stochastic approximation:
    Robbins and Monro 1951). In rubrics of another shape than the published one not all targets can be met: score first.
    """
    weights = np.array([0.6, 0.3, 0.1])
    for number, trial in enumerate(trials):
        step = 1 / max(1, number)
        row = trial.row(model, judge, "multimodal")
        gain = trial.row(model, judge, "text_only")[0] - row[0]
        score, tiers = np.split(np.array([wanted[name] for name in _MULTIMODAL_TARGETS[:4]]) - row[:4], [1])
        tiers = np.nan_to_num(tiers)
        moves = step * (tiers + score - weights @ tiers) / _SCORE_PER_ABILITY
        more = step * np.nan_to_num(wanted["text_only"] - wanted["gamut"] - gain) / _GAIN_PER_MISRECOGNITION
        model = model | {tier: model[tier] + float(move) for tier, move in zip(TIERS, moves, strict=True)}
        model["misrecognition"] = float(np.clip(model["misrecognition"] + more, 0.005, 0.8))
    return model


def _as_model(name: str, constants: np.ndarray) -> dict[str, Any]:
    return {"model": name, **dict(zip(_SOLVED, constants.tolist(), strict=True))}


def _least_squares(off: Callable[[np.ndarray], np.ndarray], start: np.ndarray, iterations: int) -> np.ndarray:
    """Constants that make the scaled deviations `off` least; steps are large enough to see past the draw's grain."""
    best, deviation, damping = start, off(start), 0.1
    for _ in range(iterations):
        jacobian = np.stack([off(best + step) - deviation for step in np.diag(_STEP)], axis=1) / _STEP
        before = deviation @ deviation
        for _ in range(6):
            trial = np.clip(best + _damped_move(jacobian, deviation, damping), _LOWER, _UPPER)
            trial_deviation = off(trial)
            if trial_deviation @ trial_deviation < before:
                best, deviation, damping = trial, trial_deviation, damping / 5
                break
            damping *= 4
        if deviation @ deviation > 0.97 * before:
            break
    return best


def _damped_move(jacobian: np.ndarray, deviation: np.ndarray, damping: float) -> np.ndarray:
    curvature = jacobian.T @ jacobian
    damped = curvature + damping * np.diag(np.diag(curvature))
    return np.clip(-np.linalg.solve(damped, jacobian.T @ deviation), -0.5, 0.5)


def _solve_leniency(
    trials: Sequence[_Trial], model: dict[str, Any], reference: dict[str, Any], judge: dict[str, Any], gap: float
) -> float:
    """The leniency at which a judge's expected score lies so far from the reference judge's (secant steps)."""

    def score(judge: dict[str, Any], leniency: float) -> float:
        seen_by = judge | {"leniency": leniency}
        return float(np.mean([trial.row(model, seen_by, "multimodal")[0] for trial in trials]))

    wanted = score(reference, 0.0) + gap
    value, off, slope = 0.0, score(judge, 0.0) - wanted, _SCORE_PER_LENIENCY
    for _ in range(4):
        moved = value - off / slope
        moved_off = score(judge, moved) - wanted
        if abs(moved_off) < 0.02:
            return moved
        if abs(moved - value) > 0.02:
            slope = max((moved_off - off) / (moved - value), 10.0)
        value, off = moved, moved_off
    return value


# ---------------------------------------------------------------------------------------------------------------------
# The same models on other rubrics

_SETTLING_QUESTIONS = 1800
_SETTLING_STEPS = 8


def _settled(metas: Sequence[MetaRubric], calibration: Calibration, targets: Targets, traits: Traits) -> Calibration:
    """Settle the models on many copies of these rubrics, whose questions and answers are drawn anew at each step."""
    layout = _layout(*_copied(_compiled(metas), -(-_SETTLING_QUESTIONS // len(metas))))
    seeds = [_TRIAL_SEED + step for step in range(_SETTLING_STEPS)]
    trials = [_Trial(layout, traits, _draw_questions(layout, traits, seed), seed) for seed in seeds]
    judge = targets.judges.filter(judge=REFERENCE_JUDGE).to_dicts()[0] | {"leniency": 0.0}
    wanted = {row["model"]: row for row in targets.models.to_dicts()}
    models = [_settled_model(trials, row, judge, wanted[row["model"]]) for row in calibration.models.to_dicts()]
    return replace(calibration, models=pl.DataFrame(models, schema=calibration.models.schema))


def _copied(compiled: tuple[pl.DataFrame, pl.DataFrame], copies: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    multimodal, text_only = (
        pl.concat([checks.with_columns(pl.col("question_id") + f"#{copy:04d}") for copy in range(copies)]).sort(
            "question_id", "check_id"
        )
        for checks in compiled
    )
    return multimodal, text_only


# ---------------------------------------------------------------------------------------------------------------------
# Freezing the constants: python -m gamut_analysis.simulate solves them anew (some minutes) and rewrites two files


def freeze(calibration: Calibration, folder: Path = CALIBRATION) -> None:
    """Write solved constants where `paper_calibration` reads them."""
    head = "# Solved by calibrate() of simulate.py for the targets beside this file, in units of the latent scale.\n"
    tables = {"models": calibration.models.select("model", *_SOLVED), "leniency": calibration.leniency}
    for name, table in tables.items():
        text = head + table.write_csv(float_precision=4)
        (folder / f"{name}.csv").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    freeze(calibrate(paper_targets()))
