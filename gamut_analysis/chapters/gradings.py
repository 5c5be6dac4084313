"""What the data tells of how answers were graded: prompt, checks a call, tokens, cost, time, and runs cut short."""

from typing import Any

import polars as pl

from gamut_analysis.display import format_count
from gamut_analysis.study import Study

_SUMS = ("calls", "input_tokens", "output_tokens", "cost_usd", "seconds")
_COUNTS = ("gradings", "with_tokens", "with_cost", "runs_finished", "runs_cancelled", "runs_failed", "superseded")
_LISTS = ("prompts", "prompt_hashes", "checks_per_call")
_HASH = 8  # digits of a hash that tell two prompts apart


def told(study: Study) -> pl.DataFrame:
    """How each judge graded the answers of this variant, and of the study's model where there is one: a row a judge.

    The columns of the mart `judging`, added up over models, with what was asked and graded in full of the answers
    whose grading was cut short.
    """
    rows = study.relation("judging", variant=study.variant)
    own = rows.filter(model=study.model) if study.model else rows
    asked = study.coverage.filter(variant=study.variant).select("model", "judge", "questions_asked", "questions_graded")
    cut = (pl.col("runs_cancelled") + pl.col("runs_failed")) > 0
    sums = [pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()).alias(name) for name in _SUMS]
    lists = [pl.col(name).explode().drop_nulls().unique().sort().alias(name) for name in _LISTS]
    return (
        own.join(asked, on=["model", "judge"], how="left")
        .group_by("judge")
        .agg(
            *sums,
            *lists,
            pl.col(*_COUNTS).sum(),
            pl.col("questions_asked", "questions_graded").filter(cut).sum(),
            pl.col("model").filter(cut).n_unique().alias("models_cut"),
        )
        .sort("judge")
    )


def prompt_words(row: dict[str, Any]) -> str:
    """Version and first digits of the hash of the prompt that was used, or of each of several; empty where not told."""
    prompts, hashes = row["prompts"], [known[:_HASH] for known in row["prompt_hashes"]]
    if len(prompts) == len(hashes) == 1:
        return f"{prompts[0]}, {hashes[0]}"
    return ", ".join([*prompts, *hashes])


def checks_words(row: dict[str, Any]) -> str | None:
    """How many checks a call was asked about, where 0 stands for all of them."""
    return " or ".join(format_count(number) if number else "all" for number in row["checks_per_call"]) or None


def run_words(row: dict[str, Any]) -> str:
    """How the run ended that graded the answers, and what it covers where it was cut short."""
    if row["runs_cancelled"] or row["runs_failed"]:
        kind = "cancelled run" if row["runs_cancelled"] else "unfinished run"
        unit = "questions" if row["models_cut"] == 1 else "answers"
        graded, asked = format_count(row["questions_graded"]), format_count(row["questions_asked"])
        return f"{kind}: {graded} of {asked} {unit}"
    return "finished" if row["runs_finished"] else "not told"


def head_facts(study: Study) -> dict[str, str]:
    """What the strip at the head of a page says of the grading: the prompt, and a warning of a run cut short."""
    rows = told(study).filter(judge=study.judge).to_dicts()
    facts = {}
    for row in rows:
        if words := prompt_words(row):
            facts["prompt"] = words
        if row["models_cut"]:
            facts["warning"] = run_words(row)
    return facts


def prompt_lines(study: Study) -> list[str]:
    """The prompts of the judge in full, with their hashes, for the notes at the foot of a page."""
    rows = told(study).filter(judge=study.judge).to_dicts()
    prompts = [name for row in rows for name in row["prompts"]]
    hashes = [f"hash {known}" for row in rows for known in row["prompt_hashes"]]
    if len(prompts) == len(hashes) == 1:
        return [f"{prompts[0]}, {hashes[0]}"]
    return prompts + hashes
