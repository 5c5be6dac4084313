"""Replies of judges that nobody has read yet, ``replies.*``: read here as the verdicts that they hold.

A check of the rubric on which a reply has no usable verdict is ungraded, with the reason; what a reply says of other
checks is listed. What is read, and how strictly, is told in ``judge.parsing``.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from gamut_analysis.errors import InputError
from gamut_analysis.judge.parsing import Reading, failed, read_reply
from gamut_analysis.readers.delivery import Reject, delivered_schema
from gamut_analysis.vocabulary import as_variant

_KEPT = ("model", "judge", "variant", "question_id", "replicate", "judged_at", "source_id", "row")
_NO_ERROR = (None, "", "false", "none", "null", "0")


def graded(tables: dict[str, pl.DataFrame], labels: Mapping[str, str]) -> list[tuple[int, Reject]]:
    """Put the verdicts of all replies among the delivered ones; what could not be used, by source.

    Raises InputError where there are no checks that a reply could speak of.
    """
    replies = tables.pop("replies")
    if replies.is_empty():
        return []
    asked = _asked(tables["checks"])
    if not asked:
        raise InputError("replies can be read only beside the checks that they speak of: a file `checks.*` is needed")
    rows: list[dict[str, Any]] = []
    rejects: list[tuple[int, Reject]] = []
    for reply in replies.iter_rows(named=True):
        variant = as_variant(reply["variant"]) if reply["variant"] is not None else None
        checks = asked.get((reply["question_id"], variant), asked.get((reply["question_id"], None), []))
        if not checks:
            reason = "the rubric has no check of this question"
            rejects.append((reply["source_id"], Reject(reply["row"], "question_id", reply["question_id"], reason)))
            continue
        reading = _reading(reply, checks, labels)
        rows += [
            {
                **{name: reply[name] for name in _KEPT},
                "check_id": check.check_id,
                "verdict": check.verdict,
                "rationale": check.rationale,
                "error": check.ungraded_reason,
            }
            for check in reading.checks
        ]
        reason = "not a check of the rubric"
        rejects += [
            (reply["source_id"], Reject(reply["row"], "check_id", f"{reply['question_id']} / {check_id}", reason))
            for check_id in reading.extra
        ]
    found = pl.DataFrame(rows, schema={**delivered_schema("verdicts")})
    tables["verdicts"] = pl.concat([tables["verdicts"], found.select(tables["verdicts"].columns)])
    return rejects


def _reading(reply: dict[str, Any], checks: list[str], labels: Mapping[str, str]) -> Reading:
    error = reply["error"]
    if (error or "").strip().casefold() not in _NO_ERROR and error is not None:
        return failed(checks, error)
    return read_reply(reply["reply"], checks, stop_reason=reply["stop_reason"] or "stop", labels=labels)


def _asked(checks: pl.DataFrame) -> dict[tuple[str, str | None], list[str]]:
    """The checks of each question and variant, in the order in which they were delivered, each once.

    A check without a variant stands in every one; under no variant stand those of all.
    """
    own: dict[tuple[str, str | None], dict[str, None]] = {}
    rows = checks.select("question_id", "variant", "check_id").drop_nulls(["question_id", "check_id"]).iter_rows()
    for question_id, given, check_id in rows:
        variants = [as_variant(given)] if given is not None else ["multimodal", "text_only"]
        for variant in (None, *variants):
            own.setdefault((question_id, variant), {})[check_id] = None
    return {place: list(ids) for place, ids in own.items()}
