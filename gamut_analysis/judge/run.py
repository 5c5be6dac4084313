"""A run of a judge over answers: what is to be done and what it will cost, doing it, and what it came to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from inspect_ai.model import Model

from gamut_analysis import paths
from gamut_analysis.errors import UnknownName
from gamut_analysis.judge.account import Estimate, Outcome, Watch, came_to, estimated, priced
from gamut_analysis.judge.calling import CONNECTIONS, Caller, check_reachable, model_of
from gamut_analysis.judge.grading import ATTEMPTS, Grading, Judge, settled
from gamut_analysis.judge.inputs import Answer, Rubrics, matched, read_answers, read_rubrics
from gamut_analysis.judge.journal import Call, Journal
from gamut_analysis.judge.protocol import GRADE, load_prompt
from gamut_analysis.judge.task import OUTPUT_TOKENS, Session, grading_task, run_task
from gamut_analysis.judge.written import bare, beside, by_grading, settle, write_tables


@dataclass(frozen=True)
class Order:
    """What is asked of a judge; the defaults are the paper's protocol: every check of an answer in one call, once."""

    answers: Path
    judge: str
    into: Path | None = None
    rubrics: str = ""
    model: str = ""
    variant: str = ""
    replicates: int = 1
    checks_per_call: int = 0
    limit: int = 0
    max_cost: float | None = None
    prices: str = ""
    prompt: str = GRADE
    name: str = ""
    base_url: str = ""
    connections: int = CONNECTIONS
    attempts: int = ATTEMPTS
    temperature: float | None = None
    structured: bool = True
    again: bool = False
    simulated: bool = False

    def __post_init__(self) -> None:
        for option, value, least in (
            ("--replicates", self.replicates, 1),
            ("--checks-per-call", self.checks_per_call, 0),
            ("--limit", self.limit, 0),
            ("--connections", self.connections, 1),
            ("--attempts", self.attempts, 1),
        ):
            if value < least:
                raise UnknownName(f"{option} {value}: a whole number of at least {least} is needed")

    @property
    def folder(self) -> Path:
        """Where everything goes: the folder that was named, else one called after the answers or their folder."""
        path = self.answers.resolve()
        name = path.parent.name if path.stem == "answers" else path.stem
        return self.into or paths.judged() / paths.slug(name)


@dataclass(frozen=True)
class Run:
    """A run that could begin: what it will grade, for whom, and what it found in the folder."""

    session: Session
    rubrics: Rubrics
    answers: list[Answer]
    chosen: list[Answer]
    unknown: int


def opened(order: Order, journal: Journal, model: Model, watch: Watch) -> Run:
    """Read the answers and rubrics, and see what the journal leaves to do. Raises before anything is paid for."""
    rubrics = read_rubrics(order.rubrics)
    answers, unknown = matched(read_answers(order.answers, model=order.model, variant=order.variant), rubrics)
    price = priced(order.judge, order.prices, order.max_cost)
    judge = _judge(order, str(model), journal.calls)
    held = beside(order.folder, answers, rubrics)
    chosen = answers[: order.limit] if order.limit else answers
    schema = judge.prompt.schema if order.structured else None
    caller = Caller(model, journal, price, order.max_cost, schema, order.connections, watch.note)
    session = _session(order, judge, caller, _gradings(order, chosen, rubrics), watch.done)
    return Run(session, rubrics, held, chosen, len(unknown))


def judge_answers(order: Order, watch: Watch | None = None) -> Outcome:
    """Have answers graded, and leave a folder that ``make report DATA=...`` reads; a second run does what is missing.

    Raises GamutError subclasses before anything is paid for; what goes wrong later is in the outcome and the folder.
    """
    watch = watch or Watch()
    model = model_of(order.judge, order.base_url, connections=order.connections, **_settings(order))
    with Journal(order.folder) as journal:
        run = opened(order, journal, model, watch)
        session = run.session
        if not watch.estimate(session.judge.name, _estimate(order, session, run.chosen, run.unknown)):
            return _outcome(order.folder, session, watch.calls, "not started")
        if session.gradings:
            check_reachable(model)
        settle(order.folder, run.answers, run.rubrics, order.simulated or order.judge.startswith("mockllm/"))
        try:
            if session.gradings:
                run_task(grading_task(session), session.caller, order.folder)
        finally:
            write_tables(order.folder, journal.calls, run.answers, run.rubrics)
        return _outcome(order.folder, session, watch.calls, session.caller.stopped)


