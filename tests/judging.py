"""What the tests of the judge share: small rubrics and answers, and a judge whose replies are written by hand."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from gamut_analysis.judge.grading import Grading, Judge, Portion, portions
from gamut_analysis.judge.inputs import Answer
from gamut_analysis.judge.journal import Call
from gamut_analysis.judge.protocol import load_prompt

CHECKS = (("c1", "Names the river."), ("c2", "Says when it floods."), ("c3", "Names its source."))


def a_judge(**changes: Any) -> Judge:
    """A judge of the shipped protocol."""
    return Judge(**{"name": "judge-a", "model": "local/judge-a", "prompt": load_prompt(), **changes})


def a_grading(text: str = "The Nile.", **changes: Any) -> Grading:
    """One answer to one question with three checks."""
    answer = Answer("alpha", "multimodal", "q1", text)
    return Grading(**{"answer": answer, "question": "Which river?", "checks": CHECKS, **changes})


def a_reply(verdicts: dict[str, str]) -> str:
    """A reply in the form that the prompt asks for."""
    entries = [{"id": check, "reason": f"about {check}", "verdict": verdict} for check, verdict in verdicts.items()]
    return json.dumps({"verdicts": entries})


def a_call(portion: Portion, reply: str | None, **changes: Any) -> Call:
    """What the journal keeps of the portion's next request and of what came back."""
    judge, grading = portion.judge, portion.grading
    known = {
        "call_id": portion.call_id,
        "task": "gamut",
        "judge": judge.name,
        "judge_model": judge.model,
        "prompt": judge.prompt.version,
        "prompt_hash": judge.prompt.hash,
        "checks_per_call": judge.checks_per_call,
        "temperature": judge.temperature,
        "model": grading.answer.model,
        "variant": grading.answer.variant,
        "question_id": grading.answer.question_id,
        "replicate": grading.replicate,
        "part": portion.index,
        "round": portion.round,
        "attempt": portion.attempt,
        "asked": portion.wanted,
        "reply": reply,
        "stop_reason": "stop" if reply is not None else "unknown",
        "error": None if reply is not None else "HTTP 500",
        "input_tokens": 100,
        "output_tokens": 20,
        "cost_usd": 0.25 if reply is not None else None,
        "seconds": 1.5,
        "at": "2026-03-01T12:00:00.000+00:00",
    }
    return Call(**{**known, **changes})


def answered(judge: Judge, grading: Grading, replies: Iterable[str | None], calls: Sequence[Call] = ()) -> list[Call]:
    """The calls of a grading whose requests get these replies in turn; None stands for a call that failed."""
    made = list(calls)
    for reply in replies:
        portion = next(part for part in portions(judge, grading, made) if not part.is_done)
        made.append(a_call(portion, reply))
    return made
