"""How varied questions are: their openings, their words, how alike the nearest are, and the topics they fall into.

A question comes as its list of words (``words_of``), as its opening, or as a row of vectors: TF-IDF, or embeddings that
were made elsewhere. Nearly every measure of variety depends on how many texts it sees, so each is given twice: for the
whole collection, and at a fixed number of questions, where collections of different sizes can be compared. Samples are
drawn without replacement: a bootstrap draws questions twice, and takes the copies for a lack of variety.
"""

import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from gamut_analysis.errors import InputError
from gamut_analysis.intervals import LEVEL, SEED, percentile_interval, wilson_interval

REPLICATES = 200
SIZE = 50
TOP = 25
DUPLICATE = 0.8
MTLD_THRESHOLD = 0.72
BLEU_ORDER = 4
_EPSILON = 0.1

# What a larger value of each measure says of a collection.
MEASURES = {
    "distinct_1": "varied",
    "distinct_2": "varied",
    "distinct_3": "varied",
    "mtld": "varied",
    "vendi_score": "varied",
    "self_bleu": "alike",
    "repeated_4": "alike",
    "compression_ratio": "alike",
    "mean_similarity": "alike",
}
FEWEST = 10
FEWEST_FOR_TOPICS = 40
MOST_FOR_VENDI = 3000

# Words of asking, beside the usual stop words: any question may hold them, whatever it is about.
_ASKING = (
    "actually best called come comes did do does doing explain far get gets getting give given go goes going good got "
    "help just kind know let like long look looks make makes making mean means meant need needs really right said say "
    "says sure tell thing things think use used using walk want wants way ways"
)
OTHER = "…"
_HEADS = ("first_word", "first_two_words", "first_three_words")
INTERROGATIVES = (
    *("what", "what's", "which", "who", "who's", "whom", "whose", "when", "where", "where's", "why", "how", "how's"),
    *("is", "isn't", "are", "aren't", "was", "were", "am", "do", "don't", "does", "doesn't", "did", "didn't"),
    *("can", "can't", "could", "couldn't", "will", "won't", "would", "wouldn't", "shall", "should", "shouldn't"),
    *("may", "might", "must", "has", "have", "had"),
)


# --- openings ---------------------------------------------------------------------------------------------------------


def openings(words: pl.Series) -> pl.DataFrame:
    """Length and first words of each text, as the relation ``question_words`` has them.

    Returns ``words`` (their number), ``first_word``, ``first_two_words``, ``first_three_words`` and
    ``opens_with_interrogative``.

    >>> openings(pl.Series([["how", "do", "i", "start"]])).row(0)
    (4, 'how', 'how do', 'how do i', True)
    """
    first = pl.col("text").list.first()
    heads = {name: pl.col("text").list.head(n).list.join(" ") for n, name in enumerate(_HEADS, 1)}
    return (
        words.rename("text")
        .to_frame()
        .select(
            pl.col("text").list.len().cast(pl.Int64).alias("words"),
            **heads,
            opens_with_interrogative=first.str.replace("’", "'").is_in(INTERROGATIVES).fill_null(False),
        )
    )


def opening_coverage(openings: pl.Series) -> pl.DataFrame:
    """How few openings cover how many questions, the most common first.

    openings: the first word, two or three of each question. Returns ``rank``, ``opening``, ``questions``, ``share``,
    ``covered`` (of all questions, up to this rank) and ``n``.

    >>> opening_coverage(pl.Series(["what is", "how do", "what is", "why"])).select("opening", "covered").rows()
    [('what is', 0.5), ('how do', 0.75), ('why', 1.0)]
    """
    known = openings.drop_nulls().rename("opening")
    counted = known.to_frame().group_by("opening", maintain_order=True).agg(pl.len().cast(pl.Int64).alias("questions"))
    ranked = counted.sort("questions", "opening", descending=[True, False]).with_row_index("rank", offset=1)
    n = pl.lit(len(known), dtype=pl.Int64).alias("n")
    share = pl.col("questions") / len(known)
    return ranked.select(
        pl.col("rank").cast(pl.Int64),
        "opening",
        "questions",
        share.alias("share"),
        (pl.col("questions").cum_sum() / len(known)).alias("covered"),
        n,
    )