def _settings(order: Order) -> dict[str, Any]:
    return {} if order.temperature is None else {"temperature": order.temperature}


def _judge(order: Order, model: str, calls: Sequence[Call]) -> Judge:
    """The judge under the name that its verdicts carry; another protocol of the same model gets a name of its own."""
    prompt = load_prompt(order.prompt)
    protocol = (model, prompt.hash, order.checks_per_call, order.temperature)
    names = {(call.judge_model, call.prompt_hash, call.checks_per_call, call.temperature): call.judge for call in calls}
    taken = set(names.values())
    name = names.get(protocol, order.name or bare(model))
    if order.name and name != order.name:
        raise UnknownName(f"--name {order.name!r}: verdicts of this very protocol are there under the name {name!r}")
    if protocol not in names and name in taken:
        if order.name:
            raise UnknownName(f"--name {name!r}: this name is taken by another protocol in {order.folder}")
        is_other_model = all(call.judge_model != model for call in calls if call.judge == name)
        portion = f", {order.checks_per_call} a call" if order.checks_per_call else ""
        heat = "" if order.temperature is None else f", temperature {order.temperature:g}"
        told = f"({prompt.version} {prompt.hash[:8]}{portion}{heat})"
        free = ([model] if is_other_model else []) + [f"{name} {told}", f"{model} {told}"]
        name = next(name for name in free if name not in taken)
    return Judge(name, model, prompt, order.checks_per_call, order.temperature, order.attempts)


def _gradings(order: Order, answers: Sequence[Answer], rubrics: Rubrics) -> list[Grading]:
    """Everything that is to be graded: each answer that says anything, as often as replicates are asked for."""
    places = [(answer, (answer.variant, answer.question_id)) for answer in answers if answer.is_gradable]
    return [
        Grading(answer, rubrics.question_of.get(place, ""), rubrics.checks_of[place], replicate)
        for replicate in range(order.replicates)
        for answer, place in places
    ]


def _session(
    order: Order, judge: Judge, caller: Caller, gradings: Sequence[Grading], graded: Callable[[], None]
) -> Session:
    """The session of the gradings that are not done yet, with the calls that were made for all."""
    calls = by_grading(caller.journal.calls)
    own = [call for call in caller.journal.calls if call.judge == judge.name and call.error is None]
    asked = sum(len(call.asked) for call in own)
    per_check = sum(call.output_tokens for call in own) / asked if asked else OUTPUT_TOKENS
    whole = Session(judge, caller, gradings, calls, order.again, per_check, graded)
    todo = [grading for grading in gradings if not all(portion.is_done for portion in whole.opened(grading))]
    return replace(whole, gradings=todo)


def _estimate(order: Order, session: Session, answers: Sequence[Answer], unknown: int) -> Estimate:
    waiting = [portion for grading in session.gradings for portion in session.opened(grading) if not portion.is_done]
    notes = (
        (
            sum(answer.error is None and not answer.is_gradable for answer in answers),
            "empty: all missing, none is asked",
        ),
        (sum(answer.error is not None for answer in answers), "could not be had: none is asked"),
        (unknown, "to questions without a rubric in their variant: left out"),
    )
    done = order.replicates * sum(answer.is_gradable for answer in answers) - len(session.gradings)
    requests = [session.request(portion) for portion in waiting]
    return estimated("answer", len(session.gradings), done, requests, session.caller.price, notes)


def _outcome(folder: Path, session: Session, made: Sequence[Call], stopped: str) -> Outcome:
    left = [
        grading
        for grading in session.gradings
        if not all(portion.is_done for portion in session.opened(grading, again=False))
    ]
    told = [settled(session.calls.get(grading.key(session.judge.name), ())) for grading in session.gradings]
    unread = (check.verdict is None and call.error is None for checks in told for check, call in checks.values())
    return came_to(folder, session.judge.name, made, len(left), sum(unread), stopped)
