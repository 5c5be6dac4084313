"""One call to a model through Inspect: a slot, a budget, a shield against Ctrl-C, and a line in the journal.

Inspect sends, and says which failures may pass; the waiting between two attempts is done here, because Ctrl-C must end
a wait at once and an attempt, which is paid for, never.
"""

import json
import os
import random
import socket
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import anyio
from dotenv import find_dotenv, load_dotenv
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    ResponseSchema,
    RetryDecision,
    get_model,
)
from inspect_ai.util import JSONSchema
from rich.errors import MarkupError
from rich.text import Text

from gamut_analysis.errors import InputError, UnknownName
from gamut_analysis.judge.journal import Call, Journal
from gamut_analysis.judge.prices import Price
from gamut_analysis.readers.delivery import as_text

CONNECTIONS = 20
TIMEOUT = 600  # seconds for one attempt of one call
RETRIES = 10  # of a request that failed on its way
_QUICK_RETRIES = 4  # of these, after the time that the server names (Retry-After), however short
_DOUBTFUL_RETRIES = 2  # of a request that timed out or whose response was no JSON: it may have been paid for
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0  # seconds; each wait is twice the one before, give or take a quarter
_IN_A_ROW = 10  # calls that fail one after another before a run gives up
_CONNECT = 10  # seconds
_NO_KEY = "none"  # what servers of one's own take for a key
_FATAL = frozenset({401, 402, 403, 404})
_SAID_BY = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


@dataclass(frozen=True)
class Request:
    """What is sent, and the fields of its line in the journal that are known before it is."""

    call_id: str
    messages: Sequence[tuple[str, Any]]
    about: dict[str, Any]
    input_tokens: int
    output_tokens: int


@dataclass
class Caller:
    """Calls one model, at most ``connections`` at a time, and writes every reply down before it is used.

    max_cost: USD that the calls of this run may cost; none is begun that would exceed it if it cost what was expected,
    or as much as the dearest one so far. told is called after each.
    """

    model: Model
    journal: Journal
    price: Price | None = None
    max_cost: float | None = None
    schema: dict[str, Any] | None = None
    connections: int = CONNECTIONS
    told: Callable[[Call], None] = lambda call: None
    spent: float = 0.0
    stopped: str = ""
    _promised: float = 0.0
    _dearest: float = 0.0
    _failures: int = 0
    _slots: anyio.Semaphore | None = field(default=None, repr=False)

    async def call(self, request: Request) -> Call | None:
        """The call that came of a request; None where the run is stopping and nothing was sent.

        Once sent, a request is waited for and written down even if the run is cancelled meanwhile: it is paid for.
        """
        if self._slots is None:
            self._slots = anyio.Semaphore(self.connections)
        async with self._slots:
            expected = self.price.cost(request.input_tokens, request.output_tokens) if self.price else 0.0
            worst = max(expected, self._dearest)
            if not self.stopped and self.max_cost is not None and self.spent + self._promised + worst > self.max_cost:
                self.stopped = f"the next call could exceed the {self.max_cost:.2f} USD of --max-cost"
            if self.stopped:
                return None
            self._promised += worst
            try:
                call = await self._made(request)
            finally:
                self._promised -= worst
        self._count(call)
        self.told(call)
        return call

    async def _made(self, request: Request) -> Call:
        """The call, written down; what failed on its way is sent again after a wait, as often as it makes sense."""
        messages = [_message(role, content) for role, content in request.messages]
        came: Call | float = 0.0
        tried = 0
        while not isinstance(came, Call):
            await anyio.sleep(came)
            tried += 1
            with anyio.CancelScope(shield=True):
                came = await self._attempted(request, messages, tried)
        return came

    async def _attempted(self, request: Request, messages: list[ChatMessage], tried: int) -> Call | float:
        """What came of one attempt, written down; or the seconds to wait before the next one."""
        began = time.monotonic()
        output, error = None, None
        try:
            output = await self._sent(messages)
        except Exception as raised:  # whatever a provider raises is a reason, never a verdict
            error = raised
        wait = self._wait(error, tried) if error else None
        if wait is not None:
            return wait
        call = self._call(request, output, error, time.monotonic() - began)
        try:
            self.journal.append(call)
        except OSError as full:
            self.stopped = f"{self.journal.path} cannot be written to ({full.strerror})"
            raise
        return call

    def _wait(self, error: Exception, tried: int) -> float | None:
        """Seconds before the request is sent again; None where asking again is of no use."""
        if tried > RETRIES:
            return None
        if isinstance(error, json.JSONDecodeError):
            return 0.0 if tried <= _DOUBTFUL_RETRIES else None
        cause = error.__cause__ or error  # Inspect wraps what may pass
        if not self.model.should_retry(cause) or (_is_timeout(cause) and tried > _DOUBTFUL_RETRIES):
            return None
        decision = self.model.api.should_retry(cause) if isinstance(cause, Exception) else False
        named = decision.retry_after if isinstance(decision, RetryDecision) else None
        usual = _FIRST_WAIT * 2 ** (tried - 1) * random.uniform(0.75, 1.25)
        wait = usual if named is None else named if tried <= _QUICK_RETRIES else max(named, usual)
        return min(wait, _LONGEST_WAIT)

    def _call(self, request: Request, output: ModelOutput | None, error: Exception | None, seconds: float) -> Call:
        """The line of the journal about an attempt, the last one of its request."""
        status = _status(error) if error else None
        if error and status in _FATAL:
            where = " (are the model's name and --base-url right?)" if status == 404 else ""
            self.stopped = f"{self.model}: {_short(error)}{where}"
        usage = output.usage if output else None
        tokens = (_input_tokens(usage), usage.output_tokens if usage else 0)
        return Call(
            call_id=request.call_id,
            reply=as_text(output.completion) if output else None,
            stop_reason=str(output.stop_reason) if output else "unknown",
            error=_reason(error, status) if error else None,
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            cost_usd=self.price.cost(*tokens) if self.price and output else None,
            seconds=round(seconds, 3),
            at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            **request.about,
        )

    async def _sent(self, messages: list[ChatMessage]) -> ModelOutput:
        """The output, by schema where there is one; a server that refuses schemas is asked without from then on."""
        once = GenerateConfig(max_retries=0)
        if self.schema is None:
            return await self.model.generate(messages, config=once)
        by_schema = GenerateConfig(max_retries=0, response_schema=_response_schema(self.schema))
        try:
            return await self.model.generate(messages, config=by_schema)
        except Exception as error:
            if _status(error) not in (400, 422):
                raise
        output = await self.model.generate(messages, config=once)
        self.schema = None
        return output

    def _count(self, call: Call) -> None:
        self.spent += call.cost_usd or 0.0
        self._dearest = max(self._dearest, call.cost_usd or 0.0)
        self._failures = 0 if call.error is None else self._failures + 1
        if self._failures >= _IN_A_ROW and not self.stopped:
            self.stopped = f"{self._failures} calls failed one after another, the last one: {call.error}"


