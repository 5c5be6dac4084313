"""Every call that was made, in one file that only grows: what was paid for is there before anything else happens.

A run that is stopped, by Ctrl-C or by a crash, goes on from here; the verdicts are read from here, so that a better
reading of old replies costs nothing.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import msgspec

from gamut_analysis.errors import GamutError, InputError

NAME = "calls.jsonl"
GRADING = "gamut"  # the task of a judge, as Inspect knows it


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One request to a model and what came of it: a reply, or an error and no reply.

    ``call_id`` is a hash of all that was sent; ``part``, ``round`` and ``attempt`` say which portion of the checks it
    was about, how often that portion was begun, and how often the model had been told a fault before. ``seconds`` is
    the time of the attempt that counts, without the waits and failed attempts before it.
    """

    call_id: str
    task: str
    judge: str
    judge_model: str
    prompt: str
    prompt_hash: str
    checks_per_call: int
    temperature: float | None
    model: str
    variant: str
    question_id: str
    replicate: int
    part: int
    round: int
    attempt: int
    asked: tuple[str, ...]
    reply: str | None
    stop_reason: str
    error: str | None
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    seconds: float
    at: str

    @property
    def grading(self) -> tuple[str, str, str, str, int]:
        """Which grading it belongs to: judge, model, variant, question and replicate."""
        return self.judge, self.model, self.variant, self.question_id, self.replicate


# What stands in the line of a call that grades nothing.
NO_GRADING = {
    "judge": "",
    "prompt": "",
    "prompt_hash": "",
    "checks_per_call": 0,
    "temperature": None,
    "replicate": 0,
    "part": 0,
    "round": 0,
    "attempt": 0,
    "asked": (),
}
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Call)


class Journal:
    """The calls of one folder, all of one task. Only one run at a time may write; a torn last line is dropped."""

    def __init__(self, folder: Path, task: str = GRADING) -> None:
        """Open the folder's journal, or begin one.

        Raises InputError for a damaged line, for calls of another task, or where nothing can be written; GamutError
        while in use.
        """
        self.path = folder / NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise InputError(
                f"{folder}: no folder that can be written to ({error.strerror}); --into names another one"
            ) from error
        try:
            _lock(self._file, self.path)
            self.calls = list(self._read(task))
        except BaseException:
            os.close(self._file)
            raise
        self._replies = {call.call_id: call for call in self.calls if call.error is None}

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, kind: type | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if not self.calls:
            with contextlib.suppress(OSError):  # other files are there, or the system keeps open ones
                self.path.unlink()
                self.path.parent.rmdir()
        os.close(self._file)

    def reply_to(self, call_id: str) -> Call | None:
        """The reply to this very request, if it was ever had."""
        return self._replies.get(call_id)

    def append(self, call: Call) -> None:
        """Write one call down, whole or not at all. Raises OSError where the disk takes no more."""
        line = memoryview(_ENCODER.encode(call) + b"\n")
        before = os.fstat(self._file).st_size
        try:
            while line:
                line = line[os.write(self._file, line) :]
        except OSError:
            os.ftruncate(self._file, before)
            raise
        self.calls.append(call)
        if call.error is None:
            self._replies[call.call_id] = call

    def _read(self, task: str) -> Iterator[Call]:
        content = self.path.read_bytes()
        whole, newline, tail = content.rpartition(b"\n")
        if tail:
            os.ftruncate(self._file, len(whole) + len(newline))
        for number, line in enumerate(whole.split(b"\n") if newline else [], 1):
            try:
                call = _DECODER.decode(line)
            except msgspec.DecodeError as error:
                raise InputError(f"{self.path}:{number}: not a call of this version ({error})") from error
            if call.task != task:
                raise InputError(
                    f"{self.path}: its calls are of the task {call.task!r}, not {task!r}; name another folder (--into)"
                )
            yield call


def _lock(file: int, path: Path) -> None:
    with contextlib.suppress(ImportError):  # a system without locks of this kind
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise GamutError(
                f"{path}: another run is writing to it; wait for it, or name another folder (--into)"
            ) from error