def top_share(
    openings: pl.Series,
    *,
    top: int = TOP,
    replicates: int = REPLICATES,
    seed: int = SEED,
    level: float = LEVEL,
) -> dict[str, Any]:
    """Share of questions that begin with one of the ``top`` most common openings: estimate, low, high, n, reason.

    The interval rests on half-samples: values of n/2 questions drawn without replacement stray from their mean as the
    value of n questions strays from its expectation; there is none where half-samples hold no more openings than
    ``top``. ``openings`` is the number of different ones.
    """
    codes = openings.drop_nulls().rank("dense").cast(pl.Int64).to_numpy() - 1
    n = len(codes)
    if not n:
        return _row(None, None, None, 0, "no question has a text") | {"openings": 0}
    kinds = int(codes.max()) + 1
    whole = float(np.sort(np.bincount(codes))[::-1][:top].sum() / n)
    if n < FEWEST:
        return _row(whole, None, None, n, f"{n} questions: too few for an interval") | {"openings": kinds}
    rows = samples(n, n // 2, replicates=replicates, seed=seed)
    keys = np.repeat(np.arange(replicates), rows.shape[1]) * kinds + codes[rows].ravel()
    counts = np.sort(np.bincount(keys, minlength=replicates * kinds).reshape(replicates, kinds), axis=1)
    draws = counts[:, ::-1][:, :top].sum(axis=1) / rows.shape[1]
    if (draws == 1).any():
        reason = f"half of the questions have no more than {top} openings"
        return _row(whole, None, None, n, reason) | {"openings": kinds}
    low, high = sampling_interval(whole, draws, size=rows.shape[1], n=n, level=level)
    return _row(whole, max(low, 0.0), min(high, 1.0), n, None) | {"openings": kinds}


def first_words(words: pl.DataFrame, *, level: float = LEVEL) -> pl.DataFrame:
    """How often questions begin with each word, and whether the word is an interrogative.

    words: ``first_word`` and ``opens_with_interrogative``, one row a question. Returns ``first_word``,
    ``is_interrogative``, ``questions`` and their share: ``estimate, low, high`` (Wilson), ``n``.
    """
    known = words.drop_nulls("first_word")
    counted = known.group_by("first_word", maintain_order=True).agg(
        pl.col("opens_with_interrogative").any().alias("is_interrogative"), pl.len().cast(pl.Int64).alias("questions")
    )
    return _with_share(counted, known.height, level).sort("questions", "first_word", descending=[True, False])


def opening_tree(openings: pl.Series, *, depth: int = 3, least: int = 2) -> pl.DataFrame:
    """The first words of all questions as a tree, laid out: each branch within its parent, the largest first.

    openings: the first words of each question, parted by blanks. Branches of fewer than ``least`` questions are taken
    together as ``…`` and not followed. Returns ``depth`` (from 1), ``path``, ``word``, ``questions``, ``share``, and
    where the branch lies: ``start`` and ``end`` in [0, 1].
    """
    known = openings.drop_nulls().str.split(" ")
    grown = pl.DataFrame({"words": known, "parent": pl.Series([""] * len(known), dtype=pl.String)})
    edges = pl.DataFrame({"parent": [""], "edge": [0.0]})
    rows = [_tree_level(grown, edges, 0, least, len(known)).head(0)]
    for place in range(depth):
        branches = _tree_level(grown, edges, place, least, len(known))
        rows.append(branches)
        edges = branches.filter(pl.col("word") != OTHER).select(pl.col("path").alias("parent"), edge="start")
        path = pl.concat_str("parent", pl.col("words").list.get(place, null_on_oob=True), separator=" ")
        grown = grown.with_columns(path.str.strip_chars().alias("parent")).join(edges, on="parent", how="semi")
    return pl.concat(rows).drop("parent")


def _tree_level(grown: pl.DataFrame, edges: pl.DataFrame, place: int, least: int, n: int) -> pl.DataFrame:
    """The branches of one depth, each behind the larger ones of its parent, the small ones together at the end."""
    worded = grown.with_columns(pl.col("words").list.get(place, null_on_oob=True).alias("word")).drop_nulls("word")
    size = pl.len().over("parent", "word")
    worded = worded.with_columns(pl.when(size < least).then(pl.lit(OTHER)).otherwise("word").alias("word"))
    counted = worded.group_by("parent", "word", maintain_order=True).agg(pl.len().cast(pl.Int64).alias("questions"))
    placed = counted.join(edges, on="parent").sort(
        "edge", pl.col("word") == OTHER, "questions", "word", descending=[False, False, True, False]
    )
    share = pl.col("questions") / max(n, 1)
    return placed.with_columns(share=share, end=pl.col("edge") + share.cum_sum().over("parent")).select(
        pl.lit(place + 1, dtype=pl.Int64).alias("depth"),
        "parent",
        pl.concat_str("parent", "word", separator=" ").str.strip_chars().alias("path"),
        "word",
        "questions",
        "share",
        (pl.col("end") - share).alias("start"),
        "end",
    )


# --- words ------------------------------------------------------------------------------------------------------------


def words_of(texts: pl.Series) -> pl.Series:
    """The words of each text in lower case, without punctuation; null where there is no text.

    >>> words_of(pl.Series(["What's THIS plant, and why?"])).to_list()
    [["what's", 'this', 'plant', 'and', 'why']]
    """
    found = texts.str.to_lowercase().str.extract_all(r"[\p{L}\p{N}'’-]+")
    return found.list.filter(pl.element().str.contains(r"[\p{L}\p{N}]")).alias("words")


class _Laid(NamedTuple):
    """Texts of one or several samples laid end to end."""

    word: np.ndarray  # code of each word
    text: np.ndarray  # the text that it stands in, counted over all samples
    sample: np.ndarray  # the sample of each text
    samples: int


class _Coded:
    """Texts as numbers: a code for each different word."""

    def __init__(self, words: pl.Series) -> None:
        lengths = words.list.len().fill_null(0).to_numpy().astype(np.int64)
        flat = words.explode(empty_as_null=False, keep_nulls=False)
        self.words = flat.rank("dense").cast(pl.Int64).to_numpy() - 1
        self.lengths = lengths
        self.starts = np.cumsum(lengths) - lengths

    def laid(self, rows: np.ndarray) -> _Laid:
        """The texts of each sample, rows (samples, texts a sample)."""
        chosen = rows.ravel()
        lengths = self.lengths[chosen]
        ends = np.cumsum(lengths)
        place = np.arange(ends[-1] if len(ends) else 0) + np.repeat(self.starts[chosen] - ends + lengths, lengths)
        text = np.repeat(np.arange(len(chosen)), lengths)
        sample = np.repeat(np.arange(len(rows)), rows.shape[1])
        return _Laid(self.words[place], text, sample, len(rows))


def _whole(words: pl.Series) -> _Laid:
    return _Coded(words).laid(np.arange(len(words))[None, :])


def _grams(laid: _Laid, n: int) -> tuple[np.ndarray, np.ndarray]:
    """A code for each run of n words, and the text that it stands in."""
    code = laid.word
    base = int(code.max(initial=0)) + 1
    for step in range(1, n):
        code = np.unique(code[:-1] * base + laid.word[step:], return_inverse=True)[1]
    last = len(laid.word) - n + 1
    inside = laid.text[: max(last, 0)] == laid.text[n - 1 :]
    return code[inside], laid.text[: max(last, 0)][inside]


def distinct(words: pl.Series, n: int) -> float | None:
    """Different runs of n words out of all of them; None when no text is so long.

    Source: Li et al. 2016, distinct-n.

    >>> distinct(pl.Series([["a", "b", "a"], ["a", "b"]]), 2)
    0.6666666666666666
    """
    return _defined(_distinct(_whole(words), n)[0])


def _distinct(laid: _Laid, n: int) -> np.ndarray:
    code, text = _grams(laid, n)
    sample = laid.sample[text]
    base = int(code.max(initial=0)) + 1
    different = np.unique(sample * base + code) // base
    return _ratio(np.bincount(different, minlength=laid.samples), np.bincount(sample, minlength=laid.samples))


def self_bleu(words: pl.Series, *, order: int = BLEU_ORDER) -> np.ndarray:
    """BLEU of each text with all the others as its references; 1 for a text that another one repeats.

    Runs of 1 to ``order`` words, each as often as the reference that has it most often, with equal weights; a
    precision of zero counts as 0.1 over the number of runs; brevity against the reference of nearest length. NaN when
    there is no other text. Source: Zhu et al. 2018 (Texygen), smoothing 1 of Chen and Cherry 2014. Exact, in time that
    grows with the words and not with the pairs of texts: a run's highest count among the others is the highest of
    all, or the second highest for the one text that holds the highest alone.

    >>> self_bleu(pl.Series([["a", "b", "c", "d"], ["a", "b", "c", "d"]])).tolist()
    [1.0, 1.0]
    """
    return _self_bleu(_whole(words), order)


def _self_bleu(laid: _Laid, order: int = BLEU_ORDER) -> np.ndarray:
    texts = len(laid.sample)
    lengths = np.bincount(laid.text, minlength=texts)
    logs = np.zeros(texts)
    for n in range(1, order + 1):
        code, text = _grams(laid, n)
        clipped = _clipped(code, text, laid.sample, texts)
        runs = np.maximum(np.bincount(text, minlength=texts), 1)
        with np.errstate(divide="ignore"):
            smoothed = clipped / runs if n == 1 else np.where(clipped > 0, clipped, _EPSILON) / runs
            logs += np.log(smoothed) / order
    brevity = _brevity(lengths, laid.sample)
    return np.where(np.isnan(brevity), np.nan, np.exp(logs) * np.nan_to_num(brevity))


def _clipped(code: np.ndarray, text: np.ndarray, sample: np.ndarray, texts: int) -> np.ndarray:
    """For each text its runs that the others have too, each at most as often as one of them has it."""
    if not len(code):
        return np.zeros(texts)
    base = int(code.max()) + 1
    cell, count = np.unique((sample[text] * base + code) * texts + text, return_counts=True)
    group, owner = np.divmod(cell, texts)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    sizes = np.diff(np.append(starts, len(group)))
    most = np.repeat(np.maximum.reduceat(count, starts), sizes)
    is_most = count == most
    alone = is_most & (np.repeat(np.add.reduceat(is_most.astype(np.int64), starts), sizes) == 1)
    second = np.repeat(np.maximum.reduceat(np.where(is_most, 0, count), starts), sizes)
    return np.bincount(owner, np.minimum(count, np.where(alone, second, most)), minlength=texts)


def _brevity(lengths: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """BLEU's penalty for texts shorter than the other one of nearest length, the shorter of two; NaN where alone."""
    order = np.lexsort((lengths, sample))
    ordered, owner = lengths[order].astype(float), sample[order]
    below = np.full(len(order), np.nan)
    above = np.full(len(order), np.nan)
    same = owner[1:] == owner[:-1]
    below[1:][same] = ordered[:-1][same]
    above[:-1][same] = ordered[1:][same]
    down, up = ordered - below, above - ordered
    nearest = np.where(np.isnan(up) | (down <= up), below, above)
    with np.errstate(divide="ignore", invalid="ignore"):
        penalty = np.where(ordered >= nearest, 1.0, np.exp(1 - nearest / ordered))
    penalty = np.where(np.isnan(nearest), np.nan, np.where(ordered == 0, 0.0, penalty))
    result = np.empty(len(order))
    result[order] = penalty
    return result


def repeated(words: pl.Series, n: int = 4) -> float | None:
    """Share of texts that hold a run of n words which another text holds too; None when no text is so long.

    Source: self-repetition, after Salkar et al. 2022.

    >>> repeated(pl.Series([["a", "b", "c"], ["x", "b", "c"], ["b", "a"]]), 2)
    0.6666666666666666
    """
    return _defined(_repeated(_whole(words), n)[0])


def _repeated(laid: _Laid, n: int) -> np.ndarray:
    code, text = _grams(laid, n)
    texts = len(laid.sample)
    base = int(code.max(initial=0)) + 1
    group, owner = np.divmod(np.unique((laid.sample[text] * base + code) * texts + text), texts)
    shared = np.unique(group, return_inverse=True, return_counts=True)
    holds = np.zeros(texts, dtype=np.int64)
    holds[owner[shared[2][shared[1]] > 1]] = 1
    share = _ratio(
        np.bincount(laid.sample, holds, minlength=laid.samples), np.bincount(laid.sample, minlength=laid.samples)
    )
    return np.where(np.bincount(laid.sample[text], minlength=laid.samples) > 0, share, np.nan)


def mtld(words: Sequence[Any], *, threshold: float = MTLD_THRESHOLD) -> float | None:
    """Mean length of a run of words before its type-token ratio falls to the threshold, forwards and backwards.

    What is left at the end counts as the part of a run that its ratio has covered. Nearly the same for texts of any
    length, unlike the ratio itself. None when no word repeats. Source: McCarthy and Jarvis 2010.

    >>> mtld("a a b b".split())
    2.0
    """
    runs = [_runs(words, threshold), _runs(words[::-1], threshold)]
    return float(np.mean([len(words) / run for run in runs])) if all(runs) else None


def _runs(words: Sequence[Any], threshold: float) -> float:
    runs, seen, length, ratio = 0.0, set(), 0, 1.0
    for word in words:
        seen.add(word)
        length += 1
        ratio = len(seen) / length
        if ratio <= threshold:
            runs, seen, length, ratio = runs + 1, set(), 0, 1.0
    return runs + (1 - ratio) / (1 - threshold)


def compression_ratio(texts: Sequence[str]) -> float | None:
    """Bytes of the texts joined by blanks over bytes when compressed (zlib 9): the higher, the more they repeat.

    Source: Shaib et al. 2024 (arXiv:2403.00553). The last digits depend on the zlib that Python was built with.
    """
    joined = " ".join(texts).encode()
    return len(joined) / len(zlib.compress(joined, 9)) if joined else None


# --- vectors ----------------------------------------------------------------------------------------------------------


def tfidf(words: pl.Series, *, without: frozenset[str] = frozenset(), least: int = 1) -> tuple[Any, list[str]]:
    """TF-IDF of each text as sparse rows of length 1 (0 for a text without terms), and the terms.

    Term frequencies are logarithmic. ``without`` are words left out; terms of fewer than ``least`` texts are too.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    kept = [[word for word in text if word not in without] for text in words.to_list()]
    vectoriser = TfidfVectorizer(analyzer=_as_they_are, min_df=least, sublinear_tf=True)
    try:
        return vectoriser.fit_transform(kept), list(vectoriser.get_feature_names_out())
    except ValueError:
        # Scikit-learn's way of saying that no term is left.
        from scipy.sparse import csr_array

        return csr_array((len(kept), 1)), [""]


def _as_they_are(words: list[str]) -> list[str]:
    return words


def content_words() -> frozenset[str]:
    """The English words that say nothing of what a question is about."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS).union(_ASKING.split())


def similarity(vectors: Any) -> np.ndarray:
    """Cosine of every two rows, dense (n, n); a row of zeros is like nothing but itself.

    vectors: sparse or dense, one row a question: TF-IDF, or embeddings.
    """
    from sklearn.preprocessing import normalize

    unit = normalize(vectors)
    cosine = unit @ unit.T
    dense = np.asarray(cosine.todense() if hasattr(cosine, "todense") else cosine, dtype=float)
    np.fill_diagonal(dense, 1.0)
    return dense


def vendi_score(kernel: np.ndarray) -> float | None:
    """How many entirely different texts the collection is worth: exp of the entropy of the eigenvalues of K / n.

    kernel: (n, n), positive semi-definite with a diagonal of ones, such as cosines. From 1 (all alike) to n. None for
    no texts. Source: Friedman and Dieng 2023.

    >>> round(vendi_score(np.eye(3)), 9), round(vendi_score(np.ones((3, 3))), 9)
    (3.0, 1.0)
    """
    return float(_vendi(kernel[None])[0]) if len(kernel) else None


def _vendi(kernels: np.ndarray) -> np.ndarray:
    values = np.linalg.eigvalsh(kernels / kernels.shape[-1])
    values = np.where(values > 0, values, 1.0)  # rounding below zero; 1 adds nothing to the entropy
    return np.exp(-(values * np.log(values)).sum(axis=-1))


def nearest(cosine: np.ndarray, question_ids: Sequence[str]) -> pl.DataFrame:
    """The most similar other question of each: question_id, neighbour, similarity; the closest first.

    Of neighbours that are equally near the first counts. Empty for fewer than two questions.
    """
    schema = {"question_id": pl.String, "neighbour": pl.String, "similarity": pl.Float64}
    if len(question_ids) < 2:
        return pl.DataFrame(schema=schema)
    others = cosine - 3 * np.eye(len(cosine))
    place = others.argmax(axis=1)
    ids = np.asarray(question_ids, dtype=object)
    found = pl.DataFrame(
        {"question_id": ids, "neighbour": ids[place], "similarity": others[np.arange(len(place)), place]},
        schema=schema,
    )
    return found.sort("similarity", "question_id", descending=[True, False])


def near_duplicates(
    cosine: np.ndarray, question_ids: Sequence[str], *, threshold: float = DUPLICATE, level: float = LEVEL
) -> dict[str, Any]:
    """Share of questions that another one nearly repeats, with a cosine at the threshold or above (Wilson)."""
    near = nearest(cosine, question_ids)
    if near.is_empty():
        return _row(None, None, None, len(question_ids), "fewer than two questions") | {"questions": 0}
    copies = near.filter(pl.col("similarity") >= threshold).height
    low, high = wilson_interval(copies, near.height, level=level)
    return _row(copies / near.height, float(low), float(high), near.height, None) | {"questions": copies}


def closest_pairs(cosine: np.ndarray, question_ids: Sequence[str], *, most: int = 10) -> pl.DataFrame:
    """The pairs of questions that are most alike: question_a, question_b, similarity."""
    first, second = np.triu_indices(len(question_ids), 1)
    values = cosine[first, second]
    order = np.argsort(-values, kind="stable")[:most]
    ids = np.asarray(question_ids, dtype=object)
    return pl.DataFrame(
        {"question_a": ids[first[order]], "question_b": ids[second[order]], "similarity": values[order]},
        schema={"question_a": pl.String, "question_b": pl.String, "similarity": pl.Float64},
    )


def neighbours_at_home(cosine: np.ndarray, groups: Sequence[str], *, level: float = LEVEL) -> dict[str, Any]:
    """Share of questions whose most similar other one is of their group, and ``chance``, what it would be by chance."""
    labels = np.asarray(groups, dtype=object)
    n = len(labels)
    if n < 2:
        return _row(None, None, None, n, "fewer than two questions") | {"chance": None}
    same = int((labels[(cosine - 3 * np.eye(n)).argmax(axis=1)] == labels).sum())
    sizes = np.unique(labels.astype(str), return_counts=True)[1]
    low, high = wilson_interval(same, n, level=level)
    chance = float((sizes * (sizes - 1)).sum() / (n * (n - 1)))
    return _row(same / n, float(low), float(high), n, None) | {"chance": chance}


def evenness(groups: pl.Series) -> dict[str, Any]:
    """How evenly questions lie over groups: ``groups``, and ``effective``, exp of the entropy of their shares.

    >>> evenness(pl.Series(["a", "a", "b", "b"]))
    {'groups': 2, 'effective': 2.0, 'n': 4}
    """
    known = groups.drop_nulls()
    shares = known.value_counts()["count"].to_numpy() / max(len(known), 1)
    effective = float(np.exp(-(shares * np.log(shares)).sum())) if len(known) else None
    return {"groups": len(shares), "effective": effective, "n": len(known)}


# --- the measures together --------------------------------------------------------------------------------------------


def samples(n: int, size: int, *, replicates: int = REPLICATES, seed: int = SEED) -> np.ndarray:
    """Rows of ``size`` different numbers below n, in random order: (replicates, size)."""
    if not 0 < size <= n:
        raise InputError(f"samples of {size} out of {n} questions: at least one and at most {n} can be drawn")
    rng = np.random.default_rng(seed)
    return np.argsort(rng.random((replicates, n)), axis=1)[:, :size]


def sampling_interval(
    estimate: float, draws: np.ndarray, *, size: int, n: int, level: float = LEVEL
) -> tuple[float, float]:
    """Interval of a statistic from its values in samples of ``size`` out of n, drawn without replacement.

    Such samples stray less from each other than samples of all questions that could be asked would, and more than
    collections of n: their deviations are scaled by sqrt(size / (n - size)), which is exact for a mean and 1 for
    half-samples. Source: Politis, Romano and Wolf 1999, with the finite-population correction.
    """
    scale = np.sqrt(size / (n - size))
    low, high = percentile_interval(estimate + scale * (draws - draws.mean()), level=level)
    return float(low), float(high)


def diversity(
    questions: pl.DataFrame,
    cosine: np.ndarray,
    *,
    size: int | None = None,
    replicates: int = REPLICATES,
    seed: int = SEED,
    level: float = LEVEL,
) -> pl.DataFrame:
    """Every measure of variety for the whole collection, and as expected of ``size`` of its questions.

    questions: ``question`` and ``words``, one row a text. cosine: their similarities. Returns one row a measure of
    MEASURES: ``more`` (what a larger value says: varied or alike), ``whole`` (of all n questions), and at ``size``
    questions (by default 50, at most half of them) the mean over samples as ``estimate``, with ``low``, ``high`` from
    ``sampling_interval``; ``n`` and ``reason``. Samples and the whole are read in an order drawn by the seed, since
    texts often lie sorted by domain.
    """
    n = questions.height
    size = min(SIZE, n // 2) if size is None else size
    if n < FEWEST or size < 2:
        reason = f"{n} questions: too few to tell how varied they are"
        nothing = [_row(None, None, None, n, reason) for _ in MEASURES]
        return _measured(nothing, [None] * len(MEASURES), size)
    everything = samples(n, n, replicates=1, seed=seed)
    whole = _measure(questions, cosine, everything)
    rows = []
    for draws in _measure(questions, cosine, samples(n, size, replicates=replicates, seed=seed)).values():
        if np.isnan(draws).any():
            rows.append(_row(None, None, None, n, f"samples of {size} questions do not always define it"))
            continue
        estimate = float(draws.mean())
        low, high = sampling_interval(estimate, draws, size=size, n=n, level=level) if size < n else (None, None)
        rows.append(_row(estimate, low, high, n, None if size < n else "all questions are in each sample: no interval"))
    return _measured(rows, [_defined(values[0]) for values in whole.values()], size)


def diversity_by(
    questions: pl.DataFrame,
    cosine: np.ndarray,
    group: str,
    *,
    least: int = FEWEST,
    replicates: int = REPLICATES,
    seed: int = SEED,
    level: float = LEVEL,
) -> pl.DataFrame:
    """``diversity`` of each group of questions at one size, half of the smallest group that has ``least`` or more."""
    places = questions.with_row_index("place").drop_nulls(group)
    groups = [part for part in places.partition_by(group, maintain_order=True) if part.height >= least]
    if not groups:
        return diversity(questions.head(0), cosine[:0, :0]).with_columns(pl.lit(None, pl.String).alias(group)).head(0)
    size = min(SIZE, min(part.height for part in groups) // 2)
    tables = []
    for part in groups:
        place = part["place"].to_numpy()
        own = diversity(part, cosine[np.ix_(place, place)], size=size, replicates=replicates, seed=seed, level=level)
        tables.append(own.with_columns(pl.lit(part[group][0]).alias(group)))
    return pl.concat(tables)


def _measure(questions: pl.DataFrame, cosine: np.ndarray, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Every measure in every sample, in the order of MEASURES; NaN where undefined."""
    coded = _Coded(questions["words"])
    laid = coded.laid(rows)
    size = rows.shape[1]
    texts = questions["question"].to_numpy()
    kernels = cosine[rows[:, :, None], rows[:, None, :]]
    bleu = _self_bleu(laid).reshape(len(rows), size).mean(axis=1)
    ends = np.searchsorted(laid.text, np.arange(1, len(rows)) * size)
    parts = np.split(laid.word, ends)
    return {
        "distinct_1": _distinct(laid, 1),
        "distinct_2": _distinct(laid, 2),
        "distinct_3": _distinct(laid, 3),
        "mtld": np.array([_or_nan(mtld(part.tolist())) for part in parts]),
        "vendi_score": _vendi(kernels) if size <= MOST_FOR_VENDI else np.full(len(rows), np.nan),
        "self_bleu": bleu,
        "repeated_4": _repeated(laid, 4),
        "compression_ratio": np.array([_or_nan(compression_ratio(texts[row].tolist())) for row in rows]),
        "mean_similarity": (kernels.sum(axis=(1, 2)) - size) / (size * (size - 1)),
    }


def _measured(rows: list[dict[str, Any]], whole: list[float | None], size: int) -> pl.DataFrame:
    schema = {"estimate": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64, "reason": pl.String}
    names = pl.DataFrame({"measure": list(MEASURES), "more": list(MEASURES.values())})
    return names.with_columns(
        pl.Series("whole", whole, dtype=pl.Float64),
        pl.lit(size, dtype=pl.Int64).alias("size"),
        *pl.DataFrame(rows, schema=schema).get_columns(),
    )


# --- topics -----------------------------------------------------------------------------------------------------------


def topics(
    questions: pl.DataFrame,
    *,
    number: int | None = None,
    terms: int = 3,
    restarts: int = 5,
    seed: int = SEED,
) -> pl.DataFrame:
    """The topic of each question, found by non-negative factors of TF-IDF and named by its weightiest terms.

    questions: ``question_id`` and ``words``. Terms are content words of two questions or more. ``number`` of topics:
    by default one for each twenty questions, at least 2 and at most 8. The fit starts from the leading singular
    vectors, so no seed decides it; ``stability`` is the mean adjusted Rand index between it and ``restarts`` fits from
    random starts (1: the same topics whatever the start). Returns ``question_id``, ``topic`` (from 1, the largest
    first), ``name``, ``stability``, ``reason``: null topics for questions that share no term with another one, or
    when there are too few questions.
    Source: Lee and Seung 1999; start: Boutsidis and Gallopoulos 2008.
    """
    n = questions.height
    found = questions.select("question_id")
    if n < FEWEST_FOR_TOPICS:
        return _without_topics(found, f"{n} questions: fewer than {FEWEST_FOR_TOPICS}, too few to find topics in")
    vectors, names = tfidf(questions["words"], without=content_words(), least=2)
    wanted = number or int(np.clip(n // 20, 2, 8))
    if len(names) <= wanted:
        return _without_topics(found, "too few words are common to two questions")
    label, weights = _factorised(vectors, wanted, start=_leading_start(vectors, wanted), seed=seed)
    order = np.argsort(-np.bincount(label[label >= 0], minlength=wanted), kind="stable")
    place = np.empty(wanted + 1, dtype=np.int64)
    place[order] = np.arange(1, wanted + 1)
    heads = [", ".join(names[term] for term in _heaviest(weights[topic], terms)) for topic in order]
    topic = pl.Series([int(place[one]) if one >= 0 else None for one in label], dtype=pl.Int64)
    return found.with_columns(
        topic=topic,
        name=pl.Series([heads[one - 1] if one else None for one in topic.to_list()], dtype=pl.String),
        stability=pl.lit(_stability(vectors, label, wanted, restarts, seed), dtype=pl.Float64),
        reason=pl.when(topic.is_null()).then(pl.lit("it shares no content word with another question")),
    )


def topic_shares(assigned: pl.DataFrame, *, level: float = LEVEL) -> pl.DataFrame:
    """How many questions each topic has: ``topic``, ``name``, ``questions``, ``estimate, low, high`` (Wilson), ``n``.

    n counts all questions, those without a topic too.
    """
    counted = (
        assigned.drop_nulls("topic")
        .group_by("topic", "name", maintain_order=True)
        .agg(pl.len().cast(pl.Int64).alias("questions"))
    )
    return _with_share(counted, assigned.height, level).sort("topic")


def _without_topics(found: pl.DataFrame, reason: str) -> pl.DataFrame:
    return found.with_columns(
        topic=pl.lit(None, dtype=pl.Int64),
        name=pl.lit(None, dtype=pl.String),
        stability=pl.lit(None, dtype=pl.Float64),
        reason=pl.lit(reason),
    )


def _factorised(
    vectors: Any, number: int, *, start: tuple[np.ndarray, np.ndarray] | None, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Which factor is heaviest in each row (-1: none), and the weights of the terms in each factor."""
    import warnings

    from sklearn.decomposition import NMF
    from sklearn.exceptions import ConvergenceWarning

    model = NMF(number, init="random" if start is None else "custom", random_state=seed, max_iter=500)
    given = {} if start is None else {"W": start[0].copy(), "H": start[1].copy()}
    with warnings.catch_warnings():
        # A fit that still moves in its last digits names the same topics; how stable they are is reported.
        warnings.simplefilter("ignore", ConvergenceWarning)
        rows = model.fit_transform(vectors, **given)
    rows = rows * np.linalg.norm(model.components_, axis=1)
    return np.where(rows.sum(axis=1) > 0, rows.argmax(axis=1), -1), model.components_


def _leading_start(vectors: Any, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Non-negative factors to start from: of each singular pair the heavier side, blanks filled with the mean."""
    left, values, right = _singular(vectors, number)
    first, second = np.empty_like(left), np.empty_like(right)
    for place, value in enumerate(values):
        a, b = left[:, place], right[place]
        sides = [(np.maximum(sign * a, 0), np.maximum(sign * b, 0)) for sign in (1, -1)]
        a, b = max(sides, key=lambda side: np.linalg.norm(side[0]) * np.linalg.norm(side[1]))
        weight = np.sqrt(value * np.linalg.norm(a) * np.linalg.norm(b))
        first[:, place], second[place] = (weight * _unit(side) for side in (a, b))
    mean = float(vectors.mean())
    return np.where(first > 1e-6, first, mean), np.where(second > 1e-6, second, mean)


def _unit(side: np.ndarray) -> np.ndarray:
    norm = np.linalg.norm(side)
    return side / norm if norm else side


def _singular(vectors: Any, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The leading singular triplets, the largest first, each with the sign that makes its heaviest entry positive."""
    from scipy.sparse.linalg import svds

    smaller = min(vectors.shape)
    if number >= smaller - 1:
        dense = np.asarray(vectors.todense() if hasattr(vectors, "todense") else vectors)
        left, values, right = np.linalg.svd(dense, full_matrices=False)
    else:
        left, values, right = svds(vectors, k=number, v0=np.full(smaller, 1 / np.sqrt(smaller)), rng=0)
        order = np.argsort(-values, kind="stable")
        left, values, right = left[:, order], values[order], right[order]
    left, values, right = left[:, :number], values[:number], right[:number]
    sign = np.sign(left[np.abs(left).argmax(axis=0), np.arange(left.shape[1])])
    return left * sign, values, right * sign[:, None]


def _heaviest(weights: np.ndarray, number: int) -> list[int]:
    order = np.argsort(-weights, kind="stable")[:number]
    return [int(term) for term in order if weights[term] > 0]


def _stability(vectors: Any, label: np.ndarray, number: int, restarts: int, seed: int) -> float:
    from sklearn.metrics import adjusted_rand_score

    again = (_factorised(vectors, number, start=None, seed=seed + place)[0] for place in range(restarts))
    return float(np.mean([adjusted_rand_score(label, other) for other in again]))


# --- a map ------------------------------------------------------------------------------------------------------------


def layout(cosine: np.ndarray, *, seed: int = SEED) -> np.ndarray:
    """Questions on a plane, like ones close together: (n, 2), each axis centred, the wider from -1 to 1.

    cosine: their similarities. Spread out by t-SNE on 1 - cosine, from the leading two dimensions of it; on one thread,
    so that the same similarities give the same map. Axes mean nothing, nor do distances of questions far apart. Zeros
    for fewer than five questions. Source: van der Maaten and Hinton 2008.
    """
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    n = len(cosine)
    if n < 5:
        return np.zeros((n, 2))
    # Rounded, since t-SNE would blow up differences in the last digit.
    distance = np.round(np.clip(1 - cosine, 0, None), 6)
    with threadpool_limits(1):
        start = np.round(_singular(cosine, 2)[0], 6)
        start = (1e-4 * start / max(float(start.std()), 1e-9)).astype(np.float32)
        model = TSNE(
            2,
            init=start,
            perplexity=min(30.0, (n - 1) / 3),
            metric="precomputed",
            random_state=seed,
            max_iter=500,
        )
        placed = np.asarray(model.fit_transform(distance), dtype=float)
    middle = (placed.max(axis=0) + placed.min(axis=0)) / 2
    return (placed - middle) / max(float(np.abs(placed - middle).max()), 1e-12)


# --- small things -----------------------------------------------------------------------------------------------------


def _row(estimate: float | None, low: float | None, high: float | None, n: int, reason: str | None) -> dict[str, Any]:
    return {"estimate": estimate, "low": low, "high": high, "n": n, "reason": reason}


def _with_share(counted: pl.DataFrame, n: int, level: float) -> pl.DataFrame:
    """Add estimate, low, high (Wilson) and n to a table of ``questions`` out of n."""
    if counted.is_empty():
        return counted.with_columns(
            *(pl.lit(None, dtype=pl.Float64).alias(name) for name in ("estimate", "low", "high")),
            pl.lit(n, dtype=pl.Int64).alias("n"),
        )
    low, high = wilson_interval(counted["questions"].to_numpy(), np.full(counted.height, n), level=level)
    return counted.with_columns(
        (pl.col("questions") / n).alias("estimate"),
        pl.Series("low", low),
        pl.Series("high", high),
        pl.lit(n, dtype=pl.Int64).alias("n"),
    )


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Part over whole, NaN where there is nothing."""
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value
