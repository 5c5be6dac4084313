"""The parts of a page that a reader works with: what they hold, and that browser and Python agree."""

import json
import math
import re
import shutil
from dataclasses import replace
from html import unescape

import polars as pl
import pytest
from delivered import built
from nbformat.v4 import new_code_cell, new_notebook, new_output
from tabs import chromium, needs_browser, tabs

from gamut_analysis import page, sensitivity, variance
from gamut_analysis.chapters import common, enough, questions, sensitivities
from gamut_analysis.charts import dots, theme
from gamut_analysis.charts.links import linked
from gamut_analysis.display import NUMBERS, Figure, Table, format_points, to_csv
from gamut_analysis.errors import NotebookError
from gamut_analysis.live import LIVE
from gamut_analysis.live.explorer import Explorer
from gamut_analysis.live.lab import framed
from gamut_analysis.ranking import minimum_detectable_effect, questions_needed
from gamut_analysis.study import Study
from gamut_analysis.vocabulary import ROLES, TIERS, VERDICTS

HOSTILE = '</script><script>window.PWNED=1</script><img src=x onerror="window.PWNED=1">'
JUDGES = {"own": "Judge One", "other": f"Judge {HOSTILE}"}
# question, check, tier, role, item, cost, the verdicts of both judges. q-worst scores -0.2, q-best 0.7.
CHECKS = [
    ("q-worst", "c1", "answer_critical", "fact", "name", 0.9, "contradicts", "missing"),
    ("q-worst", "c2", "valuable", "bonus", "signs", 0.3, "missing", "missing"),
    ("q-best", "c1", "answer_critical", "fact", "name", 0.0, "meets", "meets"),
    ("q-best", "c2", "answer_critical", "step", "steps", 0.0, "meets", "partially_meets"),
    ("q-best", "c3", "context", "bonus", "signs", 0.3, "missing", None),
    ("q-none", "c1", "answer_critical", "fact", "name", None, None, "meets"),
]


def explorer(**changes):
    names = ["question_id", "check_id", "tier", "role", "item_id", "cost", "own", "other"]
    rows = pl.DataFrame(CHECKS, schema=names, orient="row").with_columns(
        pl.col("tier").cast(pl.Enum(TIERS)), pl.col("role").cast(pl.Enum(ROLES))
    )
    said = [
        rows.select(
            pl.lit(judge).alias("judge"),
            pl.lit(0, dtype=pl.Int32).alias("replicate"),
            "question_id",
            "check_id",
            pl.col(judge).cast(pl.Enum(VERDICTS)).alias("verdict"),
            note=pl.when(pl.col("check_id") == "c1").then(pl.lit(f"{judge} says {HOSTILE}")),
        )
        for judge in JUDGES
    ]
    parts = {
        "name": "questions",
        "questions": pl.DataFrame(
            {
                "question_id": ["q-worst", "q-best", "q-none"],
                "question": ["What is this fern?", f"Where does {HOSTILE} grow?", None],
                "domain": ["Plants", "Animals", "Plants"],
                "score": [-0.2, 0.7, None],
                "reason": [None, None, "0 of 1 checks graded"],
                "answer": [f"A fern. {HOSTILE}", None, "Moss"],
            }
        ),
        "checks": rows.select(
            "question_id",
            "check_id",
            pl.format("Names {} of {}", "item_id", "question_id").alias("text"),
            "tier",
            "role",
            "item_id",
            pl.lit(None, dtype=pl.Enum(["simple_knowledge"])).alias("item_type"),
            pl.format("The {}", "item_id").alias("item"),
            "cost",
        ),
        "said": pl.concat(said),
        "judges": JUDGES,
    }
    return Explorer(**(parts | changes))


def html(part):
    data, about = part._repr_mimebundle_()
    output = new_output("display_data", data=data, metadata=about)
    return page.to_html(new_notebook(cells=[new_code_cell("part", outputs=[output])]), title="T")


# What they hold


def test_verdicts_are_a_character_a_check_and_texts_stand_once():
    data = explorer().data()
    assert data["said"] == ["32" + "002" + ".", "22" + "01." + "0"]
    assert data["checks"]["size"] == [2, 3, 1]
    assert data["checks"]["group"] == [0, 1, 0, 1, 2, 0]
    assert data["items"]["size"] == [2, 3, 1]
    assert len(data["book"]) == len(set(data["book"]))
    assert [data["book"][place] for place in data["checks"]["cost"]] == [row[5] for row in CHECKS]
    assert data["kept"] == {"texts": 3, "notes": 3}


