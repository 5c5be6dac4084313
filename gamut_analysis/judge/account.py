"""What a run of calls will take and what it took, told while it works."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gamut_analysis.errors import InputError, UnknownName
from gamut_analysis.judge.calling import Request
from gamut_analysis.judge.journal import Call
from gamut_analysis.judge.prices import Price, price_of


@dataclass(frozen=True)
class Estimate:
    """What a run will take if every reply is right at once. ``notes`` count what needs no call, and say why."""

    what: str
    todo: int
    done: int
    calls: int
    input_tokens: int
    output_tokens: int
    price: Price | None
    notes: tuple[tuple[int, str], ...] = ()

    @property
    def cost(self) -> float | None:
        """USD, where the model has a price."""
        return self.price.cost(self.input_tokens, self.output_tokens) if self.price else None


@dataclass(frozen=True)
class Outcome:
    """What a run came to: replies, their tokens and USD, and what is left.

    ``ungraded`` counts what was replied to and could not be read; ``stopped`` says why the run ended early.
    """

    folder: Path
    name: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    left: int
    ungraded: int
    stopped: str


@dataclass
class Watch:
    """Who is told while a run works: the estimate first, and whether to go on; then each thing done, and each call."""

    estimate: Callable[[str, Estimate], bool] = lambda name, estimate: True
    done: Callable[[], None] = lambda: None
    called: Callable[[Call], None] = lambda call: None
    calls: list[Call] = field(default_factory=list)

    def note(self, call: Call) -> None:
        """Keep a call of this run, and tell of it."""
        self.calls.append(call)
        self.called(call)


def priced(model: str, prices: str, max_cost: float | None) -> Price | None:
    """The model's price. Raises when a budget is set that is no amount, or that no price can hold to."""
    if max_cost is not None and not (math.isfinite(max_cost) and max_cost >= 0):
        raise UnknownName(f"--max-cost {max_cost}: an amount of USD is needed, 0 or more")
    price = price_of(model, prices)
    if max_cost is not None and price is None:
        raise InputError(f"--max-cost needs a price, and {model!r} has none; --prices names a price file")
    return price


def estimated(
    what: str,
    todo: int,
    done: int,
    requests: Sequence[Request],
    price: Price | None,
    notes: tuple[tuple[int, str], ...] = (),
) -> Estimate:
    """What some requests will take."""
    return Estimate(
        what=what,
        todo=todo,
        done=done,
        calls=len(requests),
        input_tokens=sum(request.input_tokens for request in requests),
        output_tokens=sum(request.output_tokens for request in requests),
        price=price,
        notes=notes,
    )


def came_to(folder: Path, name: str, made: Sequence[Call], left: int, ungraded: int, stopped: str) -> Outcome:
    """What the calls of a run came to."""
    replies = [call for call in made if call.error is None]
    costs = [call.cost_usd for call in replies if call.cost_usd is not None]
    return Outcome(
        folder=folder,
        name=name,
        calls=len(replies),
        input_tokens=sum(call.input_tokens for call in replies),
        output_tokens=sum(call.output_tokens for call in replies),
        cost=sum(costs) if costs else None,
        left=left,
        ungraded=ungraded,
        stopped=stopped,
    )
