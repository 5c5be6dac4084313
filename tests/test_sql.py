"""The SQL files: one bare select each, a grain on the first line, keys and identities that hold on awkward data."""

import re
from pathlib import Path

import polars as pl
import pytest
from delivered import built, check, grading, put, verdict

from gamut_analysis import paths, tables
from gamut_analysis.vocabulary import TIERS, VERDICTS

FILES = sorted(paths.SQL.glob("*/*.sql"))


def statements(text: str) -> str:
    """The file without its comments."""
    return re.sub(r"--.*", "", text).strip()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_first_line_states_the_grain(path):
    assert path.read_text(encoding="utf-8").startswith("-- Grain: one row")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_is_one_bare_select_in_lower_case_that_ends_in_its_last_block(path):
    text = re.sub(r"'[^']*'", "''", statements(path.read_text(encoding="utf-8")))
    assert ";" not in text
    assert text.startswith(("with ", "select"))
    assert not re.search(r"\b(SELECT|FROM|WHERE|JOIN|GROUP|WITH|CASE|AND)\b", text)
    blocks = re.findall(r"^(?:with )?(\w+) as (?:materialized )?\($", text, flags=re.MULTILINE)
    if blocks:
        last = text[text.rindex("\n)\n") + 3 :]
        assert re.findall(r"\bfrom (\w+)", last) == [blocks[-1]]


def test_every_file_is_used_and_every_relation_has_one():
    stems = {
        folder: {path.stem for path in FILES if path.parent.name == folder} for folder in ("staging", "core", "marts")
    }
    assert stems == {"staging": set(tables.STAGING), "core": set(tables.CORE), "marts": set(tables.MARTS)}
    assert {path.stem for path in FILES if path.parent.name == "describe"} == set(tables._DESCRIBED)
    assert set(tables.KEYS) < set(tables.RELATIONS)


def test_sql_knows_no_constant_of_the_score():
    text = " ".join(statements(path.read_text(encoding="utf-8")) for path in FILES)
    assert not re.search(r"\b0\.[0-9]|\blambda\b(?! \w+:)|\bmu\b|\bweight\b", text.replace("lambda word:", ""))


@pytest.fixture(scope="module")
def awkward(tmp_path_factory) -> dict[str, pl.DataFrame]:
    """Everything that can go wrong at once: repeats, conflicts, failures, extras, gaps, empty answers, replicates."""
    folder = tmp_path_factory.mktemp("awkward")
    points = [
        ("q1", "c1", "answer_critical"),
        ("q1", "c2", "context"),
        ("q2", "c1", "valuable"),
        ("q4", "c1", "valuable"),
    ]
    put(folder, "checks.jsonl", [check(question_id=q, check_id=c, tier=t) for q, c, t in points])
    rows = [
        verdict(
            model=m,
            judge=j,
            question_id=q,
            check_id=c,
            verdict=VERDICTS[(len(m) + len(j) + i) % 4],
            replicate=r,
            variant=v,
        )
        for m in ("alpha", "be")
        for j in ("judge-a", "jb", "jud")
        for i, (q, c, _) in enumerate(points[:3])
        for r in (0, 1)
        for v in ("multimodal", "text_only")
    ]
    rows += [
        verdict(),
        verdict(verdict="missing"),
        verdict(check_id="c9"),
        verdict(question_id="q9"),
        verdict(model="new", verdict="met"),
    ]
    rows += [verdict(judge="jb", check_id="c2", verdict=None, error="429"), verdict(model="")]
    put(folder, "verdicts.jsonl", rows)
    answers = [
        ("alpha", "q4", "", None),
        ("be", "q1", None, "timeout"),
        ("be", "q2", "  ", None),
        ("mute", "q1", "", None),
    ]
    put(
        folder,
        "answers.jsonl",
        [{"model": m, "question_id": q, "variant": "multimodal", "answer": a, "error": e} for m, q, a, e in answers],
    )
    put(
        folder,
        "questions.jsonl",
        [{"question_id": q, "question": f"What is {q}?", "domain": "food"} for q in ("q1", "q2", "q3")],
    )
    gradings = [
        grading(model=m, question_id=q, replicate=r, cost_usd=c)
        for m in ("alpha", "be", "nobody")
        for q in ("q1", "q2", "q9")
        for r in (0, 1)
        for c in (0.5, None)
    ]
    put(folder, "gradings.jsonl", gradings)
    return tables.read_all(built(folder), tables.RELATIONS)


