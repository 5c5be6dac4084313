"""The task `gamut` for Inspect: its samples are answers, its scorer is the judge."""

import contextlib
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import collect

from gamut_analysis.errors import GamutError
from gamut_analysis.judge.calling import Caller, Request
from gamut_analysis.judge.grading import TASK, Grading, Judge, Portion, portions, settled
from gamut_analysis.judge.journal import Call
from gamut_analysis.judge.prices import tokens

_LOG_EVERY = 100  # samples between two writings of Inspect's log; what is paid for is in the journal at once
OUTPUT_TOKENS = 60  # of one check's verdict and reason, before any was seen


@dataclass
class Session:
    """What a run of a judge needs: who grades what, how it is called, and the calls of each grading."""

    judge: Judge
    caller: Caller
    gradings: Sequence[Grading]
    calls: dict[tuple[str, str, str, str, int], list[Call]]
    again: bool = False
    per_check: float = OUTPUT_TOKENS
    graded: Callable[[], None] = lambda: None
    _places: dict[str, Grading] = field(default_factory=dict, repr=False)

    def samples(self) -> list[Sample]:
        """One sample for each grading; its id is the key, to be read by people."""
        self._places = {_name(grading): grading for grading in self.gradings}
        return [
            Sample(input=grading.question, id=name, metadata=_whose(grading)) for name, grading in self._places.items()
        ]

    def grading(self, name: str) -> Grading:
        """The grading that a sample is."""
        return self._places[name]

    async def grade(self, name: str) -> Score:
        """Grade one answer: all portions side by side, each in its own conversation."""
        grading = self.grading(name)
        own = self.calls.setdefault(grading.key(self.judge.name), [])
        begun = self.opened(grading)
        await collect(*(self._finish(portion, own) for portion in begun))
        if all(portion.is_done for portion in begun):
            self.graded()
        return self._score(grading, own)

    def opened(self, grading: Grading, again: bool | None = None) -> list[Portion]:
        """The portions of a grading as its calls left them."""
        calls = self.calls.get(grading.key(self.judge.name), ())
        return portions(self.judge, grading, calls, self.again if again is None else again)

    async def _finish(self, portion: Portion, own: list[Call]) -> None:
        while not portion.is_done:
            call = await self.caller.call(self.request(portion))
            if call is not None:
                own.append(call)
            if call is None or call.error is not None:
                return
            portion.take(call)

    def request(self, portion: Portion) -> Request:
        """The next request of a portion."""
        judge, answer = self.judge, portion.grading.answer
        about = {
            "task": TASK,
            "judge": judge.name,
            "judge_model": judge.model,
            "prompt": judge.prompt.version,
            "prompt_hash": judge.prompt.hash,
            "checks_per_call": judge.checks_per_call,
            "temperature": judge.temperature,
            "model": answer.model,
            "variant": answer.variant,
            "question_id": answer.question_id,
            "replicate": portion.grading.replicate,
            "part": portion.index,
            "round": portion.round,
            "attempt": portion.attempt,
            "asked": portion.wanted,
        }
        sent = sum(tokens(text) for _, text in portion.messages)
        expected = round(self.per_check * len(portion.wanted))
        return Request(portion.call_id, portion.messages, about, sent, expected)

    def _score(self, grading: Grading, own: Sequence[Call]) -> Score:
        told = settled(own)
        checks = [check for check, _ in told.values()]
        replies = [call for call in own if call.error is None]
        costs = [call.cost_usd for call in replies if call.cost_usd is not None]
        kept: dict[str, Any] = _whose(grading) | {
            "judge": self.judge.name,
            "prompt": self.judge.prompt.version,
            "prompt_hash": self.judge.prompt.hash,
            "checks_per_call": self.judge.checks_per_call,
            "calls": len(replies),
            "input_tokens": sum(call.input_tokens for call in replies),
            "output_tokens": sum(call.output_tokens for call in replies),
            "cost_usd": sum(costs) if costs else None,
            "seconds": round(sum(call.seconds for call in replies), 3),
            "reasons": {check.check_id: check.rationale for check in checks if check.rationale},
            "ungraded": {check.check_id: check.ungraded_reason for check in checks if check.verdict is None},
        }
        value = {check_id: told[check_id][0].verdict if check_id in told else None for check_id, _ in grading.checks}
        return Score(value=value, answer=grading.answer.answer, metadata=kept)


def _name(grading: Grading) -> str:
    answer = grading.answer
    return " / ".join((answer.model, answer.variant, answer.question_id, str(grading.replicate)))


def _whose(grading: Grading) -> dict[str, Any]:
    answer = grading.answer
    return {
        "model": answer.model,
        "variant": answer.variant,
        "question_id": answer.question_id,
        "replicate": grading.replicate,
    }


def grading_task(session: Session) -> Task:
    """The task of one run: answers are given, not generated, and the judge scores them."""

    @solver
    def given() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            answer = session.grading(str(state.sample_id)).answer
            state.output = ModelOutput.from_content(answer.model, answer.answer or "")
            return state

        return solve

    @scorer(metrics=[])
    def verdicts() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            return await session.grade(str(state.sample_id))

        return score

    return Task(dataset=MemoryDataset(session.samples()), solver=given(), scorer=verdicts(), name=TASK)


def asking_task(name: str, questions: Mapping[str, str], ask: Callable[[str], Awaitable[str]]) -> Task:
    """A task whose samples are questions by id, and whose outputs are what ``ask`` gets; nothing is scored."""

    @solver
    def asked() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            state.output = ModelOutput.from_content(name, await ask(str(state.sample_id)))
            return state

        return solve

    samples = [Sample(input=question, id=sample_id) for sample_id, question in questions.items()]
    return Task(dataset=MemoryDataset(samples), solver=asked(), name=name)


def run_task(task: Task, caller: Caller, folder: Path) -> None:
    """Let Inspect run a task and keep its log. Ctrl-C, or SIGTERM, ends it after the calls that are under way.

    Raises GamutError when Inspect cannot run it at all.
    """
    try:
        with _terminated_as_by_ctrl_c():
            logs = inspect_eval(
                task,
                model="none/none",
                model_roles={"judge": caller.model},
                display="none",
                log_dir=str(folder / "logs"),
                log_buffer=_LOG_EVERY,
                log_realtime=False,
                log_model_api=False,
                log_images=False,
                score_display=False,
                max_samples=caller.connections,
                fail_on_error=False,
            )
    except KeyboardInterrupt:
        logs = []
    if not logs or logs[0].status == "cancelled":
        caller.stopped = "stopped by Ctrl-C"
    elif logs[0].status == "error":
        told = logs[0].error.message if logs[0].error else "no reason given"
        raise GamutError(f"Inspect could not run the task: {told}")


@contextlib.contextmanager
def _terminated_as_by_ctrl_c() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does, where signals can be handled at all."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
