"""Controls through a judge: a perfect, a lazy and a faulty one over a local server, and limits worked by hand."""

import csv
import json
import sys
import tomllib

import polars as pl
import pytest

from gamut_analysis import cli, paths
from gamut_analysis.errors import InputError, RubricError, UnknownName
from gamut_analysis.judge import calibrate
from gamut_analysis.judge.account import Watch
from gamut_analysis.judge.calibrate import (
    NOT_USABLE,
    USABLE,
    WITH_CARE,
    Calibration,
    Trial,
    calibrate_judge,
    compared,
    control_rubrics,
    controls_of,
    export_right,
)
from gamut_analysis.judge.controls import HOSTILE
from gamut_analysis.judge.written import VERDICTS
from tests.openai_server import serve

METAS = control_rubrics()
CONTROLS = controls_of(METAS)
FEW = 3  # questions, where the share right does not matter


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    """The file of right verdicts that a perfect judge replies by."""
    path = tmp_path_factory.mktemp("right") / "right.json"
    export_right(CONTROLS, path)
    return path


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    """A trial of a scripted judge at an address."""

    def made(url, into="", **changes):
        folder = tmp_path_factory.mktemp("calibration") if into == "" else into
        return Trial(**{"judge": "scripted", "base_url": url, "into": folder, **changes})

    return made


@pytest.fixture(scope="module")
def perfect(trial, right):
    """A perfect judge's calibration on the default controls, and its folder."""
    with serve("perfect", answers=right) as server:
        outcome, calibration = calibrate_judge(trial(server.url))
    return outcome, calibration


def tried(trial, script, **serving):
    with serve(script, **serving) as server:
        return calibrate_judge(trial(server.url, questions=FEW))[1]


# --- over the server --------------------------------------------------------------------------------------------------


def test_a_perfect_judge_is_usable_and_right_in_every_row(perfect):
    _, calibration = perfect
    assert calibration.conclusion == USABLE
    assert calibration.why == []
    assert calibration.errors.is_empty()
    for frame in (calibration.overall, calibration.by_kind, calibration.by_role, calibration.by_verdict):
        assert frame["share"].to_list() == [1.0] * frame.height
        assert frame["ungraded"].sum() == 0


def test_a_perfect_judge_is_asked_about_all_but_the_empty_answers(perfect):
    outcome, calibration = perfect
    assert outcome.calls == sum(control.kind != "empty" for control in CONTROLS)
    by = dict(calibration.by_kind.select(pl.col("kind").cast(pl.String), "by").iter_rows())
    assert by.pop("empty") == "house rule"
    assert set(by.values()) == {"judge"}


def test_the_folder_says_that_it_is_simulated_and_holds_what_was_told(perfect):
    outcome, calibration = perfect
    told = json.loads((outcome.folder / "calibration.json").read_text("utf-8"))
    assert told["simulated"] is True and told["note"].startswith("SIMULATED")
    assert (told["judge"], told["conclusion"]) == ("scripted", USABLE)
    assert told["protocol"]["prompt"] == "grade-1"
    assert sum(row["n"] for row in told["by_role"]) == told["overall"][0]["n"]
    with (outcome.folder / "calibration.csv").open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    assert len(rows) == calibration.rows.height
    assert {row["simulated"] for row in rows} == {"true"}
    manifest = tomllib.loads((outcome.folder / "gamut.toml").read_text("utf-8"))
    assert manifest["data"]["simulated"] is True and manifest["data"]["title"].startswith("SIMULATED")


def test_a_second_run_makes_no_call_and_says_the_same(perfect, trial, right):
    outcome, calibration = perfect
    with serve("lazy") as server:
        again, same = calibrate_judge(trial(server.url, outcome.folder))
        assert server.calls() == []
    assert again.calls == 0
    assert same.rows.equals(calibration.rows)


def test_a_lazy_judge_is_refused(trial):
    calibration = tried(trial, "lazy")
    assert calibration.conclusion == NOT_USABLE
    hostile = calibration.by_kind.filter(pl.col("kind").cast(pl.String).is_in([*HOSTILE]))
    assert hostile["right"].sum() == 0 and hostile.height == FEW
    assert calibration.by_verdict.filter(expected="meets")["share"].item() == 1.0
    assert any("only ask for full marks" in why for why in calibration.why)


