"""What the score of one sample says of each check, in our words or where the manifest points."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gamut_analysis.errors import InputError, ManifestError
from gamut_analysis.readers.delivery import FIELDS, as_text
from gamut_analysis.readers.inspect_file import Log, Sample
from gamut_analysis.readers.manifest import NAME, Manifest

UNSCORED = "unscored"
_FIELDS = {field: (field, *FIELDS["verdicts"][field]) for field in ("check_id", "verdict", "rationale")}
_FIELDS["check_id"] += ("id",)
_SHOWN = 200
_DEEPEST = 3


class Judged(NamedTuple):
    """What a score says of one check; without a check, of all checks of the question."""

    check_id: str | None
    verdict: str | None
    rationale: str | None
    error: str | None


@dataclass(frozen=True)
class Scorers:
    """The scorers of a log whose scores are read, and those that are passed over."""

    read: tuple[str, ...]
    passed_over: tuple[str, ...] = ()


def scorers_of(log: Log, file: str, told: Manifest) -> Scorers:
    """The scorers that give verdicts by check; where no sample has a score, those that the run was to use.

    Raises ManifestError where the manifest points at what no score has, and InputError where scores hold one value
    each and no manifest says what to make of it.
    """
    scores: dict[str, list[tuple[dict[str, Any], Sample]]] = {}
    for sample in log.samples or ():
        for name, score in (sample.scores or {}).items():
            scores.setdefault(name, []).append((score, sample))
    wanted = told.inspect.scorer
    if not scores:
        return Scorers((wanted,) if wanted else tuple(scorer.name for scorer in log.eval.scorers or ()))
    if wanted and wanted not in scores:
        raise ManifestError(
            f"{told.path}: [inspect] scorer = {wanted!r}: the scorers of {file} are {', '.join(scores)}"
        )
    of_use = {wanted: scores[wanted]} if wanted else scores
    _check_paths(of_use, file, told)
    read = tuple(name for name, each in of_use.items() if wanted or _tells_checks(each, told))
    passed_over = tuple(name for name in of_use if name not in read)
    if not read:
        raise InputError(_one_value(of_use, file))
    return Scorers(read, passed_over)


def at(path: str, score: Mapping[str, Any], sample: Sample) -> Any:
    """What stands at a dotted path in the score, or else in the sample; null where nothing does."""
    roots: tuple[Any, ...] = (score, {"id": sample.id, "epoch": sample.epoch, "metadata": sample.metadata})
    for root in roots:
        found = root
        for part in path.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        if found is not None:
            return found
    return None


def metadata_of(score: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a score tells beside its value."""
    metadata = score.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


def judged(scorer: str, score: Mapping[str, Any], sample: Sample, told: Manifest) -> Iterator[Judged]:
    """What one score says of its checks; a sample that failed, or a score that says nothing, leaves all ungraded."""
    failure = _failure(sample)
    metadata = metadata_of(score)
    verdicts = list(_verdicts(scorer, _value(score, sample, told), score, told))
    verdicts = list(_with_reasons(verdicts, _texts(metadata.get("reasons")), _texts(metadata.get("ungraded"))))
    for verdict in verdicts or [Judged(None, None, None, _why_unscored(score))]:
        error = failure or verdict.error
        yield verdict._replace(verdict=None if error else verdict.verdict, error=error)


def _failure(sample: Sample) -> str | None:
    """Why nothing of a sample counts."""
    if sample.error:
        return as_text(sample.error.get("message")) or "the sample failed"
    return "the sample was invalidated" if sample.invalidation else None


def _value(score: Mapping[str, Any], sample: Sample, told: Manifest) -> Any:
    path = told.inspect.paths.get("verdicts")
    return at(path, score, sample) if path else score.get("value")


def _is_void(value: Any) -> bool:
    return value is None or value == UNSCORED or (isinstance(value, float) and not math.isfinite(value))


def _is_by_check(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and all(isinstance(each, Mapping) for each in value))


def _tells_checks(scores: Sequence[tuple[dict[str, Any], Sample]], told: Manifest) -> bool:
    values = [_value(score, sample, told) for score, sample in scores]
    return any(map(_is_by_check, values)) or all(map(_is_void, values))


