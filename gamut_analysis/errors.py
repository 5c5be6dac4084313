"""The project's exceptions. Each docstring is the meaning; each message says what was got and what would do."""


class GamutError(Exception):
    """Something that the user can mend. The command line prints its message alone and exits with 1."""


class InputError(GamutError):
    """A delivered file cannot be read as what it is said to be: names the file, the place and what would be right."""


class ManifestError(GamutError):
    """A `gamut.toml` that does not describe its folder: names the key, its value and the legal ones."""


class RejectedRows(GamutError):
    """Rows were rejected while `--strict` was on."""


class BuildError(GamutError):
    """A built database breaks a promise (a key, an identity). The previous database is left in place."""


class DatabaseBusy(GamutError):
    """Another process holds the database file: names the file, the process id and what to do."""


class DatabaseMissing(GamutError):
    """There is no database, or not one of ours, at the path: names the command that builds it."""


class UnknownName(GamutError):
    """A model, judge, variant or parameter that the data does not have: lists the nearest known names."""


class NotebookError(GamutError):
    """A notebook breaks the contract (parameters cell, kernel) or one of its cells failed: names the cell."""


class RubricError(GamutError):
    """A meta-rubric is invalid: lists every fault with question, item, field, line and what would be right."""


class ScoringError(GamutError):
    """Constants of the score outside their domain: names the constant, its value and the legal range."""


class PartMissing(GamutError):
    """An optional part of the installation is needed and absent: names the extra that brings it."""
