"""What a careful editor would ask the author of a meta-rubric to look at again; none of it makes a rubric invalid."""

import difflib
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import NamedTuple

from gamut_analysis.compiler import MAX_BONUSES, compile_rubric, structure_of, thresholds_of
from gamut_analysis.rubric import FlexibleList, Item, MetaRubric, load_rubrics
from gamut_analysis.vocabulary import TIER_LABELS, TIERS

# Shorter words (a, go, on) are too common in other senses to give a name away.
MIN_NAME_LETTERS = 3
# "this old ladybird": so many words after a pointing word still belong to it.
POINTING_REACH = 3
# One everyday word of a longer name (the fire of a fire extinguisher) names nothing; two together, or half of it, do.
NAME_WORDS_THAT_GIVE_AWAY = 2
# Above this likeness of letters two options are one option spelt twice ("grey crust", "gray crust").
SAME_OPTION_LIKENESS = 0.9
# A statement of fewer words cannot hold a subject, a verb and something to check.
MIN_STATEMENT_WORDS = 4
# In the paper no tier has more than 39 % of the checks on average; three quarters leave two tiers to a few checks.
MAX_TIER_SHARE = 0.75
# Shares of fewer checks say nothing.
MIN_CHECKS_FOR_SHARE = 6
# The longest rubric of the paper has 41 checks; fewer than five leave a score to chance.
MIN_CHECKS, MAX_CHECKS = 5, 41
# Independent questions stay below 0.35, the same question in other words lies above 0.5.
NEAR_DUPLICATE_COSINE = 0.5

STOP_WORDS = frozenset(
    """a about after all also am an and any are as at be because been before being between both but by can could did do
    does doing down during each either few for from further had has have having he her here hers him his how i if in
    into is it its itself just like me more most must my no nor not of off on once one only or other others our out over
    own per same she should so some such than that the their them then there these they this those through to too under
    until up upon very was we were what when where which while who whom why will with within without would you your
    """.split()  # noqa: SIM905
)
# Words that say what kind of thing is seen, which anyone may say without knowing which one it is.
KIND_WORDS = frozenset(
    """aeroplane airliner album animal appliance arch athlete badge bag ball bar bat bay beach bear bee bell berry bike
    bird board boat book bottle bowl box bread bridge bug building bulb bus bush button cable cake camera can
    canal candle car card castle cat cathedral chain chair chapel cheese church clock cloth club coat cocktail
    coin column comic court crab creature cup device dish dog doll door dress drink drum dumpling engine fabric
    fern field figure film fish flag flower food fountain frame frog fruit fungus gadget game garden gate glass
    glove grass guitar handheld harbour hat helmet herb hill horse hotel house insect instrument island jar jet
    jug key kind knife knot label lake lamp leaf leave light lighthouse lizard locomotive lorry machine map
    mark market marking mask meal meat monument mosque moth motorcycle mountain museum mushroom net noodle novel
    nut object oil order painting palace pan paper park part pastry pattern pen pepper phone picture pie pier
    pillar pitch plane plant plate player pod poem pole port poster pot print puzzle pyramid racket record rice ring
    river road rock root ruin sail sandwich sauce school scooter sculpture sea seed shell ship shirt shoe shoes
    shop shrine sign skirt snack snake soup spice spider sport spray square stamp station statue stone street
    sweet symbol table tea temple theatre thing tomb tool tower toy tractor train tree truck tub tuber vegetable
    vehicle vine violin wall watch wheel window wine worm
    """.split()  # noqa: SIM905
)
_ARTICLES = frozenset({"a", "an", "the", "of"})
_POINTING = frozenset({"this", "these", "that", "those"})
_LEFTOVER = re.compile(
    r"\b(?:this|these|the) (?:picture|photo|photograph|image)s?\b|\bshown (?:here|above|below)\b", re.I
)
_OPEN_END = re.compile(
    r"\betc\b|\band (?:so on|so forth|the like|others|more|similar)\s*[.)]?$|\bamong others\b|(?:\.\.\.|…)\s*$|"
    r"\b(?:many|several|some|various|other|different) things\b|\bvarious\b|\bthings like\b|\bor something\b",
    re.IGNORECASE,
)
_QUANTIFIED = re.compile(r"(?:some|several|many|certain|different|other|a few) (?:\w+ )?\w+\W*", re.IGNORECASE)
_LATIN = re.compile(r"[A-Z][a-z]+(?: [a-z]+)?")
_BRACKETS = re.compile(r"\(.*?\)")
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


