"""Two models against each other: expectations worked by hand on the least data, the same on rich data, odd names."""

import polars as pl
import pytest
import vl_convert

from gamut_analysis import datasets, report
from gamut_analysis.chapters import common, compare, start
from gamut_analysis.charts import dots
from gamut_analysis.display import Figure, Table
from gamut_analysis.errors import UnknownName
from gamut_analysis.study import Study

HOSTILE = ['a{b}"', "</script>**c**\nd"]


@pytest.fixture(scope="module")
def bare(bare_database):
    return Study(bare_database, "alpha")


@pytest.fixture(scope="module")
def small(small_database):
    return Study(small_database, "gpt-4o")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile") / "hostile"
    folder.mkdir()
    rows = [
        {"model": model, "judge": "{j}", "question_id": f"q{q}", "check_id": "c", "verdict": verdict}
        for model, verdict in zip(HOSTILE, ("meets", "missing"), strict=True)
        for q in range(3)
    ]
    pl.DataFrame(rows).write_csv(folder / "verdicts.csv")
    return datasets.build(folder, folder.parent / "hostile.duckdb").database


def test_two_models_are_compared_on_what_both_have(bare):
    # On q1 and q2: alpha -1/3, beta -2/3, so alpha minus beta is 1/3.
    rows = compare.comparison(bare, "beta")
    first = rows.row(0, named=True)
    assert (first["figure"], first["part"], first["n"]) == ("Score", "all", 2)
    assert first["estimate"] == pytest.approx(1 / 3)
    shown = compare.questions(bare, "beta")
    assert shown["question_id"].to_list() == ["q1", "q2"]
    assert shown["difference"].to_list() == pytest.approx([1 / 3, 1 / 3])


def test_verdicts_are_crossed_on_the_checks_that_both_have(bare):
    # q1 and q2 have two checks each: c1 is met by alpha and missing from beta, c2 is contradicted by both.
    crossed = compare.crossed(bare, "beta")
    assert crossed.select("verdict_a", "verdict_b", "checks").rows() == [
        ("meets", "missing", 2),
        ("contradicts", "contradicts", 2),
    ]
    told = str(compare.verdicts_text(bare, "beta", crossed))
    assert told == (
        "On 50.0 % of the checks alpha meets what beta does not meet in full, on 0.0 % it is the other way round; "
        "0.0 % are missing from both answers."
    )


def test_questions_are_listed_on_the_side_where_there_are_any(bare):
    shown = compare.questions(bare, "beta")
    ahead = compare.questions_of(bare, "beta", shown, ahead=True)
    assert isinstance(ahead, Table)
    assert ahead.frame.height == 2
    behind = compare.questions_of(bare, "beta", shown, ahead=False)
    assert str(behind) == "There is no question on which the first is behind the second."


def test_the_headline_says_one_of_three_things_and_turned_round_its_opposite(small):
    words = set()
    for model, other in (("gemini-3.1-pro", "llama-3.2-11b"), ("llama-3.2-11b", "gemini-3.1-pro")):
        study, other = compare.two(Study(small.path, model), other)
        words.add(str(compare.headline(study, other, compare.comparison(study, other))).split(". ")[0])
    assert words == {"Gemini 3.1 Pro is ahead of Llama 3.2 11B", "Llama 3.2 11B is behind Gemini 3.1 Pro"}


def test_the_ends_are_the_largest_differences(small):
    other = "gemini-3.1-pro"
    shown = compare.questions(small, other)
    ends = [compare.questions_of(small, other, shown, ahead=ahead).frame["difference"] for ahead in (True, False)]
    assert [ends[0][0], ends[1][0]] == [shown["difference"].max(), shown["difference"].min()]
    assert max(map(len, ends)) <= compare.QUESTIONS


def test_models_that_are_not_named_are_the_best_that_are_left(small, bare):
    study, other = compare.two(Study(small.path), "")
    best = compare.board(study)["model"].to_list()[:2]
    assert [study.model, other] == best
    assert compare.two(Study(small.path, best[0]), "")[1] == best[1]
    assert compare.two(Study(small.path), best[0])[0].model == best[1]
    assert compare.two(Study(bare.path), "")[1] == "beta"


def test_unknown_and_repeated_models_are_refused(small):
    with pytest.raises(UnknownName, match=r"no model 'gpt-4oo'.*the nearest: gpt-4o"):
        compare.two(small, "gpt-4oo")
    with pytest.raises(UnknownName, match="not with itself"):
        compare.two(small, "gpt-4o")


def test_a_model_alone_has_nothing_to_be_compared_with(bare):
    rows = compare.comparison(bare, "")
    assert "one model only" in str(compare.headline(bare, "", rows))
    assert compare.compare_table(bare, "", rows).frame["n"].to_list() == [0, 0, 0, 0]
    assert "no check" in str(compare.verdict_grid(bare, "", compare.crossed(bare, "")))


