"""What a judge is given: the answers of models, and the rubrics that they are graded against."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from gamut_analysis import compiler, datasets, paths, tables
from gamut_analysis.errors import InputError, UnknownName
from gamut_analysis.readers.delivery import as_text
from gamut_analysis.readers.folder import read_table
from gamut_analysis.rubric import MetaRubric, load_rubrics
from gamut_analysis.vocabulary import VARIANTS, as_variant

_RUBRIC_FILES = (".yaml", ".yml", ".json", ".jsonl")
_TABLE_FILES = (".parquet", ".csv", ".tsv")
_SHOWN = 5


@dataclass(frozen=True)
class Answer:
    """One answer of a model, to the letter; None where there is none, and then ``error`` says why."""

    model: str
    variant: str
    question_id: str
    answer: str | None
    error: str | None = None

    @property
    def is_gradable(self) -> bool:
        """Whether there is anything to grade: an empty answer is all missing without a judge."""
        return self.error is None and bool(self.answer and self.answer.strip())


@dataclass(frozen=True)
class Rubrics:
    """Questions, their compiled checks and their items, as relations in our words, and what they are called."""

    questions: pl.DataFrame
    checks: pl.DataFrame
    items: pl.DataFrame
    dataset: dict[str, Any]

    @cached_property
    def checks_of(self) -> dict[tuple[str, str], list[tuple[str, str]]]:
        """The id and text of each check by variant and question, in compiled order."""
        listed: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for variant, question_id, check_id, text in self.checks.select(
            pl.col("variant", "question_id", "check_id", "text").cast(pl.String)
        ).iter_rows():
            listed.setdefault((variant, question_id), []).append((check_id, text))
        return listed

    @cached_property
    def question_of(self) -> dict[tuple[str, str], str]:
        """The text of each question by variant and id."""
        rows = self.questions.select(pl.col("variant", "question_id", "question").cast(pl.String)).drop_nulls(
            "question"
        )
        return {(variant, question_id): text for variant, question_id, text in rows.iter_rows()}


def read_rubrics(given: str = "") -> Rubrics:
    """The sample's rubrics, meta-rubrics of one's own (files or a folder of YAML), or those of a folder or database.

    Raises InputError or RubricError when there are none.
    """
    path = Path(given)
    if given in ("", datasets.DEFAULT):
        told = {"name": "sample", "title": "answers to the written sample benchmark", "licence": "CC BY 4.0"}
        return _compiled(metas_of(), told)
    if path.suffix.lower() in _RUBRIC_FILES or (path.is_dir() and any(path.glob("*.y*ml"))):
        return _compiled(load_rubrics([path]), {"name": path.stem, "title": f"answers to the questions of {path.stem}"})
    if path.suffix.lower() in _TABLE_FILES:
        raise InputError(f"{given}: a table; name the folder that holds it, with its checks and questions")
    found = tables.read_all(datasets.database_of(given), ("questions", "checks", "items", "dataset"))
    dataset = found["dataset"].row(0, named=True)
    told = {name: dataset[name] for name in ("name", "title", "benchmark", "licence", "url") if dataset[name]}
    _check_texts(given, found["checks"])
    return Rubrics(found["questions"], found["checks"], found["items"], told)


def metas_of(given: Sequence[Path] = ()) -> list[MetaRubric]:
    """The meta-rubrics of some files or folders, the sample's if none is given.

    Raises InputError for a path that is not there, RubricError for one that holds no valid rubrics.
    """
    sample = paths.sample() / "questions"
    if not given and not sample.is_dir():
        raise InputError(f"{sample}: the sample is not here; name your own rubrics, or set GAMUT_HOME to a checkout")
    for path in given:
        if not path.exists():
            raise InputError(f"{path}: there is no such file or folder of rubrics")
    return load_rubrics(given or [sample])


def _check_texts(given: str, checks: pl.DataFrame) -> None:
    """Raise InputError where a check has no text that a judge could read."""
    silent = checks.filter(pl.col("text").is_null()).select(pl.col("question_id", "check_id").cast(pl.String))
    if silent.height:
        question_id, check_id = silent.row(0)
        raise InputError(
            f"{given}: {question_id} / {check_id}: no text, so no judge can grade it ({silent.height} such)"
        )


def _compiled(metas: Sequence[MetaRubric], told: dict[str, Any]) -> Rubrics:
    checks = pl.concat([compiler.checks_frame(metas, variant) for variant in VARIANTS])
    return Rubrics(compiler.questions_frame(metas), checks, compiler.items_frame(metas), told)


def read_answers(given: Path, *, model: str = "", variant: str = "") -> list[Answer]:
    """The answers of a file, or of the files called ``answers`` in a folder, each once.

    model, variant: who answered and how it was asked, for rows that do not say. Raises InputError with file and line
    for rows that cannot be used, and where one model gives two answers to one question.
    """
    if variant and as_variant(variant) is None:
        raise UnknownName(f"--variant {variant!r}: one of {', '.join(VARIANTS)} is needed")
    found: dict[tuple[str, str, str], tuple[Answer, str]] = {}
    faults: list[str] = []
    for path in _files(given):
        frame, rejects = read_table(path, "answers", {"model": model, "variant": variant})
        faults += [f"{path}:{reject.row}: {reject.field}: {reject.reason}" for reject in rejects]
        for row in frame.iter_rows(named=True):
            place = f"{path}:{row['row']}"
            answer, fault = _answer(row)
            if answer is None:
                faults.append(f"{place}: {fault}")
                continue
            key = (answer.model, answer.variant, answer.question_id)
            before, where = found.setdefault(key, (answer, place))
            if before != answer:
                faults.append(f"{place}: {answer.model} gives another answer to {answer.question_id} at {where}")
    if faults:
        more = f"\n  and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        raise InputError(f"{given}: not every answer can be used:\n  " + "\n  ".join(faults[:_SHOWN]) + more)
    if not found:
        raise InputError(f"{given}: there is no answer in it")
    return [answer for answer, _ in found.values()]


def _files(given: Path) -> Iterator[Path]:
    if given.is_file():
        yield given
        return
    files = sorted(path for path in given.glob("answers*") if path.is_file()) if given.is_dir() else []
    if not files:
        kind = "a folder without a file of answers" if given.is_dir() else "there is no such file"
        raise InputError(
            f"{given}: {kind}. Answers are rows of model, variant, question_id and answer (or error): JSON lines, CSV, "
            f"Parquet"
        )
    yield from files


def _answer(row: dict[str, Any]) -> tuple[Answer | None, str]:
    """The answer of a row, or what keeps it from being one."""
    if not row["model"]:
        return None, "no model; --model names it for the whole file"
    if not row["question_id"]:
        return None, "no question_id"
    if row["variant"] is None:
        return None, f"no variant; --variant names it for the whole file ({' or '.join(VARIANTS)})"
    known = as_variant(row["variant"])
    if known is None:
        return None, f"variant {row['variant']!r}: one of {', '.join(VARIANTS)} is needed"
    error = row["error"] if row["error"] not in (None, "", "false", "None", "null") else None
    if error is None and row["answer"] is None:
        error = "no answer recorded"
    return Answer(row["model"], known, row["question_id"], as_text(row["answer"]), error), ""


def matched(answers: Sequence[Answer], rubrics: Rubrics) -> tuple[list[Answer], list[Answer]]:
    """The answers to questions that have checks in their variant, and the others. Raises InputError without any."""
    known = rubrics.checks_of
    having = [answer for answer in answers if (answer.variant, answer.question_id) in known]
    without = [answer for answer in answers if (answer.variant, answer.question_id) not in known]
    if not having:
        given = [(answer.variant, answer.question_id) for answer in answers]
        raise InputError(
            f"no answer belongs to these rubrics: the answers speak of {_listed(given)}; the rubrics of "
            f"{_listed(known)}; --rubrics names other ones, --variant the variant of a file that does not say"
        )
    return having, without


def _listed(places: Iterable[tuple[str, str]]) -> str:
    """The first few questions, with their variants."""
    shown = [f"{question_id} ({variant})" for variant, question_id in sorted(set(places), key=lambda place: place[1])]
    return ", ".join(shown[:_SHOWN]) + (", ..." if len(shown) > _SHOWN else "")