@pytest.mark.parametrize("relation", tables.KEYS)
def test_keys_are_unique_and_never_null(awkward, relation):
    key = awkward[relation].select(tables.KEYS[relation])
    assert key.is_unique().all()
    assert key.null_count().sum_horizontal().item() == 0


@pytest.mark.parametrize("relation", [name for name in tables.KEYS if name not in ("checks", "items", "sources")])
def test_relations_are_in_the_order_of_their_key(awkward, relation):
    key = awkward[relation].select(tables.KEYS[relation])
    assert key.equals(key.sort(key.columns))


def test_counts_add_up_to_the_checks_of_the_rubric(awkward):
    counts = awkward["verdict_counts"]
    assert counts.select(pl.sum_horizontal(*VERDICTS, "ungraded") == pl.col("checks")).to_series().all()
    assert (counts["ungraded"] >= 0).all()
    rubric = awkward["checks"].group_by("variant", "question_id", "tier").agg(pl.len().cast(pl.Int32).alias("size"))
    joined = counts.join(rubric, on=["variant", "question_id", "tier"], how="left")
    assert (joined["checks"] == joined["size"]).all()


def test_every_tier_of_an_answer_is_there(awkward):
    rubric = awkward["checks"].group_by("variant", "question_id").agg(pl.col("tier").n_unique().alias("tiers"))
    answer = ["model", "judge", "variant", "question_id", "replicate"]
    seen = awkward["verdict_counts"].group_by(answer).agg(pl.len().alias("rows"))
    joined = seen.join(rubric, on=["variant", "question_id"])
    assert joined.height == seen.height
    assert (joined["rows"] == joined["tiers"]).all()


def test_counts_of_answered_questions_are_those_of_the_verdicts(awkward):
    key = ["model", "judge", "variant", "question_id", "replicate"]
    told = awkward["verdict_counts"].filter(~pl.col("answer_status").is_in(["no_response", "error"]))
    told = told.group_by(key).agg(pl.col(VERDICTS).sum())
    names = [(pl.col("verdict") == label).sum().alias(label) for label in VERDICTS]
    plain = awkward["verdicts"].group_by(key).agg(names).join(told.select(key), on=key, how="semi")
    assert told.sort(key).select(VERDICTS).sum().equals(plain.sort(key).select(VERDICTS).sum().cast(pl.Int32))


def test_pairs_mirror_each_other_and_count_what_both_judges_graded(awkward):
    pairs = awkward["judge_pairs"]
    cells = [f"n_{a}{b}" for a in range(4) for b in range(4)]
    mirrored = pairs.rename(
        {"judge_a": "judge_b", "judge_b": "judge_a"} | {f"n_{a}{b}": f"n_{b}{a}" for a in range(4) for b in range(4)}
    )
    key = ["model", "variant", "question_id", "judge_a", "judge_b"]
    assert pairs.sort(key).equals(mirrored.select(pairs.columns).sort(key))
    graded = awkward["verdicts"].drop_nulls("verdict")
    check_key = ["model", "variant", "question_id", "check_id", "replicate"]
    both = graded.join(graded, on=check_key).filter(pl.col("judge") != pl.col("judge_right")).height
    assert pairs.select(pl.sum_horizontal(pl.col(cells).sum())).item() == both


def test_coverage_accounts_for_every_check_asked(awkward):
    coverage = awkward["coverage"]
    parts = pl.sum_horizontal("checks_graded", "checks_ungraded", "checks_not_judged")
    assert coverage.select(parts == pl.col("checks_asked")).to_series().all()
    assert (coverage["questions_graded"] <= coverage["questions_seen"]).all()
    assert (coverage["questions_seen"] <= coverage["questions_asked"]).all()
    assert coverage["checks_graded"].sum() == awkward["verdicts"]["verdict"].drop_nulls().len()
    assert (
        coverage["checks_extra"].sum()
        == awkward["rejects"].filter(reason="extra: the rubric of this question has no such check").height
    )
    kinds = dict(awkward["duplicates"]["kind"].value_counts().iter_rows())
    for column, kind in {
        "repeats": "repeat",
        "conflicting": "conflict",
        "failed_attempts": "failed_attempt",
        "superseded": "superseded",
    }.items():
        assert coverage[column].sum() == kinds.get(kind, 0)


def test_rubric_profile_counts_each_check_once_by_tier(awkward):
    profile = awkward["rubric_profile"]
    assert profile.select(pl.sum_horizontal(f"{tier}_checks" for tier in TIERS) == pl.col("checks")).to_series().all()
    assert profile["checks"].sum() == awkward["checks"].height


