"""Judge against judge, check by check: how far verdicts agree, beyond chance and in points.

Checks are summed up by their pattern, the verdict each judge gave (``verdict_patterns``), or by 4 x 4 tables of two
judges (``verdict_tables``, the mart ``judge_pairs``). Every coefficient is a function of sums over questions, so that a
resample of questions is one product, weights @ sums, for all coefficients, models and pairs. There are always four
verdicts, whichever happen to occur; the low-level functions take other sets of labels too, for textbook data.

Intervals are expanded percentile intervals over questions or their clusters (Hesterberg 2015, American Statistician
69:371): the percentile interval at the level that makes it as wide as Student's t for that many clusters.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations, permutations
from typing import Any

import numpy as np
import polars as pl

from gamut_analysis.errors import InputError
from gamut_analysis.intervals import (
    LEVEL,
    PAIR,
    REPLICATES,
    SEED,
    clustered_error,
    each_pair_once,
    few_clusters_warning,
    locate_cells,
    no_interval_reason,
    number_rows,
    percentile_interval,
    quotient,
    resample_counts,
)
from gamut_analysis.scoring import Scoring
from gamut_analysis.vocabulary import VERDICTS

Q = len(VERDICTS)
TABLE_COLUMNS = tuple(f"n_{a}{b}" for a in range(Q) for b in range(Q))
POINTS = Scoring().values

Weights = str | np.ndarray
Measure = Callable[[Any], np.ndarray]

_UNIT = ("model", "variant", "question_id", "check_id", "replicate")
# Bytes of resampled sums held at once: groups are worked through in blocks of this size.
_BLOCK = 16_000_000
# A step this small leaves no rounding in a complex-step derivative (Squire & Trapp 1998).
_STEP = 1e-20
_ONE_LABEL = "only one verdict occurs: chance agreement is complete"


# --- sums over checks -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tallies:
    """All that the coefficients need of a set of checks, as sums over them; trailing axes (groups, resamples) are free.

    agree (q, q, ...): sum of n_k (n_l - [k = l]) / (n (n - 1)) over checks with n >= 2 verdicts, n_k of them k.
    coincidence (q, q, ...): the same with 1 / (n - 1), Krippendorff's matrix.
    shares (q, ...): sum of n_k / n over checks with a verdict. verdicts (judges, q, ...): what each judge gave.
    """

    agree: np.ndarray
    coincidence: np.ndarray
    shares: np.ndarray
    verdicts: np.ndarray

    @property
    def q(self) -> int:
        """How many labels there are, whether they occur or not."""
        return len(self.shares)

    @cached_property
    def checks(self) -> np.ndarray:
        """How many checks were judged at least twice."""
        return self.agree.sum(axis=(0, 1))

    @cached_property
    def judges(self) -> np.ndarray:
        """How many judges gave a verdict."""
        return (self.verdicts.sum(axis=1) != 0).sum(axis=0)

    @cached_property
    def prevalence(self) -> np.ndarray:
        """The share of each label: (q, ...)."""
        return quotient(self.shares, self.shares.sum(axis=0))

    @cached_property
    def marginals(self) -> np.ndarray:
        """The share of each label among the verdicts of each judge, 0 for a judge without any: (judges, q, ...)."""
        totals = self.verdicts.sum(axis=1, keepdims=True)
        return self.verdicts / np.where(totals == 0, 1, totals)


def tally_ratings(ratings: np.ndarray, *, q: int = Q) -> Tallies:
    """Sum up ratings (checks, judges), coded 0 to q - 1 and NaN or negative where a judge gave none.

    >>> tally_ratings(np.array([[0, 0], [0, 2], [3, -1]])).shares.tolist()
    [1.5, 0.0, 0.5, 1.0]
    """
    ratings = np.asarray(ratings, dtype=np.float64)
    codes = np.where(np.isnan(ratings), -1, ratings).astype(np.int64)
    return _unpack(_tallies_of_patterns(codes, q).sum(axis=0), q)


def tally_table(table: np.ndarray) -> Tallies:
    """Sum up tables (q, q, ...) of two judges: along the first axis what the first gave, along the second the other."""
    both = table + np.swapaxes(table, 0, 1)
    verdicts = np.stack([table.sum(axis=1), table.sum(axis=0)])
    return Tallies(both / 2, both, verdicts.sum(axis=0) / 2, verdicts)


def _tallies_of_patterns(codes: np.ndarray, q: int = Q) -> np.ndarray:
    """The flat tallies of single checks: codes (checks, judges) -> (checks, 2 q q + q + judges q)."""
    given = codes[:, :, None] == np.arange(q)
    counts = given.sum(axis=1).astype(np.float64)
    n = counts.sum(axis=1)[:, None, None]
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(q)
    coincidence = np.divide(pairs, n - 1, out=np.zeros_like(pairs), where=n > 1)
    agree = np.divide(coincidence, n, out=np.zeros_like(pairs), where=n > 1)
    shares = np.divide(counts, n[:, 0], out=np.zeros_like(counts), where=n[:, 0] > 0)
    parts = (agree, coincidence, shares, given)
    return np.concatenate([part.reshape(len(codes), math.prod(part.shape[1:])) for part in parts], axis=1)


def _unpack(flat: np.ndarray, q: int = Q) -> Tallies:
    """Name the parts of flat tallies (2 q q + q + judges q, ...)."""
    agree, coincidence, shares, verdicts = np.split(flat, [q * q, 2 * q * q, 2 * q * q + q])
    free, judges = flat.shape[1:], len(verdicts) // q
    square = (q, q, *free)
    return Tallies(agree.reshape(square), coincidence.reshape(square), shares, verdicts.reshape(judges, q, *free))


def _unpack_table(flat: np.ndarray) -> Tallies:
    return tally_table(flat.reshape(Q, Q, *flat.shape[1:]))


# --- coefficients -----------------------------------------------------------------------------------------------------


def agreement_weights(kind: str, q: int = Q, *, values: Sequence[float] = POINTS) -> np.ndarray:
    """How much two labels agree, (q, q) with 1 on the diagonal.

    kind: nominal (0 elsewhere), linear 1 - |i - j| / (q - 1), quadratic 1 - (i - j)^2 / (q - 1)^2, ordinal
    1 - C(|i - j| + 1, 2) / C(q, 2) (Gwet 2014), points 1 - |v_i - v_j| / (max v - min v), v the worth of each verdict.
    Raises ValueError for another kind.

    >>> agreement_weights("points")[0].round(3).tolist()
    [1.0, 0.833, 0.667, 0.0]
    """
    gap = np.abs(np.subtract.outer(np.arange(q), np.arange(q)))
    if kind == "nominal":
        return np.eye(q)
    if kind == "linear":
        return 1 - gap / (q - 1)
    if kind == "quadratic":
        return 1 - (gap / (q - 1)) ** 2
    if kind == "ordinal":
        return 1 - gap * (gap + 1) / (q * (q - 1))
    if kind == "points":
        return 1 - np.abs(np.subtract.outer(values, values)) / (max(values) - min(values))
    raise ValueError(f"weights {kind!r}: nominal, linear, quadratic, ordinal or points is needed")


def percent_agreement(tallies: Tallies, weights: Weights = "nominal") -> np.ndarray:
    """Share of the pairs of verdicts on a check that agree, averaged over the checks judged at least twice.

    weights: how much two labels agree, a kind of `agreement_weights` or a matrix (q, q); here and in every coefficient.
    NaN where no check was judged twice.

    >>> percent_agreement(tally_table(np.diag([3, 0, 1, 0]))).item()
    1.0
    """
    return quotient(np.tensordot(_weights(weights, tallies), tallies.agree, 2), tallies.checks)


def kappa(tallies: Tallies, weights: Weights = "nominal") -> np.ndarray:
    """Cohen's kappa of two judges, Conger's of more: chance agreement from each judge's own marginals.

    Formula: (po - pe) / (1 - pe), pe = mean over ordered pairs of judges g != h of sum_kl w_kl p_gk p_hl.
    Source: Cohen 1960, 1968; Conger 1980; missing ratings as in Gwet 2014. NaN where pe = 1 or there is one judge.

    >>> round(kappa(tally_table(np.array([[88, 14, 18], [10, 40, 10], [2, 6, 12]]))).item(), 3)
    0.492
    """
    matrix = _weights(weights, tallies)
    together = _form(tallies.marginals.sum(axis=0), matrix)
    alone = sum(_form(judge, matrix) for judge in tallies.marginals)
    expected = quotient(together - alone, tallies.judges * (tallies.judges - 1))
    return _beyond_chance(percent_agreement(tallies, matrix), expected)


def fleiss_kappa(tallies: Tallies, weights: Weights = "nominal") -> np.ndarray:
    """Fleiss' kappa (Scott's pi of two judges): chance agreement from the verdicts of all judges together.

    Formula: (po - pe) / (1 - pe), pe = sum_kl w_kl pi_k pi_l, pi_k = mean over checks of n_k / n.
    Source: Scott 1955; Fleiss 1971; missing ratings as in Gwet 2014. NaN where pe = 1.

    >>> fleiss_kappa(tally_ratings(np.array([[0, 2], [2, 0]]))).item()
    -1.0
    """
    matrix = _weights(weights, tallies)
    return _beyond_chance(percent_agreement(tallies, matrix), _form(tallies.prevalence, matrix))


def gwet_ac(tallies: Tallies, weights: Weights = "nominal") -> np.ndarray:
    """Gwet's AC1 (nominal weights) or AC2: chance agreement only where verdicts are uncertain.

    Formula: (po - pe) / (1 - pe), pe = sum w / (q (q - 1)) * sum_k pi_k (1 - pi_k), q the number of labels that there
    are, not of those that occur. Source: Gwet 2008, 2014. Defined, and 1, where all verdicts are the same.

    >>> gwet_ac(tally_ratings(np.array([[0, 0], [0, 0]]))).item()
    1.0
    """
    matrix, q = _weights(weights, tallies), tallies.q
    uncertain = (tallies.prevalence * (1 - tallies.prevalence)).sum(axis=0)
    return _beyond_chance(percent_agreement(tallies, matrix), matrix.sum() / (q * (q - 1)) * uncertain)


def brennan_prediger(tallies: Tallies, weights: Weights = "nominal") -> np.ndarray:
    """Brennan and Prediger's coefficient (1981): chance agreement sum w / q^2, as if all labels were equally likely."""
    matrix = _weights(weights, tallies)
    return _beyond_chance(percent_agreement(tallies, matrix), matrix.sum() / tallies.q**2)


