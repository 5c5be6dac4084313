"""The warehouse: all or nothing, the same bytes from the same input, and counts that a plain count agrees with."""

import errno
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl
import pytest
from delivered import built, check, grading, put, relation, verdict
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gamut_analysis import tables
from gamut_analysis.errors import BuildError, DatabaseBusy, DatabaseMissing, RejectedRows, UnknownName
from gamut_analysis.readers.folder import read_folder
from gamut_analysis.vocabulary import TIERS, VARIANTS, VERDICTS


@pytest.fixture
def folder(tmp_path) -> Path:
    """Two models, two judges, two questions, two tiers: eight checks' worth of verdicts a judge."""
    place = tmp_path / "world"
    rows = [
        verdict(
            model=model,
            judge=judge,
            question_id=question,
            check_id=point,
            verdict="meets" if model == "alpha" else "missing",
        )
        for model in ("alpha", "beta")
        for judge in ("judge-a", "judge-b")
        for question in ("q1", "q2")
        for point in ("c1", "c2")
    ]
    put(place, "verdicts.jsonl", rows)
    put(
        place,
        "checks.jsonl",
        [
            check(question_id=q, check_id=c, tier=t)
            for q in ("q1", "q2")
            for c, t in (("c1", "context"), ("c2", "valuable"))
        ],
    )
    return place


def content(database: Path) -> dict[str, pl.DataFrame]:
    return tables.read_all(database, tables.RELATIONS)


def files_beside(database: Path) -> list[str]:
    return sorted(path.name for path in database.parent.iterdir() if path != database and path.is_file())


# --- all or nothing ----------------------------------------------------------------------------------------------

BUILD_FOREVER = """
import sys
from pathlib import Path
from gamut_analysis import tables
from gamut_analysis.readers.folder import read_folder
delivery = read_folder(Path(sys.argv[1]))
while True:
    tables.build(delivery, Path(sys.argv[2]))
    print("built", flush=True)
"""