def test_roles_and_item_types_are_profiled_by_their_words(tmp_path):
    rows = [
        check(role="fact", item_id="i1", item_type="simple_knowledge", is_identification=True),
        check(check_id="c2", role="step", item_id="i2", item_type="process"),
        check(check_id="c3", role="sequence", item_id="i2", item_type="process"),
    ]
    put(tmp_path, "checks.jsonl", rows)
    row = tables.read(built(tmp_path), "rubric_profile").row(0, named=True)
    assert (row["fact_checks"], row["step_checks"], row["sequence_checks"], row["bonus_checks"]) == (1, 1, 1, 0)
    assert (row["simple_knowledge_items"], row["process_items"], row["identification_checks"]) == (1, 1, 1)


def test_every_delivered_grading_stands_or_is_listed(awkward):
    listed = awkward["rejects"].filter(pl.col("file") == "gradings.jsonl")["row"].n_unique()
    kept = awkward["gradings"].height
    assert (kept, listed) == (8, 36 - 8)
    assert awkward["judging"]["gradings"].sum() == kept


def test_what_judging_took_is_summed_over_the_gradings_that_tell(tmp_path):
    put(tmp_path, "verdicts.jsonl", [verdict(model=m, question_id=q) for m in ("alpha", "be") for q in ("q1", "q2")])
    rows = [
        grading(prompt="grade-1", prompt_hash="a", checks_per_call=0, calls=2, input_tokens=100, cost_usd=0.25),
        grading(question_id="q2", prompt="grade-2", checks_per_call=5, calls=3, input_tokens=50, output_tokens=7),
        grading(model="be", seconds=1.5, judged_at="2026-07-01T09:00:00Z", run_status="success"),
        grading(model="be", question_id="q2", seconds=2, judged_at="2026-07-01T08:00:00Z", run_status="started"),
    ]
    put(tmp_path, "gradings.jsonl", rows)
    alpha, be = tables.read(built(tmp_path), "judging").rows(named=True)
    assert (alpha["gradings"], alpha["calls"], alpha["input_tokens"], alpha["output_tokens"]) == (2, 5, 150, 7)
    assert (alpha["cost_usd"], alpha["with_cost"], alpha["with_tokens"], alpha["seconds"]) == (0.25, 1, 2, None)
    assert (alpha["prompts"], alpha["prompt_hashes"], alpha["checks_per_call"]) == (
        ["grade-1", "grade-2"],
        ["a"],
        [0, 5],
    )
    assert (be["calls"], be["input_tokens"], be["cost_usd"], be["with_cost"], be["seconds"]) == (
        None,
        None,
        None,
        0,
        3.5,
    )
    assert (be["runs_finished"], be["runs_cancelled"], be["runs_failed"], be["prompts"]) == (1, 0, 1, None)
    assert (be["first_at"].hour, be["last_at"].hour) == (8, 9)


@pytest.mark.parametrize(
    ("question", "words", "opening", "asks"),
    [
        ("What is this?", 3, "what is this", True),
        ("  Where’s the   nearest café — open now?", 6, "where’s the nearest", True),
        ("Tell me: how old?", 4, "tell me how", False),
        ("Don't I know it?", 4, "don't i know", True),
        ("これは何ですか", 1, "これは何ですか", False),
        ("?!", 0, "", False),
    ],
)
def test_words_and_openings_of_questions(tmp_path, question, words, opening, asks):
    put(tmp_path, "questions.jsonl", [{"question_id": "q1", "question": question}])
    put(tmp_path, "checks.jsonl", [check()])
    row = tables.read(built(tmp_path), "question_words").row(0, named=True)
    assert (row["words"], row["first_three_words"], row["opens_with_interrogative"]) == (words, opening, asks)
    assert row["has_question_mark"] == ("?" in question)
    assert row["characters"] == len(question.strip())


def test_gradings_of_two_judges_are_paired_by_their_number(tmp_path):
    put(tmp_path, "checks.jsonl", [check()])
    # Judge A: meets, missing, missing; judge B: missing once. Only the first gradings face each other.
    often = [verdict(verdict=VERDICTS[code], replicate=at) for at, code in enumerate((0, 2, 2))]
    put(tmp_path, "verdicts.jsonl", [*often, verdict(judge="judge-b", verdict="missing")])
    pairs = tables.read(built(tmp_path), "judge_pairs", where={"judge_a": "judge-a"})
    given = pairs.select("^n_..$").row(0, named=True)
    assert {name: checks for name, checks in given.items() if checks} == {"n_02": 1}


def test_the_folder_of_sql_holds_nothing_else():
    others = [path for path in Path(paths.SQL).rglob("*") if path.is_file() and path.suffix != ".sql"]
    assert others == []
