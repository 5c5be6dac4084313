"""Hypothesis strategies for valid meta-rubrics, and the two worked examples as files."""

from pathlib import Path

from hypothesis import strategies as st

from gamut_analysis.rubric import (
    FlexibleList,
    Insight,
    MetaRubric,
    Process,
    Relationship,
    SimpleKnowledge,
    Snippet,
    Step,
    StrictList,
)
from gamut_analysis.vocabulary import TIERS

EXAMPLES = Path(__file__).parent / "rubrics"

# What YAML would take for something else than text, or for its own marks.
TRICKY = [
    "007",
    "1e5",
    "yes",
    "No",
    "on",
    "2026-07-01",
    "null",
    "~",
    "NULL",
    "true",
    ".inf",
    "0x1F",
    "1_000",
    "12:30:45",
]
TRICKY += ["=", "<<", "[a]", "{a}", "&a", "*a", "!a", "%a", "@a", "`a", "-", "?", "|", ">", "#", "'"]
TRICKY += ["a: b", "a #b", "- a", '"quoted"', "line\nbreak", "tab\tin", "\u2028", "x\u0085y", "\ufeffx", "é 🐎 漢"]

tiers = st.sampled_from(TIERS)
texts = st.one_of(
    st.sampled_from([text for text in TRICKY if text.isprintable() or " " < text[0] < "~"]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
    .map(str.strip)
    .filter(lambda text: any(character.isprintable() and not character.isspace() for character in text)),
)


def _members(least=1, most=12):
    return st.lists(texts, min_size=least, max_size=most).map(tuple)


def _insights(snippets):
    citations = st.lists(st.sampled_from(snippets), max_size=2).map(tuple) if snippets else st.just(())
    return st.none() | st.builds(Insight, tier=tiers, text=texts, citations=citations)


@st.composite
def _flexible_lists(draw, common, insights):
    options = draw(_members())
    baseline = draw(st.integers(1, len(options)))
    cap = draw(st.none() | st.integers(baseline, len(options)))
    above = range(baseline + 1, (cap or len(options)) + 1)
    thresholds = draw(st.none() | st.sets(st.sampled_from(above), min_size=1, max_size=3)) if above else None
    return FlexibleList(
        type="flexible_list",
        options=options,
        baseline=baseline,
        cap=cap,
        thresholds=tuple(sorted(thresholds)) if thresholds else None,
        insight=draw(insights),
        **common,
    )


@st.composite
def _items(draw, name, snippets):
    insights = _insights(snippets)
    common = {
        "id": name,
        "tier": draw(tiers),
        "description": draw(texts),
        "is_identification": draw(st.booleans()),
        "citations": draw(st.lists(st.sampled_from(snippets), max_size=2).map(tuple)) if snippets else (),
    }
    steps = st.lists(st.builds(Step, text=texts, required=st.booleans()), min_size=2, max_size=6).map(tuple)
    fixed = {name: st.just(value) for name, value in common.items()}
    return draw(
        st.one_of(
            st.builds(SimpleKnowledge, type=st.just("simple_knowledge"), fact=texts, **fixed),
            st.builds(StrictList, type=st.just("strict_list"), elements=_members(), insight=insights, **fixed),
            _flexible_lists(common, insights),
            st.builds(Process, type=st.just("process"), steps=steps, insight=insights, **fixed),
            st.builds(
                Relationship, type=st.just("relationship"), entities=_members(1, 3), aspects=_members(1, 3), **fixed
            ),
        )
    )


@st.composite
def meta_rubrics(draw):
    """Any valid meta-rubric, with texts that are hard on readers."""
    snippets = draw(st.lists(texts, unique=True, max_size=3))
    names = draw(st.lists(texts, unique=True, min_size=1, max_size=5))
    return MetaRubric(
        question_id=draw(texts),
        question=draw(texts),
        question_text_only=draw(st.none() | texts),
        entity=draw(texts),
        domain=draw(texts),
        image_id=draw(st.none() | texts),
        snippets=tuple(Snippet(id=name, title=draw(texts), url=draw(texts)) for name in snippets),
        items=tuple(draw(_items(name, snippets)) for name in names),
    )
