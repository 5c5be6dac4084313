"""One meta-rubric as a tree: each item with the checks that it became, coloured by tier, in terminal and notebook."""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from rich.text import Text
from rich.tree import Tree

from gamut_analysis.compiler import Check, compile_rubric, tier_counts
from gamut_analysis.rubric import Item, MetaRubric, Snippet
from gamut_analysis.vocabulary import (
    ITEM_TYPE_LABELS,
    ROLE_LABELS,
    TIER_COLOURS,
    TIER_LABELS,
    VARIANT_LABELS,
)

# Badges bring their own background, so they are readable on light and on dark; the ink is the one with more contrast.
_INK = {"answer_critical": "#FFFFFF", "valuable": "#000000", "context": "#000000"}
# Marks that turn the direction of everything after them.
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_GREY = "opacity:.7"
_LIST = "list-style:none;margin:.2em 0;padding-left:1.1em;border-left:1px solid rgba(128,128,128,.35)"


def explain(meta: MetaRubric, variant: str = "multimodal") -> "Explanation":
    """The tree of a meta-rubric in one variant; print it with rich, or let a notebook show it."""
    return Explanation(meta, variant, compile_rubric(meta, variant))


@dataclass(frozen=True)
class Explanation:
    """A meta-rubric beside its checks, drawn on demand."""

    meta: MetaRubric
    variant: str
    checks: tuple[Check, ...]

    def __rich__(self) -> Tree:
        return _tree(self)

    def _repr_html_(self) -> str:
        return _html(self)

    @property
    def question(self) -> str:
        """The question as the variant words it."""
        text = self.meta.question if self.variant == "multimodal" else self.meta.question_text_only
        return text or ""

    def branches(self) -> Iterator[tuple[Item, list[Check]]]:
        """Each item with its checks; none for an item that the variant leaves out."""
        for item in self.meta.items:
            yield item, [check for check in self.checks if check.item_id == item.id]

    def total(self) -> str:
        """How many checks there are, in words."""
        counts = tier_counts(self.checks)
        parts = ", ".join(f"{count} {TIER_LABELS[tier]}" for tier, count in counts.items())
        return f"{len(self.checks)} checks: {parts}"


def _visible(text: str) -> str:
    """Text whose control characters are shown instead of obeyed."""
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character in "\n\t":
        return " "
    if character in _BIDI or unicodedata.category(character) == "Cc":
        return f"\\x{ord(character):02x}"
    return character


def _item_notes(explanation: Explanation, item: Item) -> list[str]:
    """What is worth knowing of an item beside its checks."""
    notes = [f"cites {', '.join(item.citations)}" if item.citations else "uncited"]
    if item.is_identification:
        notes.insert(0, "names the subject: left out of text-only")
    return notes


# ---------------------------------------------------------------------------------------------------------------------
# In a terminal


def _badge(tier: str) -> Text:
    return Text(f" {TIER_LABELS[tier]} ", style=f"{_INK[tier]} on {TIER_COLOURS[tier]}")


def _tree(explanation: Explanation) -> Tree:
    meta = explanation.meta
    head = Text.assemble(
        (_visible(meta.question_id), "bold"),
        (f"  {_visible(meta.domain)} · {_visible(meta.entity)} · {VARIANT_LABELS[explanation.variant]}", "dim"),
        "\n",
        _visible(explanation.question),
        "\n",
        (explanation.total(), "dim"),
    )
    tree = Tree(head, guide_style="dim")
    for item, checks in explanation.branches():
        branch = tree.add(_item_text(explanation, item))
        for check in checks:
            branch.add(
                Text.assemble(_badge(check.tier), " ", (ROLE_LABELS[check.role], "bold"), "  ", _visible(check.text))
            )
    sources = tree.add(Text("Sources", style="italic")) if meta.snippets else tree
    for snippet in meta.snippets:
        sources.add(
            Text.assemble(
                (_visible(snippet.id), "bold"), f"  {_visible(snippet.title)}  ", (_visible(snippet.url), "dim")
            )
        )
    return tree


def _item_text(explanation: Explanation, item: Item) -> Text:
    return Text.assemble(
        _badge(item.tier),
        " ",
        (ITEM_TYPE_LABELS[item.type], "bold italic"),
        "  ",
        _visible(item.description),
        (f"  {_visible(item.id)}; {_visible('; '.join(_item_notes(explanation, item)))}", "dim"),
    )


# ---------------------------------------------------------------------------------------------------------------------
# In a notebook


def _safe(text: str) -> str:
    return escape(_visible(text), quote=True)


def _badge_html(tier: str) -> str:
    style = f"background:{TIER_COLOURS[tier]};color:{_INK[tier]};padding:0 .4em;border-radius:.3em;white-space:nowrap"
    return f'<span style="{style}">{TIER_LABELS[tier]}</span>'


def _html(explanation: Explanation) -> str:
    meta = explanation.meta
    place = f"{_safe(meta.domain)} · {_safe(meta.entity)} · {VARIANT_LABELS[explanation.variant]}"
    branches = "".join(_branch_html(explanation, item, checks) for item, checks in explanation.branches())
    sources = "".join(map(_source_html, meta.snippets))
    return (
        '<div style="color:inherit;font-size:.95em;line-height:1.5;max-width:60em">'
        f'<div><strong>{_safe(meta.question_id)}</strong> <span style="{_GREY}">{place}</span></div>'
        f"<div>{_safe(explanation.question)}</div>"
        f'<div style="{_GREY}">{_safe(explanation.total())}</div>'
        f'<ul style="{_LIST}">{branches}</ul><ul style="{_LIST};{_GREY}">{sources}</ul></div>'
    )


def _branch_html(explanation: Explanation, item: Item, checks: list[Check]) -> str:
    notes = _safe("; ".join([item.id, *_item_notes(explanation, item)]))
    leaves = "".join(
        f"<li>{_badge_html(check.tier)} <strong>{ROLE_LABELS[check.role]}</strong> {_safe(check.text)}</li>"
        for check in checks
    )
    return (
        f'<li style="margin:.3em 0">{_badge_html(item.tier)} <strong><em>{ITEM_TYPE_LABELS[item.type]}</em></strong> '
        f'{_safe(item.description)} <span style="{_GREY}">{notes}</span>'
        f'<ul style="{_LIST}">{leaves}</ul></li>'
    )


def _source_html(snippet: Snippet) -> str:
    """A source; only web addresses become links, for others could run."""
    name, title, url = _safe(snippet.id), _safe(snippet.title), _safe(snippet.url)
    if snippet.url.casefold().startswith(("https://", "http://")):
        return f'<li>{name} <a style="color:inherit" rel="noopener noreferrer" href="{url}">{title}</a></li>'
    return f"<li>{name} {title} {url}</li>"
