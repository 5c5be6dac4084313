"""Logs of Inspect AI: verdicts, answers, gradings and questions, from runs of our own judge and of other scorers.

The same sample in two files counts once, and a run that was retried is put together sample by sample. A sample that
failed leaves its checks ungraded, never missing.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from gamut_analysis.readers import inspect_file
from gamut_analysis.readers.delivery import FIELDS, Reject, Source, as_text, rows_of, source_of
from gamut_analysis.readers.inspect_file import Log, Sample
from gamut_analysis.readers.inspect_scores import Scorers, at, judged, metadata_of, scorers_of
from gamut_analysis.readers.manifest import Manifest, TableSpec
from gamut_analysis.readers.naming import naming, under_our_names, without_misformed
from gamut_analysis.vocabulary import as_variant

# The task that this project's own judge runs: its samples are answers, and their metadata tells whose.
OWN_TASK = "gamut"
READER = "inspect"
_COSTS = ("prompt", "prompt_hash", "checks_per_call", "calls", "input_tokens", "output_tokens", "cost_usd", "seconds")
_GRADER = "grader"
_NO_MODEL = ("none", "none/none", "")
_ENDED = {"cancelled": "was cancelled", "error": "ended with an error", inspect_file.STARTED: "was not finished"}
_ROW = "row of the log"

Record = dict[str, Any]


@dataclass(frozen=True)
class Found:
    """What logs gave, ready for a `Delivery`: tables, sources, rejects and notes."""

    tables: dict[str, pl.DataFrame]
    sources: list[Source]
    rejects: list[tuple[int, Reject]]
    notes: list[str]


@dataclass
class _Run:
    """One log, and the samples of it that no earlier file holds, by their place from 1."""

    path: Path
    file: str
    log: Log
    told: Manifest
    fresh: dict[int, Sample] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """What tells the run from others."""
        return self.log.eval.eval_id or self.log.eval.run_id or str(self.path)

    @property
    def task(self) -> tuple[str | None, ...]:
        """What a run and its retries share; our own judge goes on where it was stopped in a run of its own."""
        if self.is_own:
            return OWN_TASK, *sorted(self.judges.values())
        return self.log.eval.task_id or self.identity, self.model

    @property
    def is_own(self) -> bool:
        """Whether this project's own judge made the log."""
        return self.log.eval.task.rpartition("/")[2] == OWN_TASK

    @property
    def model(self) -> str | None:
        """The model that was run."""
        model = self.log.eval.model
        return None if model in _NO_MODEL else model

    @property
    def is_mute(self) -> bool:
        """Whether the log tells neither who answered nor who graded."""
        return not self.is_own and self.model is None and not any(sample.scores for sample in self.samples)

    @property
    def samples(self) -> list[Sample]:
        """All samples of the file."""
        return self.log.samples or []

    @cached_property
    def scorers(self) -> Scorers:
        """The scorers whose scores are read."""
        return scorers_of(self.log, self.file, self.told)

    @cached_property
    def judges(self) -> dict[str, str]:
        """The judge of each scorer whose scores name only one: a score that names none is that judge's too."""
        named: dict[str, set[str]] = defaultdict(set)
        for sample in self.samples:
            for scorer in self.scorers.read:
                if judge := as_text(self.tell("judge", scorer, sample)):
                    named[scorer].add(judge)
        return {scorer: judges.pop() for scorer, judges in named.items() if len(judges) == 1}

    def metadata(self, scorer: str | None, sample: Sample) -> Mapping[str, Any]:
        """What the score tells beside its value; in our own logs the sample tells it as well."""
        of_score = metadata_of(_score(scorer, sample))
        return {**(sample.metadata or {}), **of_score} if self.is_own else of_score

    def tell(self, name: str, scorer: str | None, sample: Sample) -> Any:
        """A field of the grading: where the manifest points, else what the metadata says."""
        path = self.told.inspect.paths.get(name)
        return at(path, _score(scorer, sample), sample) if path else self.metadata(scorer, sample).get(name)

    def key(self, scorer: str | None, sample: Sample) -> Record:
        """Whose answer to what this is; metadata come before what the run and the sample are called."""
        told = {name: self.tell(name, scorer, sample) for name in ("model", "variant", "question_id", "replicate")}
        return {
            "model": _first(told["model"], self.model),
            "variant": _first(told["variant"], (sample.metadata or {}).get("variant")),
            "question_id": _first(told["question_id"], sample.id),
            "replicate": _first(told["replicate"], sample.epoch - 1),
        }

    def judge(self, scorer: str, sample: Sample) -> Any:
        """Who graded: as the score says, else as others of its scorer or the manifest say, else the scorer itself."""
        constant = self.told.spec("verdicts").constants.get("judge")
        return _first(self.tell("judge", scorer, sample), self.judges.get(scorer), constant, scorer)