def model_of(name: str, base_url: str = "", *, connections: int = CONNECTIONS, **settings: Any) -> Model:
    """A model by Inspect's name (``openai/gpt-4o``), or by its bare name at any OpenAI-compatible endpoint.

    base_url: the endpoint, ``$OPENAI_BASE_URL`` if not given; its key is ``$OPENAI_API_KEY``, and may be absent where
    the server asks for none. Both may stand in a ``.env`` of the current folder or one above it, as Inspect has it.
    Raises UnknownName or InputError saying what is missing.
    """
    load_dotenv(find_dotenv(usecwd=True))
    config = GenerateConfig(max_connections=connections, attempt_timeout=TIMEOUT, **settings)
    endpoint = base_url or os.environ.get("OPENAI_BASE_URL", "")
    if not name.strip():
        raise UnknownName("the model has no name: openai/gpt-4o, or a bare name at an OpenAI-compatible endpoint")
    try:
        if _is_provider(name.partition("/")[0]) and "/" in name:
            return get_model(name, base_url=base_url or None, config=config, memoize=False)
        if not endpoint:
            raise UnknownName(
                f"{name!r}: name the provider (openai/{name}), or the endpoint that serves it (--base-url http://...)"
            )
        key = os.environ.get("OPENAI_API_KEY") or _NO_KEY
        return get_model(
            f"openai-api/openai/{name}",
            base_url=endpoint,
            api_key=key,
            config=config,
            memoize=False,
            max_retries=0,
        )
    except (UnknownName, InputError):
        raise
    except (Exception, SystemExit) as error:
        raise InputError(f"{name!r} cannot be called: {_short(error)}") from error


def check_reachable(model: Model) -> None:
    """Raise InputError where nobody listens at the model's own endpoint: better at once than after all retries."""
    place = urlsplit(model.api.base_url or "")
    if not place.hostname or urllib.request.getproxies():
        return
    port = place.port or (443 if place.scheme == "https" else 80)
    try:
        socket.create_connection((place.hostname, port), timeout=_CONNECT).close()
    except OSError as error:
        raise InputError(
            f"nobody answers at {model.api.base_url} ({error.strerror or error}); is --base-url right?"
        ) from error


def _is_provider(name: str) -> bool:
    from inspect_ai._util.registry import registry_find

    known = registry_find(lambda info: info.type == "modelapi")
    return name in {entry.__registry_info__.name.rpartition("/")[2] for entry in known}  # type: ignore[attr-defined]


def _message(role: str, content: Any) -> ChatMessage:
    return _SAID_BY[role](content=content)


def _response_schema(schema: dict[str, Any]) -> ResponseSchema:
    return ResponseSchema(name="reply", json_schema=JSONSchema.model_validate(schema), strict=True)


def _input_tokens(usage: Any) -> int:
    if usage is None:
        return 0
    return usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)


def _causes(error: BaseException) -> list[BaseException]:
    """An error and what it came from, the first cause last."""
    found: list[BaseException] = []
    step: BaseException | None = error
    while step is not None and step not in found:
        found.append(step)
        step = step.__cause__ or step.__context__
    return found


def _status(error: BaseException) -> int | None:
    """The HTTP status that an error speaks of."""
    statuses = (getattr(cause, "status_code", None) for cause in _causes(error))
    return next((status for status in statuses if isinstance(status, int)), None)


def _reason(error: BaseException, status: int | None) -> str:
    """Why there is no reply, in a few words that can be counted."""
    if status is not None:
        return f"HTTP {status}"
    if isinstance(error, json.JSONDecodeError):
        return "unreadable response"
    if _is_timeout(error):
        return "timed out"
    return "not reached" if "Connect" in _kinds(error) else type(error).__name__


def _is_timeout(error: BaseException) -> bool:
    return "Timeout" in _kinds(error)


def _kinds(error: BaseException) -> str:
    return " ".join(type(cause).__name__ for cause in _causes(error))


def _short(error: BaseException) -> str:
    line = " ".join(_plain(str(error)).split()) or type(error).__name__
    return line if len(line) <= 300 else f"{line[:300]} ..."


def _plain(text: str) -> str:
    """A message of Inspect without its colours."""
    try:
        return Text.from_markup(text).plain
    except MarkupError:
        return text
