"""What the wording of a check tells of the rule that made it, for rubrics that come without their meta-rubric.

Coverage checks ("at least 3 of the following: ...") and order checks (a numbered list whose relative order counts)
write out what they speak of; checks that name one member of such a list belong to it. Everything else is a fact: an
element of a strict list, an aspect or an insight reads no differently.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from gamut_analysis.compiler import MAX_BONUSES, drop
from gamut_analysis.vocabulary import TIERS

# So much of a member's words must stand in a check that names it; what else the check says must stay short.
NAMED_SHARE = 0.8
FEW_OTHER_WORDS = 3


class Inferred(NamedTuple):
    """What one check is taken for; a null role means that its wording is that of a list which could not be read."""

    role: str | None
    item_id: str | None = None
    item_type: str | None = None
    needed: int | None = None
    members: tuple[str, ...] = ()


FACT = Inferred("fact")
OPEN = Inferred(None)


def infer(checks: Sequence[tuple[str, str | None]]) -> list[Inferred]:
    """The role of every check of one question, from the tiers and texts of all of them.

    >>> coverage = ("answer_critical", "Names at least 1 of the following: (1) red; (2) green.")
    >>> [check.role for check in infer([coverage, ("valuable", "Names red.")])]
    ['baseline', 'bonus']
    """
    read = {place: reading for place, (tier, text) in enumerate(checks) if (reading := _reading(tier, text or ""))}
    roles = dict.fromkeys(range(len(checks)), FACT)
    roles |= {place: OPEN for place, reading in read.items() if not reading.members}
    singles = {place: check for place, check in enumerate(checks) if place not in read}
    pools = [*_lists(read), *_processes(read, singles)]
    for pool in pools:
        roles |= pool.whole
    roles |= _named(singles, pools)
    return [roles[place] for place in range(len(checks))]


# --- lists in a text --------------------------------------------------------------------------------------------------

_NUMERALS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
_COUNTS = {word: number for number, word in enumerate(_NUMERALS.split("|"), 1)}
_COUNT = rf"(?P<count>\d{{1,3}}|{_NUMERALS})\b(?:\s*\(\d+\))?"
_OF_THESE = r"(?:\s+[\w'’-]+){0,6}?\s+(?:of|from|among)\s+(?:any\s+of\s+)?(?:the|these|those|this)\b"
_ALL = re.compile(r"\ball\b(?:\s+[\w'’-]+){0,3}?\s+(?:of\s+)?(?:the|these)\s+following\b|\ball\s+of\s+these\b", re.I)
# Each with a word that must be there: most texts have none of them, and finding that out is quick.
_COVERAGE = (
    ("least", re.compile(rf"\bat\s+(?:the\s+very\s+)?least\s+{_COUNT}{_OF_THESE}", re.I)),
    ("minimum", re.compile(rf"\bminimum\s+of\s+{_COUNT}{_OF_THESE}", re.I)),
    ("or more", re.compile(rf"\b{_COUNT}\s+or\s+more\b{_OF_THESE}", re.I)),
    ("any", re.compile(rf"\bany\s+{_COUNT}{_OF_THESE}", re.I)),
    ("all", _ALL),
)
_ORDER = re.compile(
    r"\brelative\s+order\b|\b(?:chronological|mandatory|correct|proper|right|logical|this|following|same)\s+"
    r"(?:relative\s+)?(?:order|sequence)\b|\bordered\s+(?:steps|process|list)\b|\bsequence\s+of\s+steps\b",
    re.I,
)
_NO_ORDER = re.compile(
    r"\border\s+(?:does\s+not|doesn['’]t|need\s+not|is\s+not)\b|\bregardless\s+of\s+(?:the\s+)?(?:\w+\s+)?order\b"
    r"|\b(?:any|no\s+particular)\s+order\b|\birrespective\s+of\b",
    re.I,
)
_SPEAKS_OF_A_LIST = re.compile(r"\b(?:following|below|listed|list)\b", re.I)
_MARKERS = [
    re.compile(pattern, re.I)
    for pattern in (
        r"\((\d{1,2})\)\s*",
        r"(?<![\w.])(?<!\d,)(\d{1,2})\.\s+",
        r"(?<![\w.(])(\d{1,2})\)\s*",
        r"\[(\d{1,2})\]\s*",
        r"\bstep\s+(\d{1,2})\s*[:.)–-]\s*",
        r"(?<![\w.])(\d{1,2}):\s+",
        r"\(([a-z])\)\s*",
        r"(?<![\w(])([a-z])\)\s*",
    )
]
_BULLET = re.compile(r"(?:^|\n)[ \t]*(?:[-*–—]\s+|[•‣▪◦·]\s*)|[•‣▪◦]\s*")
_AFTER_LIST = re.compile(
    r"\b(?:missing\s+(?:steps|items|ones)|(?:extra|additional|other)\s+(?:unlisted|valid)\b|(?:extra|additional)\s+steps"
    r"|(?:it|the\s+(?:element|answer|response|check))\s+passes|valid\s+ones\s+beyond)",
    re.I,
)
_SENTENCE_END = re.compile(r"(?:\w{3}|\d|[)\]%\"”’])([.!?])\s+(?=[A-Z\"“(])")
_JOINING = re.compile(r"[\s,;](?:and/or|and|or)$", re.I)
_ENDS = " ,;:.，；：。、"


@dataclass(frozen=True)
class _Reading:
    """A check that writes out a list: how many of it are asked for, or that its order counts."""

    tier: str
    members: tuple[str, ...]
    lead: str
    needed: int | None = None
    asks_for_all: bool = False
    hint: str | None = None


def _reading(tier: str, text: str) -> _Reading | None:
    """What a coverage or order check says; None for any other text."""
    lower = text.casefold()
    if ("order" in lower or "sequence" in lower) and _ORDER.search(text) and not _NO_ORDER.search(text):
        start, members = _marked(text)
        if len(members) >= 2:
            return _Reading(tier, members, text[:start], hint=_hint(text[:start]))
    for word, pattern in _COVERAGE:
        if word in lower and (match := pattern.search(text)):
            start, members = _members_after(text, match.end())
            if pattern is _ALL:
                if not members:
                    return None
                return _Reading(tier, members, text[:start], len(members), asks_for_all=True)
            return _coverage(tier, match["count"], members, text, start)
    return None


def _coverage(tier: str, count: str, members: tuple[str, ...], text: str, start: int) -> _Reading | None:
    """A coverage check; without members when its list cannot be read, None when it speaks of no list at all."""
    needed = _COUNTS.get(count.lower()) or int(count)
    if 1 <= needed <= len(members):
        return _Reading(tier, members, text[:start], needed)
    return _Reading(tier, (), text, needed) if members or _SPEAKS_OF_A_LIST.search(text) else None


def _hint(lead: str) -> str | None:
    """Which of the two order checks the words in front of the list claim to be."""
    if re.search(
        r"\boptional\b|\ball\s+(?:\w+\s+){0,2}steps\b|\bevery\s+step\b|\b(?:full|complete|entire)\b", lead, re.I
    ):
        return "full_sequence"
    return "sequence" if re.search(r"\b(?:mandatory|required|essential|necessary)\b", lead, re.I) else None


def _members_after(text: str, start: int) -> tuple[int, tuple[str, ...]]:
    """The members of the list that follows a place, and where it begins: marked ones, else parts of a sentence."""
    begin, members = _marked(text[start:])
    if not members:
        begin, members = _bulleted(text[start:])
    if not members:
        begin, members = _enumerated(text[start:])
    return start + begin, members


def _marked(text: str) -> tuple[int, tuple[str, ...]]:
    """The members behind consecutive numbers or letters, in whichever style marks most of them."""
    text = text.replace("**", "  ")  # as long as before, so that places stay
    runs = [_run([(_number(match[1]), match) for match in style.finditer(text)]) for style in _MARKERS]
    return _between(text, max(runs, key=len))


def _number(mark: str) -> int:
    return int(mark) if mark.isdecimal() else ord(mark.lower()) - ord("a") + 1


def _run(marks: Sequence[tuple[int, re.Match[str]]]) -> list[re.Match[str]]:
    """The marks that count 1, 2, 3; a mark 1 that is repeated before the first 2 belongs to the sentence before."""
    run: list[re.Match[str]] = []
    for number, match in marks:
        if number == 1 and len(run) <= 1:
            run = [match]
        elif run and number == len(run) + 1:
            run.append(match)
    return run


def _bulleted(text: str) -> tuple[int, tuple[str, ...]]:
    return _between(text, list(_BULLET.finditer(text)))


def _between(text: str, marks: Sequence[re.Match[str]]) -> tuple[int, tuple[str, ...]]:
    """What stands between marks; the last ends with its sentence or line, if no other member goes beyond those."""
    if len(marks) < 2:
        return 0, ()
    ends = [mark.start() for mark in marks[1:]]
    parts = [text[mark.end() : end] for mark, end in zip(marks, [*ends, len(text)], strict=True)]
    *others, last = parts
    members = tuple(map(_cleaned, [*others, _cut(last, others)]))
    return (marks[0].start(), members) if all(members) else (0, ())


def _cut(last: str, others: Sequence[str]) -> str:
    if stop := _AFTER_LIST.search(last):
        last = last[: stop.start()]
    if not any("\n" in part.strip() for part in others):
        last = last.lstrip().split("\n", 1)[0]
    if not any(_SENTENCE_END.search(part.strip()) for part in others) and (end := _SENTENCE_END.search(last)):
        last = last[: end.start(1)]
    return last


def _enumerated(text: str) -> tuple[int, tuple[str, ...]]:
    """Members that only semicolons or commas part, after a colon or in brackets."""
    colon, bracket = text.find(":"), text.find("(")
    if colon < 0 and bracket < 0:
        return 0, ()
    start = colon + 1 if colon >= 0 else bracket + 1
    tail = text[start:] if colon >= 0 else text[start:].split(")", 1)[0]
    tail = _cut(tail, ())
    by_semicolon = ";" in tail
    parts = tail.split(";") if by_semicolon else _at_commas(tail)
    if not by_semicolon and len(parts) > 1 and not re.match(r"\s*(?:and|or)\b", parts[-1]):
        parts[-1:] = re.split(r"\s+(?:and|or)\s+", parts[-1], maxsplit=1)
    members = tuple(_cleaned(re.sub(r"^\s*(?:and/or|and|or)\s+", "", part)) for part in parts)
    return (start, members) if len(members) >= 2 and all(members) else (0, ())


def _at_commas(text: str) -> list[str]:
    """The parts between commas, save those in brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth = max(0, depth + (letter == "(") - (letter == ")"))
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _cleaned(member: str) -> str:
    """A member in one line, without what joins it to the next."""
    if not member.isprintable():
        member = "".join(letter if letter.isprintable() else " " for letter in member)
    text = " ".join(member.split()).strip(_ENDS)
    return _JOINING.sub("", text).strip(_ENDS)