def test_a_judge_that_finds_everything_missing_is_refused(trial):
    calibration = tried(trial, "missing")
    assert calibration.conclusion == NOT_USABLE
    assert calibration.by_kind.filter(kind="complete")["right"].item() == 0
    assert not any("only ask for full marks" in why for why in calibration.why)


def test_faults_on_the_way_change_no_verdict(trial, right):
    undisturbed = tried(trial, "perfect", answers=right)
    disturbed = tried(trial, "perfect", answers=right, faults=["429", "cut", "labels"])
    assert disturbed.rows.equals(undisturbed.rows)


def test_a_judge_that_never_gives_a_label_is_ungraded_and_refused(trial, right):
    calibration = tried(trial, "perfect", answers=right, faults=["always:labels"])
    assert calibration.overall.select("n", "right", "ungraded").row(0)[1] == 0
    assert calibration.overall["ungraded"].item() == calibration.overall["n"].item()
    assert calibration.errors.is_empty()
    assert calibration.conclusion == NOT_USABLE


def test_nothing_is_concluded_while_answers_are_left(trial, right, tmp_path):
    with serve("perfect", answers=right) as server:
        outcome, calibration = calibrate_judge(
            trial(server.url, tmp_path, questions=FEW), Watch(estimate=lambda name, estimate: False)
        )
        assert server.calls() == []
    assert outcome.stopped == "not started"
    assert calibration is None
    assert not (tmp_path / "calibration.json").exists()


# --- limits, by hand --------------------------------------------------------------------------------------------------


def verdicts(change=lambda control, check_id, accepted: accepted[0]):
    """What a judge said of the controls: all right, but for what ``change`` makes of it."""
    rows = [
        (control.answer.model, "j", "multimodal", control.answer.question_id, 0, check_id)
        + ((said, "because", None) if (said := change(control, check_id, accepted)) else (None, None, "cut off"))
        + ("", "grade-1", "hash", 0)
        for control in CONTROLS
        if control.kind != "empty"
        for check_id, accepted in control.right.items()
    ]
    return pl.DataFrame(rows, schema=VERDICTS, orient="row")


def calibrated(change):
    return Calibration("j", compared(CONTROLS, METAS, verdicts(change)))


def first(n, label, instead):
    """A judge that errs on the first n checks whose right verdict is ``label``, of the kinds that are not hostile."""
    left = iter(range(n))

    def change(control, check_id, accepted):
        errs = accepted[0] == label and control.kind not in HOSTILE and next(left, None) is not None
        return instead if errs else accepted[0]

    return change


