"""The command line: what it prints, what it refuses, and how it ends."""

import json

import polars as pl
import pytest

from gamut_analysis import cli, paths
from gamut_analysis.rubric import meta_rubric_schema
from gamut_analysis.study import Study

SAMPLE = paths.sample() / "questions"


@pytest.fixture
def gamut(monkeypatch, capsys):
    """Run a command; returns its exit status, what it printed and what it complained about."""
    for name in ("MODEL", "DATA", "MANIFEST", "JUDGE", "VARIANT", "SEED", "STRICT", "MAKE_PID"):
        monkeypatch.delenv(f"GAMUT_{name}", raising=False)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["gamut", *map(str, arguments)])
        status = 0
        try:
            cli.main()
        except SystemExit as end:
            status = int(end.code or 0)
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    rows = [
        "model,judge,question_id,check_id,tier,verdict",
        "alpha,j,q1,c1,valuable,meets",
        "alpha,j,q1,c2,valuable,met",
    ]
    (folder / "verdicts.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


def test_import_tells_what_was_read_and_lists_what_was_rejected_by_file_and_line(gamut, folder, tmp_path):
    status, out, err = gamut("import", folder, "--into", tmp_path / "mine.duckdb")
    assert status == 0
    assert "1 models, 1 judges, 1 questions, 1 verdicts" in out
    assert "1 rejected values" in out
    assert "verdicts.csv:3: verdict = 'met': unknown label" in err


def test_a_question_that_both_variants_have_is_counted_once(gamut, small_database):
    status, out, _ = gamut("build", "--data", small_database)
    assert status == 0
    assert "5 models, 3 judges, 40 questions" in out


def test_strict_import_fails_names_the_line_and_leaves_no_database(gamut, folder, tmp_path):
    status, _, err = gamut("import", folder, "--into", tmp_path / "mine.duckdb", "--strict")
    assert status == 1
    assert "verdicts.csv:3" in err
    assert not (tmp_path / "mine.duckdb").exists()


def test_describe_tells_the_grid_the_coverage_and_the_rejects(gamut, folder, tmp_path):
    gamut("import", folder, "--into", tmp_path / "mine.duckdb")
    status, out, _ = gamut("describe", tmp_path / "mine.duckdb")
    assert status == 0
    assert "alpha" in out
    assert "unknown label" in out


def test_a_folder_without_verdicts_says_what_is_needed_and_what_is_there(gamut, tmp_path):
    (tmp_path / "notes.txt").write_text("hello", encoding="utf-8")
    status, _, err = gamut("import", tmp_path)
    assert status == 1
    assert "verdicts" in err
    assert "notes.txt" in err


@pytest.mark.parametrize("model", ["", " "])
def test_a_report_without_a_model_says_so(gamut, small_database, model):
    status, _, err = gamut("report", f"--model={model}", "--data", small_database)
    assert status == 1
    assert "MODEL is missing" in err


def test_a_report_of_an_unknown_model_offers_the_nearest(gamut, small_database):
    status, _, err = gamut("report", "--model=gpt-4", "--data", small_database)
    assert status == 1
    assert "nearest: gpt-4o" in err


def test_a_seed_that_is_no_number_is_refused(gamut, small_database):
    status, _, err = gamut("report", "--model=gpt-4o", "--data", small_database, "--seed", "1e5x")
    assert status == 1
    assert "a whole number is needed" in err


def test_data_that_is_nothing_is_refused(gamut):
    status, _, err = gamut("rank", "--data", "no-such-thing")
    assert status == 1
    assert "no such folder or database" in err


@pytest.mark.parametrize(
    ("view", "data", "label"),
    [
        ({}, "", "gpt-4o"),
        ({"judge": "gemini-3.1-pro", "variant": "multimodal"}, "sample", "gpt-4o"),
        ({"judge": "claude-opus-4.8"}, "", "gpt-4o--claude-opus-4.8"),
        ({"variant": "text_only"}, "my/paper/", "paper--gpt-4o--text_only"),
        ({}, "data/warehouse/mine.duckdb", "mine--gpt-4o"),
    ],
)
def test_a_report_is_named_after_what_is_not_the_default(small_database, view, data, label):
    assert cli._labels(Study(small_database, "gpt-4o", **view), ["gpt-4o"], data) == {"gpt-4o": label}


def test_clean_leaves_what_stands_in_the_repository(gamut, tmp_path, monkeypatch):
    monkeypatch.setenv("GAMUT_HOME", str(tmp_path))
    for place in (
        "reports/README.md",
        "reports/index.html",
        "reports/m/m.html",
        "data/sample/a.yaml",
        "data/warehouse/b",
    ):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch()
    assert gamut("clean")[0] == 0
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"reports/README.md", "data/sample/a.yaml"}


def test_rank_prints_scores_with_intervals_and_rank_sets(gamut, small_database):
    status, out, _ = gamut("rank", "--data", small_database)
    assert status == 0
    assert "Gemini 3.1 Pro" in out
    assert " to " in out


def test_compare_prints_paired_differences(gamut, small_database):
    status, out, _ = gamut("compare", "gpt-4o", "llama-3.2-11b", "--data", small_database)
    assert status == 0
    assert "Score" in out and "Answer-Critical" in out


def test_compile_writes_checks_as_lines_and_as_parquet(gamut, tmp_path):
    rubric = SAMPLE / "food-001.yaml"
    status, out, _ = gamut("compile", rubric, "--format", "jsonl")
    lines = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert {line["question_id"] for line in lines} == {"food-001"}
    gamut("compile", rubric, "--format", "parquet", "--into", tmp_path / "checks.parquet")
    assert pl.read_parquet(tmp_path / "checks.parquet").height == len(lines)


def test_compile_refuses_a_format_that_it_does_not_write(gamut):
    status, _, err = gamut("compile", SAMPLE / "food-001.yaml", "--format", "xml")
    assert status == 1
    assert "table, jsonl, parquet" in err


@pytest.mark.parametrize("command", [("report", "--model", "gpt-4o"), ("reports",), ("compare-report",)])
def test_a_report_refuses_a_format_that_it_does_not_write(gamut, command):
    status, out, err = gamut(*command, "--format", "doc")
    assert (status, out) == (1, "")
    assert err == "gamut: FORMAT 'doc': one of html, pdf is needed\n"


def test_figures_refuse_a_medium_that_they_are_not_sized_for(gamut, monkeypatch):
    monkeypatch.setenv("GAMUT_PROFILE", "screen")
    status, out, err = gamut("figures", "--profile", "poster")
    assert (status, out) == (1, "")
    assert err == "gamut: no figure profile 'poster'; known: paper, screen, slides\n"


def test_explain_shows_the_tree(gamut):
    status, out, _ = gamut("explain", SAMPLE / "food-001.yaml")
    assert status == 0
    assert "Answer-Critical" in out


def test_lint_ends_with_a_count_and_fails_where_it_finds_something(gamut, tmp_path):
    assert gamut("lint", SAMPLE)[0] == 0
    leading = (SAMPLE / "food-003.yaml").read_text(encoding="utf-8").replace("this fish", "this fugu")
    (tmp_path / "food-003.yaml").write_text(leading, encoding="utf-8")
    status, out, _ = gamut("lint", tmp_path)
    assert status == 1
    assert "food-003" in out


def test_schema_is_the_one_beside_the_sample(gamut):
    status, out, _ = gamut("schema")
    beside = json.loads((paths.sample() / "meta-rubric.schema.json").read_text(encoding="utf-8"))
    assert status == 0
    assert json.loads(out) == beside == meta_rubric_schema()