# --- lists and processes ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Pool:
    """A list or process of one question: its checks of the whole, and the role of one that names a member, by tier."""

    item_id: str
    item_type: str
    written_out: _Reading
    whole: Mapping[int, Inferred]
    named_by: Mapping[tuple[str, str], str]


def _lists(read: Mapping[int, _Reading]) -> list[_Pool]:
    """Coverage checks that write out the same members: the lowest number is the baseline, others are thresholds."""
    groups: dict[frozenset[str], dict[int, _Reading]] = defaultdict(dict)
    for place, reading in read.items():
        if reading.needed is not None and reading.members:
            groups[frozenset(map(_plain, reading.members))][place] = reading
    asked = [group for group in groups.values() if not all(reading.asks_for_all for reading in group.values())]
    return [_list(f"list-{number:02d}", group) for number, group in enumerate(asked, 1)]


def _list(item_id: str, group: Mapping[int, _Reading]) -> _Pool:
    base = min(group.values(), key=lambda reading: reading.needed or 0)
    whole = {
        place: Inferred(
            "baseline" if reading.needed == base.needed else "threshold",
            item_id,
            "flexible_list",
            reading.needed,
            reading.members,
        )
        for place, reading in group.items()
    }
    has_thresholds = any(inferred.role == "threshold" for inferred in whole.values())
    gives_bonuses = len(base.members) <= MAX_BONUSES and base.tier in TIERS[:-1] and not has_thresholds
    named_by = {(member, drop(base.tier)): "bonus" for member in base.members} if gives_bonuses else {}
    return _Pool(item_id, "flexible_list", base, whole, named_by)


