"""The project's own files agree with each other: dependencies, lock, README, CI, Makefile."""

import re
import tomllib
from pathlib import Path

import pytest
import typer
import yaml

from gamut_analysis import cli

ROOT = Path(__file__).resolve().parents[1]
CONDA_NAMES = {"duckdb": "python-duckdb"}


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def lock():
    return (ROOT / "requirements.lock").read_text(encoding="utf-8")


def name_and_range(requirement: str) -> tuple[str, str]:
    name, wanted = re.fullmatch(r"([\w.-]+)\s*(.*)", requirement).groups()
    return name.lower(), wanted.replace(" ", "")


def test_conda_and_pip_ask_for_the_same(project):
    listed = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    conda = dict(name_and_range(entry) for entry in listed if isinstance(entry, str) and entry != "pip")
    assert conda.pop("python") == project["requires-python"]
    pip = {CONDA_NAMES.get(name, name): wanted for name, wanted in map(name_and_range, project["dependencies"])}
    assert conda == pip


def test_the_environment_names_what_each_extra_needs(project):
    told = (ROOT / "environment.yml").read_text(encoding="utf-8")
    for extra, entries in project["optional-dependencies"].items():
        assert f"`{extra}`" in told
        assert all(name_and_range(entry)[0] in told for entry in entries)


def test_the_lock_pins_every_dependency_by_hash_and_names_no_host(project, lock):
    pinned = set(re.findall(r"^([\w.-]+)==", lock, re.MULTILINE))
    extras = [entry for extra in project["optional-dependencies"].values() for entry in extra]
    assert {name_and_range(entry)[0] for entry in project["dependencies"] + extras} <= pinned
    assert "://" not in lock
    blocks = re.split(r"^(?=[\w.-]+==)", lock, flags=re.MULTILINE)[1:]
    assert all("--hash=sha256:" in block for block in blocks)


def test_ci_runs_the_commands_that_the_readme_names():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    commands = re.findall(r"^make [a-z]+", ci, re.MULTILINE)
    assert commands == ["make lint", "make test"]
    assert all(command in readme for command in commands)


def test_every_make_target_of_the_readme_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"`make ([a-z]+)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert named <= targets


def test_every_command_of_the_readme_exists():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:`|^)gamut ([a-z-]+)", readme, re.MULTILINE))
    known = set(typer.main.get_command(cli.app).commands)
    assert named <= known
    assert {"import", "judge", "rank"} <= named


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_every_link_within_the_project_leads_somewhere(name):
    links = re.findall(r"\]\((?!https?://)([^)#]+)", (ROOT / name).read_text(encoding="utf-8"))
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_each_published_table_says_where_it_is_from():
    readme = (ROOT / "data" / "published" / "README.md").read_text(encoding="utf-8")
    tables = [path.name for path in (ROOT / "data" / "published").glob("*.csv")]
    assert tables and all(name in readme for name in tables)
    assert "2607.19322" in readme
