"""What is typed after MODEL= reaches Python as it is, and nothing of it runs; a stand-in takes the place of `gamut`."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
STAND_IN = """#!{python}
import os, sys
sys.path.insert(0, {root!r})
from gamut_analysis.typed import typed
sys.stdout.write("<" + typed({name!r}) + ">")
"""
TEXTS = [
    "gemini-3.1-pro",
    "google/gemini-3.1-pro",
    "meta-llama/llama-4:free",
    "GPT 4o (mini)",
    "it's",
    'a"b',
    "a$b",
    "$HOME",
    "$(shell touch ran)",
    "$(error stopped)",
    "${PATH}",
    "x; touch ran",
    "x && touch ran",
    "`touch ran`",
    "a%b",
    "a#b",
    "a\\b",
    "a&b|c<d>e",
    "*",
    "..",
    "../../etc/x",
    "-n",
    "--help",
    "4.0",
    "1e5",
    "1_000",
    "007",
    "nan",
    "None",
    "True",
    "٣",
    " 5",
    "5 ",
    "{x}",
    "ünï",
    "模型",
    "a=b",
    "@x",
    "+x",
]


@pytest.fixture
def project(tmp_path):
    """A folder with the project's Makefile, and an environment that is ready."""
    shutil.copy(ROOT / "Makefile", tmp_path / "Makefile")
    for name in ("requirements.lock", "pyproject.toml"):
        (tmp_path / name).touch()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / ".ready").touch()
    return tmp_path


def stand_in(project: Path, name: str) -> None:
    gamut = project / ".venv" / "bin" / "gamut"
    gamut.write_text(STAND_IN.format(python=sys.executable, root=str(ROOT), name=name), encoding="utf-8")
    gamut.chmod(gamut.stat().st_mode | stat.S_IXUSR)


def make(project: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("GAMUT", "MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *arguments],
        cwd=project,
        env=clean | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("text", TEXTS)
def test_a_model_reaches_python_as_typed_and_nothing_runs(project, text):
    stand_in(project, "MODEL")
    done = make(project, "report", f"MODEL={text}")
    assert done.stdout == f"<{text}>", done.stderr
    assert not (project / "ran").exists()


@pytest.mark.parametrize("name", ["A", "B", "DATA", "MANIFEST", "JUDGE", "VARIANT", "SEED", "FORMAT", "PROFILE"])
def test_every_other_value_reaches_python_as_typed(project, name):
    stand_in(project, name)
    assert (
        make(project, "report", "MODEL=x", (f"{name}=a b'$(shell touch ran);#c")).stdout
        == "<a b'$(shell touch ran);#c>"
    )
    assert not (project / "ran").exists()


def test_a_model_from_the_environment_reaches_python_too(project):
    stand_in(project, "MODEL")
    assert make(project, "report", MODEL="a$b; touch ran").stdout == "<a$b; touch ran>"
    assert not (project / "ran").exists()


def test_two_models_reach_python_as_typed(project):
    gamut = project / ".venv" / "bin" / "gamut"
    gamut.write_text('#!/bin/sh\nprintf "<%s><%s><%s>" "$1" "$GAMUT_A" "$GAMUT_B"\n', encoding="utf-8")
    gamut.chmod(0o755)
    done = make(project, "compare", "A=a$(shell touch ran)", "B=b; touch ran")
    assert done.stdout == "<compare-report><a$(shell touch ran)><b; touch ran>", done.stderr
    assert not (project / "ran").exists()


def test_make_alone_prints_help(project):
    done = make(project)
    assert done.returncode == 0
    assert "make report MODEL=" in done.stdout
