"""Imports point down: what the layers may know of each other, read from the source."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "gamut_analysis"
LEVELS = {
    0: {"vocabulary", "paths", "errors", "typed", "terminal", "__init__", "bootstrap"},
    1: {
        "rubric",
        "compiler",
        "scoring",
        "judge.parsing",
        "readers",
        "tables",
        "simulate",
        "lint",
        "explain",
        "datasets",
    },
    2: {
        "intervals",
        "orders",
        "ranking",
        "concordance",
        "agreement",
        "leniency",
        "coherence",
        "gains",
        "failures",
        "sensitivity",
        "variance",
        "structure",
        "diversity",
        "repeats",
    },
    3: {"charts", "display", "drawn", "page", "pdf", "study", "live", "chapters", "judge"},
    4: {"report", "cli", "cli_judge"},
}
# A module that lies deeper than the package it is in: readers read replies as well.
APART = {("judge", "parsing")}
ONLY = {
    "duckdb": {"tables"},
    "altair": {"charts"},
    "papermill": {"report"},
    "nbconvert": {"page"},
    "typst": {"pdf"},
    "vl_convert": {"drawn", "page"},
    "inspect_ai": {"judge"},
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts) if parts in APART else parts[0]


def level(name: str) -> int:
    return next(number for number, rooms in LEVELS.items() if name in rooms)


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def own(names: set[str]) -> set[str]:
    parts = [tuple(name.split(".")[1:]) for name in names if name.startswith("gamut_analysis.")]
    rooms = {".".join(part[:2]) if part[:2] in APART else part[0] for part in parts}
    return {name for name in rooms if any(name in known for known in LEVELS.values())}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_module_has_a_level_and_imports_none_above_it(path):
    here = room(path)
    above = {name for name in own(imported(path)) if level(name) > level(here)}
    assert not above, f"{here} (level {level(here)}) imports {above}"


@pytest.mark.parametrize("name", sorted(LEVELS[2]))
def test_analyses_know_each_other_only_through_their_base(name):
    path = PACKAGE / f"{name}.py"
    base = {"intervals"} if name == "orders" else {"intervals", "orders"}
    others = (own(imported(path)) & LEVELS[2]) - {name} - base
    assert not others, f"{name} imports {others}"


@pytest.mark.parametrize("library", sorted(ONLY))
def test_each_foreign_world_has_one_door(library):
    users = {room(path) for path in MODULES if any(name.split(".")[0] == library for name in imported(path))}
    assert users <= ONLY[library]
