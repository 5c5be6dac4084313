"""How varied the questions are: how they open, in what words, about what, and how near the nearest two come."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gamut_analysis import diversity, paths, structure
from gamut_analysis.chapters.common import BENCHMARK, cannot, captioned, titled
from gamut_analysis.charts import grids, panels, words
from gamut_analysis.charts.links import linked
from gamut_analysis.compiler import questions_frame
from gamut_analysis.display import (
    Figure,
    Table,
    Text,
    count,
    format_count,
    format_names,
    format_number,
    format_percent,
    interval,
    number,
    percent,
    text,
)
from gamut_analysis.errors import InputError
from gamut_analysis.rubric import load_rubrics
from gamut_analysis.study import Study
from gamut_analysis.vocabulary import VARIANT_LABELS, VARIANTS

PLACEHOLDER = "Simulated question "  # what the simulator of the paper world writes in place of a question
OPENINGS = {"first_word": "1 word", "first_two_words": "2 words", "first_three_words": "3 words"}
_OPENS = {"first_word": "first words", "first_two_words": "first two words", "first_three_words": "first three words"}
MEASURES = {
    "distinct_1": "Different words, of all words",
    "distinct_2": "Different pairs of words, of all pairs",
    "distinct_3": "Different triples of words, of all triples",
    "mtld": "MTLD: words before they begin to repeat",
    "vendi_score": "Vendi score: worth so many unlike questions",
    "self_bleu": "Self-BLEU against all other questions",
    "repeated_4": "Questions that share four words in a row with another",
    "compression_ratio": "Compression ratio",
    "mean_similarity": "Mean similarity of two questions (cosine)",
}
_SHOWN = {
    "distinct_2": "Different pairs",
    "self_bleu": "Self-BLEU",
    "mtld": "MTLD",
    "mean_similarity": "Mean similarity",
}
_FIRST_WORDS = 15
_CLOSEST = 10
_ONE_LENGTH = 0.25  # the share of the questions from which one length is called common
_STANDS_OUT = 0.1  # the share of the questions from which a phrase is called a stock phrase
_FOUND_AGAIN = 0.8  # the adjusted Rand index from which topics count as the same
_NONE = "This data delivers no question texts, so nothing can be said of their words."
_PLACEHOLDERS = (
    "The question texts of this data are placeholders, and the sample that would stand in did not come along."
)
_FEW = "So few questions cannot tell how varied they are."


# --- frames -----------------------------------------------------------------------------------------------------------


def texts(study: Study) -> pl.DataFrame:
    """The questions of the variant that have a text, with their words.

    Where the texts of the data are placeholders, the questions of the sample that ships stand in for them.
    """
    return _texts_of(study, study.variant)


def _texts_of(study: Study, variant: str) -> pl.DataFrame:
    asked = _sample_questions() if has_placeholders(study) else study.all_questions
    told = asked.filter(variant=variant).select("question_id", "question", "domain").sort("question_id")
    return told.with_columns(diversity.words_of(told["question"])).filter(pl.col("words").list.len() > 0)


def has_placeholders(study: Study) -> bool:
    """Whether the simulator wrote the texts of the data."""
    told = study.questions["question"].drop_nulls()
    return len(told) > 0 and bool(told.str.starts_with(PLACEHOLDER).all())


@cache
def _sample_questions() -> pl.DataFrame:
    """The questions of the written sample; empty where it did not come with the installation."""
    folder = paths.sample() / "questions"
    return questions_frame(load_rubrics([folder]) if folder.is_dir() else [])


def no_texts(study: Study) -> str:
    """Why the words of the questions cannot be measured."""
    return _PLACEHOLDERS if has_placeholders(study) else _NONE


def openings(texts: pl.DataFrame) -> pl.DataFrame:
    """Length and opening of each text."""
    return diversity.openings(texts["words"])


def vectors(study: Study, texts: pl.DataFrame) -> Any:
    """What the texts are compared by: embeddings if a file of them lies beside the database, TF-IDF of all words else.

    The file is named as the database with the ending ``.embeddings.parquet``: columns question_id, variant and
    embedding (a list of numbers), made by any model, offline. Raises InputError where a question has none.
    """
    path = embeddings_file(study)
    if path is None:
        return diversity.tfidf(texts["words"])[0]
    told = pl.read_parquet(path).filter(pl.col("variant") == study.variant)
    joined = texts.select("question_id").join(told, on="question_id", how="left", maintain_order="left")
    if joined["embedding"].null_count():
        lacking = joined.filter(pl.col("embedding").is_null())["question_id"][0]
        raise InputError(f"{path}: no embedding for question {lacking!r}; one is needed for each, or no such file")
    return np.array(joined["embedding"].to_list(), dtype=float)


def embeddings_file(study: Study) -> Path | None:
    """The file of embeddings of these questions, if there is one."""
    path = study.path.with_suffix(".embeddings.parquet")
    return path if path.is_file() and not has_placeholders(study) else None


def cosines(study: Study, texts: pl.DataFrame) -> np.ndarray:
    """How alike every two questions are."""
    return diversity.similarity(vectors(study, texts)) if texts.height else np.zeros((0, 0))


def _basis(study: Study) -> str:
    return "embeddings" if embeddings_file(study) else "TF-IDF of their words"


def variety(study: Study, texts: pl.DataFrame, cosine: np.ndarray) -> pl.DataFrame:
    """Every measure of variety, for all questions and at a fixed number of them."""
    rows = diversity.diversity(texts, cosine, seed=study.seed)
    return rows.with_columns(label=pl.col("measure").replace(MEASURES))


def topics(study: Study, texts: pl.DataFrame) -> pl.DataFrame:
    """The topic of each question among all of them, with its domain."""
    found = diversity.topics(texts, seed=study.seed)
    return found.join(texts.select("question_id", "domain"), on="question_id", maintain_order="left")


def domain_topics(study: Study, texts: pl.DataFrame) -> pl.DataFrame:
    """Topics found within each domain: domain, topic, name, share with its interval, stability; or the reason."""
    parts = []
    for (domain,), part in texts.drop_nulls("domain").partition_by("domain", as_dict=True).items():
        found = diversity.topics(part, number=_topics_of(part.height), seed=study.seed)
        shares = diversity.topic_shares(found).with_columns(
            stability=pl.lit(found["stability"][0], dtype=pl.Float64), reason=pl.lit(None, dtype=pl.String)
        )
        if shares.is_empty():
            reason = pl.DataFrame({"n": [part.height], "reason": [found["reason"][0]]})
            shares = pl.concat([shares, reason], how="diagonal_relaxed")
        parts.append(shares.with_columns(domain=pl.lit(domain)))
    return pl.concat(parts).sort("n", "domain", "topic", descending=[True, False, False]) if parts else pl.DataFrame()


def _topics_of(questions: int) -> int:
    """As many as the paper prints of a domain: four or five, fewer where there are few questions."""
    return int(np.clip(questions // 20, 2, 5))


def no_published(study: Study) -> str:
    """Why the paper's numbers do not stand beside ours; empty for GAMUT, and for the sample, which has its shape."""
    if study.dataset.get("benchmark") != BENCHMARK and not _is_sample(study):
        return "This data is not GAMUT's, so the paper has no numbers to stand beside these."
    if study.variant != VARIANTS[0]:
        return "The paper describes its multimodal questions; these are their text-only wordings."
    return ""


