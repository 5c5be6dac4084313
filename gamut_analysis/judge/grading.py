"""Grading one answer: its checks in portions, each asked about until all have a verdict or the attempts are used up.

Nothing here calls a model: a portion says what to send next, and takes what came back. What is kept of a portion is its
calls; all else follows from them, so that a stopped run goes on in the middle of a conversation.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from gamut_analysis.errors import InputError
from gamut_analysis.judge.inputs import Answer
from gamut_analysis.judge.journal import GRADING, Call
from gamut_analysis.judge.parsing import CheckVerdict, Reading, fault_message, read_reply
from gamut_analysis.judge.protocol import Prompt, grading_message, parted

TASK = GRADING
ATTEMPTS = 3
Message = tuple[str, str]  # who says it (system, user, assistant), and what


@dataclass(frozen=True)
class Judge:
    """Who grades, and by what protocol. ``checks_per_call`` 0 means all checks of an answer in one call."""

    name: str
    model: str
    prompt: Prompt
    checks_per_call: int = 0
    temperature: float | None = None
    attempts: int = ATTEMPTS


@dataclass(frozen=True)
class Grading:
    """One answer that is to be graded once: the question, its checks (id and text), and which repeat it is."""

    answer: Answer
    question: str
    checks: Sequence[tuple[str, str]]
    replicate: int = 0

    def key(self, judge: str) -> tuple[str, str, str, str, int]:
        """The grading's key in the journal."""
        return judge, self.answer.model, self.answer.variant, self.answer.question_id, self.replicate


@dataclass
class Portion:
    """Some checks of one answer, and the conversation about them so far."""

    judge: Judge
    grading: Grading
    index: int
    checks: Sequence[tuple[str, str]]
    messages: list[Message] = field(default_factory=list)
    wanted: tuple[str, ...] = ()
    round: int = 0
    attempt: int = 0

    def begin(self) -> None:
        """Open a conversation about the wanted checks."""
        self.attempt = 0
        listed = [check for check in self.checks if check[0] in set(self.wanted)]
        told = grading_message(self.judge.prompt, self.grading.question, self.grading.answer.answer or "", listed)
        self.messages = [("system", self.judge.prompt.system), ("user", told)]

    @property
    def is_done(self) -> bool:
        """Whether every check has a verdict, or the attempts are used up."""
        return not self.wanted or self.attempt >= self.judge.attempts

    @property
    def call_id(self) -> str:
        """A hash of all that the next request says."""
        sent = [self.judge.model, self.judge.temperature, self.grading.replicate, self.round, self.messages]
        return hashlib.sha256(json.dumps(sent).encode()).hexdigest()[:32]

    def take(self, call: Call) -> None:
        """Read a reply; what it leaves open is asked for again, and the judge is told what was wrong."""
        reading = read(call)
        self.attempt += 1
        self.wanted = tuple(check.check_id for check in reading.checks if check.verdict is None)
        if self.wanted:
            self.messages += [("assistant", call.reply or ""), ("user", fault_message(reading))]


def portions(judge: Judge, grading: Grading, calls: Iterable[Call], again: bool = False) -> list[Portion]:
    """The portions of a grading, each brought to where the journal's calls left it.

    again: portions whose attempts are used up begin once more, about the checks that are still without a verdict.
    Raises InputError when the calls were about another answer, question or rubric.
    """
    replies = [call for call in calls if call.error is None]
    opened = []
    for index, checks in enumerate(parted(grading.checks, judge.checks_per_call)):
        portion = Portion(judge, grading, index, checks, wanted=tuple(check_id for check_id, _ in checks))
        portion.begin()
        for call in replies:
            if call.part == index:
                _follow(portion, call)
        if again and portion.wanted and portion.is_done:
            portion.round += 1
            portion.begin()
        opened.append(portion)
    return opened


def _follow(portion: Portion, call: Call) -> None:
    if call.round > portion.round:
        portion.round = call.round
        portion.begin()
    if portion.call_id != call.call_id:
        answer = portion.grading.answer
        raise InputError(
            f"{answer.model}, {answer.question_id}: the answer, the question or its checks have changed since "
            f"{call.judge} was asked; judge them into another folder (--into)"
        )
    portion.take(call)


def settled(calls: Iterable[Call]) -> dict[str, tuple[CheckVerdict, Call]]:
    """What all calls about one answer come to: for each check asked about, its verdict or why there is none."""
    told: dict[str, tuple[CheckVerdict, Call]] = {}
    for call in calls:
        for check in read(call).checks:
            if check.verdict is not None or check.check_id not in told or told[check.check_id][0].verdict is None:
                told[check.check_id] = (check, call)
    return told


@lru_cache(maxsize=2**17)
def read(call: Call) -> Reading:
    """What one call gave."""
    if call.error is None:
        return read_reply(call.reply, call.asked, stop_reason=call.stop_reason)
    ungraded = (CheckVerdict(check_id, None, None, call.error) for check_id in call.asked)
    return Reading(tuple(ungraded), (), ())
