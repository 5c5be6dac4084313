"""A local server that speaks the OpenAI chat protocol by a script, with faults on demand.

    with serve("perfect", answers=table, faults=["429", "cut"]) as server:
        ...  # ask server.url for completions
        server.calls()

By hand: ``python -m tests.openai_server --script lazy --delay 0.05 --faults 429,500,cut`` prints its address and serves
until it is stopped. What it replies follows from the request alone. Which requests it spoils follows from the seed,
the conversation, and how often that conversation was asked for before.
"""

import argparse
import asyncio
import contextlib
import hashlib
import json
import re
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCRIPTS = ("perfect", "hash", "lazy", "missing")
GENERATED = "This is the fixed answer of a scripted model."
SLOW_SECONDS = 0.5
TIMEOUT_SECONDS = 3600
RETRY_AFTER = "0.01"
MAX_CHANCE_FAULTS = 2

HTTP_FAULTS = {
    "400": "Bad Request",
    "401": "Unauthorized",
    "404": "Not Found",
    "429": "Too Many Requests",
    "500": "Internal Server Error",
    "503": "Service Unavailable",
}
_MATERIAL = re.compile(r'^<material id="([^"\n]*)">\n(.*?)\n</material id="\1">', re.MULTILINE | re.DOTALL)
_WANTED = re.compile(r"^Wanted: (\[.*\])$", re.MULTILINE)
_LENGTH = re.compile(rb"^content-length: *(\d+)", re.MULTILINE | re.IGNORECASE)

Entries = list[dict[str, str]]


# What a request asks for.


@dataclass(frozen=True)
class Asked:
    """What a request asks for: an answer to grade on some checks, or nothing to grade.

    ``key`` is a hash of the model and all messages, ``root`` of those up to the material: the conversation.
    """

    answer: str
    check_ids: tuple[str, ...]
    subject: str
    question: str
    root: str
    key: str


def asked(request: Mapping[str, Any]) -> Asked:
    """Find the material in the last user message that has some, and what was still wanted after it."""
    texts = [(message["role"], _said(message)) for message in request["messages"]]
    places = [place for place, (role, text) in enumerate(texts) if role == "user" and _MATERIAL.search(text)]
    last = places[-1] if places else len(texts) - 1
    material = _material(texts[last][1]) if places else {}
    ids = [check["id"] for check in material.get("checks", ())]
    for role, text in texts[last + 1 :]:
        if role == "user" and (wanted := _WANTED.findall(text)):
            ids = json.loads(wanted[-1])
    root, key = (_digest([request["model"], part]) for part in (texts[: last + 1], texts))
    subject, question = (material.get(name) or "" for name in ("subject", "question"))
    return Asked(material.get("answer") or "", tuple(ids), subject, question, root, key)


def _material(text: str) -> dict[str, Any]:
    return json.loads(_MATERIAL.findall(text)[-1][1])


def _said(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(json.dumps(part) if part.get("type") != "text" else part["text"] for part in content)


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:32]


def chance(*parts: object) -> float:
    """A number from 0 to 1 that follows from its parts."""
    return int.from_bytes(hashlib.sha256(json.dumps(parts).encode()).digest()[:6], "big") / 2**48


# What the scripted judge says.