def _verdicts(scorer: str, value: Any, score: Mapping[str, Any], told: Manifest) -> Iterator[Judged]:
    """The members of a score, or the score as the only one where the manifest names its scorer."""
    if isinstance(value, Mapping):
        for check_id, member in value.items():
            yield _member(
                {"check_id": check_id, **(member if isinstance(member, Mapping) else {"verdict": member})}, told
            )
    elif _is_by_check(value):
        yield from (_member(member, told) for member in value)
    elif told.inspect.scorer and not _is_void(value):
        yield _judged(scorer, value, score.get("explanation"))


def _member(member: Mapping[str, Any], told: Manifest) -> Judged:
    columns = told.spec("verdicts").columns
    values = (
        next((member[name] for name in (*columns.get(field, ()), *names) if member.get(name) is not None), None)
        for field, names in _FIELDS.items()
    )
    return _judged(*values)


def _judged(check_id: Any, verdict: Any, rationale: Any) -> Judged:
    return Judged(as_text(check_id), as_text(verdict), as_text(rationale), UNSCORED if verdict == UNSCORED else None)


def _with_reasons(
    verdicts: Sequence[Judged], reasons: Mapping[str, str | None], ungraded: Mapping[str, str | None]
) -> Iterator[Judged]:
    """The verdicts with what the score tells of them elsewhere: reasons, and why some could not be given."""
    for verdict in verdicts:
        check_id = verdict.check_id or ""
        yield verdict._replace(
            rationale=verdict.rationale or reasons.get(check_id), error=ungraded.get(check_id) or verdict.error
        )
    graded = {verdict.check_id for verdict in verdicts}
    for check_id, reason in ungraded.items():
        if check_id not in graded:
            yield Judged(check_id, None, reasons.get(check_id), reason or UNSCORED)


def _texts(value: Any) -> dict[str, str | None]:
    return {name: as_text(text) for name, text in value.items()} if isinstance(value, Mapping) else {}


def _why_unscored(score: Mapping[str, Any]) -> str:
    """Why a score holds no verdict: what it says itself, in its first line."""
    value = score.get("value")
    if not (_is_void(value) or _is_by_check(value)):
        return f"the score is {as_text(value)!r}, not verdicts by check"
    told = as_text(score.get("reason")) or as_text(score.get("explanation")) or ""
    return next((line.strip()[:_SHOWN] for line in told.splitlines() if line.strip()), UNSCORED)


def _check_paths(scores: Mapping[str, Sequence[tuple[dict[str, Any], Sample]]], file: str, told: Manifest) -> None:
    every = [pair for pairs in scores.values() for pair in pairs]
    for key, path in told.inspect.paths.items():
        if all(at(path, score, sample) is None for score, sample in every):
            has = ", ".join(dict.fromkeys(name for score, _ in every for name in _paths(score)))
            raise ManifestError(f"{told.path}: [inspect] {key} = {path!r}: no score of {file} has it; they have {has}")


def _paths(value: Mapping[str, Any], before: str = "", depth: int = 1) -> Iterator[str]:
    """The dotted paths to what a score holds, a few steps down."""
    for name, inner in value.items():
        if isinstance(inner, Mapping) and inner and depth < _DEEPEST:
            yield from _paths(inner, f"{before}{name}.", depth + 1)
        else:
            yield f"{before}{name}"


def _one_value(scores: Mapping[str, Sequence[tuple[dict[str, Any], Sample]]], file: str) -> str:
    name, pairs = next(iter(scores.items()))
    values = dict.fromkeys(as_text(score.get("value")) for score, _ in pairs if not _is_void(score.get("value")))
    has = ", ".join(dict.fromkeys(path for score, _ in pairs for path in _paths(score)))
    shown = ", ".join(f'"{value}" = "..."' for value in list(values)[:4])
    return (
        f"{file}: the scores of {', '.join(scores)} hold one value each, not a verdict for each check. Say in {NAME} "
        f'where the verdicts are: [inspect] verdicts = "..." (a score has: {has}); or that the value is a verdict '
        f'on one check: [inspect] scorer = "{name}" and [labels] {shown}'
    )