def published(study: Study) -> pl.DataFrame:
    """What the paper prints of its questions; empty where it cannot stand beside ours."""
    rows = pl.read_csv(paths.published() / "diversity.csv", schema_overrides={"value": pl.Float64})
    return rows.head(0) if no_published(study) else rows


def _published(study: Study, statistic: str) -> float | None:
    rows = published(study).filter(statistic=statistic)
    return float(rows["value"][0]) / 100 if rows.height else None


# --- the answer -------------------------------------------------------------------------------------------------------


def source_note(study: Study, texts: pl.DataFrame) -> Text:
    """Whose words these are."""
    if texts.is_empty():
        return cannot("texts", no_texts(study))
    values = {"n": texts.height, "variant": VARIANT_LABELS[study.variant].lower(), "basis": _basis(study)}
    template = "{n:count} {variant} questions have a text. "
    if has_placeholders(study):
        template = (
            "**The question texts of this data are placeholders that the simulator wrote.** What follows is about the "
            "{n:count} {variant} questions of the sample that ships with this project instead. "
        )
    if _is_sample(study):
        template += "**These texts are not simulated**: people wrote them for the sample, and they are not GAMUT's. "
    elif study.dataset["simulated"]:
        template += "The data is simulated; the texts are as delivered. "
    return Text("texts", template + "Similarity of questions is the cosine of {basis}.", values)


def answer(
    study: Study, texts: pl.DataFrame, openings: pl.DataFrame, variety: pl.DataFrame, cosine: np.ndarray
) -> Text:
    """How long questions are, how they open, and how near they come to one another."""
    if texts.is_empty():
        return cannot("answer", no_texts(study))
    median, low, high = structure.median_interval(openings["words"].cast(pl.Float64).to_numpy())
    share = diversity.top_share(openings["first_two_words"], seed=study.seed)
    near = diversity.near_duplicates(cosine, texts["question_id"].to_list())
    values: dict[str, Any] = {
        "median": (median, low, high),
        "top": diversity.TOP,
        "share": share if share["low"] is not None else share["estimate"],
        "others": _other_share(openings),
        "near": near["questions"],
        "n": texts.height,
        "threshold": diversity.DUPLICATE,
    }
    template = (
        "**Half of the questions have {median:number_interval.1} words or more, and the {top:count} most common "
        f"two-word openings begin {_shown_share('share', share)} of them**; "
        "{others:percent_interval.0} % begin with no interrogative. "
    )
    template += (
        "**No question nearly repeats another**"
        if not near["questions"]
        else "{near:count} of {n:count} questions nearly repeat another (cosine {threshold:number.1} or more)"
    )
    vendi = variety.filter(measure="vendi_score").row(0, named=True)
    if vendi["estimate"] is not None:
        values |= {"vendi": vendi, "size": vendi["size"]}
        template += ", and {size:count} of them are worth {vendi:number_interval.1} entirely unlike ones (Vendi score)"
    return Text("answer", template + ".", values)


def _shown_share(name: str, row: dict[str, Any]) -> str:
    """The place of a share in a sentence, with its interval where it has one."""
    return f"{{{name}:{'percent' if row['low'] is None else 'percent_interval'}.0}} %"


def _other_share(openings: pl.DataFrame) -> dict[str, Any]:
    """Share of questions that begin with no interrogative."""
    rows = openings.select(
        first_word=pl.when("opens_with_interrogative").then(pl.lit("interrogative")).otherwise(pl.lit("other")),
        opens_with_interrogative="opens_with_interrogative",
    )
    found = diversity.first_words(rows).filter(first_word="other")
    if found.is_empty():
        none = diversity.first_words(rows)["n"][0]
        return {"estimate": 0.0, "low": 0.0, "high": 1 - float(diversity.first_words(rows)["low"][0]), "n": none}
    return found.row(0, named=True)