def test_gradings_of_one_judge_stand_side_by_side_with_their_numbers():
    said = explorer().said
    twice = pl.concat([said, said.filter(judge="own").with_columns(replicate=pl.lit(1, dtype=pl.Int32))])
    twice = explorer(said=twice)
    assert twice.rater_names == ["Judge One · 1", "Judge One · 2", f"{JUDGES['other']} · 1"]
    assert len(twice.data()["said"]) == 3


def test_texts_that_do_not_fit_are_kept_for_the_costliest_questions():
    whole = sum(len(str(value)) for value in ("What is this fern?", HOSTILE, "0 of 1 checks graded")) + 200
    data = explorer(budget=whole).data()
    assert 0 < data["kept"]["texts"] < 3
    assert data["kept"]["notes"] == 0
    assert data["questions"]["answer"] == []
    assert [notes["at"] for notes in data["notes"]] == [[], []]
    # Verdicts and costs are always whole.
    assert len(data["said"][0]) == len(CHECKS)


def test_without_scripts_the_costliest_are_written_out_and_nothing_is_markup():
    shown = explorer()._repr_mimebundle_()[0]["text/html"]
    assert "<script" not in shown
    assert "<img" not in shown
    assert shown.count("<details>") == 3 + 2  # three questions, two of them with an answer
    assert "No score: 0 of 1 checks graded." in shown
    assert "own says &lt;/script&gt;" in shown


def test_the_numbers_of_the_explorer_are_the_scores_of_all_questions():
    rows = explorer()._repr_mimebundle_()[0][NUMBERS]["rows"]
    assert [row["score"] for row in rows] == [-0.2, 0.7, None]


def test_a_page_takes_only_parts_that_it_knows_and_their_scripts_only_with_them():
    shown = html(explorer())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', shown)[1]
    assert policy.count("sha256-") == 2
    assert "components.sliders" not in shown
    output = new_output("display_data", data={LIVE: {"component": "../page", "name": "x", "data": {}}, "text/html": ""})
    with pytest.raises(NotebookError, match="no such part"):
        page.to_html(new_notebook(cells=[new_code_cell("x", outputs=[output])]), title="T")


# In a browser: the explorer


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture
def opened(browser, tmp_path):
    with tabs(browser, tmp_path) as open_page:
        yield open_page


def listed(tab):
    return tab.evaluate("[...document.querySelectorAll('.gamut-opened > details')].map((one) => one.dataset.question)")


def choice(tab, label):
    return tab.get_by_role("combobox", name=label, exact=True)


def options(tab, label):
    return choice(tab, label).locator("option").all_inner_texts()


def unfold(tab, keyboard=False):
    """Open every question that is listed, and wait until each is filled."""
    for summary in tab.locator(".gamut-opened > details > summary").all():
        if keyboard:
            summary.focus()
            tab.keyboard.press("Enter")
        else:
            summary.click()
    tab.wait_for_function(
        "() => [...document.querySelectorAll('.gamut-opened > details')].every((one) => one.children.length > 1)"
    )


@needs_browser
def test_every_question_is_listed_the_costliest_first_those_without_a_score_last(opened):
    tab = opened(html(explorer()))
    assert listed(tab) == ["q-worst", "q-best", "q-none"]
    assert tab.get_by_role("status").inner_text() == "3 of 3 questions · most points lost first"
    choice(tab, "Order").select_option("high")
    assert listed(tab) == ["q-best", "q-worst", "q-none"]
    choice(tab, "Order").select_option("name")
    assert listed(tab) == ["q-best", "q-none", "q-worst"]


