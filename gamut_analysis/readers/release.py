"""The public release, and rubric sets of its shape: questions, rubrics in tiers, and answers keyed by the question.

Files are found by what they hold: lists of checks under Answer-Critical, Valuable and Context, in a column (usually
``rubrics``) or as columns of their own; or answers beside a question id. Both come as Parquet, JSON or JSON lines.
Check ids are made here from tier and place (``answer_critical/01``). What was read as what, what was not and what is
odd stands in a `Profile` of each file.
"""

import os
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from gamut_analysis.errors import InputError
from gamut_analysis.readers.delivery import Reject, Source
from gamut_analysis.readers.release_answers import AnswersFile
from gamut_analysis.readers.release_files import BROKEN, SAMPLE, SUFFIXES, beginning, load
from gamut_analysis.readers.release_gathered import File, Gathered, spoken
from gamut_analysis.readers.release_profile import Profile
from gamut_analysis.readers.release_rubrics import MULTIMODAL, TEXT_ONLY, RubricsFile
from gamut_analysis.readers.release_shape import kind_of

BENCHMARK = "gamut"
# A download of the hub keeps its files in folders below the one that was named.
_DEEPEST = 3


@dataclass(frozen=True)
class Release:
    """What the files of a release gave, ready for a `Delivery`: tables, sources, rejects, notes; and the profiles."""

    tables: dict[str, pl.DataFrame]
    sources: list[Source]
    rejects: list[tuple[int, Reject]]
    notes: list[str]
    profiles: list[Profile]
    dataset: dict[str, Any]


def find(folder: Path, but: Collection[Path] = ()) -> dict[Path, str]:
    """The files of the release in a folder and up to three folders below it, with what they hold, told by content.

    but: files that are not looked at. Hidden ones are left out, and so are answers where there is no rubric.
    """
    held = {path: recognise(path) for path in _visible(folder) if path not in but}
    found = {path: kind for path, kind in held.items() if kind is not None}
    return found if "rubrics" in found.values() else {}


def _visible(folder: Path) -> list[Path]:
    found: list[Path] = []
    for place, folders, names in os.walk(folder):
        inside = Path(place).relative_to(folder).parts
        folders[:] = [name for name in folders if not name.startswith(".") and len(inside) < _DEEPEST]
        found += [Path(place) / name for name in names if name.lower().endswith(SUFFIXES) and not name.startswith(".")]
    return sorted(path for path in found if path.is_file())


def recognise(path: Path) -> str | None:
    """``rubrics`` or ``answers`` when the file holds the release's, else None; as a rule from its beginning alone."""
    try:
        return kind_of(beginning(path))
    except (InputError, OSError, ValueError, *BROKEN):
        return None


def read(
    paths: Sequence[Path], *, root: Path | None = None, first_source_id: int = 1, infer_roles: bool = True
) -> Release:
    """Read the files of a release together: rubrics, then the answers to their questions.

    root: the folder that file names are given relative to. infer_roles: whether a check without provenance gets a role
    from its wording, marked ``role_inferred``. Raises InputError for a file that lacks what a rubric or an answer
    needs, with the fields that it has and those that it needs.
    """
    files = [File(path, root, first_source_id + number) for number, path in enumerate(paths)]
    contents = [load(file.path) for file in files]
    are_answers = [kind_of(content.records(SAMPLE)) == "answers" for content in contents]
    gathered = Gathered()
    for file, content, is_answers in zip(files, contents, are_answers, strict=True):
        if not is_answers:
            RubricsFile(file, content, gathered, infer_roles=infer_roles).read()
    _mark_identification(gathered)
    _note_shared_variants(gathered)
    for file, content, is_answers in zip(files, contents, are_answers, strict=True):
        if is_answers:
            AnswersFile(file, content, gathered).read()
    return Release(
        tables=gathered.frames(),
        sources=gathered.sources,
        rejects=gathered.rejects,
        notes=gathered.notes,
        profiles=gathered.profiles,
        dataset={"benchmark": BENCHMARK},
    )


def _mark_identification(gathered: Gathered) -> None:
    """Where the text-only rubric of a question is the multimodal one less some checks, those name its subject."""
    texts: dict[tuple[str, str], set[tuple[str, str | None]]] = defaultdict(set)
    for check in gathered.rows["checks"]:
        texts[check["variant"], check["question_id"]].add((check["tier"], check["text"]))
    marked = 0
    for check in gathered.rows["checks"]:
        shown = texts.get((MULTIMODAL, check["question_id"]), set())
        told = texts.get((TEXT_ONLY, check["question_id"]), set())
        if check["variant"] == MULTIMODAL and "is_identification" not in check and told and told < shown:
            is_left_out = (check["tier"], check["text"]) not in told
            check["is_identification"] = "true" if is_left_out else "false"
            marked += is_left_out
    if marked:
        gathered.notes.append(
            f"{marked:,} multimodal checks that the text-only rubric of their question leaves out, all others being "
            "the same, are taken to name its subject."
        )


def _note_shared_variants(gathered: Gathered) -> None:
    for variant, files in gathered.files_of.items():
        if len(files) > 1:
            gathered.notes.append(
                f"{len(files)} files hold {spoken(variant)} questions: {', '.join(files)}. A question that stands in "
                "several is read from the first."
            )