def find(folder: Path) -> list[Path]:
    """The logs in a folder itself, told by their extension or by what they hold."""
    files = (path for path in folder.iterdir() if not path.name.startswith(".") and path.is_file())
    return sorted(path for path in files if inspect_file.is_log(path))


def read(paths: Sequence[Path], told: Manifest, root: Path, first_source_id: int) -> Found:
    """Read logs together. Raises InputError or ManifestError for a log in which no verdicts can be found."""
    runs = [_Run(path, _name(path, root), inspect_file.read(path), told) for path in paths]
    notes = _without_copies(runs)
    answers, of_answers = _answers(runs)
    questions = _questions(runs)
    tables: dict[str, list[pl.DataFrame]] = defaultdict(list)
    sources: list[Source] = []
    rejects: list[tuple[int, Reject]] = []
    for number, run in enumerate(runs):
        source_id = first_source_id + number
        records = {**_graded(run), "answers": answers[number], "questions": questions[number]}
        for table, rows in records.items():
            if rows:
                frame, misformed = _frame(run, table, rows, source_id)
                tables[table].append(frame)
                rejects += [(source_id, reject) for reject in misformed]
        table = "verdicts" if records["verdicts"] or not records["answers"] else "answers"
        sources.append(source_of(source_id, run.path, root, table, READER, len(run.fresh)))
        notes += [
            f"{run.file}: the scores of {name} are no verdicts and were not read." for name in run.scorers.passed_over
        ]
    notes += of_answers + _unfinished(runs)
    gathered = {table: pl.concat(frames, how="diagonal") for table, frames in tables.items()}
    return Found(gathered, sources, rejects, list(dict.fromkeys(notes)))


def spread_failures(tables: dict[str, pl.DataFrame], source_ids: Sequence[int]) -> list[tuple[int, Reject]]:
    """Let each failure of a whole sample stand for every check of its question; where none is known, it is rejected."""
    verdicts = tables["verdicts"].with_row_index("place")
    is_whole = pl.col("source_id").is_in(source_ids) & pl.col("check_id").is_null() & pl.col("error").is_not_null()
    failed = verdicts.filter(is_whole & pl.col("question_id").is_not_null())
    if failed.is_empty():
        return []
    checks = (
        tables["checks"]
        .select("question_id", "check_id", _variant("variant").alias("stands_in"))
        .drop_nulls("check_id")
    )
    each = failed.drop("check_id").join(checks, on="question_id", maintain_order="left_right")
    each = each.filter(pl.coalesce(_variant("variant") == pl.col("stands_in"), True))
    each = each.unique(["place", "check_id"], keep="first", maintain_order=True)
    others = verdicts.join(failed, on="place", how="anti", maintain_order="left")
    tables["verdicts"] = pl.concat([others, each.select(verdicts.columns)]).drop("place")
    lost = failed.join(each, on="place", how="anti", maintain_order="left")
    reason = "the sample failed, and no check of its question is known"
    return [
        (source_id, Reject(row, "error", error, reason))
        for source_id, row, error in lost.select("source_id", "row", "error").iter_rows()
    ]


def _variant(column: str) -> pl.Expr:
    return pl.col(column).map_elements(as_variant, return_dtype=pl.String)