def _processes(read: Mapping[int, _Reading], singles: Mapping[int, tuple[str, str | None]]) -> list[_Pool]:
    """Order checks, each alone or with the one whose steps it also has."""
    orders = {
        place: frozenset(map(_plain, reading.members)) for place, reading in read.items() if reading.needed is None
    }
    pairs = _nested(orders)
    roles = [
        {pairs[place]: "sequence", place: "full_sequence"}
        if place in pairs
        else {place: read[place].hint or _lone_order(read[place], singles.values())}
        for place in orders
        if place not in pairs.values()
    ]
    return [_process(f"process-{number:02d}", read, order) for number, order in enumerate(roles, 1)]


def _nested(orders: Mapping[int, frozenset[str]]) -> dict[int, int]:
    """Each order check of all steps with the one of its required steps, which are fewer of the same."""
    pairs: dict[int, int] = {}
    for small in sorted(orders, key=lambda place: -len(orders[place])):
        wider = [full for full in orders if orders[small] < orders[full] and full not in pairs and small not in pairs]
        if wider:
            pairs[min(wider, key=lambda full: len(orders[full]))] = small
    return pairs


def _lone_order(order: _Reading, singles: Iterable[tuple[str, str | None]]) -> str:
    """A lone order check orders all steps when one of them is named one tier above: only required steps stand there."""
    lead = _words(order.lead)
    above = (text for tier, text in singles if tier in _above(order.tier))
    return "full_sequence" if any(_member_of(text, order.members, lead) for text in above) else "sequence"


