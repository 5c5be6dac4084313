"""What is said of answers that were graded again, and of how they were graded: both readings of each sentence."""

import shutil
from datetime import UTC, datetime
from types import SimpleNamespace

import polars as pl
import pytest
from delivered import built, check, grading, put, verdict
from executed import execute, shown_in
from rejudged import CHECKS, HASHES, MODELS, NEW, OLD, QUESTIONS, REPLICATES, rejudged

from gamut_analysis import page, paths
from gamut_analysis.chapters import common, gradings, judging
from gamut_analysis.display import Figure, Table, Text
from gamut_analysis.study import Study

ALL = [
    *("again_text", "again_agreement", "again_by", "again_and_others", "again_and_others_text", "again_scores"),
    *("again_orders", "succession_text", "succession_grid", "succession_shifts", "succession_by", "how_judged"),
]


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    return built(rejudged(tmp_path_factory.mktemp("rejudged") / "world"))


@pytest.fixture(scope="module")
def study(database):
    return Study(database, judge=NEW)


def small(folder, verdicts, told=()):
    """A study of a few verdicts on two checks of two questions."""
    checks = [check(question_id=q, check_id=c) for q in ("q1", "q2") for c in ("c1", "c2")]
    put(folder, "checks.jsonl", checks)
    put(folder, "verdicts.jsonl", verdicts)
    if told:
        put(folder, "gradings.jsonl", list(told))
    return built(folder)


def everywhere(**fields):
    """One verdict on each of the four checks."""
    return [verdict(question_id=q, check_id=c, **fields) for q in ("q1", "q2") for c in ("c1", "c2")]


# --- the same judge, asked again --------------------------------------------------------------------------------------


def test_gradings_of_one_judge_are_told_apart_from_those_of_another(study):
    assert judging.again(study).height == len(MODELS) * QUESTIONS * CHECKS * REPLICATES
    assert set(judging.by_grading(study)["judge"]) == {"1", "2", "3"}
    agreed = judging.again_agreement(study)
    assert agreed.frame["n"].to_list() == [len(MODELS) * QUESTIONS * CHECKS] * 6
    assert judging.again_orders(study).frame["pair"].to_list() == ["1 and 2", "1 and 3", "2 and 3"]


def test_the_text_says_how_far_the_judge_is_from_itself(study):
    said = str(judging.again_text(study))
    changed = judging.again_by(study).frame.filter(label="All")
    assert f"{100 * changed['estimate'].item():.1f} (" in said
    assert "of 6 pairs of models swap" in said
    means = judging.moves(study).filter(statistic="change")["estimate"]
    assert f"moves by {100 * means.mean():.1f} points on average" in said


def test_changes_are_shown_by_tier_and_role_where_there_are_enough_checks(study):
    frame = judging.again_by(study).frame
    assert frame["label"].to_list()[0] == "All"
    assert set(frame["label"]) == {"All", "Answer-Critical", "Valuable", "Context", "Fact", "List item", "Baseline"}
    assert frame.filter(kind="tier")["n"].sum() == frame.filter(label="All")["n"].item()


def test_a_judge_that_graded_once_says_how_to_be_asked_again(database):
    older = Study(database, judge=OLD)
    said = str(judging.again_text(older))
    assert "graded every answer once" in said
    assert "--replicates 3" in said
    assert f"{NEW} graded more than once" in said
    assert [getattr(judging, name)(older) for name in ALL[1:7]] == [None] * 6


def test_a_judge_that_never_changes_its_mind_is_said_to_be_so(tmp_path):
    same = [row for replicate in (0, 1) for row in everywhere(replicate=replicate)]
    study = Study(small(tmp_path / "same", same))
    assert str(judging.again_text(study)) == "Asked again, judge-a gives all 4 checks the same verdict."
    assert "No other judge graded" in str(judging.again_and_others_text(study))
    assert judging.again_orders(study) is None