# --- length and openings ----------------------------------------------------------------------------------------------


def lengths(study: Study, openings: pl.DataFrame) -> Figure | Text:
    """How many words questions have."""
    if openings.is_empty():
        return cannot("question-lengths", no_texts(study))
    counted = openings.group_by("words", maintain_order=True).agg(pl.len().alias("questions")).sort("words")
    counted = counted.with_columns(panel=pl.lit(""))
    middle = float(np.median(openings["words"].to_numpy()))
    shown = format_number(middle, 0 if middle == round(middle) else 1)
    marks = pl.DataFrame({"panel": [""], "value": [middle], "label": [f"median {shown}"]})
    chart = panels.bar_panels(
        counted,
        panel="panel",
        panels=[""],
        x="words",
        count="questions",
        x_title="Words of a question",
        count_title="Questions",
        marks=marks,
        height=150,
    )
    tenth, most = (int(openings["words"].quantile(share, "nearest") or 0) for share in (0.1, 0.9))
    title = f"Four of five questions have {tenth} to {most} words"
    caption = captioned(study, f"Number of questions by number of words; line: median. n = {openings.height}.")
    return Figure("question-lengths", titled(study, chart, title, _what(study)), caption, title, counted.drop("panel"))


def lengths_text(study: Study, openings: pl.DataFrame) -> Text:
    """Whether one length is so common that a template must be behind it."""
    if openings.is_empty():
        return cannot("question-lengths-text", no_texts(study))
    counted = openings.group_by("words", maintain_order=True).len().sort("len", "words", descending=[True, False])
    values = {
        "words": counted["words"][0],
        "share": counted["len"][0] / openings.height,
        "kinds": counted.height,
        "least": int(counted.select(pl.col("words").min()).item()),
        "most": int(counted.select(pl.col("words").max()).item()),
    }
    alone = "One length stands out: **{share:percent.0} %** of the questions have {words:count} words."
    spread = "No length stands out: the commonest, {words:count} words, is that of **{share:percent.0} %**."
    span = " Questions run from {least:count} to {most:count} words, in {kinds:count} different lengths."
    return Text("question-lengths-text", (alone if values["share"] >= _ONE_LENGTH else spread) + span, values)


def _what(study: Study) -> str:
    whose = " of the sample, whose texts are not simulated" if _is_sample(study) else ""
    return f"{VARIANT_LABELS[study.variant]} questions{whose}"


def _is_sample(study: Study) -> bool:
    """Whether the texts are the ones that people wrote for this project."""
    return has_placeholders(study) or (bool(study.dataset["simulated"]) and study.dataset["name"] == "sample")


def coverage(study: Study, openings: pl.DataFrame) -> Figure | Text:
    """How many questions the most common openings cover, for openings of one, two and three words."""
    if openings.is_empty():
        return cannot("opening-coverage", no_texts(study))
    curves = pl.concat(
        diversity.opening_coverage(openings[column]).with_columns(kind=pl.lit(kind))
        for column, kind in OPENINGS.items()
    )
    printed = _published(study, "top_25_openings_share")
    chart = words.coverage(curves, kinds=list(OPENINGS.values()), top=diversity.TOP, reference=printed)
    own = curves.filter(kind="2 words", rank=min(diversity.TOP, curves.filter(kind="2 words").height))["covered"][0]
    title = f"The {diversity.TOP} most common two-word openings cover {format_percent(own, 0)} % of the questions"
    told = ["Openings of one, two and three words from the most common down, and the questions that they cover."]
    told += ["Open diamond: the paper says that its 25 commonest cover less than this."] if printed else []
    caption = captioned(study, *told, f"n = {openings.height} questions.")
    return Figure("opening-coverage", titled(study, chart, title, _what(study)), caption, title, curves)


def tree(study: Study, openings: pl.DataFrame) -> Figure | Text:
    """The first three words of all questions as a tree."""
    if openings.is_empty():
        return cannot("opening-tree", no_texts(study))
    least = max(2, round(openings.height / 200))
    branches = diversity.opening_tree(openings["first_three_words"], least=least)
    first = branches.filter(pl.col("depth") == 1).row(0, named=True)
    title = (
        f"The most common first word is “{first['word']}”, in {format_percent(first['share'], 0)} % of the questions"
    )
    caption = captioned(
        study,
        f"First, second and third word from left to right; heights are shares of questions. “…”: branches of fewer "
        f"than {least} questions together. n = {openings.height} questions.",
    )
    return Figure("opening-tree", titled(study, words.tree(branches), title, _what(study)), caption, title, branches)


def first_words(study: Study, openings: pl.DataFrame) -> Figure | Text:
    """How often questions begin with each word, interrogatives told apart."""
    if openings.is_empty():
        return cannot("first-words", no_texts(study))
    rows = diversity.first_words(openings)
    other = _other_share(openings)
    title = f"{format_percent(other['estimate'], 0)} % of the questions begin with no interrogative"
    caption = captioned(
        study,
        f"The {min(_FIRST_WORDS, rows.height)} most common of {rows.height} first words; filled: interrogatives (what, "
        f"how, is, can, ...); open: others. Lines: 95 % Wilson intervals. n = {openings.height} questions.",
    )
    chart = words.openers(rows.head(_FIRST_WORDS))
    return Figure("first-words", titled(study, chart, title, _what(study)), caption, title, rows)