class Finding(NamedTuple):
    """One thing to look at again: where, which rule, what is the matter, and what would be better."""

    question_id: str
    item_id: str | None
    rule: str
    message: str
    better: str

    def __str__(self) -> str:
        place = f"{self.question_id}, item {self.item_id}" if self.item_id else self.question_id
        return f"{place}: {self.message} [{self.rule}]; better: {self.better}"


# ---------------------------------------------------------------------------------------------------------------------
# Words


def _folded(text: str) -> str:
    """Lower case without accents, so that "Phở" and "pho" are one word."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in parts if not unicodedata.combining(character))


def _words(text: str) -> list[str]:
    return [word.removesuffix("'s").removesuffix("’s") for word in _WORD.findall(_folded(text))]


def _stem(word: str) -> str:
    """A word without its plural: enough to find a name again."""
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("ches", "shes", "xes", "oes", "sses")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


_KIND_STEMS = frozenset(map(_stem, KIND_WORDS))


def _content(text: str) -> list[str]:
    """The stems of the words that carry meaning."""
    return [_stem(word) for word in _words(text) if word not in STOP_WORDS]


def _name_stems(text: str) -> set[str]:
    """The words of a name that could give it away."""
    return {word for word in _content(text) if len(word) >= MIN_NAME_LETTERS and word not in _KIND_STEMS}


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f"'{word}'" for word in words)


# ---------------------------------------------------------------------------------------------------------------------
# The wording of the question


def _pointed_at(question: str) -> Iterator[str]:
    """The stems in phrases such as "this old bird", up to the next word without meaning."""
    words = _words(question)
    for place, word in enumerate(words):
        if word in _POINTING:
            for follower in words[place + 1 : place + 1 + POINTING_REACH]:
                if follower in STOP_WORDS:
                    break
                yield _stem(follower)


def _proper(text: str) -> set[str]:
    """The stems of words with a capital that no beginning of a sentence explains."""
    found = re.finditer(r"(?<![.?!:]\s)(?<!^)\b[^\W\d_][^\W_]*", text)
    return {_stem(_folded(match[0])) for match in found if match[0][0].isupper()}


def _given_away(meta: MetaRubric) -> list[str]:
    """The words of the subject's name that the multimodal wording gives away."""
    question = set(_content(meta.question))
    full, main, everyday = _name_stems(meta.entity), _name_stems(_BRACKETS.sub(" ", meta.entity)), _everyday_name(meta)
    given = full & question & (set(_pointed_at(meta.question)) | _proper(meta.question))
    for name, enough in ((full, NAME_WORDS_THAT_GIVE_AWAY), (main, _half(main)), (everyday, _half(everyday))):
        said = name & question
        given |= said if said and len(said) >= min(enough, NAME_WORDS_THAT_GIVE_AWAY) else set()
    return sorted(given)


def _half(name: set[str]) -> int:
    return math.ceil(len(name) / 2)


def _everyday_name(meta: MetaRubric) -> set[str]:
    """What people call a subject with a Latin name: the words that identification and text-only wording share."""
    text = _name_stems(meta.question_text_only or "")
    if not _LATIN.fullmatch(meta.entity) or _name_stems(meta.entity) & text:
        return set()
    return _name_stems(_identification(meta)) & text


def _leading_question(meta: MetaRubric) -> Iterator[Finding]:
    given = _given_away(meta)
    if given:
        yield Finding(
            meta.question_id,
            None,
            "leading_question",
            f"the multimodal wording gives away {_quoted(given)} of the entity {meta.entity!r}",
            "ask as one who only sees it: 'this dish', 'this plant'",
        )


def _text_only_wording(meta: MetaRubric) -> Iterator[Finding]:
    text = meta.question_text_only
    if text is None:
        return

    def finding(message: str, better: str) -> Finding:
        return Finding(meta.question_id, None, "text_only_wording", message, better)

    if _words(text) == _words(meta.question):
        yield finding("the text-only wording is the multimodal one", "name the subject, or write null")
    elif not set(_content(f"{meta.entity} {_identification(meta)}")) & set(_content(text)):
        yield finding(
            f"the text-only wording does not name the entity {meta.entity!r}", "put its name into the wording"
        )
    if _LEFTOVER.search(text):
        yield finding("the text-only wording points at a picture", "say what the picture would have shown")
    if all(check.is_identification for check in compile_rubric(meta, "text_only")):
        yield finding("no check is left without identification", "write null, or add items that are not the name")


