"""What a file of the release holds, what it was read as, and what is odd about it, for people."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

# What columns that were read as nothing of ours became.
KEPT = "kept in extra"
NOT_READ = "not read, being bytes"
_ROWS_SHOWN = 5


class Column(NamedTuple):
    """One column of a file: its type, and what it was read as or why it was not."""

    name: str
    kind: str
    use: str


class Oddity(NamedTuple):
    """Something that is not as it should be, how often, and the first rows where it stands."""

    what: str
    times: int
    rows: tuple[int, ...]

    def __str__(self) -> str:
        word = "row" if len(self.rows) == 1 else "rows"
        more = " ..." if self.times > len(self.rows) == _ROWS_SHOWN else ""
        return f"{self.what}: {self.times:,} ({word} {', '.join(map(str, self.rows))}{more})"


class Oddities:
    """Counts of what is odd while a file is read."""

    def __init__(self) -> None:
        self._rows: dict[str, list[int]] = defaultdict(list)

    def note(self, what: str, row: int) -> None:
        """Count one more of what is odd."""
        self._rows[what].append(row)

    def found(self) -> tuple[Oddity, ...]:
        """All of them, in order of first appearance."""
        return tuple(
            Oddity(what, len(rows), tuple(dict.fromkeys(rows))[:_ROWS_SHOWN]) for what, rows in self._rows.items()
        )


@dataclass(frozen=True)
class Profile:
    """One file: its columns, what was decided about it, its checks by tier and role, and its oddities."""

    file: str
    holds: str
    rows: int
    columns: tuple[Column, ...]
    decisions: tuple[str, ...]
    tiers: Mapping[str, int] = field(default_factory=dict)
    roles: Mapping[str, int] = field(default_factory=dict)
    oddities: tuple[Oddity, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.file}: {self.rows:,} rows of {self.holds}", *self._columns()]
        lines += [f"  {line}" for line in (*self.decisions, *self._counts())]
        lines += [f"  odd: {oddity}" for oddity in self.oddities]
        return "\n".join(lines)

    def _columns(self) -> Iterator[str]:
        name_width = max((len(column.name) for column in self.columns), default=0)
        kind_width = max((len(column.kind) for column in self.columns), default=0)
        for name, kind, use in self.columns:
            yield f"  {name:{name_width}}  {kind:{kind_width}}  {use}"

    def _counts(self) -> Iterator[str]:
        if self.tiers:
            yield f"checks: {sum(self.tiers.values()):,} ({listed(self.tiers)})"
        if self.roles:
            yield f"roles: {listed(self.roles)}"


def listed(counts: Mapping[str, int]) -> str:
    """Counts in a sentence.

    >>> listed({"fact": 1200, "baseline": 3})
    'fact 1,200, baseline 3'
    """
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())