def tree_text(study: Study, openings: pl.DataFrame) -> Text:
    """Whether a phrase of three words opens so many questions that it is a stock phrase."""
    if openings.is_empty():
        return cannot("opening-tree-text", no_texts(study))
    counted = openings.drop_nulls("first_three_words").group_by("first_three_words", maintain_order=True).len()
    first = counted.sort("len", "first_three_words", descending=[True, False]).row(0, named=True)
    values = {
        "phrase": first["first_three_words"],
        "share": first["len"] / openings.height,
        "once": counted.filter(pl.col("len") == 1).height / openings.height,
    }
    stock = "“{phrase}” is a stock phrase: it opens **{share:percent.0} %** of the questions;"
    none = "There is no stock phrase: the commonest, “{phrase}”, opens **{share:percent.0} %** of the questions, and"
    rest = " {once:percent.0} % open with three words that no other question opens with."
    return Text("opening-tree-text", (stock if values["share"] >= _STANDS_OUT else none) + rest, values)


def first_words_text(study: Study, openings: pl.DataFrame) -> Text:
    """Which interrogative leads, and how far."""
    if openings.is_empty():
        return cannot("first-words-text", no_texts(study))
    asking = diversity.first_words(openings).filter("is_interrogative")
    if asking.is_empty():
        return Text("first-words-text", "No question begins with an interrogative.", {})
    first, second = asking.row(0, named=True), asking.row(min(1, asking.height - 1), named=True)
    values = {"first": first, "second": second, "n": asking.height}
    lead = "“{first[first_word]}” leads the interrogatives with **{first:percent_interval.0} %** of the questions"
    if asking.height == 1:
        return Text("first-words-text", lead + "; it is the only one.", values)
    apart = first["low"] > second["high"]
    gap = ", ahead of" if apart else ", which is not told apart from"
    return Text(
        "first-words-text",
        f"{lead}{gap} “{{second[first_word]}}” with {{second:percent_interval.0}} %; {{n:count}} interrogatives occur.",
        values,
    )


def openings_text(study: Study, openings: pl.DataFrame) -> Text:
    """How many different openings there are, and what the commonest cover."""
    if openings.is_empty():
        return cannot("opening-coverage-text", no_texts(study))
    values: dict[str, Any] = {"top": diversity.TOP, "n": openings.height}
    kinds, shares = [], []
    for place, (column, kind) in enumerate(_OPENS.items()):
        row = diversity.top_share(openings[column], seed=study.seed)
        values |= {f"openings{place}": row["openings"], f"share{place}": row["estimate"] if row["low"] is None else row}
        kinds.append(f"{{openings{place}:count}} different {kind}")
        shares.append(_shown_share(f"share{place}", row))
    template = "{n:count} questions open with " + format_names(kinds) + "; the {top:count} commonest begin "
    return Text("opening-coverage-text", template + format_names(shares) + " of the questions.", values)


# --- words ------------------------------------------------------------------------------------------------------------


def variety_table(study: Study, variety: pl.DataFrame) -> Table | Text:
    """Every measure for all questions and at a fixed number of them."""
    if variety["n"][0] == 0:
        return cannot("variety", no_texts(study))
    if variety["estimate"].null_count() == variety.height:
        return cannot("variety", _FEW)
    size, n = int(variety["size"][0]), int(variety["n"][0])
    columns: dict[str, Any] = {
        "label": text("Measure"),
        "more": text("Higher is more"),
        "whole": number(f"All {format_count(n)}", digits=3),
        "estimate": interval(f"{size} of them", of="number", digits=3),
    }
    caption = captioned(
        study,
        f"How varied the questions are. Most measures depend on the number of texts, so compare collections by the "
        f"last column: the mean over samples of {size} questions drawn without replacement, with a 95 % interval from "
        f"those samples (no bootstrap: a question drawn twice would pass for a repetition).",
    )
    return Table("variety", variety, columns, caption)


def variety_text(study: Study, variety: pl.DataFrame) -> Text:
    """What the measures come to: how far from entirely unlike the questions are, and how many share a phrase."""
    rows = {row["measure"]: row for row in variety.to_dicts()}
    vendi, repeated = rows["vendi_score"], rows["repeated_4"]
    if vendi["estimate"] is None:
        return cannot("variety-text", _FEW if vendi["n"] else no_texts(study))
    values = {"vendi": vendi, "size": vendi["size"], "repeated": repeated["whole"], "n": vendi["n"]}
    phrase = (
        "{repeated:percent.0} % of all {n:count} share four words in a row with another."
        if repeated["whole"]
        else "none of all {n:count} shares four words in a row with another."
    )
    worth = "{size:count} questions are worth **{vendi:number_interval.1}** that are entirely unlike (Vendi score); "
    return Text("variety-text", worth + phrase, values)