def test_hostile_names_stand_as_they_are(hostile, tmp_path, monkeypatch):
    monkeypatch.setenv("GAMUT_HOME", str(tmp_path))
    study, other = compare.two(Study(hostile), "")
    rows = compare.comparison(study, other)
    assert rows["estimate"][0] == pytest.approx(1.0)
    assert HOSTILE[0] in str(compare.headline(study, other, rows))
    for shown in (
        compare.difference_dots(study, other, rows),
        compare.verdict_grid(study, other, compare.crossed(study, other)),
    ):
        assert isinstance(shown, Figure)
        assert "<path" in vl_convert.vegalite_to_svg(shown.chart.to_dict())


def test_a_comparison_is_written_as_a_page(bare, tmp_path, monkeypatch):
    monkeypatch.setattr(report.paths, "reports", lambda: tmp_path)
    written = report.compare_report(bare, "beta", label="alpha--vs--beta")
    assert written == tmp_path / "alpha--vs--beta" / "alpha--vs--beta.html"
    assert "alpha and beta" in written.read_text(encoding="utf-8")
    assert (written.parent / "numbers.json").is_file()


def test_a_difference_without_a_test_is_drawn_hollow_and_one_without_interval_is_drawn_too():
    rows = pl.DataFrame(
        {
            "figure": ["Score", "模型", "c[d]"],
            "estimate": [0.1, -0.1, 0.2],
            "low": [0.05, -0.2, None],
            "high": [0.15, 0.0, None],
            "n": [9, 9, 1],
            "verdict": ["ahead", "not told apart", None],
        }
    )
    svg = vl_convert.vegalite_to_svg(dots.around_zero(rows, part="figure", title="Difference, points").to_dict())
    assert all(name in svg for name in ("模型", "c[d]", "+10.0"))


def test_every_page_names_the_command_that_makes_it_again(bare_database):
    study, rest = Study(bare_database, "alpha"), "JUDGE=a VARIANT=multimodal SEED=0 DATA=bare.duckdb"
    assert common.again(study).values == {"command": f"make report MODEL=alpha {rest}"}
    assert common.again(study, "be'ta").values == {"command": f"make compare A=alpha 'B=be'\"'\"'ta' {rest}"}
    assert common.again(Study(bare_database)).values == {"command": f"make figures {rest}"}


def test_the_start_names_the_command_of_a_report(small, bare_database):
    assert "MODEL=gpt-4o" in str(start.report_command(small, pl.DataFrame()))
    study = Study(bare_database)
    assert "MODEL=alpha" in str(start.report_command(study, pl.DataFrame({"model": ["alpha", "beta"]})))


def test_where_two_models_are_told_apart_is_said_beside_what_chance_would_do():
    rows = [
        ("Score", "all", 0.1, "ahead"),
        ("Valuable", "tier", 0.1, "ahead"),
        ("Food", "domain", -0.2, "not told apart"),
    ]
    comparison = pl.DataFrame(rows, schema=["figure", "part", "estimate", "verdict"], orient="row").with_columns(
        low=pl.col("estimate") - 0.05, high=pl.col("estimate") + 0.05
    )
    told = str(compare.differences_text(comparison))
    assert told == (
        "The two are told apart on 1 of 2 tiers and domains (Valuable); about 0.1 of so many would be by chance alone. "
        "The widest gap is on Food: −20.0 (−25.0 to −15.0) points."
    )
    level = comparison.with_columns(verdict=pl.lit("not told apart"))
    assert str(compare.differences_text(level)).startswith("On none of 2 tiers and domains are the two told apart.")


@pytest.mark.parametrize(
    ("p", "told"),
    [
        # Holm: 3 x 0.01 = 0.03, then 2 x 0.04 = 0.08; and 3 x 0.03 = 0.09.
        ([0.01, 0.04, 0.5], "the tests still tell the two apart on 1 of these 3 rows."),
        ([0.03, 0.04, 0.5], "the tests tell the two apart on none of these 3 rows."),
    ],
)
def test_rows_are_corrected_for_one_another(p, told):
    rows = pl.DataFrame({"p": [*p, None], "verdict": ["ahead", "ahead", "not told apart", None]})
    assert str(compare.comparison_text(rows)).endswith(told)
    assert compare.comparison_text(rows.head(1)) is None


@pytest.mark.parametrize(
    ("rest", "told"),
    [
        # Ten questions at +50 and two of the rest: (500 - 20) / 12 = 40, and without the ten −10; or +10.
        (-0.1, "the difference would be −10.0 points instead of +40.0: it does not stay on its side of zero."),
        (0.1, "the difference would be +10.0 points instead of +43.3: it stays on its side of zero."),
    ],
)
def test_what_is_left_without_the_questions_at_an_end(rest, told):
    gaps = pl.DataFrame(
        {"question_id": [f"q{place:02d}" for place in range(12)], "difference": [0.5] * 10 + [rest] * 2}
    )
    said = compare.without_text(gaps, ahead=True)
    assert said.values["end"] == compare.QUESTIONS
    assert str(said).endswith(told)
    assert compare.without_text(gaps.filter(pl.col("difference") > 0), ahead=False) is None


def test_a_difference_of_so_few_questions_has_no_interval(bare):
    rows = compare.comparison(bare, "beta")
    assert rows.row(0, named=True)["low"] is None
    assert str(compare.headline(bare, "beta", rows)) == (
        "alpha against beta: the difference is +33.3 (–) points on the 2 questions that both have; fewer than 6 "
        "questions or images are too few to compare."
    )