def _above(tier: str) -> tuple[str, ...]:
    """The tiers that drop to this one, itself left out."""
    return tuple(upper for upper in TIERS if upper != tier and drop(upper) == tier)


def _process(item_id: str, read: Mapping[int, _Reading], roles: Mapping[int, str]) -> _Pool:
    whole = {place: Inferred(role, item_id, "process", None, read[place].members) for place, role in roles.items()}
    by_role = {role: read[place] for place, role in roles.items()}
    required, every = by_role.get("sequence"), by_role.get("full_sequence")
    widest = max(by_role.values(), key=lambda reading: len(reading.members))
    return _Pool(item_id, "process", widest, whole, _step_roles(required, every))


def _step_roles(required: _Reading | None, every: _Reading | None) -> dict[tuple[str, str], str]:
    """The role of a check that names a step, by step and tier; optional steps stand where the order of all does."""
    known = set(map(_plain, required.members)) if required else set()
    steps = {(step, required.tier): "step" for step in required.members} if required else {}
    if every is None:
        return steps
    if required is None:
        steps = {(step, tier): "step" for step in every.members for tier in _above(every.tier)}
    return steps | {(step, every.tier): "optional_step" for step in every.members if _plain(step) not in known}


# --- checks that name one member --------------------------------------------------------------------------------------

_EMPTY_WORDS = (
    "a|an|the|of|to|in|on|at|by|for|from|with|and|or|as|is|are|be|was|were|it|its|this|that|these|those|which|one|any|"
    "answer|response|mention|name|state|include|list|give|identify|note|say|explain|describe|specify|cite|point|out|"
    "following|least|step|option|item|element|must|should|than|other|such"
)
_FUNCTION_WORDS = frozenset(_EMPTY_WORDS.split("|"))


def _named(singles: Mapping[int, tuple[str, str | None]], pools: Sequence[_Pool]) -> dict[int, Inferred]:
    """Checks that name one member of a list or process in the tier where such checks stand; each member once."""
    found = sorted(_candidates(singles, pools), key=lambda candidate: candidate[:3])
    taken: set[tuple[int, str]] = set()
    roles: dict[int, Inferred] = {}
    for _, place, number, member in found:
        if place not in roles and (number, member) not in taken:
            taken.add((number, member))
            pool = pools[number]
            role = pool.named_by[member, singles[place][0]]
            roles[place] = Inferred(role, pool.item_id, pool.item_type, None, (member,))
    return roles


def _candidates(
    singles: Mapping[int, tuple[str, str | None]], pools: Sequence[_Pool]
) -> Iterator[tuple[int, int, int, str]]:
    """How many words a check has beside the member that it names, its place, the place of the pool, and the member."""
    for number, pool in enumerate(pools):
        lead, tiers = _words(pool.written_out.lead), {tier for _, tier in pool.named_by}
        for place, (tier, text) in singles.items():
            found = _member_of(text, pool.written_out.members, lead) if tier in tiers else None
            if found and (found[0], tier) in pool.named_by:
                yield found[1], place, number, found[0]


def _member_of(text: str | None, members: Sequence[str], lead: frozenset[str]) -> tuple[str, int] | None:
    """The one member that a short text names, and how many words it has besides; those of the list's lead are free."""
    words = _words(text or "")
    named = [member for member in members if _names(words, _words(member))]
    named = [member for member in named if _plain(member) in _plain(text or "")] or named
    widest = max(named, key=lambda member: len(_words(member)), default=None)
    if widest is None or any(not _words(member) <= _words(widest) for member in named):
        return None
    others = len(words - _words(widest) - lead)
    return (widest, others) if others <= max(FEW_OTHER_WORDS, len(_words(widest))) else None


def _names(words: frozenset[str], member: frozenset[str]) -> bool:
    return bool(member) and len(member & words) >= NAMED_SHARE * len(member)


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    """The words of a text that mean something, in one number; all of them when none does."""
    words = [_singular(word) for word in re.findall(r"\w+", _plain(text))]
    return frozenset(word for word in words if word not in _FUNCTION_WORDS) or frozenset(words)


def _singular(word: str) -> str:
    if len(word) > 3 and word.endswith(("oes", "ses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    """A text as it is compared: without case, width, spacing and punctuation at its ends."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(" .,;:\"'“”‘’")