def _identification(meta: MetaRubric) -> str:
    """The items that name the subject, often by its everyday name."""
    return " ".join(text for item in meta.items if item.is_identification for text in structure_of(item).members)


# ---------------------------------------------------------------------------------------------------------------------
# Items


def _overlapping_options(meta: MetaRubric) -> Iterator[Finding]:
    for item in meta.items:
        if item.type in {"strict_list", "flexible_list"}:
            for first, second in combinations(structure_of(item).members, 2):
                relation = _overlap(first, second)
                if relation:
                    message = f"{first!r} {relation} {second!r}"
                    yield Finding(
                        meta.question_id, item.id, "overlapping_options", message, "merge them, or say what differs"
                    )


def _overlap(first: str, second: str) -> str | None:
    """How two options of one list say the same thing, or None."""
    if not _content(first) or not _content(second):
        return None
    a, b = ([_stem(word) for word in _words(text) if word not in _ARTICLES] for text in (first, second))
    if sorted(a) == sorted(b):
        return "is the same as"
    if _is_kind_of(b, a):
        return "is contained in"
    if _is_kind_of(a, b):
        return "contains"
    likeness = difflib.SequenceMatcher(None, " ".join(sorted(a)), " ".join(sorted(b)), autojunk=False).ratio()
    return "is nearly the same as" if likeness >= SAME_OPTION_LIKENESS else None


def _is_kind_of(narrow: list[str], wide: list[str]) -> bool:
    """Whether every word of the wide option is in the narrow one with the same main word.

    "Red pepper" is a kind of "pepper"; "tomato paste" is no kind of "tomato".
    """
    if not Counter(wide) < Counter(narrow):
        return False
    followers = [after for word, after in pairwise([*narrow, "of"]) if word == wide[-1]]
    return any(after in STOP_WORDS for after in followers)


def _vague_check(meta: MetaRubric) -> Iterator[Finding]:
    for item in meta.items:
        for text, is_statement in _texts(item):
            reason = _vagueness(text, is_statement=is_statement)
            if reason:
                better = "name what a judge can find in an answer"
                yield Finding(meta.question_id, item.id, "vague_check", f"{text!r} {reason}", better)


def _texts(item: Item) -> Iterator[tuple[str, bool]]:
    """Every text that becomes a check, and whether it has to be a whole statement."""
    is_statement = item.type in {"simple_knowledge", "relationship"}
    yield from ((text, is_statement) for text in structure_of(item).members)
    insight = getattr(item, "insight", None)
    if insight is not None:
        yield insight.text, True


def _vagueness(text: str, *, is_statement: bool) -> str | None:
    if not _content(text):
        return "has no word that carries meaning"
    if is_statement and len(_words(text)) < MIN_STATEMENT_WORDS:
        return f"is no statement: it has fewer than {MIN_STATEMENT_WORDS} words"
    open_end = _OPEN_END.search(text)
    if open_end:
        return f"leaves open what counts ('{open_end[0].strip()}')"
    if _QUANTIFIED.fullmatch(text):
        return "does not say which ones"
    return None


def _id_style(meta: MetaRubric) -> Iterator[Finding]:
    for item in meta.items:
        if not _ID.fullmatch(item.id):
            message = f"{item.id!r} is not lower-case words joined by hyphens"
            better = re.sub(r"[^a-z0-9]+", "-", _folded(item.id)).strip("-") or "a word"
            yield Finding(meta.question_id, item.id, "id_style", message, better)


def _idle_numbers(meta: MetaRubric) -> Iterator[Finding]:
    for item in meta.items:
        if not isinstance(item, FlexibleList) or item.thresholds is None:
            continue
        used = thresholds_of(item)
        if not used:
            message = f"thresholds of a list of at most {MAX_BONUSES} options are not used: each option is a bonus"
            yield Finding(meta.question_id, item.id, "idle_numbers", message, "take the thresholds out")
        elif used[-1] != item.top:
            message = f"the last threshold is {used[-1]}, the top is {item.top}"
            yield Finding(meta.question_id, item.id, "idle_numbers", message, "let the last threshold ask for the top")