def krippendorff_alpha(tallies: Tallies, metric: str | np.ndarray = "nominal") -> np.ndarray:
    """Krippendorff's alpha: 1 - observed / expected disagreement over the pairable verdicts.

    metric: nominal, ordinal (ranks from the verdicts that occur), interval (labels one apart) or squared distances
    (q, q). Formula: 1 - (n - 1) sum_kl o_kl d_kl / sum_kl n_k n_l d_kl, o the coincidence matrix, n_k its margins, n
    their sum. Source: Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability". NaN where one label occurs.

    >>> krippendorff_alpha(tally_ratings(np.array([[0, 0, -1], [2, -1, 2], [-1, 0, -1], [1, 0, 1]]))).item()
    0.625
    """
    margins = tallies.coincidence.sum(axis=1)
    if isinstance(metric, str) and metric == "ordinal":
        ranks = np.cumsum(margins, axis=0) - margins / 2
        observed, expected = _ranked_disagreement(tallies.coincidence, margins, ranks)
    else:
        distance = metric if isinstance(metric, np.ndarray) else _squared_distances(metric, tallies.q)
        observed, expected = np.tensordot(distance, tallies.coincidence, 2), _form(margins, distance)
    return 1 - quotient((margins.sum(axis=0) - 1) * observed, expected)


