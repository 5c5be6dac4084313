"""The sample benchmark: complete, sound, balanced like the paper's, and free of what it must not hold."""

import re
from collections import Counter

import pytest

from gamut_analysis import paths
from gamut_analysis.compiler import compile_rubric, tier_counts
from gamut_analysis.lint import lint
from gamut_analysis.rubric import load_rubrics

DOMAINS = {
    "Plants & Gardening",
    "Local",
    "Vehicle",
    "Food",
    "Everyday Objects",
    "Animals",
    "Consumer Products",
    "Art & Culture",
    "Books & Media",
    "Sports & Leisure",
}


@pytest.fixture(scope="module")
def metas():
    return load_rubrics([paths.sample() / "questions"])


def share(metas, kind: str) -> float:
    return sum(any(item.type == kind for item in meta.items) for meta in metas)


def test_there_are_a_hundred_questions_in_ten_domains_each_in_a_file_of_its_name(metas):
    files = {path.stem for path in (paths.sample() / "questions").glob("*.yaml")}
    assert {meta.question_id for meta in metas} == files
    assert len(files) == 100
    assert {meta.domain for meta in metas} == DOMAINS


def test_the_lint_finds_nothing(metas):
    assert [str(finding) for finding in lint(metas)] == []


def test_checks_a_question_are_about_as_many_as_the_papers(metas):
    # Paper: 15.2 checks a question, 5.9 / 5.8 / 3.5 by tier.
    counts = [tier_counts(compile_rubric(meta)) for meta in metas]
    mean = {tier: sum(count[tier] for count in counts) / 100 for tier in ("answer_critical", "valuable", "context")}
    assert mean["answer_critical"] == pytest.approx(5.9, abs=0.4)
    assert mean["valuable"] == pytest.approx(5.8, abs=0.4)
    assert mean["context"] == pytest.approx(3.5, abs=0.4)


@pytest.mark.parametrize(
    ("kind", "published"), [("flexible_list", 86), ("strict_list", 49), ("process", 17), ("relationship", 6)]
)
def test_structures_are_as_common_as_in_the_paper(metas, kind, published):
    assert share(metas, kind) == pytest.approx(published, abs=3)


def test_some_question_cannot_be_asked_without_its_image(metas):
    assert 1 <= sum(meta.question_text_only is None for meta in metas) <= 5


def test_openings_and_lengths_vary(metas):
    words = [re.findall(r"[\w'’-]+", meta.question.lower()) for meta in metas]
    openings = Counter(" ".join(word[:2]) for word in words)
    assert sum(count for _, count in openings.most_common(25)) < 65
    lengths = sorted(len(word) for word in words)
    assert lengths[49] == pytest.approx(23, abs=3)


def test_citations_are_titles_and_addresses_without_quoted_text(metas):
    snippets = [snippet for meta in metas for snippet in meta.snippets]
    assert len(snippets) > 200
    assert all(snippet.text is None and snippet.title and snippet.url.startswith("http") for snippet in snippets)