@needs_browser
def test_filters_meet_in_one_check_and_each_says_what_the_others_leave_it(opened):
    tab = opened(html(explorer()))
    assert options(tab, "Domain") == ["All domains", "Animals (1)", "Plants (2)"]
    assert options(tab, "Verdict") == [
        "All verdicts",
        "Meets (1)",
        "Missing (2)",
        "Contradicts (1)",
        "Not graded (1)",
        "The judges differ (2)",
    ]
    choice(tab, "Verdict").select_option(label="Missing (2)")
    # q-worst loses 0.3 to its missing check, q-best as much: the costlier question stays first.
    assert listed(tab) == ["q-worst", "q-best"]
    assert tab.get_by_role("status").inner_text() == ("2 of 3 questions · 2 checks match · most points lost first")
    assert "1 of 2 checks, which cost 30.0 points" in tab.locator("summary").first.inner_text()
    # The missing checks are of Valuable and of Context: no Answer-Critical check is missing anywhere.
    assert options(tab, "Tier") == ["All tiers", "Answer-Critical (0)", "Valuable (1)", "Context (1)"]
    choice(tab, "Tier").select_option(label="Context (1)")
    assert listed(tab) == ["q-best"]
    choice(tab, "Domain").select_option(label="Plants (0)")
    assert listed(tab) == []
    tab.get_by_role("button", name="Clear").click()
    assert len(listed(tab)) == 3
    choice(tab, "Verdict").select_option("differ")
    assert listed(tab) == ["q-worst", "q-best"]


@needs_browser
def test_a_domain_picked_in_a_chart_is_the_domain_of_the_list(opened):
    scores = pl.DataFrame({"domain": ["Plants", "Animals"], "own": [0.1, 0.2], "low": 0.0, "high": 0.3, "n": 9})
    scores = scores.with_columns(median=pl.lit(0.2), difference=pl.col("own") - 0.2, is_small=False)
    chart = linked(dots.against_field(scores, part="domain", title="Points"), domain="domain")
    bundles = [part._repr_mimebundle_() for part in (Figure("parts", chart, "", "Parts"), explorer())]
    outputs = [new_output("display_data", data=data, metadata=about) for data, about in bundles]
    tab = opened(page.to_html(new_notebook(cells=[new_code_cell("parts", outputs=outputs)]), title="T"))
    choice(tab, "Highlight a domain").select_option(label="Plants")
    assert listed(tab) == ["q-worst", "q-none"]
    assert choice(tab, "Domain").locator("option:checked").inner_text() == "Plants (2)"
    tab.keyboard.press("Escape")
    assert len(listed(tab)) == 3


@needs_browser
def test_words_are_found_in_questions_checks_reasons_and_answers(opened):
    tab = opened(html(explorer()))
    for words, found in {
        "FERN": ["q-worst"],
        "names steps": ["q-best"],
        "other says": ["q-worst", "q-best", "q-none"],
        "moss": ["q-none"],
    }.items():
        tab.get_by_role("searchbox", name="Search").fill(words)
        tab.wait_for_function(
            "(wanted) => [...document.querySelectorAll('.gamut-opened > details')]"
            ".map((one) => one.dataset.question).join() === wanted",
            arg=",".join(found),
        )


@needs_browser
def test_an_opened_question_shows_its_rubric_with_each_judges_verdict_reason_and_the_answer(opened):
    tab = opened(html(explorer()))
    unfold(tab, keyboard=True)
    question = tab.locator('[data-question="q-worst"]')
    rows = question.get_by_role("row").all_inner_texts()
    assert [row.split("\n")[0].strip() for row in rows] == [
        "Check\tJudge One\tJudge " + HOSTILE,
        "The name",
        "Names name of q-worst",
        "The signs",
        "Names signs of q-worst",
    ]
    assert "costs 90.0 points" in rows[2]
    assert "Contradicts" in rows[2]
    assert f"own says {HOSTILE}" in rows[2]
    assert "Answer-Critical 90.0, Valuable 30.0" in question.inner_text()
    question.get_by_text("The answer").click()
    assert question.locator(".answer").inner_text() == f"A fern. {HOSTILE}"
    assert tab.evaluate("window.PWNED") is None
    assert tab.locator("main img, main script:not([type])").count() == 0


@needs_browser
def test_checks_that_match_are_marked_and_what_was_open_stays_open(opened):
    tab = opened(html(explorer()))
    unfold(tab)
    choice(tab, "Verdict").select_option("2")
    marked = tab.locator('[data-question="q-worst"] tr.match')
    assert marked.count() == 1
    assert "Names signs" in marked.inner_text()


@needs_browser
def test_what_was_left_out_is_said_where_it_lacks(opened):
    tab = opened(html(explorer(budget=0)))
    unfold(tab)
    assert "texts of its checks are left out" in tab.locator('[data-question="q-worst"]').inner_text()
    assert tab.locator('[data-question="q-worst"] .verdict').count() == 4


@needs_browser
@pytest.mark.parametrize("width", [420, 1280])
def test_an_opened_question_fits_its_window(opened, width):
    tab = opened(html(explorer()), width=width)
    unfold(tab)
    assert tab.evaluate("document.documentElement.scrollWidth") == width