def _name(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else path.name


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _score(scorer: str | None, sample: Sample) -> Mapping[str, Any]:
    return (sample.scores or {}).get(scorer or "", {})


def _without_copies(runs: Sequence[_Run]) -> list[str]:
    """Give each run the samples that no earlier file holds, and say which are copies: a copy says the same."""
    first: dict[tuple[Any, ...], str] = {}
    notes: list[str] = []
    for run in runs:
        if run.is_mute:
            notes.append(f"{run.file} names no model and holds no scores: nothing of it was read.")
            continue
        copies: Counter[str] = Counter()
        for number, sample in enumerate(run.samples, 1):
            mark = (run.model, sample.uuid or (run.identity, str(sample.id), sample.epoch), _content(sample))
            if mark in first:
                copies[first[mark]] += 1
            else:
                first[mark] = run.file
                run.fresh[number] = sample
        for other, count in copies.items():
            samples = "1 sample" if count == 1 else f"{count} samples"
            notes.append(f"{run.file} repeats {samples} of {other}, which count{'s' if count == 1 else ''} once.")
    return notes


def _content(sample: Sample) -> str:
    return json.dumps([sample.scores, sample.error, _completion(sample)], sort_keys=True, default=str)


def _graded(run: _Run) -> dict[str, list[Record]]:
    """The verdicts of a log, and its gradings: what each took."""
    verdicts: list[Record] = []
    gradings: list[Record] = []
    for number, sample in run.fresh.items():
        for scorer in _scorers_at(run, sample):
            key = run.key(scorer, sample) | {"judge": run.judge(scorer, sample), "judged_at": sample.completed_at}
            key[_ROW] = number
            if run.is_own or scorer in (sample.scores or {}) or _completion(sample) is not None:
                gradings.append(key | {"run_status": run.log.status} | _costs(run, scorer, sample))
            says = judged(scorer, _score(scorer, sample), sample, run.told)
            verdicts += [{**key, **verdict._asdict()} for verdict in says]
    return {"verdicts": verdicts, "gradings": gradings}


def _scorers_at(run: _Run, sample: Sample) -> Iterator[str]:
    """The scorers that graded a sample, or that failed to."""
    for scorer in run.scorers.read:
        if sample.error or scorer in (sample.scores or {}):
            yield scorer


def _costs(run: _Run, scorer: str, sample: Sample) -> Record:
    """What a grading took, as its metadata tells; where only one scorer worked, else as the sample was charged."""
    metadata = run.metadata(scorer, sample)
    told = {name: metadata[name] for name in _COSTS if metadata.get(name) is not None}
    if len(run.scorers.read + run.scorers.passed_over) > 1:
        return told
    return _charged(run.key(scorer, sample)["model"], sample) | told


def _charged(model: str | None, sample: Sample) -> Record:
    """Tokens and cost of the models that graded: the one in the role of grader, else all but the one that answered."""
    graders = {name: usage for name, usage in (sample.role_usage or {}).items() if name == _GRADER}
    others = {name: usage for name, usage in (sample.model_usage or {}).items() if name != model}
    usages = list((graders or others).values())
    costs = [usage.total_cost for usage in usages if usage.total_cost is not None]
    charged: Record = {"seconds": sample.total_time, "cost_usd": sum(costs) if costs else None}
    if usages:
        charged["input_tokens"] = sum(usage.all_input for usage in usages)
        charged["output_tokens"] = sum(usage.output_tokens for usage in usages)
    return charged


def _answers(runs: Sequence[_Run]) -> tuple[list[list[Record]], list[str]]:
    """The answers of each run, one for a question: of epochs and retries the first that holds something."""
    found: dict[tuple[Any, ...], list[tuple[tuple[bool, bool, int, int], Record]]] = defaultdict(list)
    for number, run in enumerate(runs):
        for row, sample in run.fresh.items():
            if answer := _answer(run, sample):
                key = run.task, *(as_text(answer[name]) for name in ("model", "variant", "question_id"))
                rank = answer["error"] is not None, not answer["answer"], sample.epoch, number
                found[key].append((rank, answer | {_ROW: row}))
    kept: list[list[Record]] = [[] for _ in runs]
    others: Counter[str] = Counter()
    for alike in found.values():
        (*_, number), answer = min(alike, key=lambda pair: pair[0])
        kept[number].append(answer)
        others[runs[number].file] += len(
            {other["answer"] for _, other in alike if other["answer"]} - {answer["answer"]}
        )
    notes = [
        f"{file}: {count} other answers to the same questions are not kept." for file, count in others.items() if count
    ]
    return kept, notes


def _answer(run: _Run, sample: Sample) -> Record | None:
    """The answer that a sample holds, or why it has none; null where it was not asked for."""
    scorer = next(_scorers_at(run, sample), None)
    text = _answer_text(run, scorer, sample)
    error = None if run.is_own or text else _answer_error(text, sample)
    if text is None and error is None:
        return None
    answered_at = None if run.is_own else sample.completed_at
    key = {name: value for name, value in run.key(scorer, sample).items() if name != "replicate"}
    return key | {"answer": None if error else text, "error": error, "answered_at": answered_at}


def _answer_text(run: _Run, scorer: str | None, sample: Sample) -> str | None:
    """What was graded: in our own logs the score holds it, elsewhere the model has just written it."""
    if "answer" in run.told.inspect.paths:
        return as_text(run.tell("answer", scorer, sample))
    return as_text(_score(scorer, sample).get("answer")) if run.is_own else _completion(sample)


def _answer_error(text: str | None, sample: Sample) -> str | None:
    """Why there is no answer: the model's error, or that of the sample if it came before the model wrote anything."""
    of_model = as_text(sample.output.error) if sample.output else None
    return of_model or (as_text((sample.error or {}).get("message")) if text is None else None)


def _completion(sample: Sample) -> str | None:
    """What the model wrote, blank where it wrote nothing; null where it was not asked."""
    output = sample.output
    if output is None:
        return None
    message = output.choices[0].get("message") if output.choices and isinstance(output.choices[0], Mapping) else None
    text = as_text(output.completion) or _content_of(message)
    return text if text or output.choices or (sample.scores and not sample.error) else None


def _content_of(message: Any) -> str:
    """The text of a message, which may come in parts."""
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, list):
        return "\n".join(as_text(part.get("text")) or "" for part in content if isinstance(part, Mapping)).strip("\n")
    return as_text(content) or ""