def wordings_table(study: Study, texts: pl.DataFrame) -> Table | Text:
    """Multimodal and text-only wordings of the same questions side by side."""
    told = {variant: _texts_of(study, variant) for variant in VARIANTS}
    both = set.intersection(*(set(frame["question_id"]) for frame in told.values()))
    if texts.is_empty():
        return cannot("wordings", no_texts(study))
    if len(both) < diversity.FEWEST:
        return cannot("wordings", "Too few questions have a text in both variants to compare their wordings.")
    tables = []
    for variant, frame in told.items():
        same = frame.filter(pl.col("question_id").is_in(list(both)))
        cosine = diversity.similarity(diversity.tfidf(same["words"])[0])
        tables.append(diversity.diversity(same, cosine, seed=study.seed).with_columns(variant=pl.lit(variant)))
    rows = pl.concat(tables).with_columns(label=pl.col("measure").replace(MEASURES))
    wide = rows.pivot("variant", index=["label", "more", "size", "n"], values=["estimate", "low", "high"])
    columns: dict[str, Any] = {"label": text("Measure"), "more": text("Higher is more")}
    columns |= {
        f"estimate_{variant}": interval(
            VARIANT_LABELS[variant], low=f"low_{variant}", high=f"high_{variant}", of="number", digits=3
        )
        for variant in VARIANTS
    }
    caption = captioned(
        study,
        f"The two wordings of the same {len(both)} questions, both at {wide['size'][0]} questions drawn together; "
        f"similarity by TF-IDF.",
    )
    return Table("wordings", wide, columns, caption)


def wordings_text(wordings: Table | Text) -> Text | None:
    """By how many measures one wording is more varied than the other, with intervals that lie apart."""
    if not isinstance(wordings, Table):
        return None
    is_varied = pl.col("more") == "varied"
    above = pl.col("low_text_only") > pl.col("high_multimodal")
    below = pl.col("high_text_only") < pl.col("low_multimodal")
    told = wordings.frame.select(
        up=pl.when(is_varied).then(above).otherwise(below), down=pl.when(is_varied).then(below).otherwise(above)
    )
    values = {**{name: told.filter(name).height for name in told.columns}, "n": told.height}
    template = (
        "By **{up:count} of {n:count}** measures the text-only wordings are more varied, by {down:count} less; by "
    )
    template += "the others the intervals overlap."
    if not values["up"] + values["down"]:
        template = "By each of the {n:count} measures the intervals of the two wordings overlap."
    return Text("wordings-text", template, values)


def by_domain(study: Study, texts: pl.DataFrame, cosine: np.ndarray) -> Figure | Text:
    """How varied the questions of each domain are, all at one number of questions."""
    if texts.is_empty():
        return cannot("variety-by-domain", no_texts(study))
    rows = diversity.diversity_by(texts, cosine, "domain", seed=study.seed).drop_nulls("estimate")
    if rows["domain"].n_unique() < 2:
        return cannot(
            "variety-by-domain", "Fewer than two domains have enough questions to compare how varied they are."
        )
    shown = rows.filter(pl.col("measure").is_in(list(_SHOWN))).with_columns(
        panel=pl.col("measure").replace_strict(_SHOWN, return_dtype=pl.String)
    )
    order = rows.filter(measure="distinct_2").sort("estimate", descending=True)["domain"].to_list()
    titles = {_SHOWN[name]: f"higher: more {diversity.MEASURES[name]}" for name in _SHOWN}
    chart = panels.dot_panels(
        shown, panel="panel", panels=list(_SHOWN.values()), row="domain", order=order, titles=titles, digits=3
    )
    chart = linked(chart, domain="domain")
    size = int(rows["size"][0])
    pairs = rows.filter(measure="distinct_2")
    apart = pairs.filter(domain=order[0])["low"][0] > pairs.filter(domain=order[-1])["high"][0]
    title = (
        f"At {size} questions each, {order[0]} repeats the fewest pairs of words and {order[-1]} the most"
        if apart
        else f"At {size} questions each, no domain stands out by how often it repeats pairs of words"
    )
    caption = captioned(
        study,
        f"Means over samples of {size} questions from each domain of {diversity.FEWEST} or more, with 95 % intervals. "
        f"Domains by the share of different pairs of words.",
    )
    return Figure("variety-by-domain", titled(study, chart, title, _what(study)), caption, title, shown)


def by_domain_text(variety: Figure | Text) -> Text | None:
    """By how many measures the most and the least varied domain are told apart."""
    if not isinstance(variety, Figure) or variety.numbers is None:
        return None
    apart = []
    for (panel,), rows in variety.numbers.partition_by("panel", maintain_order=True, as_dict=True).items():
        ends = rows.sort("estimate")
        if ends["low"][-1] > ends["high"][0]:
            apart.append(str(panel))
    values = {"n": variety.numbers["panel"].n_unique(), "apart": len(apart), "names": apart}
    template = (
        "By **{apart:count} of {n:count}** measures ({names:names}) the intervals of the two domains at the ends lie "
        "apart."
        if apart
        else "By none of the {n:count} measures do the intervals of the two domains at the ends lie apart."
    )
    return Text("variety-by-domain-text", template, values)


# --- neighbours -------------------------------------------------------------------------------------------------------


def closest(study: Study, texts: pl.DataFrame, cosine: np.ndarray) -> Table | Text:
    """The pairs of questions that are most alike, to be read."""
    pairs = diversity.closest_pairs(cosine, texts["question_id"].to_list(), most=_CLOSEST)
    if pairs.is_empty():
        return cannot("closest-questions", no_texts(study) if texts.is_empty() else _FEW)
    told = texts.select("question_id", "question")
    for end in ("a", "b"):
        pairs = pairs.join(
            told.rename({"question_id": f"question_{end}", "question": f"text_{end}"}),
            on=f"question_{end}",
            maintain_order="left",
        )
    columns = {
        "text_a": text("Question", sub="question_a"),
        "text_b": text("Its nearest", sub="question_b"),
        "similarity": number("Similarity", digits=2),
    }
    return Table(
        "closest-questions", pairs, columns, captioned(study, f"The closest pairs, by cosine of {_basis(study)}.")
    )


