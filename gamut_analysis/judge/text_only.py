"""Text-only wordings: questions rewritten to name their subject, and those sorted out that still need the picture.

What comes out is a file for a person to check. Nothing applies it: whoever agrees copies ``proposed`` into the
``question_text_only`` of the meta-rubric.
"""

import csv
import hashlib
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gamut_analysis import paths
from gamut_analysis.errors import InputError, UnknownName
from gamut_analysis.judge.account import Outcome, Watch, came_to, estimated, priced
from gamut_analysis.judge.calling import CONNECTIONS, Caller, Request, check_reachable, model_of
from gamut_analysis.judge.inputs import metas_of
from gamut_analysis.judge.journal import NO_GRADING, Call, Journal
from gamut_analysis.judge.prices import tokens
from gamut_analysis.judge.protocol import Prompt, load_prompt, material
from gamut_analysis.judge.task import asking_task, run_task
from gamut_analysis.judge.written import bare, write_file
from gamut_analysis.readers.delivery import as_text
from gamut_analysis.rubric import MetaRubric

TASK = "text-only"
PROMPT = "text-only-1"
ATTEMPTS = 3
COLUMNS = ("question_id", "entity", "question", "written", "proposed", "needs_image", "reason", "remark", "accept")
REPLY_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string"},
        "needs_image": {"type": "boolean"},
        "question": {"type": "string"},
    },
    "required": ["reason", "needs_image", "question"],
    "additionalProperties": False,
}
_REPLY_TOKENS = 80
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)
_WORD = re.compile(r"\w{3,}")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Rewrite:
    """What a model makes of one question; ``fault`` says why it made nothing of it."""

    reason: str = ""
    needs_image: bool | None = None
    question: str = ""
    fault: str = ""


@dataclass(frozen=True)
class Wordings:
    """Whose questions are rewritten, and by whom."""

    model: str
    rubrics: Sequence[Path] = ()
    into: Path | None = None
    limit: int = 0
    max_cost: float | None = None
    prices: str = ""
    base_url: str = ""
    connections: int = CONNECTIONS

    def __post_init__(self) -> None:
        if self.limit < 0 or self.connections < 1:
            raise UnknownName("--limit needs a whole number of at least 0, --connections one of at least 1")

    @property
    def folder(self) -> Path:
        """Where the calls are kept and the file for people is put."""
        return self.into or paths.answered() / paths.slug(f"text-only-{bare(self.model)}")


def read_rewrite(reply: str | None) -> Rewrite:
    """The rewrite that a reply holds: one JSON object, bare, in a fence or in prose.

    >>> read_rewrite('{"reason": "named", "needs_image": false, "question": "How old is the Pont du Gard?"}').question
    'How old is the Pont du Gard?'
    >>> read_rewrite("Sure!").fault
    'no JSON object'
    """
    found = _OBJECT.search(reply or "")
    try:
        told = json.loads(found[0]) if found else None
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        return Rewrite(fault="no JSON object")
    if not isinstance(told.get("needs_image"), bool):
        return Rewrite(fault="needs_image is neither true nor false")
    question, reason = told.get("question"), told.get("reason")
    if not told["needs_image"] and not (isinstance(question, str) and question.strip()):
        return Rewrite(fault="no question, though none needs the picture")
    kept = question.strip() if isinstance(question, str) and not told["needs_image"] else ""
    return Rewrite(as_text(reason) or "", told["needs_image"], as_text(kept) or "")


def remark(meta: MetaRubric, rewrite: Rewrite) -> str:
    """What a person should look at twice."""
    if rewrite.fault:
        return f"no rewrite: {rewrite.fault}"
    if rewrite.needs_image:
        return "sorted out; the rubric has a text-only wording" if meta.question_text_only else "sorted out"
    remarks = []
    words = {word.casefold() for word in _WORD.findall(meta.entity)}
    if words and not words & {word.casefold() for word in _WORD.findall(rewrite.question)}:
        remarks.append("does not name the subject")
    if rewrite.question == meta.question:
        remarks.append("unchanged")
    if re.search(r"\b(picture|image|photo|photograph|shown)\b", rewrite.question, re.IGNORECASE):
        remarks.append("still speaks of a picture")
    if meta.question_text_only is None:
        remarks.append("the rubric says that it needs the picture")
    return "; ".join(remarks)