def specific_agreement(tallies: Tallies) -> np.ndarray:
    """Given that a judge said k, how often another one says k too: (q, ...).

    Formula: o_kk / n_k of the coincidence matrix; for two judges 2 n_kk / (n_k. + n_.k).
    Source: Cicchetti & Feinstein 1990; Spitzer & Fleiss 1974. NaN for a verdict that does not occur.

    >>> specific_agreement(tally_table(np.array([[6, 1], [1, 2]]))).round(3).tolist()
    [0.857, 0.667]
    """
    labels = np.arange(tallies.q)
    return quotient(tallies.coincidence[labels, labels], tallies.coincidence.sum(axis=1))


def _squared_distances(metric: str, q: int) -> np.ndarray:
    if metric == "nominal":
        return 1 - np.eye(q)
    if metric == "interval":
        return np.subtract.outer(np.arange(q), np.arange(q)).astype(np.float64) ** 2
    raise ValueError(f"metric {metric!r}: nominal, ordinal, interval or squared distances are needed")


def _ranked_disagreement(
    coincidence: np.ndarray, margins: np.ndarray, ranks: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Observed and expected disagreement with distances between ranks that differ from one resample to the next."""
    pairs = list(combinations(range(len(ranks)), 2))
    distances = [(ranks[i] - ranks[j]) ** 2 for i, j in pairs]
    observed = sum(2 * coincidence[pair] * distance for pair, distance in zip(pairs, distances, strict=True))
    expected = sum(2 * margins[i] * margins[j] * distance for (i, j), distance in zip(pairs, distances, strict=True))
    return np.asarray(observed), np.asarray(expected)


def _weights(weights: Weights, tallies: Tallies) -> np.ndarray:
    return agreement_weights(weights, tallies.q) if isinstance(weights, str) else weights


def _form(p: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The quadratic form p w p over the first axis."""
    return (np.tensordot(weights, p, 1) * p).sum(axis=0)


def _beyond_chance(observed: np.ndarray, expected: np.ndarray | float) -> np.ndarray:
    return quotient(observed - expected, 1 - expected)


def coefficients(values: Sequence[float] = POINTS) -> dict[str, Measure]:
    """The coefficients of a report by name, each a function of tallies; values are the worth of the four verdicts.

    percent and percent_points (agreement in points of the score); kappa (Cohen's of a pair, Conger's of more), linear,
    quadratic and in points; fleiss; alpha nominal, ordinal, interval; ac1, ac2 linear and quadratic.
    """
    points = agreement_weights("points", values=values)
    return {
        "percent": percent_agreement,
        "percent_points": partial(percent_agreement, weights=points),
        "kappa": kappa,
        "kappa_linear": partial(kappa, weights="linear"),
        "kappa_quadratic": partial(kappa, weights="quadratic"),
        "kappa_points": partial(kappa, weights=points),
        "fleiss": fleiss_kappa,
        "alpha_nominal": krippendorff_alpha,
        "alpha_ordinal": partial(krippendorff_alpha, metric="ordinal"),
        "alpha_interval": partial(krippendorff_alpha, metric="interval"),
        "ac1": gwet_ac,
        "ac2_linear": partial(gwet_ac, weights="linear"),
        "ac2_quadratic": partial(gwet_ac, weights="quadratic"),
    }


def _verdict_measures() -> dict[str, Measure]:
    """For each verdict against the three others: names `verdict/coefficient`, with two labels there, so q is 2."""
    measures: dict[str, Measure] = {}
    for k, verdict in enumerate(VERDICTS):
        measures[f"{verdict}/specific"] = partial(_specific_to, k=k)
        measures[f"{verdict}/kappa"] = partial(_one_against_rest, k=k, coefficient=kappa)
        measures[f"{verdict}/alpha"] = partial(_one_against_rest, k=k, coefficient=krippendorff_alpha)
        measures[f"{verdict}/ac1"] = partial(_one_against_rest, k=k, coefficient=gwet_ac)
    return measures


def _specific_to(tallies: Tallies, k: int) -> np.ndarray:
    return specific_agreement(tallies)[k]


def _one_against_rest(tallies: Tallies, k: int, coefficient: Measure) -> np.ndarray:
    fold = np.zeros((2, Q))
    fold[(np.arange(Q) != k).astype(int), np.arange(Q)] = 1
    agree, coincidence = (np.einsum("ak,kl...,bl->ab...", fold, m, fold) for m in (tallies.agree, tallies.coincidence))
    verdicts = np.einsum("ak,jk...->ja...", fold, tallies.verdicts)
    return coefficient(Tallies(agree, coincidence, np.tensordot(fold, tallies.shares, 1), verdicts))


# --- from verdicts to patterns and tables -----------------------------------------------------------------------------


def verdict_patterns(verdicts: pl.DataFrame, *, by: Sequence[str] = ("model", "variant")) -> pl.DataFrame:
    """Count the checks of each question by what its judges gave: the sums from which all coefficients follow.

    verdicts: judge, question_id, check_id, verdict (null where ungraded) and, where there are several, model, variant
    and replicate; with whatever columns `by` names (tier, role, domain). Returns `by`, question_id, pattern (a JSON
    object: judge to verdict) and checks, sorted. Ungraded verdicts are left out, never a label of their own. Repeated
    gradings meet by their number: grading 0 of one judge that of another, and what only one judge has is a verdict
    alone. Raises InputError when a judge has two verdicts on one check of one grading.

    >>> verdicts = pl.DataFrame({"model": "m", "question_id": "q1", "check_id": ["c1", "c1", "c2", "c2"],
    ...                          "judge": ["a", "b", "a", "b"], "verdict": ["meets", "missing", "meets", None]})
    >>> verdict_patterns(verdicts, by=()).rows()
    [('q1', '{"a": "meets", "b": "missing"}', 1), ('q1', '{"a": "meets"}', 1)]
    """
    graded = verdicts.filter(pl.col("verdict").is_not_null())
    judges = sorted(graded["judge"].cast(pl.String).unique().to_list())
    names = [f"judge {i}" for i in range(len(judges))]
    label = pl.col("verdict").cast(pl.Enum(VERDICTS)).to_physical()
    given = [
        pl.when(pl.col("judge") == judge).then(label).max().alias(name)
        for name, judge in zip(names, judges, strict=True)
    ]
    unit = [column for column in dict.fromkeys([*_UNIT, *by]) if column in graded.columns]
    units = graded.lazy().group_by(unit).agg(*given, pl.len().alias("rows")).collect()
    _refuse_repeats(units, names)
    kept = list(dict.fromkeys([*by, "question_id"]))
    counted = units.group_by(*kept, *names).agg(pl.len().cast(pl.Int64).alias("checks"))
    if counted.is_empty():
        return counted.select(*kept, pl.lit(None, pl.String).alias("pattern"), "checks")
    spelt = _spell(counted.select(names).unique(), judges)
    return counted.join(spelt, on=names, nulls_equal=True).select(*kept, "pattern", "checks").sort(*kept, "pattern")


def _refuse_repeats(units: pl.DataFrame, names: list[str]) -> None:
    given = pl.sum_horizontal([pl.lit(0), *(pl.col(name).is_not_null() for name in names)])
    repeats = units.filter(pl.col("rows") != given)
    if len(repeats):
        first = {key: value for key, value in repeats.row(0, named=True).items() if key in _UNIT}
        raise InputError(f"{len(repeats)} checks have two verdicts of one judge, the first at {first}: one is needed")


def _spell(patterns: pl.DataFrame, judges: list[str]) -> pl.DataFrame:
    """Add the text of each pattern: rows of verdict codes, one column a judge, null for none."""
    texts = [
        json.dumps({judge: VERDICTS[code] for judge, code in zip(judges, row, strict=True) if code is not None})
        for row in patterns.rows()
    ]
    return patterns.with_columns(pl.Series("pattern", texts, dtype=pl.String))


def _read_patterns(patterns: pl.Series) -> tuple[np.ndarray, list[str], np.ndarray]:
    """Codes (distinct patterns, judges), -1 for none; the judges; and which distinct pattern each row has."""
    texts = patterns.unique().sort()
    given = [json.loads(text) for text in texts]
    judges = sorted({judge for pattern in given for judge in pattern})
    try:
        codes = [[VERDICTS.index(pattern[judge]) if judge in pattern else -1 for judge in judges] for pattern in given]
    except ValueError as error:
        raise InputError(
            f"a pattern holds a label that is no verdict ({error}); legal: {', '.join(VERDICTS)}"
        ) from None
    rows = patterns.cast(pl.Enum(texts)).to_physical().to_numpy().astype(np.int64)
    return np.array(codes, dtype=np.int64).reshape(len(texts), len(judges)), judges, rows


def verdict_tables(verdicts: pl.DataFrame, *, by: Sequence[str] = ("model", "variant")) -> pl.DataFrame:
    """Cross-tabulate every ordered pair of judges on each question: the shape of the mart `judge_pairs`.

    verdicts, by: as in `verdict_patterns`, gradings paired by their number. Returns `by`, question_id, judge_a, judge_b
    and n_00 ... n_33, n_ij the checks on which a gave code i and b code j (0 meets ... 3 contradicts).

    >>> verdicts = pl.DataFrame({"question_id": "q1", "check_id": ["c1", "c1", "c2", "c2"],
    ...                          "judge": ["a", "b", "a", "b"], "verdict": ["meets", "missing", "meets", "meets"]})
    >>> verdict_tables(verdicts, by=()).select("judge_a", "n_00", "n_02", "n_20").rows()
    [('a', 1, 1, 0), ('b', 1, 0, 1)]
    """
    return pattern_tables(verdict_patterns(verdicts, by=by))


def pattern_tables(patterns: pl.DataFrame) -> pl.DataFrame:
    """The tables of `verdict_tables` from patterns, at their grain."""
    codes, judges, rows = _read_patterns(patterns["pattern"])
    grain = [column for column in patterns.columns if column not in ("pattern", "checks")]
    places, place = number_rows(patterns, grain)
    tables = [_empty_tables(places)]
    for a, b in permutations(range(len(judges)), 2):
        counts = _cross_tabulate(codes[rows, a], codes[rows, b], place, patterns["checks"].to_numpy(), len(places))
        names = pl.DataFrame({"judge_a": judges[a], "judge_b": judges[b]})
        table = pl.concat([places, names[np.zeros(len(places), dtype=int)], counts], how="horizontal")
        tables.append(table.filter(pl.any_horizontal(pl.col(TABLE_COLUMNS) > 0)))
    return pl.concat(tables).sort(*grain, *PAIR)


def _cross_tabulate(
    first: np.ndarray, second: np.ndarray, place: np.ndarray, checks: np.ndarray, places: int
) -> pl.DataFrame:
    both = (first >= 0) & (second >= 0)
    cell = place[both] * Q * Q + first[both] * Q + second[both]
    counts = np.bincount(cell, checks[both], minlength=places * Q * Q).reshape(places, Q * Q)
    return pl.DataFrame(counts.astype(np.int32), schema=TABLE_COLUMNS)


def _empty_tables(places: pl.DataFrame) -> pl.DataFrame:
    schema = dict.fromkeys(PAIR, pl.String) | dict.fromkeys(TABLE_COLUMNS, pl.Int32)
    return pl.concat([places.clear(), pl.DataFrame(schema=schema)], how="horizontal")


# --- judges that are models -------------------------------------------------------------------------------------------


def self_judged(frame: pl.DataFrame, selves: Mapping[str, str] | None = None) -> pl.Series:
    """Which rows hold a judge's verdict on the model that it is: a Boolean for each row.

    frame: with model and judge, or with model, judge_a and judge_b. selves: judge to model; without it, a judge is the
    model of its own name.

    >>> self_judged(pl.DataFrame({"model": ["a", "b"], "judge": ["a", "a"]})).to_list()
    [True, False]
    """
    columns = [column for column in ("judge", *PAIR) if column in frame.columns]
    model = pl.col("model").cast(pl.String)
    if selves is None:
        own = [pl.col(column).cast(pl.String) for column in columns]
    else:
        own = [pl.col(column).cast(pl.String).replace_strict(selves, default=None) for column in columns]
    return frame.select(pl.any_horizontal(model.eq_missing(name) for name in own).alias("self_judged")).to_series()


def with_and_without_self(frame: pl.DataFrame, selves: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Stack the frame on itself without its self-judged rows; the new column `self_judged` says `with` or `without`.

    With that column in `by`, every function here and every summary gives both readings side by side.

    >>> frame = pl.DataFrame({"model": ["a", "b"], "judge": ["a", "a"]})
    >>> with_and_without_self(frame)["self_judged"].to_list()
    ['with', 'with', 'without']
    """
    kind = pl.Enum(["with", "without"])
    rest = frame.filter(~self_judged(frame, selves))
    return pl.concat(
        [frame.with_columns(self_judged=pl.lit("with", kind)), rest.with_columns(self_judged=pl.lit("without", kind))]
    )


def patterns_without_self(patterns: pl.DataFrame, selves: Mapping[str, str] | None = None) -> pl.DataFrame:
    """The same counts without what each judge gave to the model that it is.

    patterns: from `verdict_patterns`, by model at least; selves: as in `self_judged`. Checks on which no other judge
    gave a verdict are left out.

    >>> patterns = pl.DataFrame({"model": ["a"], "question_id": "q", "pattern": '{"a": "meets", "b": "missing"}'})
    >>> patterns_without_self(patterns)["pattern"].item()
    '{"b": "missing"}'
    """
    distinct = patterns.select("model", "pattern").unique()
    texts = []
    for model, text in distinct.select(pl.col("model").cast(pl.String), "pattern").iter_rows():
        given = json.loads(text)
        kept = {
            judge: label for judge, label in given.items() if (judge if selves is None else selves.get(judge)) != model
        }
        texts.append(json.dumps(kept) if kept else None)
    told = distinct.with_columns(kept=pl.Series(texts, dtype=pl.String))
    joined = patterns.join(told, on=["model", "pattern"], how="left", maintain_order="left")
    return joined.with_columns(pattern=pl.col("kept")).drop("kept").drop_nulls("pattern")


# --- reports ----------------------------------------------------------------------------------------------------------


def agreement(
    patterns: pl.DataFrame,
    *,
    by: Sequence[str] = (),
    questions: pl.DataFrame | None = None,
    values: Sequence[float] = POINTS,
    level: float = LEVEL,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> pl.DataFrame:
    """Agreement of all judges on checks: every coefficient of `coefficients`, with intervals over questions.

    patterns: from `verdict_patterns`, holding the columns `by`; questions: question_id and cluster, when some share
    one; values: the worth of the four verdicts. A row a group and coefficient: estimate, low, high, standard_error
    (linearised, by cluster), n (checks judged at least twice), clusters (questions, or clusters, with a verdict),
    judges, the share of each verdict, warning, reason (why there is no estimate or no interval).
    Measured coverage at 95 %, 1,000 worlds of three judges: 94.1 to 95.2 % with 40 questions, 93.7 to 95.3 % with 150.

    >>> patterns = pl.DataFrame({"question_id": ["q1", "q1", "q2"], "checks": [3, 1, 2], "pattern": [
    ...     '{"a": "meets", "b": "meets"}', '{"a": "meets", "b": "missing"}', '{"a": "missing", "b": "missing"}']})
    >>> report = agreement(patterns, replicates=100)
    >>> report.filter(pl.col("coefficient") == "kappa").select("n", "clusters", pl.col("estimate").round(3)).row(0)
    (6, 2, 0.667)
    """
    cells = _pattern_cells(patterns, by, questions)
    return _report(cells, coefficients(values), level=level, replicates=replicates, seed=seed)


def verdict_agreement(
    patterns: pl.DataFrame,
    *,
    by: Sequence[str] = (),
    questions: pl.DataFrame | None = None,
    level: float = LEVEL,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> pl.DataFrame:
    """Agreement of all judges on each verdict: specific agreement, and kappa, alpha and AC1 of it against the rest.

    As `agreement`, with a column verdict; AC1 has q = 2 here, the verdict or another one. Measured coverage for a
    verdict of one check in eleven: 92.5 % with 40 questions, 95.5 % with 150.
    """
    cells = _pattern_cells(patterns, by, questions)
    return _split_verdict(_report(cells, _verdict_measures(), level=level, replicates=replicates, seed=seed))


def pair_agreement(
    tables: pl.DataFrame,
    *,
    by: Sequence[str] = (),
    questions: pl.DataFrame | None = None,
    values: Sequence[float] = POINTS,
    level: float = LEVEL,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> pl.DataFrame:
    """Agreement of every pair of judges on checks: as `agreement`, from tables (mart `judge_pairs`, `verdict_tables`).

    A row a group, pair (once, names in order) and coefficient; the shares of the verdicts are those of each judge,
    a_meets ... b_contradicts, over the checks that both graded.
    """
    cells = _table_cells(tables, by, questions)
    return _report(cells, coefficients(values), level=level, replicates=replicates, seed=seed)


def pair_verdict_agreement(
    tables: pl.DataFrame,
    *,
    by: Sequence[str] = (),
    questions: pl.DataFrame | None = None,
    level: float = LEVEL,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> pl.DataFrame:
    """Agreement of every pair of judges on each verdict: `verdict_agreement` for pairs, from tables."""
    cells = _table_cells(tables, by, questions)
    return _split_verdict(_report(cells, _verdict_measures(), level=level, replicates=replicates, seed=seed))


def _split_verdict(report: pl.DataFrame) -> pl.DataFrame:
    parts = pl.col("coefficient").str.split("/")
    verdict = parts.list.first().cast(pl.Enum(VERDICTS)).alias("verdict")
    before = report.columns[: report.columns.index("coefficient")]
    named = report.with_columns(verdict, parts.list.last().alias("coefficient"))
    return named.select(*before, "verdict", "coefficient", pl.exclude(*before, "verdict", "coefficient"))


# --- the engine: sums by cluster and group, resampled -----------------------------------------------------------------


@dataclass(frozen=True)
class _Cells:
    """Sums by group and cluster: groups (a row each), sums (k, groups, clusters), and what reads and describes them."""

    groups: pl.DataFrame
    sums: np.ndarray
    clustered: bool
    read: Callable[[np.ndarray], Tallies]
    describe: Callable[[Tallies], pl.DataFrame]

    @cached_property
    def total(self) -> Tallies:
        return self.read(self.sums.sum(axis=2))

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many clusters each group has."""
        return (self.sums != 0).any(axis=0).sum(axis=1)


def _pattern_cells(patterns: pl.DataFrame, by: Sequence[str], questions: pl.DataFrame | None) -> _Cells:
    codes, _, rows = _read_patterns(patterns["pattern"])
    groups, cell, shape = locate_cells(patterns, by, questions)
    weight = patterns["checks"].to_numpy().astype(np.float64)
    sums = _add_up(cell, rows, weight, _tallies_of_patterns(codes), shape)
    return _Cells(groups, sums, questions is not None, _unpack, _describe_panel)


def _table_cells(tables: pl.DataFrame, by: Sequence[str], questions: pl.DataFrame | None) -> _Cells:
    once = each_pair_once(tables)
    groups, cell, shape = locate_cells(once, [*by, *PAIR], questions)
    counts = once.select(TABLE_COLUMNS).to_numpy().astype(np.float64)
    sums = _add_up(cell, np.arange(len(once)), np.ones(len(once)), counts, shape)
    return _Cells(groups, sums, questions is not None, _unpack_table, _describe_pair)


def _add_up(
    cell: np.ndarray, item: np.ndarray, weight: np.ndarray, values: np.ndarray, shape: tuple[int, int]
) -> np.ndarray:
    """Add weight * values[item] into its cell: (k, groups, clusters)."""
    from scipy.sparse import csr_matrix

    counts = csr_matrix((weight, (cell, item)), shape=(shape[0] * shape[1], len(values)))
    return np.ascontiguousarray((counts @ values).T).reshape(values.shape[1], *shape)


def _report(
    cells: _Cells, measures: Mapping[str, Measure], *, level: float, replicates: int, seed: int
) -> pl.DataFrame:
    """The tidy frame of all measures in all groups, with intervals."""
    estimate = _measure(cells.total, measures)
    draws = _resample(cells, measures, replicates, seed)
    low, high = _expanded_interval(draws, cells.sizes, level)
    error = _linearised_error(cells, measures)
    undefined = np.where(np.isnan(estimate), 0.0, np.isnan(draws).mean(axis=2))
    return _tidy(
        cells, list(measures), {"estimate": estimate, "low": low, "high": high, "standard_error": error}, undefined
    )


def _measure(tallies: Tallies, measures: Mapping[str, Measure]) -> np.ndarray:
    return np.stack([measure(tallies) for measure in measures.values()])


def _resample(cells: _Cells, measures: Mapping[str, Measure], replicates: int, seed: int) -> np.ndarray:
    """Every measure in every group and resample: (measures, groups, replicates)."""
    k, groups, clusters = cells.sums.shape
    if clusters < 2:
        return np.full((len(measures), groups, 1), np.nan)
    weights = resample_counts(clusters, replicates=replicates, seed=seed).T
    step = max(1, _BLOCK // (8 * replicates * k))
    blocks = []
    for start in range(0, groups, step):
        part = cells.sums[:, start : start + step].astype(np.float32)
        drawn = (part.reshape(-1, clusters) @ weights).astype(np.float64)
        blocks.append(_measure(cells.read(drawn.reshape(k, -1, replicates)), measures))
    return np.concatenate(blocks, axis=1)


def _expanded_interval(draws: np.ndarray, clusters: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Expanded percentile intervals of draws (measures, groups, replicates); NaN where nothing varies."""
    low = np.full(draws.shape[:2], np.nan)
    high = low.copy()
    for size in np.unique(clusters[clusters > 1]):
        chosen = clusters == size
        drawn = np.moveaxis(draws[:, chosen], 2, 0)
        low[:, chosen], high[:, chosen] = percentile_interval(drawn, level=_expanded_level(size, level))
    varies = low < high
    return np.where(varies, low, np.nan), np.where(varies, high, np.nan)


def _expanded_level(clusters: int, level: float) -> float:
    from scipy.special import ndtr, stdtrit

    return float(2 * ndtr(np.sqrt(clusters / (clusters - 1)) * stdtrit(clusters - 1, (1 + level) / 2)) - 1)


def _linearised_error(cells: _Cells, measures: Mapping[str, Measure]) -> np.ndarray:
    """Standard errors: the derivative along the sums of each cluster, by a complex step; squared and added up."""
    stepped = cells.sums.sum(axis=2, keepdims=True) + 1j * _STEP * cells.sums
    influence = _measure(cells.read(stepped), measures).imag / _STEP
    return clustered_error(influence, cells.sizes, axis=2)


def _tidy(cells: _Cells, names: list[str], columns: dict[str, np.ndarray], undefined: np.ndarray) -> pl.DataFrame:
    """A row a group and measure, from arrays (measures, groups)."""
    described = cells.describe(cells.total).with_columns(clusters=pl.Series(cells.sizes))
    rows = np.repeat(np.arange(len(described)), len(names))
    numbers = pl.DataFrame({name: column.T.ravel() for name, column in columns.items()})
    report = pl.concat(
        [
            *([cells.groups[rows]] if cells.groups.width else []),
            pl.DataFrame({"coefficient": names * len(described)}, schema={"coefficient": pl.String}),
            numbers.fill_nan(None),
            described[rows],
        ],
        how="horizontal",
    )
    notes = [
        _explain(row, share, cells.clustered) for row, share in zip(report.to_dicts(), undefined.T.ravel(), strict=True)
    ]
    warning, reason = ([note[i] for note in notes] for i in (0, 1))
    texts = [pl.Series("warning", warning, dtype=pl.String), pl.Series("reason", reason, dtype=pl.String)]
    return report.drop("problem").with_columns(texts)


def _explain(row: dict[str, Any], undefined: float, clustered: bool) -> tuple[str | None, str | None]:
    """The warning and the reason of one row."""
    if row["estimate"] is None:
        return None, row["problem"] or _ONE_LABEL
    if row["low"] is None:
        # Without clusters each question is one.
        questions = row["clusters"] + clustered
        return None, no_interval_reason(
            questions, row["clusters"]
        ) or "every resample gives the same value: no interval"
    few = few_clusters_warning(row["clusters"])
    rare = f"undefined in {undefined:.0%} of the resamples" if undefined > 0.01 else None
    return "; ".join(filter(None, [few, rare])) or None, None


def _describe_panel(tallies: Tallies) -> pl.DataFrame:
    """Numbers of checks and judges, shares of the verdicts, and what stands in the way of a coefficient, by group."""
    frame = pl.DataFrame({"n": np.rint(tallies.checks).astype(np.int64), "judges": tallies.judges})
    shares = {verdict: tallies.prevalence[k] for k, verdict in enumerate(VERDICTS)}
    return _with_problem(frame.with_columns(**{name: pl.Series(share) for name, share in shares.items()}))


def _describe_pair(tallies: Tallies) -> pl.DataFrame:
    frame = pl.DataFrame({"n": np.rint(tallies.checks).astype(np.int64), "judges": tallies.judges})
    names = [f"{side}_{verdict}" for side in "ab" for verdict in VERDICTS]
    shares = tallies.marginals.reshape(2 * Q, -1)
    return _with_problem(frame.with_columns(pl.Series(name, share) for name, share in zip(names, shares, strict=True)))


def _with_problem(frame: pl.DataFrame) -> pl.DataFrame:
    problem = (
        pl.when(pl.col("judges") == 0)
        .then(pl.lit("no verdict"))
        .when(pl.col("judges") == 1)
        .then(pl.lit("one judge: agreement needs two"))
        .when(pl.col("n") == 0)
        .then(pl.lit("no check was judged twice"))
    )
    return frame.fill_nan(None).with_columns(problem.alias("problem"))
