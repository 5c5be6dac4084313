"""One call to a model through Inspect: a slot, a budget, a shield against Ctrl-C, and a line in the journal."""

import json
import os
import socket
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import anyio
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    ResponseSchema,
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
RETRIES = 6  # of a request that failed on its way; Inspect waits longer each time
_QUICK_RETRIES = 4  # within each of these, after the time that the server names (Retry-After)
_UNREADABLE = 2  # retries of a request whose response was no JSON
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

    max_cost: USD that the calls of this run may cost; none is begun that could exceed it. told is called after each.
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
    _failures: int = 0
    _slots: anyio.Semaphore | None = field(default=None, repr=False)

    async def call(self, request: Request) -> Call | None:
        """The call that came of a request; None where the run is stopping and nothing was sent.

        Once sent, a request is waited for and written down even if the run is cancelled meanwhile: it is paid for.
        """
        if self._slots is None:
            self._slots = anyio.Semaphore(self.connections)
        async with self._slots:
            worst = self.price.cost(request.input_tokens, request.output_tokens) if self.price else 0.0
            if not self.stopped and self.max_cost is not None and self.spent + self._promised + worst > self.max_cost:
                self.stopped = f"the next call could exceed the {self.max_cost:.2f} USD of --max-cost"
            if self.stopped:
                return None
            self._promised += worst
            with anyio.CancelScope(shield=True):
                call = await self._made(request)
                self.journal.append(call)
            self._promised -= worst
        self._count(call)
        self.told(call)
        return call

    async def _made(self, request: Request) -> Call:
        began = time.monotonic()
        output, error = await self._generated(request)
        usage = output.usage if output else None
        tokens = (_input_tokens(usage), usage.output_tokens if usage else 0)
        return Call(
            call_id=request.call_id,
            reply=as_text(output.completion) if output else None,
            stop_reason=str(output.stop_reason) if output else "unknown",
            error=error,
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            cost_usd=self.price.cost(*tokens) if self.price and output else None,
            seconds=round(time.monotonic() - began, 3),
            at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            **request.about,
        )

    async def _generated(self, request: Request) -> tuple[ModelOutput | None, str | None]:
        """What the model said, or why it could not be had."""
        messages = [_message(role, content) for role, content in request.messages]
        for left in reversed(range(_UNREADABLE + 1)):
            try:
                output = await self._sent(messages)
            except json.JSONDecodeError:
                if left:
                    continue
                return None, "unreadable response"
            except Exception as error:  # whatever a provider raises is a reason, never a verdict
                status = _status(error)
                if status in _FATAL:
                    self.stopped = f"{self.model}: {_short(error)}"
                return None, _reason(error, status)
            break
        return output, None

    async def _sent(self, messages: list[ChatMessage]) -> ModelOutput:
        """The output, by schema where there is one; a server that refuses schemas is asked without from then on."""
        if self.schema is None:
            return await self.model.generate(messages)
        config = GenerateConfig(response_schema=_response_schema(self.schema))
        try:
            return await self.model.generate(messages, config=config)
        except Exception as error:
            if _status(error) not in (400, 422):
                raise
        output = await self.model.generate(messages)
        self.schema = None
        return output

    def _count(self, call: Call) -> None:
        self.spent += call.cost_usd or 0.0
        self._failures = 0 if call.error is None else self._failures + 1
        if self._failures >= _IN_A_ROW and not self.stopped:
            self.stopped = f"{self._failures} calls failed one after another, the last one: {call.error}"


def model_of(name: str, base_url: str = "", *, connections: int = CONNECTIONS, **settings: Any) -> Model:
    """A model by Inspect's name (``openai/gpt-4o``), or by its bare name at any OpenAI-compatible endpoint.

    base_url: the endpoint, ``$OPENAI_BASE_URL`` if not given; its key is ``$OPENAI_API_KEY``, and may be absent where
    the server asks for none. Raises UnknownName or InputError saying what is missing.
    """
    config = GenerateConfig(max_connections=connections, attempt_timeout=TIMEOUT, max_retries=RETRIES, **settings)
    endpoint = base_url or os.environ.get("OPENAI_BASE_URL", "")
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
            max_retries=_QUICK_RETRIES,
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
    kinds = " ".join(type(cause).__name__ for cause in _causes(error))
    if "Timeout" in kinds:
        return "timed out"
    return "not reached" if "Connect" in kinds else type(error).__name__


def _short(error: BaseException) -> str:
    line = " ".join(_plain(str(error)).split()) or type(error).__name__
    return line if len(line) <= 300 else f"{line[:300]} ..."


def _plain(text: str) -> str:
    """A message of Inspect without its colours."""
    try:
        return Text.from_markup(text).plain
    except MarkupError:
        return text