def closest_text(study: Study, texts: pl.DataFrame, cosine: np.ndarray) -> Text:
    """How many questions are near duplicates, and how alike nearest neighbours are."""
    near = diversity.nearest(cosine, texts["question_id"].to_list())
    if near.is_empty():
        return cannot("closest-questions-text", no_texts(study) if texts.is_empty() else _FEW)
    share = diversity.near_duplicates(cosine, texts["question_id"].to_list())
    values = {
        "share": share,
        "threshold": diversity.DUPLICATE,
        "median": float(np.median(near["similarity"].to_numpy())),
        "most": float(near["similarity"][0]),
    }
    return Text(
        "closest-questions-text",
        "**{share:percent_interval} %** of the questions have a near duplicate (cosine {threshold:number.1} or more). "
        "The nearest neighbour of a question has a cosine of {median:number.2} in the middle and {most:number.2} at "
        "most.",
        values,
    )


# --- topics and map ---------------------------------------------------------------------------------------------------


def domains_table(study: Study) -> Table | Text:
    """How many questions each domain has, beside the printed counts."""
    rows = (
        study.questions.drop_nulls("domain")
        .group_by("domain", maintain_order=True)
        .agg(pl.len().cast(pl.Int64).alias("questions"))
    )
    if rows.is_empty():
        return cannot("question-domains", "The questions of this data have no domain.")
    printed = published(study).filter(pl.col("statistic") == "questions")
    printed = printed.select(pl.col("scope").alias("domain"), pl.col("value").cast(pl.Int64).alias("printed"))
    wide = rows.join(printed, on="domain", how="left").sort("questions", "domain", descending=[True, False])
    wide = wide.with_columns(share=pl.col("questions") / pl.col("questions").sum(), reason=pl.lit("not printed"))
    columns: dict[str, Any] = {"domain": text("Domain"), "questions": count("Questions"), "share": percent("Share")}
    if wide["printed"].null_count() < wide.height:
        columns["printed"] = count("Published")
    even = diversity.evenness(study.questions["domain"])
    caption = captioned(
        study,
        f"Questions of this data by domain, spread as evenly as over {format_number(even['effective'], 1)} domains of "
        f"one size.",
    )
    return Table("question-domains", wide, columns, caption)


def domains_text(study: Study) -> Text | None:
    """Whether one domain holds more than half of the questions, or all hold as many."""
    counted = study.questions.drop_nulls("domain").group_by("domain", maintain_order=True).len()
    if counted.height < 2:
        return None
    counted = counted.sort("len", "domain", descending=[True, False])
    values = {
        "largest": counted["domain"][0],
        "share": counted["len"][0] / counted["len"].sum(),
        "smallest": counted["domain"][-1],
        "times": counted["len"][0] / counted["len"][-1],
    }
    template = (
        "**{largest}** holds more than half of the questions, {share:percent.0} %: a mean over all of them is mostly "
        "about it"
        if values["share"] > 0.5
        else "No domain holds more than half of the questions; the largest, **{largest}**, has {share:percent.0} %"
    )
    times = (
        ", {times:number.1} times as many as {smallest}." if values["times"] > 1 else "; all domains are of one size."
    )
    return Text("question-domains-text", template + times, values)


def topic_grid(study: Study, topics: pl.DataFrame) -> Figure | Text:
    """What share of each domain's questions falls on each topic of all questions."""
    if topics.is_empty() or topics["topic"].null_count() == topics.height:
        return cannot("question-topics", f"No topics: {topics['reason'][0]}." if topics.height else no_texts(study))
    unplaced = topics["domain"].null_count()
    has_domains = unplaced < topics.height
    topics = topics.with_columns(pl.col("domain").fill_null("no domain" if has_domains else "All questions"))
    placed = topics.drop_nulls("topic")
    asked = topics.group_by("domain", maintain_order=True).agg(pl.len().alias("n"))
    cells = (
        placed.group_by("topic", "name", "domain", maintain_order=True)
        .agg(pl.len().alias("questions"))
        .join(asked, on="domain")
    )
    cells = cells.with_columns(share=pl.col("questions") / pl.col("n")).sort("topic", "domain")
    rows = cells.select("topic", "name").unique().sort("topic")["name"].to_list()
    columns = asked.sort("n", "domain", descending=[True, False])["domain"].to_list()
    chart = grids.heat(cells, row="name", column="domain", value="share", rows=rows, columns=columns, title="Per cent")
    chart = linked(chart, domain=() if unplaced else "domain")
    top = cells.sort("share", "topic", descending=[True, False]).row(0, named=True)
    title = (
        f"“{top['name']}” takes {format_percent(top['share'], 0)} % of {top['domain']}, the most of any topic"
        if has_domains
        else f"“{top['name']}” is the largest topic, with {format_percent(top['share'], 0)} % of the questions"
    )
    lone = topics["topic"].null_count()
    told = ["Per cent of the questions by topic; topics are factors of TF-IDF, named by their weightiest words."]
    told += [f"{lone} questions share no content word with another one and have no topic."] if lone else []
    stability = format_number(topics["stability"][0], 2)
    told.append(f"Agreement with fits from random starts (adjusted Rand): {stability}. n = {topics.height} questions.")
    caption = captioned(study, *told)
    return Figure("question-topics", titled(study, chart, title, _what(study)), caption, title, cells)