def test_an_answer_without_words_is_not_a_grading(tmp_path):
    folder = tmp_path / "silent"
    put(folder, "answers.jsonl", [{"model": m, "question_id": "q3", "answer": ""} for m in ("alpha", "beta")])
    put(folder, "checks.jsonl", [check(question_id=q) for q in ("q1", "q2", "q3")])
    rows = [
        verdict(model=m, question_id=q, replicate=r) for m in ("alpha", "beta") for q in ("q1", "q2") for r in (0, 1)
    ]
    put(folder, "verdicts.jsonl", rows)
    study = Study(built(folder))
    assert judging.orders(study).select("models", "n").row(0) == (2, 2)
    assert set(judging.moves(study)["n"]) == {2}


def others(rows):
    names = ["judge", "n", *(f"{end}_{name}" for name in ("itself", "other", "difference") for end in common.ESTIMATE)]
    return pl.DataFrame(rows, schema=names, orient="row")


def with_others(rows):
    known = pl.DataFrame({"judge": ["j", "k", "l"], "name": ["Judge J", "Judge K", "Judge L"]})
    coverage = pl.DataFrame({"judge": ["j"], "variant": ["multimodal"], "replicates": [3]})
    frames = {judging.others.__wrapped__: others(rows)}
    return SimpleNamespace(
        frames=frames, judges=known, coverage=coverage, judge="j", judge_name="Judge J", variant="multimodal"
    )


@pytest.mark.parametrize(
    ("low", "told"), [(0.05, "more than one judge's own wavering"), (-0.02, "is not shown to be further from it")]
)
def test_another_judge_is_held_against_the_judges_own_wavering(low, told):
    far = ("k", 10, 0.93, 0.9, 0.95, 0.7, 0.6, 0.8, 0.23, 0.2, 0.26)
    near = ("l", 10, 0.93, 0.9, 0.95, 0.81, 0.78, 0.84, 0.12, low, 0.2)
    said = str(judging.again_and_others_text(with_others([far, near])))
    assert "agrees with itself on 93.0 %, with Judge L on 81.0 %: +12.0 (" in said
    assert told in said


# --- old judge against new --------------------------------------------------------------------------------------------


def dated(judge, day, **more):
    return everywhere(judge=judge, judged_at=f"2026-01-{day:02}T00:00:00Z", **more)


def test_a_judge_follows_the_latest_one_before_it_or_an_older_self(tmp_path):
    rows = dated("first", 1) + dated("second (b)", 2) + dated("third", 3) + dated("second (a)", 4)
    path = small(tmp_path / "line", rows)
    assert judging.succession(Study(path, judge="third")) == ("second (b)", "third")
    assert judging.succession(Study(path, judge="second (a)")) == ("second (b)", "second (a)")
    # The first of all has no predecessor: the two latest stand for it.
    assert judging.succession(Study(path, judge="first")) == ("second (b)", "second (a)")


def test_the_time_of_a_grading_counts_where_verdicts_have_none(tmp_path):
    told = [
        grading(judge="judge-a", judged_at="2026-02-02T00:00:00Z"),
        grading(judge="judge-b", judged_at="2026-02-01"),
    ]
    path = small(tmp_path / "told", everywhere(judge="judge-a") + everywhere(judge="judge-b"), told)
    assert judging.succession(Study(path, judge="judge-a")) == ("judge-b", "judge-a")
    assert judging.beginnings(Study(path))["at"][0] == datetime(2026, 2, 1, tzinfo=UTC)


def test_without_times_two_prompts_of_one_model_follow_each_other(tmp_path):
    told = [
        grading(judge="grader (y)", prompt="grade-1", prompt_hash="aa"),
        grading(judge="grader (x)", prompt="grade-2", prompt_hash="bb"),
    ]
    path = small(tmp_path / "prompts", everywhere(judge="grader (x)") + everywhere(judge="grader (y)"), told)
    assert judging.succession(Study(path)) == ("grader (y)", "grader (x)")


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (everywhere(), "One judge alone"),
        (everywhere() + everywhere(judge="judge-b"), "does not say when"),
        (dated("judge-a", 1) + dated("judge-b", 1), "No two judges graded the same checks one after the other"),
        (dated("judge-a", 1, model="alpha") + dated("judge-b", 2, model="beta"), "No two judges"),
    ],
    ids=["one judge", "no times", "one time", "other answers"],
)
def test_where_no_judge_is_the_older_one_the_page_says_why(rows, reason, tmp_path):
    study = Study(small(tmp_path / "none", rows))
    assert reason in str(judging.succession_text(study))
    assert [getattr(judging, name)(study) for name in ALL[8:11]] == [None] * 3