def _unused_snippet(meta: MetaRubric) -> Iterator[Finding]:
    cited = {name for item in meta.items for name in item.citations}
    cited |= {name for item in meta.items for name in getattr(getattr(item, "insight", None), "citations", ())}
    for snippet in meta.snippets:
        if snippet.id not in cited:
            message = f"no item cites snippet {snippet.id!r}"
            yield Finding(
                meta.question_id, None, "unused_snippet", message, "cite it where it supports, or take it out"
            )


# ---------------------------------------------------------------------------------------------------------------------
# The rubric as a whole


def _tier_balance(meta: MetaRubric) -> Iterator[Finding]:
    counts = Counter(check.tier for check in compile_rubric(meta))
    total = counts.total()
    if not counts[TIERS[0]]:
        message = "no check is Answer-Critical"
        yield Finding(meta.question_id, None, "tier_balance", message, "mark what an answer cannot do without")
    for tier in TIERS:
        if total >= MIN_CHECKS_FOR_SHARE and counts[tier] > MAX_TIER_SHARE * total:
            message = f"{counts[tier]} of {total} checks are {TIER_LABELS[tier]}"
            yield Finding(meta.question_id, None, "tier_balance", message, "spread the items over the tiers")


def _check_count(meta: MetaRubric) -> Iterator[Finding]:
    n = len(compile_rubric(meta))
    if not MIN_CHECKS <= n <= MAX_CHECKS:
        message = f"the rubric becomes {n} checks"
        yield Finding(meta.question_id, None, "check_count", message, f"aim within {MIN_CHECKS} and {MAX_CHECKS}")


def _near_duplicates(metas: Sequence[MetaRubric]) -> Iterator[Finding]:
    """Pairs of questions in almost the same words, in either variant: cosine of their TF-IDF vectors."""
    pairs: dict[tuple[int, int], float] = {}
    for wordings in ([meta.question for meta in metas], [meta.question_text_only for meta in metas]):
        places = [place for place, text in enumerate(wordings) if text and _words(text)]
        for first, second, cosine in _alike([wordings[place] or "" for place in places]):
            pair = places[first], places[second]
            pairs[pair] = max(cosine, pairs.get(pair, 0.0))
    for (first, second), cosine in sorted(pairs.items()):
        yield Finding(
            metas[second].question_id,
            None,
            "near_duplicate",
            f"its wording is close to that of {metas[first].question_id} (cosine {cosine:.2f})",
            "ask something else, or in other words",
        )


def _alike(texts: Sequence[str]) -> list[tuple[int, int, float]]:
    if len(texts) < 2:
        return []
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectors = TfidfVectorizer(tokenizer=_words, token_pattern=None, lowercase=False, sublinear_tf=True).fit_transform(
        texts
    )
    likeness = (vectors @ vectors.T).tocoo()
    found = zip(likeness.row, likeness.col, likeness.data, strict=True)
    return [(int(a), int(b), float(cosine)) for a, b, cosine in found if a < b and cosine >= NEAR_DUPLICATE_COSINE]


_RULES: tuple[Callable[[MetaRubric], Iterator[Finding]], ...] = (
    _leading_question,
    _text_only_wording,
    _overlapping_options,
    _vague_check,
    _id_style,
    _idle_numbers,
    _unused_snippet,
    _tier_balance,
    _check_count,
)
RULES = (*(rule.__name__.removeprefix("_") for rule in _RULES), "near_duplicate")


def lint(metas: Iterable[MetaRubric]) -> list[Finding]:
    """Everything to look at again, question by question; an item without a citation is not among it."""
    metas = list(metas)
    found = [finding for meta in metas for rule in _RULES for finding in rule(meta)]
    found += _near_duplicates(metas)
    order = {meta.question_id: place for place, meta in enumerate(metas)}
    return sorted(found, key=lambda finding: order[finding.question_id])


def lint_files(paths: Iterable[str | Path]) -> list[Finding]:
    """Read rubrics from files and folders, and lint them together; raises `InvalidRubric` when they cannot be read."""
    return lint(load_rubrics(paths))