def topics_text(study: Study, topics: pl.DataFrame) -> Text:
    """Whether the same topics would be found again."""
    if topics.is_empty() or topics["topic"].null_count() == topics.height:
        return cannot("question-topics-text", "Without topics there is nothing to find again.")
    values = {
        "stability": float(topics["stability"][0]),
        "n": topics["topic"].drop_nulls().n_unique(),
        "lone": topics["topic"].null_count() / topics.height,
    }
    firm = "The {n:count} topics are found again from other starts (adjusted Rand **{stability:number}**)"
    loose = (
        "Other starts sort the questions into other topics (adjusted Rand **{stability:number}**), so these {n:count} "
        "are one grouping among several"
    )
    template = (firm if values["stability"] >= _FOUND_AGAIN else loose) + "; {lone:percent.0} % of the questions are "
    return Text("question-topics-text", template + "of no topic.", values)


def topics_table(study: Study, topics: pl.DataFrame) -> Table | Text:
    """Topics within each domain, named by their terms, beside the ones that the paper prints, by size."""
    if topics.is_empty():
        has_texts = not texts(study).is_empty()
        return cannot("domain-topics", "The questions of this data have no domain." if has_texts else no_texts(study))
    sizes = topics.group_by("domain", maintain_order=True).agg(pl.col("n").max(), pl.col("reason").first())
    found = topics.drop_nulls("topic").drop("n", "reason")
    printed = _printed_topics(study).filter(pl.col("domain").is_in(sizes["domain"].to_list()))
    if found.is_empty():
        largest = sizes.sort("n", "domain", descending=[True, False]).row(0, named=True)
        return cannot("domain-topics", f"{largest['domain']}, the largest domain, has {largest['reason']}.")
    rows = found.join(printed, on=["domain", "topic"], how="full", coalesce=True).join(sizes, on="domain")
    rows = rows.sort("n", "domain", "topic", descending=[True, False, False]).with_columns(
        pl.coalesce("reason", pl.lit("no further topic")), not_printed=pl.lit("not printed")
    )
    columns: dict[str, Any] = {
        "domain": text("Domain"),
        "name": text("Topic, by its words"),
        "estimate": interval("Share", of="percent"),
        "stability": number("Stability", help="Adjusted Rand index with fits from random starts"),
    }
    if printed.height:
        columns |= {
            "printed_name": text("Published, by size", reason="not_printed"),
            "printed": percent("Share", digits=0, reason="not_printed"),
        }
    caption = captioned(
        study,
        "Topics within each domain, the largest first. The paper names its topics by reading, ours are named by their "
        "words: they stand beside each other by size, and need not mean the same.",
    )
    return Table("domain-topics", rows, columns, caption)


def found_again_text(topics: pl.DataFrame) -> Text | None:
    """In how many domains the topics would be found again."""
    known = topics.drop_nulls("stability") if topics.height else topics
    if known.is_empty():
        return None
    steady = known.group_by("domain").agg(pl.col("stability").first())
    values = {
        "n": steady.height,
        "firm": steady.filter(pl.col("stability") >= _FOUND_AGAIN).height,
        "least": _FOUND_AGAIN,
    }
    many = "In **{firm:count} of {n:count}** domains" if values["firm"] else "In **none** of the {n:count} domains"
    template = many + " other starts find much the same topics (stability of {least:number.1} or more)"
    loose = "" if values["firm"] == values["n"] else "; where they do not, the topics are one grouping among several"
    return Text("domain-topics-text", template + loose + ".", values)


def _printed_topics(study: Study) -> pl.DataFrame:
    """The printed topics of each domain by size."""
    rows = published(study).filter(pl.col("statistic").str.starts_with("topic: "))
    return rows.select(
        pl.col("scope").alias("domain"),
        pl.col("value").rank("ordinal", descending=True).over("scope").cast(pl.Int64).alias("topic"),
        pl.col("statistic").str.strip_prefix("topic: ").alias("printed_name"),
        (pl.col("value") / 100).alias("printed"),
    )


def question_map(study: Study, texts: pl.DataFrame) -> Figure | Text:
    """All questions on a plane, like ones close together, a panel for each domain."""
    placed = texts.drop_nulls("domain")
    if placed.is_empty():
        return cannot(
            "question-map", no_texts(study) if texts.is_empty() else "The questions of this data have no domain."
        )
    kept, cosine = _linked(study, placed)
    if kept.height < diversity.FEWEST:
        return cannot("question-map", _FEW)
    places = diversity.layout(cosine, seed=study.seed)
    points = kept.select("question_id", "question", "domain").with_columns(
        x=pl.Series(places[:, 0]).round(4), y=pl.Series(places[:, 1]).round(4)
    )
    home = diversity.neighbours_at_home(cosine, kept["domain"].to_list())
    sizes = (
        kept.group_by("domain", maintain_order=True)
        .agg(pl.len().alias("n"))
        .sort("n", "domain", descending=[True, False])
    )
    title = (
        f"{format_percent(home['estimate'], 0)} % of the questions have their nearest neighbour in their own domain "
        f"({format_percent(home['chance'], 0)} % by chance)"
    )
    left_out = placed.height - kept.height
    told = [f"Each dot a question; those with like words ({_basis(study)}) lie close. Axes mean nothing."]
    told += [f"{left_out} questions share no content word with any other and are left out."] if left_out else []
    caption = captioned(study, *told, f"In colour: the questions of the domain. n = {kept.height} questions.")
    chart = linked(words.map_of(points, groups=sizes["domain"].to_list()), domain="domain")
    return Figure("question-map", titled(study, chart, title, _what(study)), caption, title, points)


