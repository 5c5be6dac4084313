"""The commands that call models, as a person types them."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from gamut_analysis import cli_judge
from gamut_analysis.cli import app
from tests.openai_server import serve

RUN = CliRunner()


@pytest.fixture
def answers(tmp_path):
    """Answers to three questions of the sample."""
    rows = [
        {"model": "my-model", "variant": "text_only", "question_id": f"animals-00{n}", "answer": f"Something of {n}."}
        for n in (1, 2, 3)
    ]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def judged(answers, url, *options):
    into = str(answers.parent / "judged")
    return RUN.invoke(app, ["judge", str(answers), "--judge", "scripted", "--base-url", url, "--into", into, *options])


def test_the_cost_comes_first_then_what_was_done_and_what_is_next(answers, tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text('[models."scripted"]\ninput = 2\noutput = 8\nas_of = "2026-11"\n', "utf-8")
    with serve("hash") as server:
        result = judged(answers, server.url, "--prices", str(prices))
        assert len(server.calls()) == 3
    assert result.exit_code == 0, result.output
    assert "scripted: 3 answers" in result.stderr
    assert "3 calls, about " in result.stderr
    assert "USD at the prices of 2026-11" in result.stderr
    assert "3 calls, " in result.stdout
    assert "make report DATA=" in result.stdout


def test_a_dry_run_calls_nothing_and_leaves_nothing(answers):
    with serve("hash") as server:
        result = judged(answers, server.url, "--dry-run")
        assert server.calls() == []
    assert result.exit_code == 0
    assert "3 calls, about " in result.stderr
    assert "cost unknown" in result.stderr
    assert not (answers.parent / "judged").exists()


def test_who_answers_no_is_not_sent_to_a_folder_that_is_not_there(answers, monkeypatch):
    monkeypatch.setattr(cli_judge, "sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    monkeypatch.setattr(cli_judge.typer, "confirm", lambda *told, **options: False)
    with serve("hash") as server:
        result = judged(answers, server.url)
        assert server.calls() == []
    assert result.exit_code == 1
    assert "not started; 3 answers left" in result.stderr
    assert "make report" not in result.stdout


def test_a_command_to_copy_names_a_folder_as_it_is_seen_from_where_it_is_typed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli_judge._shell(Path("my out"), tmp_path) == "'my out'"
    assert cli_judge._shell(Path("out"), tmp_path / "project") == str(tmp_path / "out")


def test_a_second_run_says_that_nothing_is_left(answers):
    with serve("hash") as server:
        judged(answers, server.url)
        result = judged(answers, server.url)
        assert len(server.calls()) == 3
    assert "0 answers left to do" in result.stderr
    assert "3 done before" in result.stderr
    assert result.exit_code == 0


def test_a_run_that_ends_early_says_so_and_fails(answers, tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text('[models."scripted"]\ninput = 1000\noutput = 1000\n', "utf-8")
    with serve("hash") as server:
        result = judged(answers, server.url, "--prices", str(prices), "--max-cost", "0.01")
        assert server.calls() == []
    assert result.exit_code == 1
    assert "--max-cost; 3 answers left; the same command goes on from here" in result.stderr


def test_where_nothing_was_replied_nothing_is_said_to_be_graded_or_unread(answers):
    with serve("hash", faults=["always:401"]) as server:
        result = judged(answers, server.url)
    assert result.exit_code == 1
    assert "401" in result.stderr
    assert "3 answers left" in result.stderr
    assert "graded 1 of 3" not in result.stderr
    assert "could be read" not in result.stdout


def test_checks_without_a_verdict_are_told(answers):
    with serve("hash", faults=["always:refusal"]) as server:
        result = judged(answers, server.url, "--attempts", "1")
    assert "checks got no reply that could be read" in result.stdout
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--replicates", "0"], "--replicates 0: a whole number of at least 1"),
        (["--max-cost", "1"], "'scripted' has none; --prices names a price file"),
        (["--rubrics", "nowhere"], "nowhere"),
        (["--prompt", "grade-9"], "prompts that ship: grade-1"),
        (["--variant", "video"], "multimodal, text_only"),
    ],
)
def test_mistakes_are_one_line_and_cost_nothing(options, message, answers):
    with serve("hash") as server:
        command = ["judge", str(answers), "--judge", "scripted", "--base-url", server.url, *options]
        done = subprocess.run(
            [sys.executable, "-c", "from gamut_analysis.cli import main; main()", *command],
            capture_output=True,
            text=True,
            check=False,
        )
        assert server.calls() == []
    assert done.returncode == 1
    assert done.stderr.startswith("gamut: ")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_without_the_extra_the_commands_say_what_to_install(answers):
    hidden = "import sys; sys.modules['inspect_ai'] = None; from gamut_analysis.cli import main; main()"
    command = [sys.executable, "-c", hidden, "judge", str(answers), "--judge", "m"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'gamut-analysis[judge]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_analysis_does_not_import_what_only_judges_need():
    code = "import sys; import gamut_analysis.cli; sys.exit('inspect_ai' in sys.modules or 'openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_questions_are_asked_and_their_answers_judged(tmp_path):
    with serve("hash") as server:
        out = str(tmp_path / "asked")
        asked = RUN.invoke(app, ["generate", "--model", "m", "--base-url", server.url, "--into", out, "--limit", "2"])
        assert asked.exit_code == 0, asked.output
        assert "gamut judge" in asked.stdout
        assert "m: 2 questions" in asked.stderr
        result = RUN.invoke(
            app,
            ["judge", f"{out}/answers.jsonl", "--judge", "j", "--base-url", server.url, "--into", str(tmp_path / "j")],
        )
        assert result.exit_code == 0, result.output
        assert [call["request"]["model"] for call in server.calls()] == ["m", "m", "j", "j"]


def test_wordings_end_in_a_sheet(tmp_path):
    with serve() as server:
        command = ["text-only", "--model", "m", "--base-url", server.url, "--into", str(tmp_path), "--limit", "2"]
        result = RUN.invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "question_text_only" in result.stdout
    assert (tmp_path / "text-only.csv").is_file()