def _questions(runs: Sequence[_Run]) -> list[list[Record]]:
    """The questions that runs were to ask, with their texts where a sample tells; each question and text once."""
    asked: dict[tuple[Any, ...], int] = {}
    for number, run in enumerate(runs):
        for key in _asked(run):
            asked.setdefault(key, number)
    with_text = {question_id for question_id, _, text in asked if text}
    questions: list[list[Record]] = [[] for _ in runs]
    for (question_id, variant, text), number in asked.items():
        if text or question_id not in with_text:
            questions[number].append({"question_id": question_id, "variant": variant, "question": text, _ROW: None})
    return questions


def _asked(run: _Run) -> Iterator[tuple[str | None, str | None, str | None]]:
    """The questions of a run by id, variant and text; none where samples are not called after their question."""
    keys = [(run.key(next(_scorers_at(run, sample), None), sample), sample) for sample in run.samples]
    if run.is_own or run.is_mute or any(as_text(key["question_id"]) != as_text(sample.id) for key, sample in keys):
        return
    for key, sample in keys:
        yield as_text(sample.id), as_text(key["variant"]), _question(sample.input)
    for question_id in run.log.eval.dataset.sample_ids or ():
        yield as_text(question_id), None, None


def _question(given: Any) -> str | None:
    """The text that a model was asked: the input, or the last message of the user in it."""
    if isinstance(given, list):
        said = [message for message in given if isinstance(message, Mapping) and message.get("role") == "user"]
        return _content_of(said[-1]) or None if said else None
    return as_text(given) or None


def _unfinished(runs: Sequence[_Run]) -> list[str]:
    """A sentence on each run that did not come to its end, and that no retry brought there."""
    tasks: dict[Any, list[_Run]] = defaultdict(list)
    for run in runs:
        if not run.is_mute:
            tasks[run.task].append(run)
    return [note for alike in tasks.values() for note in _unfinished_task(alike)]


def _unfinished_task(runs: Sequence[_Run]) -> Iterator[str]:
    """What was done of one task in all its runs together."""
    done = {(as_text(sample.id), sample.epoch) for run in runs for sample in run.samples if not sample.error}
    asked = {as_text(sample_id) for run in runs for sample_id in run.log.eval.dataset.sample_ids or ()}
    epochs = max(run.log.eval.config.epochs or 1 for run in runs)
    if asked and len(done) >= len(asked) * epochs:
        return
    ids = {sample_id for sample_id, _ in done}
    for run in runs:
        if run.log.status in _ENDED:
            noun = "answers" if run.is_own else "questions"
            count = f"{len(ids)} of {len(asked)} {noun}" if asked else f"{len(ids)} {noun}"
            if ids == asked:
                count = f"{len(done)} of {len(asked) * epochs} samples"
            yield f"The run of {_who(run)} {_ENDED[run.log.status]}: {count}."


def _who(run: _Run) -> str:
    judges = ", ".join(sorted(set(run.judges.values())))
    return f"the judge {judges}" if run.is_own and judges else run.model or run.file


def _frame(run: _Run, table: str, rows: Sequence[Record], source_id: int) -> tuple[pl.DataFrame, list[Reject]]:
    """Records as rows of a delivered table; what the manifest holds constant for verdicts holds here as well."""
    constants = {**run.told.spec("verdicts").constants, **run.told.spec(table).constants}
    spec = TableSpec(constants={name: value for name, value in constants.items() if name in FIELDS[table]})
    columns = {name: [row.get(name) for row in rows] for name in FIELDS[table]}
    named = naming(tuple(columns), table, spec, run.path)
    return without_misformed(under_our_names(rows_of(columns, [row[_ROW] for row in rows], 0), named, source_id))