@needs_browser
def test_a_long_list_is_shown_in_pieces(opened):
    asked = pl.concat([explorer().questions.head(1)] * 45).with_columns(
        question_id=pl.format("q-{}", pl.int_range(45)), answer=pl.lit(None, dtype=pl.String)
    )
    bare = explorer(questions=asked, checks=explorer().checks.clear(), said=explorer().said.clear())
    tab = opened(html(bare))
    assert len(listed(tab)) == 20
    tab.get_by_role("button", name="Show 20 more").click()
    assert tab.evaluate("document.activeElement.textContent").count("q-20")
    tab.get_by_role("button", name="Show 5 more").click()
    assert len(listed(tab)) == 45
    # Without checks there is nothing to filter by.
    assert tab.locator(".live-tools select").count() == 1
    unfold(tab)
    assert "The rubric has no checks." in tab.locator(".gamut-opened > details").first.inner_text()


@needs_browser
def test_paper_shows_the_list_and_what_was_opened_without_controls(opened):
    tab = opened(html(explorer()), dark=True)
    unfold(tab)
    tab.emulate_media(media="print")
    assert not tab.locator(".live-tools").is_visible()
    assert all(rubric.is_visible() for rubric in tab.locator(".rubric").all())
    assert tab.get_by_role("status").is_visible()
    assert tab.pdf(format="A4").startswith(b"%PDF")


@needs_browser
def test_without_scripts_the_page_shows_what_a_bare_notebook_shows(opened):
    tab = opened(html(explorer()), scripts=False)
    assert tab.locator(".gamut-opened > details").count() == 3


@needs_browser
def test_hostile_names_answers_and_reasons_are_read_and_do_nothing(opened, shared, tmp_path):
    folder = tmp_path / "case"
    shutil.copytree(next((shared / "cases").glob("48-*")), folder, ignore=shutil.ignore_patterns("expected.json"))
    database = built(folder)
    models = Study(database).models["model"].to_list()
    parts = [questions.explorer(Study(database, model)) for model in models]
    named = [replace(part, name=f"part-{place}") for place, part in enumerate(parts)]
    bundles = [part._repr_mimebundle_() for part in (*named, sensitivities.sliders(Study(database)))]
    outputs = [new_output("display_data", data=data, metadata=about) for data, about in bundles]
    tab = opened(page.to_html(new_notebook(cells=[new_code_cell("parts", outputs=outputs)]), title="T"))
    unfold(tab)
    words = tab.locator("main").inner_text()
    told = [part.questions["answer"].item() for part in parts]
    assert len(told) == 9
    # Each answer is the reason of a verdict too, in plain sight.
    assert [answer for answer in told if answer not in words] == []
    assert all(model in words for model in models)
    assert tab.evaluate("window.PWNED") is None
    assert tab.locator("main img, main svg, main a, main script:not([type])").count() == 0


# In a browser: the sliders


@pytest.fixture(scope="module")
def study(small_database):
    return Study(small_database, "gpt-4o")


@pytest.fixture(scope="module")
def ranking(study):
    return html(sensitivities.sliders(study))


def move(tab, constants, split="proportional"):
    """Set the sliders as a hand would, and the reading of an empty tier."""
    for name, value in constants.items():
        tab.locator(f'[data-constant="{name}"]').evaluate(
            "(input, value) => { input.value = value; input.dispatchEvent(new Event('input')); }", value
        )
    choice(tab, "The weight of an empty tier goes to the others").select_option(split)


def board(tab):
    return tab.evaluate(
        """[...document.querySelectorAll('.live-board tbody tr')]
        .map((row) => [row.querySelector('th').textContent, Number(row.dataset.score), Number(row.dataset.place)])"""
    )


