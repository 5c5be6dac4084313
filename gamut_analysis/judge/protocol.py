"""The prompt of a judge: a versioned file, what it becomes for one answer, and the hash that every verdict carries."""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gamut_analysis import paths
from gamut_analysis.errors import InputError
from gamut_analysis.vocabulary import VERDICTS

GRADE = "grade-1"
_FOLDER = paths.PACKAGE / "judge" / "prompts"
_SECTIONS = re.compile(r"\A\s*# System\n(?P<system>.*?)\n# User\n(?P<user>.*)\Z", re.DOTALL)
_MATERIAL = "{material}"

# What a reply must look like, for providers that hold a model to a schema: the reason stands before the verdict.
REPLY_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "verdicts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "reason": {"type": "string"},
                    "verdict": {"type": "string", "enum": list(VERDICTS)},
                },
                "required": ["id", "reason", "verdict"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["verdicts"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Prompt:
    """A prompt file: its version (the name of the file), its two parts, and the schema of the reply."""

    version: str
    system: str
    user: str
    schema: dict[str, Any]

    @cached_property
    def hash(self) -> str:
        """SHA-256 of everything that a model is told beside the data, as hexadecimal digits."""
        told = json.dumps([self.system, self.user, self.schema], ensure_ascii=False, sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()

    def message(self, material: str, n: int) -> str:
        """The message about one piece of material with ``n`` entries."""
        before, after = self.user.split(_MATERIAL)
        return before.replace("{n}", str(n)) + material + after.replace("{n}", str(n))


def load_prompt(given: str | Path = GRADE, schema: dict[str, Any] | None = None) -> Prompt:
    """A prompt by its version, or from a file of one's own. Raises InputError where it lacks a part."""
    own = _FOLDER / f"{given}.md"
    path = own if own.is_file() else Path(given)
    try:
        text = path.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        known = ", ".join(sorted(file.stem for file in _FOLDER.glob("*.md")))
        raise InputError(f"{given}: not readable as a prompt ({error}); prompts that ship: {known}") from error
    parts = _SECTIONS.match(text)
    if not parts or parts["user"].count(_MATERIAL) != 1 or not parts["system"].strip():
        raise InputError(
            f"{path}: a prompt needs a part '# System', a part '# User' after it, and there {_MATERIAL} once"
        )
    return Prompt(path.stem, parts["system"].strip(), parts["user"].strip(), REPLY_SCHEMA if schema is None else schema)


def material(**parts: Any) -> str:
    """Data as one JSON object between marks that the data cannot forge: their id is a hash of what is inside."""
    text = json.dumps(parts, ensure_ascii=False)
    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f'<material id="{mark}">\n{text}\n</material id="{mark}">'


def grading_message(prompt: Prompt, question: str, answer: str, checks: Iterable[tuple[str, str]]) -> str:
    """What a judge is told about one answer: question, answer, and the id and text of each check."""
    listed = [{"id": check_id, "text": text} for check_id, text in checks]
    return prompt.message(material(question=question, answer=answer, checks=listed), len(listed))


def parted(checks: Sequence[tuple[str, str]], per_call: int) -> list[Sequence[tuple[str, str]]]:
    """The checks of one answer in portions of at most ``per_call``; 0 means all of them in one call.

    >>> [len(part) for part in parted([("a", "A"), ("b", "B"), ("c", "C")], 2)]
    [2, 1]
    """
    size = per_call or len(checks)
    return [checks[start : start + size] for start in range(0, len(checks), size)] if checks else []
