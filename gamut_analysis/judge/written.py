"""A folder of judged answers: what a run leaves behind, in the tables that every folder of verdicts has."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from gamut_analysis.errors import InputError
from gamut_analysis.judge.grading import settled
from gamut_analysis.judge.inputs import Answer, Rubrics, read_answers
from gamut_analysis.judge.journal import Call
from gamut_analysis.readers.manifest import NAME as MANIFEST
from gamut_analysis.readers.manifest import load

ANSWERS = "answers.jsonl"
_KEY = {
    "model": pl.String,
    "judge": pl.String,
    "variant": pl.String,
    "question_id": pl.String,
    "replicate": pl.Int32,
}
_PROTOCOL = {"prompt": pl.String, "prompt_hash": pl.String, "checks_per_call": pl.Int32}
VERDICTS = _KEY | {
    "check_id": pl.String,
    "verdict": pl.String,
    "rationale": pl.String,
    "error": pl.String,
    "judged_at": pl.String,
    **_PROTOCOL,
}
GRADINGS = (
    _KEY
    | _PROTOCOL
    | {
        "calls": pl.Int32,
        "input_tokens": pl.Int64,
        "output_tokens": pl.Int64,
        "cost_usd": pl.Float64,
        "seconds": pl.Float64,
        "judged_at": pl.String,
        "run_status": pl.String,
    }
)
_RUBRICS = ("questions", "checks", "items")


def by_grading(calls: Iterable[Call]) -> dict[tuple[str, str, str, str, int], list[Call]]:
    """The calls of each grading, in the order in which they were made."""
    grouped: dict[tuple[str, str, str, str, int], list[Call]] = {}
    for call in calls:
        grouped.setdefault(call.grading, []).append(call)
    return grouped


def verdicts_of(calls: Iterable[Call]) -> pl.DataFrame:
    """One row per check that was asked about: its verdict and reason, or the error that left it ungraded."""
    rows = []
    for (judge, model, variant, question_id, replicate), own in sorted(by_grading(calls).items()):
        for check_id, (check, call) in sorted(settled(own).items()):
            protocol = (call.prompt, call.prompt_hash, call.checks_per_call)
            told = (check_id, check.verdict, check.rationale, check.ungraded_reason, call.at)
            rows.append((model, judge, variant, question_id, replicate, *told, *protocol))
    return pl.DataFrame(rows, schema=VERDICTS, orient="row")


def gradings_of(calls: Iterable[Call], checks_of: Mapping[tuple[str, str], Sequence[tuple[str, str]]]) -> pl.DataFrame:
    """One row per answer, judge and replicate: the calls that it took, their tokens, cost and time.

    A grading whose checks were not all asked about, or whose last call failed on its way, is ``cancelled``.
    """
    rows = []
    for (judge, model, variant, question_id, replicate), own in sorted(by_grading(calls).items()):
        replies = [call for call in own if call.error is None]
        told = settled(own)
        reached = all(
            check_id in told and told[check_id][1].error is None for check_id, _ in checks_of[variant, question_id]
        )
        last = own[-1]
        sums = _sums(replies)
        protocol = (last.prompt, last.prompt_hash, last.checks_per_call)
        status = "success" if reached else "cancelled"
        rows.append((model, judge, variant, question_id, replicate, *protocol, *sums, last.at, status))
    return pl.DataFrame(rows, schema=GRADINGS, orient="row")


def _sums(replies: Sequence[Call]) -> tuple[int, int, int, float | None, float]:
    costs = [call.cost_usd for call in replies if call.cost_usd is not None]
    return (
        len(replies),
        sum(call.input_tokens for call in replies),
        sum(call.output_tokens for call in replies),
        sum(costs) if costs else None,
        round(sum(call.seconds for call in replies), 3),
    )


def judges_of(calls: Iterable[Call], models: Iterable[str]) -> pl.DataFrame:
    """The judges that were asked; one that is among the models that answered is named as such."""
    known = set(models)
    asked = {call.judge: call.judge_model for call in calls}
    rows = [(name, name, "model", _itself(model, known)) for name, model in sorted(asked.items())]
    return pl.DataFrame(rows, schema=dict.fromkeys(("judge", "name", "kind", "model"), pl.String), orient="row")


def bare(model: str) -> str:
    """A model's own name, without Inspect's provider and service.

    >>> bare("openai/gpt-4o"), bare("openai-api/openai/Qwen/Qwen3-32B"), bare("qwen3")
    ('gpt-4o', 'Qwen/Qwen3-32B', 'qwen3')
    """
    provider, _, rest = model.partition("/")
    if provider == "openai-api":
        return rest.partition("/")[2]
    return rest or provider


def _itself(model: str, known: set[str]) -> str | None:
    return next((name for name in (model, bare(model)) if name in known), None)


def beside(folder: Path, answers: Sequence[Answer], rubrics: Rubrics) -> list[Answer]:
    """The answers that the folder holds, with these added.

    Raises InputError when it holds another answer of a model to a question, or other rubrics.
    """
    there = read_answers(folder / ANSWERS) if (folder / ANSWERS).is_file() else []
    held = {(answer.model, answer.variant, answer.question_id): answer for answer in there}
    for answer in answers:
        other = held.setdefault((answer.model, answer.variant, answer.question_id), answer)
        if other != answer:
            raise InputError(
                f"{folder / ANSWERS} holds another answer of {answer.model} to {answer.question_id}; judge these into "
                f"another folder (--into)"
            )
    if (folder / "checks.parquet").is_file():
        _check_same(folder, pl.read_parquet(folder / "checks.parquet"), rubrics.checks)
    return list(held.values())


def settle(folder: Path, answers: Sequence[Answer], rubrics: Rubrics, simulated: bool) -> None:
    """Put answers and rubrics into the folder, and a manifest where there is none.

    Raises InputError for simulated data beside data that is not called so.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if simulated and (folder / MANIFEST).is_file() and not load(folder / MANIFEST).dataset.get("simulated"):
        raise InputError(f"{folder} holds data that is not simulated; put simulated data into another folder (--into)")
    variants = sorted({answer.variant for answer in answers})
    for table in _RUBRICS:
        frame: pl.DataFrame = getattr(rubrics, table)
        if "variant" in frame.columns:
            frame = frame.filter(pl.col("variant").cast(pl.String).is_in(variants))
        write(folder / f"{table}.parquet", frame.drop("source_id", "row", "extra", strict=False))
    lines = "".join(json.dumps(_record(answer), ensure_ascii=False) + "\n" for answer in answers)
    write_file(folder / ANSWERS, lines.encode("utf-8", "replace"))
    if not (folder / MANIFEST).is_file():
        write_file(folder / MANIFEST, _manifest(rubrics, simulated).encode())


