"""A small world whose names and texts are what tools trip over: markup, syntax of charts, long names, other scripts."""

import random
from pathlib import Path
from typing import Any

from delivered import put

from gamut_analysis.vocabulary import ROLES, TIERS, VARIANTS, VERDICTS

PAYLOADS = [
    "</script><script>window.PWNED=1</script>",
    '<img src=x onerror="window.PWNED=1">',
    "<svg/onload=window.PWNED=1>",
    "[click](javascript:window.PWNED=1)",
    "<!-- unclosed",
    "{{7*7}} {% raw %}",
    "]]>",
    "<table><tr><td>",
]
SYNTAX = ["gemini-3.1-pro", "acme/alpha", "gain[pp]", "x:y", 'it\'s "q"', "a\\b"]
LONG = [f"meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8-{kind}-context" for kind in ("long", "short")]
MODELS = [*(f"m{place}{payload}" for place, payload in enumerate(PAYLOADS[:4])), *SYNTAX, *LONG, "模型", "datum.x"]
JUDGES = ["judge-a", PAYLOADS[1]]
DOMAINS = ["Plants", PAYLOADS[0], "a.b[c]"]
QUESTIONS, CHECKS = 12, 4


def write(folder: Path) -> Path:
    """The files of the world: every model, judge and variant complete; payloads in every text that a page shows."""
    chance = random.Random(3)
    asked = [(variant, number) for variant in VARIANTS for number in range(QUESTIONS)]
    put(folder, "questions.jsonl", [_question(variant, number) for variant, number in asked])
    put(folder, "checks.jsonl", [_check(*where, check) for where in asked for check in range(CHECKS)])
    rows = [(model, *where) for model in MODELS for where in asked]
    put(folder, "answers.jsonl", [_answer(*row) for row in rows])
    verdicts = [_verdict(*row, judge, check, chance) for row in rows for judge in JUDGES for check in range(CHECKS)]
    put(folder, "verdicts.jsonl", verdicts)
    return folder


def _text(number: int) -> str:
    return PAYLOADS[number % len(PAYLOADS)]


def _question(variant: str, number: int) -> dict[str, Any]:
    place = {"question_id": f"q{number}", "variant": variant, "domain": DOMAINS[number % len(DOMAINS)]}
    return place | {"question": f"What is plant {number} of {_text(number)}?"}


def _check(variant: str, number: int, check: int) -> dict[str, Any]:
    place = {"question_id": f"q{number}", "variant": variant, "check_id": f"c{check}"}
    kind = {"tier": TIERS[check % len(TIERS)], "role": ROLES[check % 2], "item_id": f"i{check}"}
    return place | kind | {"text": f"Says {check} of {_text(number + check)}"}


def _answer(model: str, variant: str, number: int) -> dict[str, Any]:
    return {"question_id": f"q{number}", "variant": variant, "model": model, "answer": f"Plainly: {_text(number)}"}


def _verdict(model: str, variant: str, number: int, judge: str, check: int, chance: random.Random) -> dict[str, Any]:
    good = 5 - MODELS.index(model) / 4
    label = chance.choices(VERDICTS, [good, 1.5, 6 - good, 0.8])[0]
    place = {"question_id": f"q{number}", "variant": variant, "model": model, "judge": judge, "check_id": f"c{check}"}
    return place | {"verdict": label, "reason": f"Because {_text(number + check)}"}