def test_the_newer_judge_is_held_against_the_older_one(study):
    said = str(judging.succession_text(study))
    whole = judging.shifts(study).filter(pl.col("model").is_null()).row(0, named=True)
    assert whole["high"] < 0
    assert f"{NEW} is {-100 * whole['estimate']:.1f} (" in said
    assert f"points stricter than {OLD}" in said
    assert "of 6 pairs of models" in said
    assert "by itself" in said
    assert "checks of the role" in said


def test_verdicts_become_others_by_hand(tmp_path):
    old = [("c1", "meets"), ("c2", "meets")]
    new = [("c1", "meets"), ("c2", "contradicts")]
    rows = [
        verdict(judge=judge, question_id=q, check_id=c, verdict=given, judged_at=f"2026-01-0{day}T00:00:00Z")
        for day, (judge, line) in enumerate((("old", old), ("new", new)), 1)
        for q in ("q1", "q2")
        for c, given in line
    ]
    study = Study(small(tmp_path / "hand", rows), judge="new")
    moved = judging.transitions(study).filter(pl.col("checks") > 0)
    assert moved.rows() == [("Meets", "Meets", 2, 0.5), ("Meets", "Contradicts", 2, 0.5)]
    # Each answer falls from 1 to (1 - 2) / 3.
    assert judging.succession_shifts(study).frame.select("old", "new", "n").row(0) == pytest.approx((1.0, -1 / 3, 2))
    said = str(judging.succession_text(study))
    assert "50.0 % of the verdicts change" in said
    assert "no two models" in said
    assert isinstance(judging.succession_grid(study), Figure)


def test_judges_that_never_differ_are_said_to_be_so(tmp_path):
    study = Study(small(tmp_path / "alike", dated("judge-a", 1) + dated("judge-b", 2)), judge="judge-b")
    assert str(judging.succession_text(study)) == (
        "judge-b gives the verdict of judge-a, its predecessor, on every check that both graded."
    )


@pytest.mark.parametrize(
    ("shift", "told", "shown"),
    [
        ((-0.02, -0.03, -0.01), "points stricter", (0.02, 0.01, 0.03)),
        ((0.02, 0.01, 0.03), "points more lenient", (0.02, 0.01, 0.03)),
        ((0.02, -0.01, 0.05), "is not shown to be", (0.02, -0.01, 0.05)),
        ((0.02, None, None), "is not shown to be", (0.02, None, None)),
    ],
)
def test_a_shift_is_told_by_its_interval(shift, told, shown):
    values = {}
    words = judging._shift_words(dict(zip(common.ESTIMATE, shift, strict=True)), values)
    assert told in words
    assert values["shift"] == shown


# --- how it was judged ------------------------------------------------------------------------------------------------


def test_sums_of_all_models_and_of_one(study, database):
    table = judging.how_judged(study)
    row = table.frame.filter(label=NEW).row(0, named=True)
    answers = len(MODELS) * QUESTIONS * REPLICATES
    assert (row["gradings"], row["calls"], row["input_tokens"]) == (answers, answers, 800 * answers)
    assert row["cost_usd"] == pytest.approx(0.002 * answers)
    assert (row["pace"], row["minutes"]) == pytest.approx((1.5, 1.5 * answers / 60))
    assert (row["protocol"], row["portion"], row["run"]) == ("grade-2, 0a1b2c3d", "all", "finished")
    own = judging.how_judged(Study(database, model="alpha", judge=NEW)).frame
    assert own.filter(label=NEW)["gradings"].item() == QUESTIONS * REPLICATES