def _record(answer: Answer) -> dict[str, Any]:
    told = {"model": answer.model, "variant": answer.variant, "question_id": answer.question_id}
    return told | ({"answer": answer.answer} if answer.error is None else {"error": answer.error})


def _check_same(folder: Path, before: pl.DataFrame, now: pl.DataFrame) -> None:
    columns = [pl.col("variant", "question_id", "check_id", "tier", "text").cast(pl.String)]
    told, given = before.select(columns), now.select(columns)
    both = given.join(told.select("variant").unique(), on="variant", how="semi")
    if not told.sort(told.columns).equals(both.sort(both.columns)):
        raise InputError(f"{folder} holds other rubrics than these; judge into another folder (--into)")


def _manifest(rubrics: Rubrics, simulated: bool) -> str:
    told: dict[str, str] = {
        "title": f"{'SIMULATED v' if simulated else 'V'}erdicts on {rubrics.dataset.get('title', 'answers')}",
        **{name: rubrics.dataset[name] for name in ("benchmark", "licence", "url") if name in rubrics.dataset},
        "note": "Graded with gamut judge; calls.jsonl holds every reply.",
    }
    lines = [f"{key} = {_toml(value)}" for key, value in told.items()]
    return "\n".join(["[data]", *lines, f"simulated = {str(simulated).lower()}", ""])


def _toml(text: str) -> str:
    """A text as TOML writes it: as JSON does, but for one control character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def write_tables(folder: Path, calls: Sequence[Call], answers: Sequence[Answer], rubrics: Rubrics) -> None:
    """Write the verdicts, gradings and judges that the calls come to."""
    write(folder / "verdicts.parquet", verdicts_of(calls))
    write(folder / "gradings.parquet", gradings_of(calls, rubrics.checks_of))
    write(folder / "judges.parquet", judges_of(calls, (answer.model for answer in answers)))


def write(path: Path, frame: pl.DataFrame) -> None:
    """Write a table whole or not at all."""
    draft = path.with_name(f".{path.name}.new")
    frame.write_parquet(draft, compression="zstd", compression_level=3)
    draft.replace(path)


def write_file(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    draft = path.with_name(f".{path.name}.new")
    draft.write_bytes(content)
    draft.replace(path)