def map_text(study: Study, texts: pl.DataFrame) -> Text:
    """Whether questions of a domain are nearer to their own than chance would have it."""
    placed = texts.drop_nulls("domain")
    kept, cosine = _linked(study, placed) if placed.height else (placed, np.zeros((0, 0)))
    if kept.height < diversity.FEWEST:
        return cannot("question-map-text", "Without a map there is nothing to read from it.")
    home = diversity.neighbours_at_home(cosine, kept["domain"].to_list())
    values = {"home": home, "chance": home["chance"]}
    reading = (
        "more often than chance would have it ({chance:percent.0} %): domains have words of their own."
        if home["low"] > home["chance"]
        else "which chance alone ({chance:percent.0} %) may explain: the words do not tell the domains apart."
    )
    template = "**{home:percent_interval.0} %** of the questions have their nearest neighbour in their own domain, "
    return Text("question-map-text", template + reading, values)


def _linked(study: Study, placed: pl.DataFrame) -> tuple[pl.DataFrame, np.ndarray]:
    """The questions that share a word with any other, and how alike they are."""
    cosine = _content_similarity(study, placed)
    linked = (cosine - np.eye(len(cosine))).max(axis=1) > 0
    return placed.filter(pl.Series(linked)), cosine[np.ix_(linked, linked)]


def _content_similarity(study: Study, placed: pl.DataFrame) -> np.ndarray:
    """Similarity by what questions are about: words of asking and stop words left out, or embeddings."""
    if embeddings_file(study):
        return diversity.similarity(vectors(study, placed))
    return diversity.similarity(diversity.tfidf(placed["words"], without=diversity.content_words())[0])


# --- beside the paper -------------------------------------------------------------------------------------------------


def beside_published(study: Study, openings: pl.DataFrame) -> pl.DataFrame:
    """Ours beside what the paper prints of all its questions: median length, openings, interrogatives."""
    if openings.is_empty() or no_published(study):
        return pl.DataFrame()
    median, low, high = structure.median_interval(openings["words"].cast(pl.Float64).to_numpy())
    words_ = published(study).filter(statistic="question_words_median")["value"][0]
    rows = [
        {
            "figure": "Words of a question, median",
            "unit": "words",
            "estimate": median,
            "low": low,
            "high": high,
            "printed": f"{words_:.0f}",
            "inside": _word(low is not None and low <= words_ + 0.5 and high >= words_ - 0.5),
        }
    ]
    bound = _published(study, "top_25_openings_share") or 1.0
    for column, kind in OPENINGS.items():
        share = diversity.top_share(openings[column], seed=study.seed)
        below = share["high"] is not None and share["high"] < bound
        above = share["low"] is not None and share["low"] >= bound
        verdict = "holds" if below else "does not hold" if above else "not told"
        rows.append(
            {
                "figure": f"Share of the {diversity.TOP} most common openings of {kind}",
                "unit": "%",
                **{name: _hundred(share[name]) for name in ("estimate", "low", "high")},
                "reason": share["reason"],
                "printed": f"less than {100 * bound:.0f}",
                "inside": verdict,
            }
        )
    other = _other_share(openings)
    printed = _published(study, "non_interrogative_opening_share") or 0.0
    rows.append(
        {
            "figure": "Begin with no interrogative",
            "unit": "%",
            **{name: _hundred(other[name]) for name in ("estimate", "low", "high")},
            "printed": f"about {100 * printed:.1f}",
            "inside": _word(other["low"] <= printed <= other["high"]),
        }
    )
    return pl.DataFrame(rows)


def _word(inside: bool) -> str:
    return "inside" if inside else "outside"


def _hundred(share: float | None) -> float | None:
    return None if share is None else 100 * share


def published_table(study: Study, beside: pl.DataFrame) -> Table | None:
    """Ours beside the published."""
    if beside.is_empty():
        return None
    columns = {
        "figure": text("Figure"),
        "estimate": interval("Ours", of="number"),
        "unit": text("Unit"),
        "printed": text("Published", align="right"),
        "inside": text("Published lies"),
    }
    caption = (
        "Our numbers with 95 % intervals beside the printed ones. The paper's number does not say how many words an "
        "opening has, so ours is given for one, two and three; “less than” holds where all of the interval lies below."
    )
    return Table("questions-published", beside, columns, captioned(study, caption))


def published_note(study: Study, beside: pl.DataFrame) -> Text:
    """What a comparison with the paper's numbers means here, or why there is none."""
    if reason := no_published(study):
        return cannot("published", reason)
    if beside.is_empty():
        return cannot("published", no_texts(study))
    if _is_sample(study):
        return Text(
            "published",
            "The questions of the sample were written for this project after the paper's description: where they "
            "agree with its numbers, they were written well, and nothing follows about GAMUT.",
            {},
        )
    agree = beside.filter(pl.col("inside").is_in(["inside", "holds"])).height
    template = "**{agree:count} of {n:count}** printed numbers agree with ours."
    return Text("published", template, {"agree": agree, "n": beside.height})


def limits(study: Study) -> Text:
    """What measures of variety do not show."""
    told = [
        "All measures here are of words. Two questions in other words may ask the same, and one wording can ask very "
        "different things of two pictures.",
        "Stop words and interrogatives are English ones; for other languages openings and topics say little.",
        "A map of many dimensions on a plane puts some questions together that are not alike.",
    ]
    if not embeddings_file(study):
        told.append("TF-IDF knows no synonyms; embeddings, where they lie beside the database, are used instead.")
    return Text("limits", " ".join(told), {})