SCRIPTED_LABELS = (("meets", 0.5), ("partially_meets", 0.7), ("missing", 0.9), ("contradicts", 1.0))
SPOILED: dict[str, Callable[[Entries], Entries]] = {
    "labels": lambda entries: [entry | {"verdict": "fully met"} for entry in entries],
    "missing_ids": lambda entries: entries[:-1],
    "extra_ids": lambda entries: [*entries, {"id": "no/such/check", "reason": "Why not.", "verdict": "contradicts"}],
}
WRAPPED: dict[str, Callable[[str], str]] = {
    "cut": lambda text: text[: len(text) * 3 // 5],
    "fences": lambda text: f"Here is my grading [draft]:\n\n```json\n{text}\n```\nAsk for {{more}}.",
    "think": lambda text: f"<think>{text.replace('meets', 'missing')} No, wait.</think>\n{text}",
    "empty": lambda text: "",
}
FAULTS = (*HTTP_FAULTS, "closed", "timeout", "slow", "refusal", "invalid", *SPOILED, *WRAPPED)


def verdict(script: str, table: Mapping[str, Mapping[str, str]], answer: str, check_id: str) -> str:
    """The scripted judge's verdict on one check of one answer."""
    if script == "lazy":
        return "meets"
    if script == "missing":
        return "missing"
    known = table.get(answer, {}).get(check_id) if script == "perfect" else None
    place = chance(answer, check_id)
    return known or next(label for label, end in SCRIPTED_LABELS if place < end)


def rewrite(wanted: Asked) -> str:
    """The text-only wording of a question: its subject before it; a third of them need the picture."""
    needs = chance(wanted.question) < 1 / 3
    told = {
        "reason": "Scripted.",
        "needs_image": needs,
        "question": "" if needs else f"{wanted.subject}: {wanted.question}",
    }
    return json.dumps(told, ensure_ascii=False)


def content(script: str, table: Mapping[str, Mapping[str, str]], wanted: Asked, fault: str | None) -> str:
    """What the model says: verdicts on the wanted checks, a rewritten question, or a fixed answer."""
    text = GENERATED
    if wanted.subject:
        text = WRAPPED.get(fault or "", str)(rewrite(wanted))
        return "The picture is needed." if fault == "labels" else text
    if wanted.check_ids:
        verdicts = {check_id: verdict(script, table, wanted.answer, check_id) for check_id in wanted.check_ids}
        entries = [{"id": name, "reason": f"Scripted: {label}.", "verdict": label} for name, label in verdicts.items()]
        text = json.dumps({"verdicts": SPOILED.get(fault or "", list)(entries)}, ensure_ascii=False)
    return WRAPPED.get(fault or "", str)(text)


def completion(request: Mapping[str, Any], key: str, text: str, fault: str | None) -> dict[str, Any]:
    """A reply of the protocol; ids and times are fixed, tokens are a quarter of the letters."""
    refused = fault == "refusal"
    finish = "content_filter" if refused else "length" if fault == "cut" else "stop"
    message = {"role": "assistant", "content": None if refused else text}
    tokens = [sum(len(_said(message)) for message in request["messages"]) // 4, (0 if refused else len(text)) // 4]
    return {
        "id": f"chatcmpl-{key[:24]}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": request["model"],
        "choices": [
            {
                "index": 0,
                "message": message | {"refusal": "I cannot help with that."} if refused else message,
                "logprobs": None,
                "finish_reason": finish,
            }
        ],
        "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)},
    }


# Which requests are spoiled.


@dataclass(frozen=True)
class FaultPlan:
    """Faults by chance (a name with its probability, at most two a conversation), or in turn (names alone).

    A name after ``always:`` spoils every attempt; with a probability, every attempt of that share of conversations.
    """

    always: tuple[tuple[str, float], ...] = ()
    by_chance: tuple[tuple[str, float], ...] = ()
    in_turn: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "FaultPlan":
        """Read ``429,500,cut`` or ``429=0.1,always:refusal=0.05``."""
        always, by_chance, in_turn = [], [], []
        for part in filter(None, text.split(",")):
            name, _, share = part.partition("=")
            bare = name.removeprefix("always:")
            if bare not in FAULTS:
                raise SystemExit(f"{bare}: no fault; there are {', '.join(FAULTS)}")
            if bare != name:
                always.append((bare, float(share or 1)))
            elif share:
                by_chance.append((bare, float(share)))
            else:
                in_turn.append(bare)
        return cls(tuple(always), tuple(by_chance), tuple(in_turn))

    def fault(self, seed: int, root: str, attempt: int) -> str | None:
        """The fault of one attempt (from 0) at one conversation."""
        for name, share in self.always:
            if chance(seed, root, name) < share:
                return name
        if attempt < len(self.in_turn):
            return self.in_turn[attempt]
        place = chance(seed, root, attempt)
        for name, share in self.by_chance if attempt < MAX_CHANCE_FAULTS else ():
            if place < share:
                return name
            place -= share
        return None


# The server.


@dataclass
class Scripted:
    """One running server: its script, what it was asked, and how often."""

    script: str = "perfect"
    seed: int = 0
    delay: float = 0.0
    plan: FaultPlan = field(default_factory=FaultPlan)
    table: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    log: list[dict[str, Any]] = field(default_factory=list)
    attempts: Counter[str] = field(default_factory=Counter)

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until either side closes it."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                length = _LENGTH.search(head)
                body = await reader.readexactly(int(length[1]) if length else 0)
                method, path, _ = head.split(b" ", 2)
                await self._reply(method.decode(), path.decode(), body, reader, writer)
        writer.close()

    async def _reply(
        self, method: str, path: str, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if (method, path) == ("POST", "/v1/chat/completions"):
            await self._complete(json.loads(body), reader, writer)
        elif path == "/v1/models":
            await _send(writer, 200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})
        elif path == "/calls":
            await _send(writer, 200, self.log)
        else:
            await _send(writer, 404, _error(404, f"{method} {path} is not served"))

    async def _complete(
        self, request: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        wanted = asked(request)
        attempt = self.attempts[wanted.root]
        self.attempts[wanted.root] += 1
        fault = self.plan.fault(self.seed, wanted.root, attempt)
        call = {"n": len(self.log), "key": wanted.key, "request": request, "outcome": fault or "reply", "paid": False}
        self.log.append(call)
        await asyncio.sleep(self.delay + {"slow": SLOW_SECONDS}.get(fault or "", 0.0))
        if fault == "timeout":
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(reader.read(1), TIMEOUT_SECONDS)
        if reader.at_eof() or fault in ("closed", "timeout"):
            writer.close()
        elif fault in HTTP_FAULTS:
            await _send(writer, int(fault), _error(int(fault), HTTP_FAULTS[fault]))
        else:
            reply = completion(request, wanted.key, content(self.script, self.table, wanted, fault), fault)
            await _send(writer, 200, reply, spoil=fault == "invalid")
            call["paid"] = True


def _error(status: int, message: str) -> dict[str, Any]:
    kind = "rate_limit_exceeded" if status == 429 else "server_error"
    return {"error": {"message": message, "type": kind, "code": kind, "param": None}}


async def _send(writer: asyncio.StreamWriter, status: int, value: Any, spoil: bool = False) -> None:
    """Write one reply; raises ConnectionError when nobody is there to take it."""
    body = json.dumps(value).encode()
    body = body[: len(body) // 2] if spoil else body
    wait = f"Retry-After: {RETRY_AFTER}\r\n" if status != 200 else ""
    head = f"HTTP/1.1 {status} \r\nContent-Type: application/json\r\n{wait}Content-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


async def _serve(scripted: Scripted, port: int, until_stdin_closes: bool) -> None:
    server = await asyncio.start_server(scripted.connection, "127.0.0.1", port, limit=2**26)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    if until_stdin_closes:
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)
    else:
        await server.serve_forever()


@dataclass
class Server:
    """A server in a process of its own, while the ``with`` lasts; it ends with the process that began it."""

    options: Sequence[str]
    url: str = ""
    _process: subprocess.Popen[str] | None = None

    def __enter__(self) -> "Server":
        command = [sys.executable, str(Path(__file__).resolve()), "--until-stdin-closes", *self.options]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self._process.stdout.readline().strip()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def calls(self) -> list[dict[str, Any]]:
        """Every request so far, in the order of arrival: n, key, request, outcome, paid."""
        with urllib.request.urlopen(self.url.removesuffix("/v1") + "/calls") as reply:
            return json.load(reply)


def serve(
    script: str = "perfect",
    *,
    seed: int = 0,
    delay: float = 0.0,
    faults: Mapping[str, float] | Sequence[str] = (),
    answers: str | Path | None = None,
) -> Server:
    """A scripted server, to be entered; ``answers`` is a JSON file: answer text, then check id, then verdict."""
    named = [f"{name}={share}" for name, share in faults.items()] if isinstance(faults, Mapping) else faults
    options = [f"--script={script}", f"--seed={seed}", f"--delay={delay}", f"--faults={','.join(named)}"]
    return Server(options if answers is None else [*options, f"--answers={answers}"])


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(description="A scripted server that speaks the OpenAI chat protocol.")
    parser.add_argument("--script", choices=SCRIPTS, default="perfect")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each reply")
    parser.add_argument("--faults", type=FaultPlan.parse, default="", help=f"of {', '.join(FAULTS)}; see FaultPlan")
    parser.add_argument("--answers", type=Path, help="JSON: answer text, then check id, then verdict")
    parser.add_argument("--port", type=int, default=0, help="0: one that is free")
    parser.add_argument("--until-stdin-closes", action="store_true")
    given = parser.parse_args()
    table = json.loads(given.answers.read_text(encoding="utf-8")) if given.answers else {}
    scripted = Scripted(given.script, given.seed, given.delay, given.faults, table)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(scripted, given.port, given.until_stdin_closes))


if __name__ == "__main__":
    main()
