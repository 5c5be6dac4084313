"""One file of responses: each row an answer, keyed by the question."""

import re
from typing import Any

from gamut_analysis.errors import InputError
from gamut_analysis.readers.delivery import as_text
from gamut_analysis.readers.release_files import Content
from gamut_analysis.readers.release_gathered import File, Gathered, as_json, clean, mapped_columns, prose, spoken
from gamut_analysis.readers.release_profile import KEPT, NOT_READ, Column, Oddities, Profile
from gamut_analysis.readers.release_shape import ANSWER_FIELDS, columns_of, plain, structure
from gamut_analysis.vocabulary import VARIANTS

_IN_NAME = re.compile(r"(?:^|[-_. ]+)(?:text[-_ ]?only|multi[-_ ]?modal)(?=$|[-_. ])", re.I)


class AnswersFile:
    """Reads one file of answers, after the rubrics that it answers."""

    def __init__(self, file: File, content: Content, gathered: Gathered) -> None:
        self.file, self.content, self.gathered = file, content, gathered
        self.columns = columns_of(content.columns, ANSWER_FIELDS)
        self.questions = {question_id for _, question_id in gathered.first}
        self.odd = Oddities()

    def read(self) -> None:
        """Add all answers of the file to what is gathered, unless they answer none of the questions that are there."""
        self._check_needed()
        ids = {clean(value) for value in self.content.columns[self.columns["question_id"]]}
        if self.questions and not ids & self.questions:
            self.gathered.notes.append(f"{self.file.name}: not read; it answers none of the questions that are here.")
            return
        variant, why = self._variant(ids)
        stem = without_variant(self.file.stem)
        for record, row in zip(self.content.records(), self.content.numbers, strict=True):
            self.gathered.rows["answers"].append(self._answer(record, row, variant, stem))
        named = self.columns.get("model")
        model = f"model: the column {named}" if named else f"model: {stem!r}, from the file's name"
        profile = Profile(
            file=self.file.name,
            holds="answers",
            rows=self.content.rows_read,
            columns=self._uses(),
            decisions=(model, why),
            oddities=self.odd.found(),
        )
        self.gathered.add_file(self.file, "answers", self.content, mapped_columns(self.columns), profile)

    def _check_needed(self) -> None:
        lacking = [
            f"a column {' or '.join(ANSWER_FIELDS[name])}"
            for name in ("question_id", "answer")
            if name not in self.columns
        ]
        if lacking:
            has = ", ".join(self.content.kinds) or "nothing"
            raise InputError(f"{self.file.path}: answers need {' and '.join(lacking)}; the file has: {has}")

    def _variant(self, ids: set[str | None]) -> tuple[str | None, str]:
        """The variant of answers that do not name theirs: as the file's name says, else as the questions tell."""
        if "variant" in self.columns:
            return None, f"variant: the column {self.columns['variant']}"
        name = plain(self.file.path.name)
        named = next((variant for variant in VARIANTS if variant in name), None)
        known = {variant: {one for kind, one in self.gathered.first if kind == variant} for variant in VARIANTS}
        answered = [variant for variant in VARIANTS if ids & known[variant]]
        if named:
            return named, f"variant: {spoken(named)}, from the file's name"
        if len(answered) == 1:
            return answered[0], f"variant: {spoken(answered[0])}, the only one of its questions here"
        if answered:
            return VARIANTS[0], "variant: multimodal, as the file's name does not say text_only"
        return None, "variant: not told"

    def _answer(self, record: dict[str, Any], row: int, variant: str | None, stem: str) -> dict[str, Any]:
        value = {name: record[column] for name, column in self.columns.items()}
        question_id = clean(value["question_id"])
        if self.questions and question_id not in self.questions:
            self.odd.note("answers are to questions that are not here", row)
        if not isinstance(structure(value["answer"]), str | None):
            self.odd.note("answers are JSON rather than prose", row)
        used = set(self.columns.values())
        return {
            "model": prose(value["model"]) if "model" in value else stem,
            "variant": clean(value.get("variant")) or variant,
            "question_id": question_id,
            "answer": as_text(value["answer"]),
            "error": prose(value.get("error")),
            "answered_at": clean(value.get("answered_at")),
            "extra": as_json({name: inner for name, inner in record.items() if name not in used}),
            "source_id": self.file.source_id,
            "row": row,
        }

    def _uses(self) -> tuple[Column, ...]:
        uses = {name: f"-> {field}" for field, name in self.columns.items()}
        uses |= dict.fromkeys(self.content.unread, NOT_READ)
        return tuple(Column(name, kind, uses.get(name, KEPT)) for name, kind in self.content.kinds.items())


def without_variant(stem: str) -> str:
    """A file's stem without the words that tell the variant, so that both files of a model name one model.

    >>> without_variant("gpt-4o_text_only"), without_variant("text-only")
    ('gpt-4o', 'text-only')
    """
    return _IN_NAME.sub("", stem).strip("-_. ") or stem
