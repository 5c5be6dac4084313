"""Texts from data that a specification holds as they are; data sets and domains hold any text."""

import json

import altair as alt

# Vega makes an expression of every text in a specification, and takes these for functions that it has or inherits.
_WORDS = {
    "if",
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "toString",
    "valueOf",
}


def quoted(text: str) -> str:
    """The text inside an expression.

    >>> print(quoted("it's"), quoted("if"))
    "it's" "i" + "f"
    """
    pieces = [text[:1], text[1:]] if text in _WORDS else [text]
    return " + ".join(map(json.dumps, pieces))


def literal(text: str) -> str | alt.ExprRef:
    """The text as a title or a value."""
    return alt.ExprRef(quoted(text)) if text in _WORDS else text