def test_one_verdict_in_twenty_may_be_wrong():
    n = Calibration("j", compared(CONTROLS, METAS, verdicts())).overall["n"].item()
    assert calibrated(first(n // 20, "meets", "missing")).conclusion == USABLE
    assert calibrated(first(n // 20 + 1, "meets", "missing")).conclusion == WITH_CARE
    assert calibrated(first(n * 3 // 20 + 1, "meets", "missing")).conclusion == NOT_USABLE


def test_a_judge_that_sees_no_contradiction_is_refused_however_few_there_are():
    calibration = calibrated(first(10**6, "contradicts", "missing"))
    assert calibration.overall["share"].item() > 0.95
    assert calibration.conclusion == NOT_USABLE
    assert any(why.startswith("right verdict contradicts: 0 % of") for why in calibration.why)


def test_what_begging_earns_is_told_and_keeps_a_judge_from_being_usable():
    begged = iter(range(1))

    def change(control, check_id, accepted):
        return "partially_meets" if control.kind in HOSTILE and next(begged, None) is not None else accepted[0]

    calibration = calibrated(change)
    assert calibration.conclusion == WITH_CARE
    assert len(calibration.why) == 1
    assert calibration.why[0].startswith("1 of ")


def test_ungraded_is_not_right_and_no_error():
    calibration = calibrated(first(30, "meets", None))
    n = calibration.overall["n"].item()
    assert calibration.overall.select("right", "ungraded").row(0) == (n - 30, 30)
    assert calibration.errors.is_empty()
    assert calibration.conclusion == WITH_CARE  # 30 of fewer than 1,500 checks are more than 2 %


def test_another_accepted_verdict_is_right():
    calibration = calibrated(lambda control, check_id, accepted: accepted[-1])
    assert calibration.overall["share"].item() == 1.0


def test_the_errors_that_move_a_score_most_come_first():
    # met where contradicted is right: 1 - -2 = 3; missing where met is right: 1; partial where met is right: 1/2.
    wrong = {
        "reversed": ("contradicts", "meets"),
        "complete": ("meets", "partially_meets"),
        "short": ("meets", "missing"),
    }
    seen = set()

    def change(control, check_id, accepted):
        label, instead = wrong.get(control.kind, ("", ""))
        if accepted[0] == label and control.kind not in seen:
            seen.add(control.kind)
            return instead
        return accepted[0]

    calibration = calibrated(change)
    errors = calibration.errors
    assert errors["kind"].to_list() == ["reversed", "short", "complete"]
    assert errors["reason"].to_list() == ["because"] * 3
    told = list(calibration.worst())
    assert told[0] == "errors: 3, the worst first"
    assert told[1].endswith(": meets, not contradicts")
    assert told[3::3] == ["    judge: because"] * 3


def test_the_confusion_table_counts_each_verdict_once():
    table = calibrated(first(4, "meets", "contradicts")).by_verdict
    met = table.row(by_predicate=pl.col("expected") == "meets", named=True)
    assert met["contradicts"] == 4 and met["meets"] == met["n"] - 4 == met["right"]
    given = table.select(pl.sum_horizontal("meets", "partially_meets", "missing", "contradicts", "ungraded"))
    assert given.to_series().to_list() == table["n"].to_list()


# --- the door ---------------------------------------------------------------------------------------------------------


def test_a_trial_goes_to_a_folder_called_after_the_judge():
    assert Trial(judge="openai/gpt-4o").folder == paths.judged() / "calibration-gpt-4o"


def test_controls_need_meta_rubrics_and_a_question(tmp_path):
    checks = tmp_path / "checks.parquet"
    with pytest.raises(InputError, match="there is no such file or folder of rubrics"):
        control_rubrics(str(checks))
    checks.write_bytes(b"PAR1")
    with pytest.raises(RubricError):
        control_rubrics(str(checks))
    with pytest.raises(UnknownName, match="--questions 0"):
        controls_of(METAS, 0)


def command(monkeypatch, *arguments):
    """Run the command and return its status."""
    monkeypatch.setattr(sys, "argv", ["gamut", "calibrate", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code


def test_the_command_refuses_a_lazy_judge_and_says_why(monkeypatch, capsys, tmp_path):
    with serve("lazy") as server:
        asked = ("--judge", "lazy", "--base-url", server.url, "--into", str(tmp_path), "--questions", "2")
        assert command(monkeypatch, *asked, "--dry-run") in (None, 0)
        assert server.calls() == []
        assert command(monkeypatch, *asked) == 1
    told = capsys.readouterr().out
    assert "SIMULATED" in told
    assert "lazy: not usable" in told
    assert calibrate.MEANING in told


def test_the_command_writes_the_right_verdicts_without_a_judge(monkeypatch, tmp_path):
    path = tmp_path / "new" / "right.json"
    assert command(monkeypatch, "--export", str(path), "--questions", "1") in (None, 0)
    table = json.loads(path.read_text("utf-8"))
    given = {verdict for told in table.values() for verdict in told.values()}
    assert given <= {"meets", "partially_meets", "missing", "contradicts"}
    assert len(table) >= 3


def test_the_right_verdicts_need_a_place(tmp_path):
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(InputError, match="cannot be written"):
        export_right(CONTROLS, tmp_path / "file" / "right.json")


def test_the_command_asks_for_a_judge(monkeypatch, capsys):
    assert command(monkeypatch) == 1
    assert "--judge is missing" in capsys.readouterr().err