def test_killed_at_any_moment_the_database_is_whole_and_the_next_build_sweeps_up(folder):
    database = built(folder)
    before = content(database)
    chance = random.Random(0)
    for _ in range(4):
        command = [sys.executable, "-c", BUILD_FOREVER, str(folder), str(database)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            child.stdout.readline()
            time.sleep(chance.uniform(0, 0.3))
            child.send_signal(signal.SIGKILL)
        after = content(database)
        assert all(after[name].equals(before[name]) for name in before)
    built(folder)
    assert files_beside(database) == []


def test_killed_at_the_last_moment_the_old_database_stays(folder):
    database = built(folder)
    put(folder, "verdicts-2.jsonl", [verdict(model="gamma")])
    script = """
    import os, signal, sys
    from pathlib import Path
    from gamut_analysis import tables
    from gamut_analysis.readers.folder import read_folder
    tables._publish = lambda *paths: os.kill(os.getpid(), signal.SIGKILL)
    tables.build(read_folder(Path(sys.argv[1])), Path(sys.argv[2]))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script), str(folder), str(database)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert tables.read(database, "models")["model"].to_list() == ["alpha", "beta"]
    assert any(".building-" in name for name in files_beside(database))
    built(folder)
    assert tables.read(database, "models")["model"].to_list() == ["alpha", "beta", "gamma"]
    assert files_beside(database) == []


def test_the_files_of_a_build_that_is_still_running_are_left_alone(folder):
    database = folder.with_suffix(".duckdb")
    running = put(folder.parent, f".{database.name}.building-{os.getppid()}", b"")
    gone = put(folder.parent, f".{database.name}.building-4194304.wal", b"")
    built(folder)
    assert running.exists()
    assert not gone.exists()


@pytest.mark.parametrize("broken", ["_verify", "_publish", "_run"])
def test_a_build_that_fails_leaves_the_old_database_and_no_file(folder, monkeypatch, broken):
    database = built(folder)
    before = database.read_bytes()

    def fail(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tables, broken, fail)
    with pytest.raises(BuildError, match=r"what was there before stays: .*No space left"):
        built(folder)
    assert database.read_bytes() == before
    assert files_beside(database) == []


def test_a_full_disk_is_an_error_that_leaves_no_file(folder):
    database = folder.parent / "fresh.duckdb"
    script = """
    import resource, sys
    from pathlib import Path
    from gamut_analysis import tables
    from gamut_analysis.errors import BuildError
    from gamut_analysis.readers.folder import read_folder
    delivery = read_folder(Path(sys.argv[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    try:
        tables.build(delivery, Path(sys.argv[2]))
    except BuildError as error:
        sys.exit(str(error))
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(folder), str(database)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "could not be built" in done.stderr
    assert not database.exists()
    assert files_beside(database) == []


def test_a_broken_promise_is_named(folder, monkeypatch):
    monkeypatch.setitem(tables._IDENTITIES, "there are no models", "select count(*) from models")
    with pytest.raises(BuildError, match=r"breaks a promise \(there are no models\): 2 violations"):
        built(folder)


def test_strict_turns_rejects_into_failure_with_file_and_line(folder):
    database = built(folder)
    put(folder, "verdicts-2.jsonl", [verdict(verdict="met", model=f"m{i}") for i in range(25)])
    with pytest.raises(RejectedRows, match=r"25 rows were rejected") as error:
        built(folder, strict=True)
    assert "verdicts-2.jsonl:1: verdict = 'met': unknown label" in str(error.value)
    assert "and 5 more" in str(error.value)
    assert tables.read(database, "models").height == 2
    assert tables.read(built(folder), "models").height == 27


def test_strict_is_content_with_clean_data(folder):
    assert built(folder, strict=True).is_file()


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("a/folder", "a folder; the name of a file is needed"),
        ("a/file/x.duckdb", "another place is needed"),
        ("what?/x.duckdb", "takes what follows a `\\?`"),
    ],
)
def test_a_place_where_no_database_can_be_is_an_error_before_any_work(folder, tmp_path, place, words):
    (tmp_path / "a/folder").mkdir(parents=True)
    put(tmp_path, "a/file", b"")
    with pytest.raises(BuildError, match=words):
        tables.build(read_folder(folder), tmp_path / place)


def test_missing_folders_on_the_way_to_the_database_are_made(folder, tmp_path):
    assert tables.build(read_folder(folder), tmp_path / "new/place/x.duckdb").database.is_file()


def test_a_stale_log_beside_the_database_does_not_reach_the_new_one(folder):
    database = built(folder)
    put(folder.parent, database.name + ".wal", b"junk of another database")
    built(folder)
    assert tables.read(database, "models").height == 2


def test_a_build_tells_its_steps_and_its_rows(folder):
    seen = []
    done = tables.build(read_folder(folder), folder.with_suffix(".duckdb"), progress=lambda *step: seen.append(step))
    assert [number for _, number, _ in seen] == list(range(1, seen[0][2] + 1))
    assert done.rows["verdicts"] == 16
    assert done.rejected == 0
    assert set(done.rows) == set(tables.RELATIONS)


# --- the same bytes ----------------------------------------------------------------------------------------------


def test_the_same_input_gives_the_same_bytes_in_every_relation(folder):
    put(folder, "verdicts-2.jsonl", [verdict(rationale=f"reason {i % 3}", judged_at=None) for i in range(5)])
    first = content(built(folder))
    second = content(built(folder))
    for name in tables.RELATIONS:
        assert first[name].write_json() == second[name].write_json(), name


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_changes_nothing_but_their_numbers(tmp_path, seed):
    moments = [None, "2026-07-01T00:00:00Z", "2026-07-02T00:00:00Z"]
    rows = [
        verdict(
            model=model, check_id=point, verdict=label, judged_at=moment, rationale=why, confidence=number, tier=tier
        )
        for number, (model, point, label, moment, why) in enumerate(
            (model, point, label, moment, why)
            for model in ("alpha", "beta")
            for point in ("c1", "c2", "c3")
            for label in ("meets", "missing", "met")
            for moment in moments
            for why in (None, "x")
        )
        for tier in ("valuable",)
    ]
    put(tmp_path, "verdicts.jsonl", rows)
    before = content(built(tmp_path))
    random.Random(seed).shuffle(rows)
    put(tmp_path, "verdicts.jsonl", rows)
    after = content(built(tmp_path))
    for name in set(tables.RELATIONS) - {"sources", "rejects"}:
        left, right = (side[name].drop("row", strict=False) for side in (before, after))
        assert left.equals(right), name
    assert before["rejects"].drop("row").equals(after["rejects"].drop("row"))


# --- readers and writers at once ---------------------------------------------------------------------------------

HOLD = """
import duckdb, sys, time
connection = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "ro")
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def hold():
    """Hold a database open in another process, as a notebook does; gives the process."""
    children = []

    def start(database: Path, mode: str) -> subprocess.Popen:
        child = subprocess.Popen([sys.executable, "-c", HOLD, str(database), mode], stdout=subprocess.PIPE, text=True)
        children.append(child)
        assert child.stdout.readline() == "held\n"
        return child

    yield start
    for child in children:
        child.kill()
        child.wait()


def test_a_reader_works_beside_a_reader_and_through_a_rebuild(folder, hold):
    database = built(folder)
    hold(database, "ro")
    assert tables.read(database, "models").height == 2
    put(folder, "verdicts-2.jsonl", [verdict(model="gamma")])
    built(folder)
    assert tables.read(database, "models").height == 3


def test_a_writer_is_named_with_its_process_and_what_to_do(folder, hold):
    database = built(folder)
    child = hold(database, "rw")
    with pytest.raises(DatabaseBusy, match=rf"{database.name}: process {child.pid} holds .*[Cc]lose it"):
        tables.read(database, "models")


def test_a_rebuild_does_not_wait_for_a_writer(folder, hold):
    database = built(folder)
    hold(database, "rw")
    put(folder, "verdicts-2.jsonl", [verdict(model="gamma")])
    built(folder)
    assert tables.read(database, "models").height == 3


def test_an_open_reader_keeps_the_old_database_and_a_new_one_sees_the_new(folder):
    database = built(folder)
    with tables.connect(database) as connection:
        put(folder, "verdicts-2.jsonl", [verdict(model="gamma")])
        built(folder)
        assert connection.sql("select count(*) from models").fetchall() == [(2,)]
        assert tables.read(database, "models").height == 3


@pytest.mark.parametrize("name", ["x.duckdb", 'a\'b "c" [1] #é.duckdb'])
def test_a_database_under_any_name_is_read(folder, tmp_path, name):
    assert tables.read(tables.build(read_folder(folder), tmp_path / name).database, "models").height == 2


def test_no_database_names_the_command_that_builds_it(tmp_path):
    with pytest.raises(DatabaseMissing, match=r"absent\.duckdb: there is no database; `make data`"):
        tables.read(tmp_path / "absent.duckdb", "models")


@pytest.mark.parametrize("junk", [b"", b"junk" * 5000])
def test_a_file_that_is_no_database_says_so(tmp_path, junk):
    with pytest.raises(DatabaseMissing, match=r"x\.duckdb: not a database that this version reads .*`make data`"):
        tables.read(put(tmp_path, "x.duckdb", junk), "models")


def test_a_database_that_is_cut_off_or_not_ours_says_so(folder, tmp_path):
    whole = built(folder).read_bytes()
    with pytest.raises(DatabaseMissing, match="build it again"):
        tables.read(put(tmp_path, "cut.duckdb", whole[: len(whole) // 3]), "models")
    with duckdb.connect(str(tmp_path / "other.duckdb")) as connection:
        connection.execute("create table models as select 1 as model")
    with pytest.raises(DatabaseMissing, match="not a database of this version"):
        tables.read(tmp_path / "other.duckdb", "models")


@pytest.mark.parametrize(
    "statement",
    [
        "select * from read_text('{other}')",
        "attach '{other}' as other",
        "copy models to '{other}.csv'",
        "set enable_external_access = true",
        "set lock_configuration = false",
        "create table extra as select 1",
        "delete from models",
        "install httpfs",
    ],
)
def test_a_connection_reads_this_database_and_does_nothing_else(folder, statement):
    database = built(folder)
    with tables.connect(database) as connection, pytest.raises(duckdb.Error):
        connection.execute(statement.format(other=folder / "verdicts.jsonl"))


def test_queries_print_nothing_and_know_no_local_time(folder, monkeypatch, capfd):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    with tables.connect(built(folder)) as connection:
        settings_ = connection.sql(
            "select current_setting('timezone'), current_setting('enable_progress_bar')"
        ).fetchall()
    assert settings_ == [("UTC", False)]
    assert capfd.readouterr().out == ""


# --- reading -----------------------------------------------------------------------------------------------------


def test_labels_come_as_enums_in_reporting_order_and_ids_as_text(folder):
    counts = relation(folder, "verdict_counts")
    assert counts.schema["tier"] == pl.Enum(TIERS)
    assert counts.schema["variant"] == pl.Enum(VARIANTS)
    assert counts.schema["replicate"] == counts.schema["meets"] == pl.Int32
    assert {counts.schema[name] for name in ("model", "judge", "question_id", "answer_status")} == {pl.String}
    assert relation(folder, "verdicts").schema["verdict"] == pl.Enum(VERDICTS)


def test_relations_are_read_whole_or_in_part(folder):
    database = built(folder)
    assert tables.read(database, "verdicts", columns=["check_id", "model"]).columns == ["check_id", "model"]
    part = tables.read(
        database, "verdicts", where={"model": "alpha", "judge": ["judge-a", "judge-b"], "check_id": "c1"}
    )
    assert part.height == 4
    assert tables.read(database, "verdicts", where={"model": "nobody"}).height == 0
    assert tables.read(database, "verdicts", where={"variant": "video"}).height == 0
    assert tables.read(database, "verdicts", where={"model": "x' or 1=1 --"}).height == 0


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("verdict", {}, "'verdict' is no relation; there are dataset"),
        ("models; drop table models", {}, "is no relation"),
        ("models", {"columns": ["nmae"]}, "models has no column 'nmae'; it has model, name"),
        ("models", {"where": {'model" = "': "x"}}, "models has no column"),
    ],
)
def test_unknown_relations_and_columns_are_errors_that_list_the_known(folder, name, options, words):
    with pytest.raises(UnknownName, match=words):
        tables.read(built(folder), name, **options)


def test_role_counts_add_up_to_the_mart(folder):
    put(
        folder,
        "checks.jsonl",
        [check(question_id=q, check_id=c, role=r) for q in ("q1", "q2") for c, r in (("c1", "fact"), ("c2", None))],
    )
    put(
        folder,
        "answers.jsonl",
        [{"model": "alpha", "question_id": "q1", "answer": " "}, {"model": "beta", "question_id": "q2", "error": "x"}],
    )
    database = built(folder)
    fine = tables.tier_role_counts(database, variant="multimodal", judge="judge-a")
    numbers = [*VERDICTS, "ungraded", "checks"]
    key = ["model", "judge", "variant", "question_id", "replicate", "tier", "answer_status"]
    coarse = tables.read(database, "verdict_counts", where={"judge": "judge-a"})
    assert fine.group_by(key).agg(pl.col(numbers).sum()).sort(key).equals(coarse.select(*key, *numbers).sort(key))
    assert set(fine["role"]) == {"fact", None}


def test_check_verdicts_show_each_verdict_with_its_check(folder):
    found = tables.check_verdicts(built(folder), model="alpha", variant="multimodal")
    assert found.height == 8
    assert set(found["text"]) == {"It is a fern"}
    assert tables.check_verdicts(built(folder), model="nobody", variant="multimodal").height == 0


def test_a_database_describes_itself(folder):
    put(
        folder, "verdicts-2.jsonl", [verdict(), verdict(), verdict(model="Beta", verdict="met"), verdict(check_id="c9")]
    )
    put(folder, "questions.csv", "question_id,question\nq1,What?\nq7,Why?\n")
    put(folder, "notes.txt", "x")
    found = tables.describe(built(folder))
    assert dict(found["dataset"].iter_rows())["unused_files"] == "notes.txt"
    assert dict(found["grid"].iter_rows()) == {
        "models": 3,
        "judges": 2,
        "variants": 1,
        "questions": 3,
        "checks": 4,
        "answers": 0,
        "verdicts": 16,
        "ungraded checks": 1,
    }
    assert found["rejects"].select("field", "values_rejected", "first_row").rows() == [
        ("check_id", 1, 4),
        ("verdict", 1, 3),
    ]
    assert found["duplicates"].rows() == [("repeat", 2, 1)]
    assert found["ungraded"].rows() == [("judge-a", "unknown label", 1, "unknown label: met")]
    assert found["without_checks"]["question_id"].to_list() == ["q7"]
    assert found["lookalikes"].rows() == [("model", "", ["Beta", "beta"])]
    assert found["coverage"].height == 5
    assert found["models"]["verdicts"].to_list() == [0, 8, 8]


# --- gradings -----------------------------------------------------------------------------------------------------


def test_gradings_change_neither_models_nor_judges_and_those_of_unknown_ones_are_listed(folder):
    before = tables.read_all(built(folder), ("models", "judges", "questions"))
    rows = [
        grading(),
        grading(model="nobody"),
        grading(judge="nobody"),
        grading(question_id="q99"),
        grading(model=" "),
        grading(replicate="two"),
        grading(variant="aural"),
    ]
    put(folder, "gradings.jsonl", rows)
    found = tables.read_all(built(folder), ("models", "judges", "questions", "gradings", "rejects"))
    assert all(found[name].equals(frame) for name, frame in before.items())
    assert found["gradings"]["row"].to_list() == [1]
    assert found["rejects"].select("row", "field", "value", "reason").rows() == [
        (2, "model", "nobody", "no verdict and no answer is of this model"),
        (3, "judge", "nobody", "no verdict is of this judge"),
        (4, "question_id", "q99", "there is no such question"),
        (5, "model", None, "blank: every grading needs a model"),
        (6, "replicate", "two", "a whole number from 0 to 9999 is needed"),
        (7, "variant", "aural", "unknown variant: multimodal or text_only is needed"),
    ]


def test_the_last_grading_stands_and_counts_the_others(folder):
    early, late = "2026-07-01T10:30:00+02:00", "2026-07-01T09:15:00Z"
    rows = [
        grading(calls=1, judged_at=late),
        grading(calls=2, judged_at=early),
        grading(calls=1, judged_at=late),
        grading(question_id="q2", calls=3),
        grading(question_id="q2", calls=3),
        grading(question_id="q2", calls=4),
    ]
    put(folder, "gradings.jsonl", rows)
    found = tables.read_all(built(folder), ("gradings", "rejects"))
    assert found["gradings"].select("question_id", "calls", "superseded").rows() == [("q1", 1, 1), ("q2", 3, 0)]
    assert found["rejects"].select("row", "field", "value").rows() == [(6, "question_id", "q2")]


@pytest.mark.parametrize("field", ["calls", "checks_per_call", "input_tokens", "output_tokens"])
@pytest.mark.parametrize("value", ["-1", "1.5", "many", "1e3"])
def test_counts_of_a_grading_are_whole_and_a_grading_is_kept_without_a_misformed_one(folder, field, value):
    put(folder, "gradings.jsonl", [grading(**{field: value}, seconds=1)])
    found = tables.read_all(built(folder), ("gradings", "rejects"))
    assert found["gradings"].select(field, "seconds").rows() == [(None, 1.0)]
    assert found["rejects"].select("field", "value").rows() == [(field, value)]


@pytest.mark.parametrize(
    ("given", "read"),
    [(0, 0.0), (0.0125, 0.0125), (1e-05, 1e-05), ("3", 3.0), ("-0.5", None), ("1,5", None), ("$2", None)],
)
def test_costs_are_decimal_numbers_that_are_not_negative(folder, given, read):
    put(folder, "gradings.jsonl", [grading(cost_usd=given)])
    found = tables.read_all(built(folder), ("gradings", "rejects"))
    assert found["gradings"]["cost_usd"].to_list() == [read]
    assert found["rejects"].height == (read is None)


def test_a_database_tells_what_judging_took(folder):
    put(folder, "gradings.jsonl", [grading(prompt="grade-1", calls=2, cost_usd=0.5), grading(model="beta", cost_usd=1)])
    (row,) = tables.describe(built(folder))["judging"].rows(named=True)
    assert (row["judge"], row["gradings"], row["prompts"], row["calls"], row["cost_usd"]) == (
        "judge-a",
        2,
        "grade-1",
        2,
        1.5,
    )


# --- empty answers and answers that could not be had -------------------------------------------------------------


def test_an_empty_answer_is_all_missing_for_its_judges_and_one_not_had_is_ungraded(tmp_path):
    put(tmp_path, "checks.jsonl", [check(question_id=q) for q in ("q1", "q2", "q3", "q4")])
    put(
        tmp_path,
        "verdicts.jsonl",
        [verdict(), verdict(judge="judge-b", model="beta"), verdict(question_id="q4", verdict=None, error="500")],
    )
    answers = [("q1", "A fern."), ("q2", " \n"), ("q4", "")]
    rows = [{"model": "alpha", "question_id": q, "answer": text} for q, text in answers]
    put(tmp_path, "answers.jsonl", [*rows, {"model": "alpha", "question_id": "q3", "error": "timeout"}])
    counts = relation(tmp_path, "verdict_counts").filter(model="alpha")
    assert counts.select("judge", "question_id", "meets", "missing", "ungraded", "answer_status").rows() == [
        ("judge-a", "q1", 1, 0, 0, "answered"),
        ("judge-a", "q2", 0, 1, 0, "no_response"),
        ("judge-a", "q3", 0, 0, 1, "error"),
        ("judge-a", "q4", 0, 0, 1, "no_response"),  # the judge failed on it: an error, not a missing
    ]
    coverage = relation(tmp_path, "coverage").filter(model="alpha").row(0, named=True)
    assert (coverage["questions_asked"], coverage["questions_graded"]) == (4, 2)
    assert (coverage["no_response"], coverage["answer_errors"]) == (2, 1)


def test_a_model_that_only_gave_empty_answers_is_scored_by_every_judge(tmp_path):
    put(tmp_path, "checks.jsonl", [check()])
    put(tmp_path, "verdicts.jsonl", [verdict(), verdict(judge="judge-b")])
    put(tmp_path, "answers.jsonl", [{"model": "mute", "question_id": "q1", "answer": ""}])
    counts = relation(tmp_path, "verdict_counts").filter(model="mute")
    assert counts.select("judge", "missing").rows() == [("judge-a", 1), ("judge-b", 1)]


# --- a plain count -----------------------------------------------------------------------------------------------

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
delivered_rows = st.lists(
    st.fixed_dictionaries(
        {
            "model": st.sampled_from(["m", "n"]),
            "judge": st.sampled_from(["j", "k"]),
            "question_id": st.sampled_from(["q1", "q2"]),
            "check_id": st.sampled_from(["c1", "c2", "c3"]),
            "replicate": st.sampled_from([None, "0", "1"]),
            "verdict": st.sampled_from([*VERDICTS, "Meets", "met", None]),
            "error": st.sampled_from([None, None, None, "429"]),
            "hours": st.sampled_from([None, 0, 1]),
        }
    ),
    min_size=1,
    max_size=40,
)
RUBRIC = {("q1", "c1"): "answer_critical", ("q1", "c2"): "context", ("q2", "c1"): "valuable", ("q2", "c2"): "valuable"}


def plain_verdict(attempts: list[dict]) -> str | None:
    """What stands of the attempts at one check: the rule, written down once more without SQL."""
    graded = [
        (a["hours"], a["verdict"].lower()) for a in attempts if a["error"] is None and (a["verdict"] or "met") != "met"
    ]
    labels = {label for _, label in graded}
    if len(labels) > 1:
        if any(hours is None for hours, _ in graded):
            return None
        last = max(hours for hours, _ in graded)
        labels = {label for hours, label in graded if hours == last}
    return labels.pop() if len(labels) == 1 else None


@settings(max_examples=20, deadline=None)
@given(delivered_rows)
def test_random_deliveries_are_counted_as_a_plain_count_does(tmp_path_factory, rows):
    assume(any((row["question_id"], row["check_id"]) in RUBRIC for row in rows))
    folder = tmp_path_factory.mktemp("random")
    put(folder, "checks.jsonl", [check(question_id=q, check_id=c, tier=t) for (q, c), t in RUBRIC.items()])
    shown = [
        {**row, "judged_at": None if row["hours"] is None else (NOON + timedelta(hours=row["hours"])).isoformat()}
        for row in rows
    ]
    put(folder, "verdicts.jsonl", shown)
    found = content(built(folder))

    keys: dict[tuple, list[dict]] = {}
    for row in rows:
        if (row["question_id"], row["check_id"]) in RUBRIC:
            key = (row["model"], row["judge"], row["question_id"], row["check_id"], int(row["replicate"] or 0))
            keys.setdefault(key, []).append(row)
    plain = {key: plain_verdict(attempts) for key, attempts in keys.items()}

    names = ["model", "judge", "question_id", "check_id", "replicate"]
    assert {row[:5]: row[5] for row in found["verdicts"].select(*names, "verdict").iter_rows()} == plain
    assert found["verdicts"].height + found["duplicates"].height - conflict_keys(found) == sum(map(len, keys.values()))
    extra = sum((row["question_id"], row["check_id"]) not in RUBRIC for row in rows)
    assert found["coverage"]["checks_extra"].sum() == extra

    tally = Counter((m, j, q, r, RUBRIC[q, c], label) for (m, j, q, c, r), label in plain.items() if label)
    sizes = Counter((q, tier) for (q, _), tier in RUBRIC.items())
    for row in found["verdict_counts"].iter_rows(named=True):
        place = (row["model"], row["judge"], row["question_id"], row["replicate"], row["tier"])
        assert [row[label] for label in VERDICTS] == [tally[(*place, label)] for label in VERDICTS]
        assert row["checks"] == sizes[row["question_id"], row["tier"]]
    assert found["verdict_counts"].select(pl.sum_horizontal(pl.col(VERDICTS).sum())).item() == sum(tally.values())

    pairs = Counter(
        (m, q, j, other, VERDICTS.index(label), VERDICTS.index(plain[m, other, q, c, r]))
        for (m, j, q, c, r), label in plain.items()
        for other in "jk"
        if other != j and label and plain.get((m, other, q, c, r))
    )
    for row in found["judge_pairs"].iter_rows(named=True):
        place = (row["model"], row["question_id"], row["judge_a"], row["judge_b"])
        for a in range(4):
            for b in range(4):
                assert row[f"n_{a}{b}"] == pairs.pop((*place, a, b), 0)
    assert not pairs


def conflict_keys(found: dict[str, pl.DataFrame]) -> int:
    """Keys in conflict: all of their verdicts are duplicates, and one row stands for them."""
    return found["verdicts"].filter(ungraded_reason="conflict").height
