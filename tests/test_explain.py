"""The tree of a meta-rubric, in a terminal and as HTML that nothing in a rubric can break out of."""

from html.parser import HTMLParser
from io import StringIO

import pytest
from hypothesis import given, settings
from rich.console import Console
from rubric_strategies import EXAMPLES, meta_rubrics

from gamut_analysis.compiler import compile_rubric
from gamut_analysis.explain import explain
from gamut_analysis.rubric import load_rubrics
from gamut_analysis.vocabulary import ROLE_LABELS, TIER_COLOURS, TIER_LABELS


@pytest.fixture(scope="module")
def jollof():
    return load_rubrics([EXAMPLES / "jollof.yaml"])[0]


def printed(explanation, **options):
    console = Console(file=StringIO(), width=400, **options)
    console.print(explanation)
    return console.file.getvalue()


class Page(HTMLParser):
    """Collects the tags, attributes and text of a page, and whether every tag is closed."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], set(), [], ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_tree_shows_each_check_below_its_item(jollof):
    lines = printed(explain(jollof)).splitlines()
    assert "19 checks: 6 Answer-Critical, 9 Valuable, 4 Context" in lines[2]
    sauce = next(number for number, line in enumerate(lines) if "Flexible list" in line)
    below = zip(["Baseline", *["Bonus"] * 5, "Process"], lines[sauce + 1 :], strict=False)
    assert all(word in line for word, line in below)
    assert all(any(check.text in line for line in lines) for check in compile_rubric(jollof))
    assert "names the subject: left out of text-only; cites s1" in lines[3]


def test_text_only_shows_the_item_but_not_its_checks(jollof):
    text = printed(explain(jollof, "text_only"))
    assert jollof.question_text_only in text
    assert "18 checks" in text
    assert "What the dish is" in text and jollof.items[0].fact not in text


def test_tiers_have_their_colours_in_both(jollof):
    terminal = printed(explain(jollof), force_terminal=True, color_system="truecolor")
    html = explain(jollof)._repr_html_()
    for colour in TIER_COLOURS.values():
        red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
        assert f"48;2;{red};{green};{blue}" in terminal
        assert f"background:{colour}" in html


def test_the_page_is_plain_inline_html_with_every_check(jollof):
    page = Page(explain(jollof)._repr_html_())
    assert page.open == []
    assert page.tags <= {"div", "ul", "li", "span", "strong", "em", "a"}
    assert {name for name, _ in page.attributes} <= {"style", "href", "rel"}
    for check in compile_rubric(jollof):
        assert f"{TIER_LABELS[check.tier]} {ROLE_LABELS[check.role]} {check.text}" in page.text
    # A page that sets no text colour of its own is readable on light and on dark.
    assert all("color:inherit" in value or "background:" in value for _, value in page.attributes if "color:" in value)


HOSTILE = [
    "</li></ul></div><script>window.PWNED=1</script>",
    '"><img src=x onerror="window.PWNED=1">',
    "<svg/onload=window.PWNED=1>",
    "[bold red]not markup[/bold red] :smile: [link=file:///x]y[/link]",
    "\x1b[2J\x1b]0;title\x07 \u202egnp.exe",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_and_not_obeyed(jollof, text):
    source = jollof.snippets[0].model_copy(update={"id": text, "title": text, "url": "javascript:window.PWNED=1"})
    item = jollof.items[0].model_copy(update={"id": text, "description": text, "fact": text, "citations": (text,)})
    fields = dict.fromkeys(["question_id", "question", "domain", "entity"], text)
    meta = jollof.model_copy(update={**fields, "snippets": (source,), "items": (item, *jollof.items[1:])})
    page = Page(explain(meta)._repr_html_())
    assert page.open == [] and page.tags <= {"div", "ul", "li", "span", "strong", "em"}
    assert not any("PWNED" in (value or "") for _, value in page.attributes)
    shown = printed(explain(meta), force_terminal=True, color_system="truecolor")
    assert "\x1b[2J" not in shown and "\x1b]0" not in shown and "\u202e" not in shown and "\x07" not in shown
    if text.isprintable():
        assert text in page.text
        assert text in printed(explain(meta))


@given(meta_rubrics())
@settings(max_examples=30, deadline=None)
def test_any_rubric_can_be_shown(meta):
    assert Page(explain(meta)._repr_html_()).open == []
    assert f"{len(compile_rubric(meta))} checks" in printed(explain(meta))