@needs_browser
@pytest.mark.parametrize(
    ("constants", "split"),
    [
        ({}, "proportional"),
        ({"lambda_": 0}, "proportional"),
        ({"lambda_": 1, "mu": -0.1}, "proportional"),
        ({"mu": -9.7, "w0": 0.17, "w1": 0.9, "w2": 0.33}, "proportional"),
        ({"w0": 0, "w1": 0, "w2": 1}, "proportional"),
        ({"lambda_": 0.31, "mu": -3.3, "w0": 0.05}, "equal"),
    ],
)
def test_the_ranking_by_hand_is_the_ranking_of_the_analysis(opened, study, ranking, constants, split):
    tab = opened(ranking)
    move(tab, constants, split)
    setting = {"lambda_": 0.5, "mu": -2.0, "w0": 0.6, "w1": 0.3, "w2": 0.1} | constants
    axes = {
        "lambdas": [setting["lambda_"]],
        "mus": [setting["mu"]],
        "weights": [[setting[f"w{tier}"] for tier in range(3)]],
    }
    view = {"judge": study.judge, "variant": study.variant}
    expected = sensitivity.score_grid(study.counts, study.scoring, **view, **axes, split=split)
    known = {study.names[row["model"]]: row for row in expected.to_dicts()}
    shown = board(tab)
    assert {name for name, _, _ in shown} == set(known)
    for name, score, place in shown:
        assert score == pytest.approx(known[name]["score"], abs=1e-9)
        assert place == known[name]["rank"]
    assert [place for _, _, place in shown] == sorted(place for _, _, place in shown)
    if constants:
        told = tab.locator(".live-found").inner_text()
        turned = sensitivity.ranking_grid(study.counts, study.scoring, **view, **axes, split=split)
        # The grid compares with the default under the same reading; both readings order these models alike.
        assert f"{turned['discordant'].item()} of 10 pairs" in told


@needs_browser
def test_changes_are_told_against_the_start_and_one_button_leads_back(opened, study, ranking):
    tab = opened(ranking)
    start = board(tab)
    assert "These are the paper’s constants." in tab.locator(".live-found").inner_text()
    assert tab.get_by_role("button", name="Back to").is_disabled()
    move(tab, {"mu": -0.1})
    assert tab.get_by_role("slider", name="μ, worth of a contradicted check").get_attribute("aria-valuetext") == "−0.1"
    changes = tab.locator(".live-board tbody td:last-child").all_inner_texts()
    assert all(change.startswith("+") for change in changes)
    tab.get_by_role("button", name="Back to").click()
    assert board(tab) == start
    assert tab.locator(".live-board tr.focus th").inner_text() == study.model_name


@needs_browser
def test_weights_are_shown_as_shares_and_none_at_all_is_refused(opened, ranking):
    tab = opened(ranking)
    move(tab, {"w0": 0.3, "w1": 0.3, "w2": 0})
    assert tab.locator("output").all_inner_texts()[2:] == [
        "50.0\N{NO-BREAK SPACE}%",
        "50.0\N{NO-BREAK SPACE}%",
        "0.0\N{NO-BREAK SPACE}%",
    ]
    move(tab, {"w0": 0})
    before = board(tab)
    move(tab, {"w1": 0})
    assert "at least one tier" in tab.locator(".live-found").inner_text()
    assert board(tab) == before


@needs_browser
def test_sliders_move_by_keyboard_and_the_ranking_is_read_out(opened, ranking):
    tab = opened(ranking)
    tab.get_by_role("slider", name="λ, worth of a partially met check").focus()
    tab.keyboard.press("Home")
    assert tab.locator("output").first.inner_text() == "0.00"
    tab.wait_for_function(
        "() => document.querySelector('.gamut-live [role=status]').textContent.includes('is first with')"
    )


@needs_browser
def test_the_sliders_fit_a_small_window_and_print_as_values(opened, ranking):
    tab = opened(ranking, width=420, dark=True)
    assert tab.evaluate("document.documentElement.scrollWidth") == 420
    tab.emulate_media(media="print", color_scheme="dark")
    assert not tab.locator(".slider input").first.is_visible()
    assert tab.locator("output").first.is_visible()
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    assert tab.evaluate(paper) == "rgb(255, 255, 255)"
    assert theme.PAPER == "#ffffff"


# In a browser: numbers of questions and judges


@pytest.fixture(scope="module")
def planned(study):
    pairs = enough.detectable(study, common.pairs(study))
    return enough.components(study), pairs, enough.design(study, enough.components(study), pairs)


def plan(tab, **numbers):
    """Set the numbers as a hand would; returns what the page found."""
    for key, value in numbers.items():
        if key in ("questions", "judges"):
            tab.locator(f'[data-number="{key}"]').evaluate(
                "(input, value) => { input.value = value; input.dispatchEvent(new Event('input')); }", value
            )
        else:
            choice(tab, key).select_option(label=value)
    found = tab.locator(".gamut-live").evaluate("(part) => ({ ...part.dataset })")
    return {key: float(found[key]) for key in ("effect", "floor", "pairEffect", "needed") if found[key]}


