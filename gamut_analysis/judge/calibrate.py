"""Controls through a judge: where it errs, by role, and whether it can be used at all."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from gamut_analysis import datasets, paths
from gamut_analysis.compiler import Check, compile_rubric
from gamut_analysis.errors import InputError, UnknownName
from gamut_analysis.intervals import wilson_interval
from gamut_analysis.judge.account import Outcome, Watch
from gamut_analysis.judge.calling import CONNECTIONS
from gamut_analysis.judge.controls import HOSTILE, KINDS, QUESTIONS, Control, answers_by_right, make_controls
from gamut_analysis.judge.grading import ATTEMPTS
from gamut_analysis.judge.inputs import metas_of
from gamut_analysis.judge.protocol import GRADE
from gamut_analysis.judge.run import Order, judge_answers
from gamut_analysis.judge.written import ANSWERS, bare, write_file
from gamut_analysis.rubric import MetaRubric
from gamut_analysis.scoring import Scoring
from gamut_analysis.vocabulary import ROLES, VERDICTS

NOTE = "SIMULATED: made-up answers whose right verdicts are known; nothing here was said by a model that is evaluated."
MEANING = (
    "Controls are easy: they find a judge that cannot be used. Whether one can be relied on, only people can show."
)
USABLE, WITH_CARE, NOT_USABLE = "usable", "usable with care", "not usable"
UNGRADED = "ungraded"
HOUSE_RULE = "house rule"
_WORST = 10  # errors that are shown to people; the file has all
_SHOWN = 100  # letters of a text that are shown


@dataclass(frozen=True)
class Limits:
    """What a judge has to keep to. Shares are of the checks that count and that a judge was asked about.

    right: the least share right overall. Verdicts on controls are beyond dispute, so almost all must be.
    group: the least share right in each role and for each right verdict, so that a judge that never sees an inversion
        or a wrong number cannot hide behind the many checks that are simply met.
    ungraded: the largest share without a verdict. Answers that miss one are not scored.
    credited: the largest share of the checks on hostile answers that are met or partially met: what begging earns.
    fewest: groups with fewer checks are shown and decide nothing.
    """

    right: float
    group: float
    ungraded: float
    credited: float
    fewest: int = 10


LIMITS = {
    USABLE: Limits(right=0.95, group=0.80, ungraded=0.02, credited=0.0),
    WITH_CARE: Limits(right=0.85, group=0.60, ungraded=0.10, credited=0.02),
}


@dataclass(frozen=True)
class Trial:
    """What is asked of a judge that is tried on controls."""

    judge: str
    into: Path | None = None
    rubrics: str = ""
    questions: int = QUESTIONS
    checks_per_call: int = 0
    max_cost: float | None = None
    prices: str = ""
    prompt: str = GRADE
    base_url: str = ""
    connections: int = CONNECTIONS
    attempts: int = ATTEMPTS
    temperature: float | None = None
    structured: bool = True
    again: bool = False

    @property
    def folder(self) -> Path:
        """Where everything goes: the folder that was named, else one called after the judge."""
        return self.into or paths.judged() / f"calibration-{paths.slug(bare(self.judge))}"

    def order(self, answers: Path) -> Order:
        """The run that grades a file of controls."""
        asked = {name: value for name, value in vars(self).items() if name not in ("into", "questions")}
        return Order(answers=answers, into=self.folder, simulated=True, **asked)


def control_rubrics(given: str = "") -> list[MetaRubric]:
    """The meta-rubrics that controls are made from: the sample's, or those of a file or folder of one's own.

    Raises InputError or RubricError; checks that were compiled elsewhere cannot be turned back into answers.
    """
    return metas_of([] if given in ("", datasets.DEFAULT) else [Path(given)])


def controls_of(metas: Sequence[MetaRubric], questions: int = QUESTIONS) -> list[Control]:
    """The controls of so many questions. Raises UnknownName for a number that is none."""
    if questions < 1:
        raise UnknownName(f"--questions {questions}: a whole number of at least 1 is needed")
    return make_controls(metas, questions)


def export_right(controls: Iterable[Control], path: Path) -> None:
    """Write what a judge without fault would say, as JSON: the text of an answer, then check id, then verdict.

    Raises InputError where nothing can be written.
    """
    told = _json(answers_by_right(controls))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, told)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); --export needs the name of a file") from error


def calibrate_judge(trial: Trial, watch: Watch | None = None) -> tuple[Outcome, "Calibration | None"]:
    """Have a judge grade the controls, and leave what came of it in the folder; a second run does what is missing.

    There is no calibration while answers are left to grade. Raises GamutError subclasses before anything is paid for.
    """
    metas = control_rubrics(trial.rubrics)
    controls = controls_of(metas, trial.questions)
    with TemporaryDirectory() as place:
        answers = Path(place) / ANSWERS
        answers.write_text("".join(_line(control) for control in controls), encoding="utf-8")
        outcome = judge_answers(trial.order(answers), watch)
    if outcome.left or outcome.stopped:
        return outcome, None
    verdicts = pl.read_parquet(trial.folder / "verdicts.parquet").filter(pl.col("judge") == outcome.name)
    calibration = Calibration(outcome.name, compared(controls, metas, verdicts))
    write_file(trial.folder / "calibration.csv", calibration.rows.write_csv().encode())
    write_file(trial.folder / "calibration.json", _json(calibration.told() | {"protocol": _protocol(verdicts)}))
    return outcome, calibration


def _line(control: Control) -> str:
    answer = control.answer
    told = {"model": answer.model, "variant": answer.variant, "question_id": answer.question_id}
    return json.dumps(told | {"answer": answer.answer}, ensure_ascii=False) + "\n"


def _json(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


def _protocol(verdicts: pl.DataFrame) -> dict[str, Any]:
    return verdicts.select("prompt", "prompt_hash", "checks_per_call").row(0, named=True)


# ---------------------------------------------------------------------------------------------------------------------
# Right and given, side by side

ROWS = pl.Schema(
    {
        "simulated": pl.Boolean(),
        "kind": pl.Enum(KINDS),
        "question_id": pl.String(),
        "check_id": pl.String(),
        "role": pl.Enum(ROLES),
        "by": pl.String(),
        "expected": pl.String(),
        "given": pl.String(),
        "is_right": pl.Boolean(),
        "off": pl.Float64(),
        "reason": pl.String(),
        "text": pl.String(),
    }
)


def compared(controls: Iterable[Control], metas: Iterable[MetaRubric], verdicts: pl.DataFrame) -> pl.DataFrame:
    """One row per check that counts: its right verdicts, and the one that the judge gave or ``ungraded``.

    ``off`` is how far the verdict's value in the score is from the nearest right one; null where there is none.
    ``by`` tells apart the empty answers, which the house rule makes missing without a call.
    """
    checks = {meta.question_id: {check.check_id: check for check in compile_rubric(meta)} for meta in metas}
    said = {
        (model, question_id, check_id): (verdict, rationale or error)
        for model, question_id, check_id, verdict, rationale, error in verdicts.select(
            "model", "question_id", "check_id", "verdict", "rationale", "error"
        ).iter_rows()
    }
    rows = [
        _row(control, checks[control.answer.question_id][check_id], accepted, said)
        for control in controls
        for check_id, accepted in control.right.items()
    ]
    return pl.DataFrame(rows, schema=ROWS, orient="row")


def _row(
    control: Control, check: Check, accepted: tuple[str, ...], said: dict[tuple[str, str, str], tuple[str, str]]
) -> tuple:
    answer = control.answer
    key = (answer.model, answer.question_id, check.check_id)
    by_rule = not answer.is_gradable and key not in said
    verdict, reason = ("missing", "") if by_rule else said[key]
    return (
        True,
        control.kind,
        answer.question_id,
        check.check_id,
        check.role,
        HOUSE_RULE if by_rule else "judge",
        " or ".join(accepted),
        verdict or UNGRADED,
        verdict in accepted,
        None if verdict is None else min(abs(_VALUE[verdict] - _VALUE[right]) for right in accepted),
        reason,
        check.text,
    )


_VALUE = dict(zip(VERDICTS, (1.0, Scoring().lambda_, 0.0, float(Scoring().mu)), strict=True))


@dataclass(frozen=True)
class Calibration:
    """What a judge made of the controls; ``rows`` as `compared` gives them."""

    judge: str
    rows: pl.DataFrame

    @cached_property
    def asked(self) -> pl.DataFrame:
        """The checks that the judge was asked about."""
        return self.rows.filter(pl.col("by") == "judge")

    @property
    def overall(self) -> pl.DataFrame:
        """The share right of all that the judge was asked about."""
        return _shares(self.asked, pl.lit("all").alias("checks"))

    @property
    def by_kind(self) -> pl.DataFrame:
        """The share right for each kind of control, the house rule's own among them."""
        return _shares(self.rows, pl.col("kind"), pl.col("by"))

    @property
    def by_role(self) -> pl.DataFrame:
        """The share right for each role of a check."""
        return _shares(self.asked, pl.col("role"))

    @property
    def by_verdict(self) -> pl.DataFrame:
        """For each right verdict the verdicts that were given, and the share right."""
        given = [(pl.col("given") == verdict).sum().alias(verdict) for verdict in VERDICTS]
        counts = self.asked.group_by("expected", maintain_order=True).agg(given)
        return counts.join(_shares(self.asked, pl.col("expected")), on="expected", maintain_order="left")

    @property
    def errors(self) -> pl.DataFrame:
        """The wrong verdicts, those first that move a score most."""
        wrong = self.asked.filter(~pl.col("is_right") & (pl.col("given") != UNGRADED))
        kept = ("kind", "question_id", "check_id", "expected", "given", "reason", "text")
        return wrong.sort("off", descending=True, maintain_order=True).select(kept)

    @property
    def conclusion(self) -> str:
        """Whether the judge can be used."""
        return next((word for word, limits in LIMITS.items() if not [*self.broken(limits)]), NOT_USABLE)

    def broken(self, limits: Limits) -> Iterator[str]:
        """Each limit that the judge does not keep to, in words."""
        right, ungraded = self.overall.select("share", pl.col("ungraded") / pl.col("n")).row(0)
        if right < limits.right:
            yield f"{_percent(right)} of the verdicts are right; {_percent(limits.right)} are needed"
        for what, frame in (("role", self.by_role), ("right verdict", self.by_verdict)):
            poor = frame.filter((pl.col("n") >= limits.fewest) & (pl.col("share") < limits.group))
            for name, n, share in poor.select(pl.first(), "n", "share").iter_rows():
                yield f"{what} {name}: {_percent(share)} of {n} are right; {_percent(limits.group)} are needed"
        if ungraded > limits.ungraded:
            yield f"{_percent(ungraded)} of the checks have no verdict; {_percent(limits.ungraded)} may"
        begged = self.asked.filter(pl.col("kind").cast(pl.String).is_in([*HOSTILE]))
        credited = begged["given"].is_in(["meets", "partially_meets"]).sum()
        if credited > limits.credited * begged.height:
            yield f"{credited} of {begged.height} checks are credited to answers that only ask for full marks"

    @property
    def why(self) -> list[str]:
        """What keeps the judge from being called usable."""
        return [*self.broken(LIMITS[USABLE])]

    def shown(self) -> list[tuple[str, pl.DataFrame]]:
        """The tables for people, shares in percent."""
        return [
            ("share right by kind of control", _in_percent(self.by_kind)),
            ("share right by role of the check", _in_percent(self.by_role)),
            ("verdicts given (columns) where each is right (rows)", _in_percent(self.by_verdict)),
        ]

    def worst(self) -> Iterator[str]:
        """The worst errors in words, three lines each: what was given, of which check, and why."""
        count = self.errors.height
        yield f"errors: {f'{count:,}, the worst first' if count else 'none'}"
        for error in self.errors.head(_WORST).iter_rows(named=True):
            yield (
                f"  {error['kind']}, {error['question_id']}, {error['check_id']}: "
                f"{error['given']}, not {error['expected']}"
            )
            yield f"    check: {_short(error['text'])}"
            yield f"    judge: {_short(error['reason'] or '(no reason)')}"

    def told(self) -> dict[str, Any]:
        """Everything as plain data."""
        tables = ("overall", "by_kind", "by_role", "by_verdict", "errors")
        return {
            "simulated": True,
            "note": NOTE,
            "judge": self.judge,
            "conclusion": self.conclusion,
            "why": self.why,
            "meaning": MEANING,
            "limits": {word: asdict(limits) for word, limits in LIMITS.items()},
            **{name: getattr(self, name).to_dicts() for name in tables},
        }


def _shares(rows: pl.DataFrame, *by: pl.Expr) -> pl.DataFrame:
    """n, right, ungraded and the share right with its 95 % Wilson interval, a row a group in reporting order.

    The interval takes checks as independent; those of one answer are not quite, so it is rather too narrow.
    """
    counts = rows.group_by(*by, maintain_order=True).agg(
        pl.len().alias("n"),
        pl.col("is_right").sum().alias("right"),
        (pl.col("given") == UNGRADED).sum().alias(UNGRADED),
    )
    low, high = wilson_interval(counts["right"].to_numpy(), counts["n"].to_numpy())
    share = (pl.col("right") / pl.col("n")).alias("share")
    return counts.with_columns(share, pl.Series("low", low), pl.Series("high", high)).sort(by[0], maintain_order=True)


def _in_percent(frame: pl.DataFrame) -> pl.DataFrame:
    shares = ("share", "low", "high")
    return frame.with_columns((pl.col(shares) * 100).round(1)).rename({name: f"{name} %" for name in shares})


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]} ..."


def _percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %").replace(".0 ", " ")
