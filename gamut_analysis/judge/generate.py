"""Asking a model the questions, with the picture or in the text-only wording: the answers that a judge then grades."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from inspect_ai.model import ContentImage, ContentText

from gamut_analysis import paths
from gamut_analysis.errors import InputError, UnknownName
from gamut_analysis.judge.account import Outcome, Watch, came_to, estimated, priced
from gamut_analysis.judge.calling import CONNECTIONS, Caller, Request, check_reachable, model_of
from gamut_analysis.judge.inputs import Rubrics, read_rubrics
from gamut_analysis.judge.journal import NO_GRADING, Call, Journal
from gamut_analysis.judge.prices import tokens
from gamut_analysis.judge.task import asking_task, run_task
from gamut_analysis.judge.written import ANSWERS, bare, write_file
from gamut_analysis.vocabulary import VARIANTS

TASK = "generate"
_PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".gif")
_BEGINNINGS = {  # of the files that models take, whatever they are called
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/png": re.compile(rb"\x89PNG\r\n"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
    "image/gif": re.compile(rb"GIF8[79]a"),
}
_PICTURE_TOKENS = 1_000  # of one picture, about; providers count them in ways of their own
_ANSWER_TOKENS = 800  # of one long-form answer, before any was seen


@dataclass(frozen=True)
class Questions:
    """What is asked of a model; ``variant`` empty means with pictures where there are some, else text-only."""

    model: str
    into: Path | None = None
    rubrics: str = ""
    variant: str = ""
    images: Path | None = None
    limit: int = 0
    max_cost: float | None = None
    prices: str = ""
    name: str = ""
    base_url: str = ""
    connections: int = CONNECTIONS
    temperature: float | None = None
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        if self.variant not in ("", *VARIANTS):
            raise UnknownName(f"--variant {self.variant!r}: one of {', '.join(VARIANTS)} is needed")
        if self.limit < 0 or self.connections < 1:
            raise UnknownName("--limit needs a whole number of at least 0, --connections one of at least 1")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise UnknownName(f"--max-tokens {self.max_tokens}: a whole number of at least 1 is needed")
        if self.images is not None and not self.images.is_dir():
            raise InputError(f"{self.images}: there is no such folder of pictures")

    @property
    def folder(self) -> Path:
        """Where everything goes: the folder that was named, else one called after the model."""
        return self.into or paths.answered() / paths.slug(self.name or bare(self.model))


@dataclass(frozen=True)
class Ask:
    """One question as it is put to a model: its text, and the picture if it is put with one."""

    question_id: str
    variant: str
    question: str
    picture: Path | None

    def content(self) -> str | list[Any]:
        """What the user's message holds."""
        if self.picture is None:
            return self.question
        content = self.picture.read_bytes()
        shown = base64.b64encode(content).decode("ascii")
        return [ContentText(text=self.question), ContentImage(image=f"data:{_kind(content)};base64,{shown}")]

    def call_id(self, model: str, settings: dict[str, Any]) -> str:
        """A hash of all that is sent."""
        shown = hashlib.sha256(self.picture.read_bytes()).hexdigest() if self.picture else None
        sent = [model, settings, self.variant, self.question, shown]
        return hashlib.sha256(json.dumps(sent).encode()).hexdigest()[:32]


def generate_answers(order: Questions, watch: Watch | None = None) -> Outcome:
    """Ask a model every question and leave its answers in a file that ``gamut judge`` takes; only what is missing.

    A call that failed is an answer with an error; the next run asks it again.
    """
    watch = watch or Watch()
    rubrics = read_rubrics(order.rubrics)
    asks = _asks(order, rubrics)
    settings = {
        name: value
        for name, value in (("temperature", order.temperature), ("max_tokens", order.max_tokens))
        if value is not None
    }
    model = model_of(order.model, order.base_url, connections=order.connections, **settings)
    price = priced(order.model, order.prices, order.max_cost)
    name = order.name or bare(str(model))
    with Journal(order.folder, TASK) as journal:
        caller = Caller(model, journal, price, order.max_cost, None, order.connections, watch.note)
        requests = {ask.question_id: _request(ask, name, str(model), settings) for ask in asks}
        todo = {ask.question_id: ask for ask in asks if not journal.reply_to(requests[ask.question_id].call_id)}
        waiting = [requests[question_id] for question_id in todo]
        estimate = estimated("question", len(todo), len(asks) - len(todo), waiting, price)

        async def ask(question_id: str) -> str:
            whole = replace(requests[question_id], messages=[("user", todo[question_id].content())])
            call = await caller.call(whole)
            if call is None or call.error is not None:
                return ""
            watch.done()
            return call.reply or ""

        if not watch.estimate(name, estimate):
            return came_to(order.folder, name, watch.calls, len(todo), 0, "not started")
        try:
            if todo:
                check_reachable(model)
                texts = {question_id: one.question for question_id, one in todo.items()}
                run_task(asking_task(TASK, texts, ask), caller, order.folder)
        finally:
            write_file(order.folder / ANSWERS, answers_of(journal.calls).encode("utf-8", "replace"))
        left = sum(journal.reply_to(request.call_id) is None for request in requests.values())
        return came_to(order.folder, name, watch.calls, left, 0, caller.stopped)