@needs_browser
@pytest.mark.parametrize(("questions", "judges"), [(20, 1), (100, 3), (1000, 2), (10000, 10)])
def test_the_gap_that_can_be_seen_is_that_of_the_analysis(opened, planned, questions, judges):
    components, pairs, part = planned
    tab = opened(html(part))
    found = plan(tab, questions=part.questions.index(questions), judges=part.judges.index(judges))
    error = variance.d_study(components, questions=[questions], judges=[judges])["se_difference"].item()
    assert found["effect"] == pytest.approx(float(minimum_detectable_effect(error)), rel=1e-12)
    endless = variance.d_study(components, questions=[10**15], judges=[judges])["se_difference"].item()
    assert found["floor"] == pytest.approx(float(minimum_detectable_effect(endless)), rel=1e-6)
    row = pairs.row(0, named=True)
    spread = row["standard_error"] ** 2 * row["n"]
    single = float(minimum_detectable_effect((spread / questions) ** 0.5))
    assert found["pairEffect"] == pytest.approx(single, rel=1e-12)
    assert found["needed"] == row["questions_needed"]
    assert format_points(found["effect"]) in tab.locator(".live-found").first.inner_text()


@needs_browser
def test_any_two_models_can_be_asked_for_in_either_order_and_with_correction(opened, planned):
    _, pairs, part = planned
    tab = opened(html(part))
    row = pairs.row(-1, named=True)
    for one, other in (("name_a", "name_b"), ("name_b", "name_a")):
        found = plan(tab, Model=row[one], against=row[other])
        assert found["needed"] == row["questions_needed"]
    strict = plan(tab, Tested="corrected for all 10 pairs")
    spread = row["standard_error"] ** 2 * row["n"]
    # Bonferroni: each of ten tests at 0.5 %.
    expected = float(questions_needed(row["estimate"], spread, level=0.995))
    assert strict["needed"] == math.ceil(expected)
    plan(tab, Model=row["name_a"], against=row["name_a"])
    assert "two different models" in tab.locator(".live-found").last.inner_text()


def test_under_one_judge_a_typical_pair_says_what_can_be_seen(study, planned):
    _, pairs, _ = planned
    part = enough.design(study, pl.DataFrame(), pairs)
    spread = sorted(row["standard_error"] ** 2 * row["n"] for row in pairs.to_dicts())
    # The median of ten; a difference varies twice as much as a mean.
    assert part.error == {"question": pytest.approx((spread[4] + spread[5]) / 4), "judge": 0, "both": 0}
    assert list(part.judges) == [1]
    few = part.settings.frame.filter(questions=100)["1"].item()
    assert few == pytest.approx(float(minimum_detectable_effect(((spread[4] + spread[5]) / 200) ** 0.5)))


def test_jupyterlab_gets_every_question_with_as_many_texts_as_a_notebook_bears(monkeypatch):
    monkeypatch.setattr("gamut_analysis.live.explorer.LAB_BUDGET", 0)
    data, about = framed(explorer())._repr_mimebundle_()
    assert (data[LIVE], about) == (explorer()._repr_mimebundle_()[0][LIVE], explorer()._repr_mimebundle_()[1])
    held = json.loads(re.search(r'json">(.*?)</script>', unescape(data["text/html"].partition(">")[0]))[1])
    assert (held["kept"], data[LIVE]["data"]["kept"]) == ({"texts": 0, "notes": 0}, {"texts": 3, "notes": 3})
    assert held["said"] == data[LIVE]["data"]["said"]
    assert html(framed(explorer())) == html(explorer()), "the page has the part itself"


def test_a_few_settings_stand_in_where_no_script_runs(study):
    part = sensitivities.sliders(study)
    data = part._repr_mimebundle_()[0]
    assert data["text/html"].count("<tr>") == 1 + 5
    assert "1st" in data["text/html"]
    json.dumps(data[LIVE], allow_nan=False)


@pytest.mark.parametrize("kind", ["design", "sliders"])
def test_what_stands_in_is_a_table_for_files_and_for_paper(study, planned, kind):
    part = planned[2] if kind == "design" else sensitivities.sliders(study)
    data, about = part._repr_mimebundle_()
    assert to_csv(Table.from_output({"data": data, "metadata": about})) == to_csv(
        replace(part.settings, name=part.name)
    )