def rewrite_questions(order: Wordings, watch: Watch | None = None) -> Outcome:
    """Have questions rewritten, and leave ``text-only.csv`` for a person to check; only what is missing is asked."""
    watch = watch or Watch()
    metas = metas_of(order.rubrics)
    metas = metas[: order.limit] if order.limit else metas
    if not metas:
        raise InputError("there is no question in these rubrics")
    model = model_of(order.model, order.base_url, connections=order.connections)
    price = priced(order.model, order.prices, order.max_cost)
    prompt = load_prompt(PROMPT, REPLY_SCHEMA)
    with Journal(order.folder, TASK) as journal:
        caller = Caller(model, journal, price, order.max_cost, prompt.schema, order.connections, watch.note)
        talks = {meta.question_id: _Talk(meta, prompt, str(model)) for meta in metas}
        for talk in talks.values():
            talk.resume(journal)
        todo = {question_id: talk for question_id, talk in talks.items() if not talk.is_done}
        waiting = [talk.request() for talk in todo.values()]

        async def ask(question_id: str) -> str:
            talk = talks[question_id]
            while not talk.is_done:
                call = await caller.call(talk.request())
                if call is None or call.error is not None:
                    return ""
                talk.take(call)
            watch.done()
            return talk.rewrite.question

        name = bare(str(model))
        if not watch.estimate(name, estimated("question", len(todo), len(talks) - len(todo), waiting, price)):
            return came_to(order.folder, name, watch.calls, len(todo), 0, "not started")
        try:
            if todo:
                check_reachable(model)
                texts = {question_id: talk.meta.question for question_id, talk in todo.items()}
                run_task(asking_task(TASK, texts, ask), caller, order.folder)
        finally:
            write_file(order.folder / "text-only.csv", _sheet(talks.values()).encode("utf-8-sig", "replace"))
        left = sum(not talk.is_done for talk in talks.values())
        faults = sum(bool(talk.is_done and talk.rewrite.fault) for talk in talks.values())
        return came_to(order.folder, name, watch.calls, left, faults, caller.stopped)


class _Talk:
    """The conversation about one question."""

    def __init__(self, meta: MetaRubric, prompt: Prompt, model: str) -> None:
        self.meta, self.prompt, self.model = meta, prompt, model
        told = prompt.message(material(question=meta.question, subject=meta.entity), 1)
        self.messages = [("system", prompt.system), ("user", told)]
        self.rewrite = Rewrite(fault="not asked yet")
        self.attempt = 0

    @property
    def is_done(self) -> bool:
        return bool(self.attempt and not self.rewrite.fault) or self.attempt >= ATTEMPTS

    def resume(self, journal: Journal) -> None:
        """Take what was replied before."""
        while not self.is_done and (call := journal.reply_to(self.request().call_id)):
            self.take(call)

    def take(self, call: Call) -> None:
        """Read a reply; a fault is told to the model."""
        self.attempt += 1
        self.rewrite = read_rewrite(call.reply)
        if self.rewrite.fault:
            again = f"The reply could not be used: {self.rewrite.fault}. Reply again, with the JSON object alone."
            self.messages += [("assistant", call.reply or ""), ("user", again)]

    def request(self) -> Request:
        """What to send next."""
        sent = json.dumps([TASK, self.model, self.messages]).encode()
        about = NO_GRADING | {
            "task": TASK,
            "judge_model": self.model,
            "prompt": self.prompt.version,
            "prompt_hash": self.prompt.hash,
            "model": bare(self.model),
            "variant": "text_only",
            "question_id": self.meta.question_id,
            "attempt": self.attempt,
        }
        size = sum(tokens(text) for _, text in self.messages)
        return Request(hashlib.sha256(sent).hexdigest()[:32], list(self.messages), about, size, _REPLY_TOKENS)


def _sheet(talks: Any) -> str:
    """The file for people: one row a question, the column ``accept`` left for them."""
    sheet = io.StringIO()
    writer = csv.writer(sheet)
    writer.writerow(COLUMNS)
    for talk in talks:
        meta, rewrite = talk.meta, talk.rewrite
        needs = "" if rewrite.needs_image is None else str(rewrite.needs_image).lower()
        texts = (meta.question_id, meta.entity, meta.question, meta.question_text_only or "", rewrite.question, needs)
        writer.writerow([_inert(text) for text in (*texts, rewrite.reason, remark(meta, rewrite), "")])
    return sheet.getvalue()


def _inert(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text