def _asks(order: Questions, rubrics: Rubrics) -> list[Ask]:
    """The questions in the variant that is meant, with their pictures. Raises InputError where pictures are absent."""
    variant = order.variant or ("multimodal" if order.images else "text_only")
    rows = rubrics.questions.filter(variant=variant).select("question_id", "question", "image_id").iter_rows()
    there = {path.name.casefold(): path for path in order.images.iterdir()} if order.images else {}
    asked = [
        Ask(question_id, variant, question, _picture(there, image_id) if variant == "multimodal" else None)
        for question_id, question, image_id in rows
        if question
    ]
    asked = asked[: order.limit] if order.limit else asked
    if not asked:
        raise InputError(f"there is no {variant} question in these rubrics")
    without = [ask.question_id for ask in asked if variant == "multimodal" and ask.picture is None]
    if without:
        raise InputError(
            f"{len(without)} of {len(asked)} questions have no picture ({', '.join(without[:5])}, ...): --images names "
            f"the folder that holds <image_id>.jpg (or {', '.join(_PICTURES[1:])}); --variant text_only asks without"
        )
    odd = [ask.picture for ask in asked if ask.picture and _kind(ask.picture.read_bytes()) is None]
    if odd:
        raise InputError(f"{odd[0]}: no JPEG, PNG, WebP or GIF, so no model takes it ({len(odd)} such)")
    return asked


def _picture(there: Mapping[str, Path], image_id: str | None) -> Path | None:
    """The picture of a question among the files that are there, whatever the case of their names."""
    name = Path(image_id or "").name.casefold()
    candidates = (there.get(f"{name}{suffix}") for suffix in ("", *_PICTURES))
    return next((path for path in candidates if path and path.is_file()), None) if name else None


def _kind(content: bytes) -> str | None:
    """The media type of a picture, by how it begins; null for what is none."""
    return next((kind for kind, beginning in _BEGINNINGS.items() if beginning.match(content)), None)


def _request(ask: Ask, name: str, model: str, settings: dict[str, Any]) -> Request:
    about = NO_GRADING | {
        "task": TASK,
        "judge_model": model,
        "temperature": settings.get("temperature"),
        "model": name,
        "variant": ask.variant,
        "question_id": ask.question_id,
    }
    sent = tokens(ask.question) + (_PICTURE_TOKENS if ask.picture else 0)
    expected = min(_ANSWER_TOKENS, settings.get("max_tokens", _ANSWER_TOKENS))
    return Request(ask.call_id(model, settings), [("user", ask.question)], about, sent, expected)


def answers_of(calls: Sequence[Call]) -> str:
    """The answers that calls came to, one JSON line each: the last reply to a question, else its last error."""
    last: dict[tuple[str, str, str], Call] = {}
    for call in calls:
        key = (call.model, call.variant, call.question_id)
        if call.error is None or key not in last or last[key].error is not None:
            last[key] = call
    return "".join(json.dumps(_record(*key, call), ensure_ascii=False) + "\n" for key, call in sorted(last.items()))


def _record(model: str, variant: str, question_id: str, call: Call) -> dict[str, Any]:
    told = {"model": model, "variant": variant, "question_id": question_id, "answered_at": call.at}
    if call.error is not None:
        return told | {"error": call.error}
    return told | {"answer": call.reply or "", "stop_reason": call.stop_reason}