def test_data_that_tells_nothing_says_so(small_database):
    study = Study(small_database)
    assert str(judging.how_judged(study)) == "The data does not say how it was judged (prompt, tokens, cost)."
    facts = common.band(study)
    assert not {"prompt", "warning"} & set(facts["facts"])
    assert "Prompt of the judge" not in facts["details"]


def test_what_only_some_gradings_tell_is_counted(tmp_path):
    told = [
        grading(question_id="q1", checks_per_call=0, calls=1, input_tokens=10, output_tokens=2, cost_usd=1.5),
        grading(question_id="q2", checks_per_call=5, prompt="own", prompt_hash="1234567890"),
    ]
    table = judging.how_judged(Study(small(tmp_path / "part", everywhere(), told)))
    row = table.frame.row(0, named=True)
    assert (row["portion"], row["protocol"], row["run"]) == ("all or 5", "own, 12345678", "not told")
    assert (row["cost_usd"], row["pace"]) == (1.5, None)
    assert "Tokens are told of 1 of 2 gradings. The cost is told of 1 of 2 gradings." in table.note


def test_a_run_that_was_cut_short_is_flagged_where_it_was(tmp_path):
    rows = [verdict(question_id="q1", check_id=c) for c in ("c1", "c2")] + everywhere(model="beta")
    told = [grading(run_status="cancelled"), grading(model="beta", run_status="success")]
    path = small(tmp_path / "cut", rows, told)
    warned = [common.band(Study(path, model=model))["facts"].get("warning") for model in ("alpha", "beta", "")]
    assert warned == ["cancelled run: 1 of 2 questions", None, "cancelled run: 1 of 2 questions"]
    assert judging.how_judged(Study(path, model="alpha")).frame["run"].item() == "cancelled run: 1 of 2 questions"


def test_a_run_that_failed_on_several_models_counts_answers(tmp_path):
    told = [grading(run_status="error"), grading(model="beta", run_status="started")]
    rows = [*everywhere(), verdict(model="beta", question_id="q1", check_id="c1")]
    study = Study(small(tmp_path / "failed", rows, told))
    assert gradings.head_facts(study)["warning"] == "unfinished run: 2 of 4 answers"


def test_the_strip_names_the_prompt_and_the_foot_its_whole_hash(study):
    told = common.band(study)
    assert told["facts"]["prompt"] == "grade-2, 0a1b2c3d"
    assert told["details"]["Prompt of the judge"] == [f"grade-2, hash {HASHES[NEW]}"]


def test_the_cancelled_log_of_the_benchmark_case_is_flagged(shared, tmp_path):
    folder = tmp_path / "case"
    shutil.copytree(next((shared / "cases").glob("22-*")), folder, ignore=shutil.ignore_patterns("expected.json"))
    path = built(folder)
    assert gradings.head_facts(Study(path, model="mockllm/other")) == {"warning": "cancelled run: 1 of 3 questions"}
    assert gradings.head_facts(Study(path, model="mockllm/model")) == {}


# --- the pages --------------------------------------------------------------------------------------------------------


def test_everything_shows_on_a_world_that_was_graded_again(study):
    shown = [getattr(judging, name)(study) for name in ALL]
    assert [type(one) for one in shown] == [
        Text,
        Table,
        Table,
        Table,
        Text,
        Table,
        Table,
        Text,
        Figure,
        Table,
        Table,
        Table,
    ]
    assert [one.name.replace("-", "_") for one in shown] == ALL


@pytest.mark.parametrize(("notebook", "model"), [("02_judge_agreement", ""), ("model_report", "alpha")])
def test_the_notebooks_show_it(notebook, model, database):
    values = {"database": str(database), "model": model, "judge": NEW}
    done = execute(paths.notebooks() / f"{notebook}.ipynb", values)
    assert page.complaints(done) == []
    names = {shown.metadata.gamut.name for shown in shown_in(done)}
    assert names >= ({"how-judged"} if model else {name.replace("_", "-") for name in ALL})
