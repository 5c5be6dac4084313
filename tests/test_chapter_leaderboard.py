"""What the leaderboard says after its figures: both readings of each sentence, worked by hand."""

from types import SimpleNamespace

import polars as pl
import pytest

from gamut_analysis.chapters import common, leaderboard


def with_frames(**frames):
    return SimpleNamespace(frames={getattr(common, name).__wrapped__: frame for name, frame in frames.items()})


def board():
    return pl.DataFrame({"model": ["a", "b", "c"], "rank": [1, 2, 3], "estimate": [0.9, 0.5, 0.4]})


def pairs(*verdicts):
    rows = {"model_a": ["a", "a", "b"], "model_b": ["b", "c", "c"], "estimate": [0.4, 0.5, 0.1]}
    named = pl.DataFrame(rows).with_columns(name_a=pl.col("model_a"), name_b=pl.col("model_b"))
    return named.with_columns(verdict=pl.Series(verdicts, dtype=pl.String))


APART, NEAR = "ahead", "not told apart"


def test_steps_down_the_list_are_noise_or_not():
    some = leaderboard.scores_text(board(), pairs(APART, APART, NEAR))
    assert str(some).startswith("More than noise: 1 of the 2 steps")
    assert str(leaderboard.scores_text(board(), pairs(NEAR, APART, NEAR))).startswith("None of the 2 steps")
    assert "no two complete models" in str(leaderboard.scores_text(board().head(1), pairs(APART, APART, APART)))


def test_the_smallest_gap_apart_and_the_widest_that_may_be_noise():
    said = str(leaderboard.pairs_text(pairs(APART, APART, NEAR)))
    assert "smallest gap that is told apart is 40.0 points (a and b). The widest that is not is 10.0" in said
    assert str(leaderboard.pairs_text(pairs(APART, APART, APART))).endswith("Every pair is told apart.")
    assert str(leaderboard.pairs_text(pairs(NEAR, NEAR, NEAR))).endswith("No pair is told apart.")
    assert "no two models" in str(leaderboard.pairs_text(pairs(None, None, None)))


@pytest.mark.parametrize(("least", "told"), [(0.4, "in only 40 %"), (0.97, "has it in 97 %")])
def test_the_surest_and_the_least_sure_place(least, told):
    rows = [("A", 1, 0.99), ("A", 2, 0.01), ("B", 2, least), ("B", 3, (1 - least) / 2)]
    odds = pl.DataFrame(rows, schema=["name", "rank", "probability"], orient="row")
    said = str(leaderboard.rank_text(with_frames(rank_odds=odds)))
    assert said.startswith("A has the surest place: 1st in 99 %")
    assert told in said
    assert "2nd" in said


@pytest.mark.parametrize(("essential", "told"), [(0.8, "15.0 points above"), (0.2, "no higher than the background")])
def test_essentials_stand_above_the_background_or_do_not(essential, told):
    rows = [
        ("A", "answer_critical", essential),
        ("A", "context", 0.6),
        ("B", "answer_critical", 0.5),
        ("B", "context", 0.4),
    ]
    frame = pl.DataFrame(rows, schema=["name", "tier", "estimate"], orient="row")
    assert told in str(leaderboard.tiers_text(with_frames(tier_scores=frame)))


@pytest.mark.parametrize(
    ("other", "told"), [(0.1, "A has the highest mean in all 2 domains"), (0.9, "2 models are first")]
)
def test_one_model_is_first_in_every_domain_or_several_are(other, told):
    rows = [("A", "x", 0.8), ("A", "y", 0.4), ("B", "x", other), ("B", "y", 0.2)]
    cells = pl.DataFrame(rows, schema=["name", "domain", "score"], orient="row")
    text = leaderboard.domains_text(with_frames(domain_scores=cells))
    assert told in str(text)
    # Means of x and of y: (0.8 + other) / 2 and 0.3.
    assert text.values["apart"] == pytest.approx((0.8 + other) / 2 - 0.3)


@pytest.mark.parametrize(
    ("best", "told"), [(0.6, "which question is asked matters more"), (0.95, "who answers matters")]
)
def test_answers_spread_more_than_models_or_less(monkeypatch, best, told):
    rows = {"q25": [0.0, 0.2], "q50": [0.4, best], "q75": [0.5, 0.7], "negative": [0.1, 0.3]}
    monkeypatch.setattr(leaderboard, "question_spread", lambda _: pl.DataFrame(rows))
    said = str(leaderboard.spread_text(SimpleNamespace()))
    assert "spans 50.0 points" in said
    assert told in said
    assert "below zero on 20.0 % of them" in said


@pytest.mark.parametrize(
    ("met", "critical", "told"),
    [
        ([0.6, 0.7, 0.1], [0.8, 0.6, 0.4], "meet, 2 of 3 models would stand on another place; ordered by Answer-"),
        ([0.9, 0.7, 0.1], [0.1, 0.6, 0.4], "meet, every model would keep its place; ordered by Answer-Critical checks"),
    ],
)
def test_other_orders_than_the_score_move_models_or_do_not(met, critical, told):
    shares = pl.DataFrame({"model": ["a", "b", "c"], "verdict": ["meets"] * 3, "share": met})
    tiers = [
        (m, tier, score) for m, score in zip("abc", critical, strict=True) for tier in ("answer_critical", "context")
    ]
    frame = pl.DataFrame(tiers, schema=["model", "tier", "estimate"], orient="row")
    said = str(leaderboard.orders_text(with_frames(shares=shares, tier_scores=frame), board()))
    assert told in said
    # a, b, c by critical: 0.8, 0.6, 0.4 is the order of the score, 0.1, 0.6, 0.4 turns all three.
    last = "every model would keep its place." if critical[0] == 0.8 else "3 of 3 models would stand on another place."
    assert said.endswith(last)
    whole = leaderboard.orders_text(
        with_frames(shares=shares, tier_scores=frame.filter(tier="answer_critical")), board()
    )
    assert "ordered by Answer-Critical" not in str(whole), "with one tier its score is the score"
    assert leaderboard.orders_text(with_frames(), board().head(1)) is None


@pytest.mark.parametrize(
    ("low", "told"),
    [(0.01, "leave out zero in 1 of these 2 pairs"), (-0.2, "None of these 2 pairs would be told apart")],
)
def test_pairs_would_be_told_apart_alone_or_would_not(low, told):
    ends = {"low": [low, 0.3, -0.1], "high": [0.7, 0.6, 0.3]}
    tested = (
        pairs(NEAR, APART, NEAR)
        .with_columns(**{name: pl.Series(values) for name, values in ends.items()}, p=0.1, p_adjusted=0.2, clusters=6)
        .with_columns(reason=pl.lit(None, pl.String))
    )
    assert told in str(leaderboard.close_pairs_text(tested))
    assert leaderboard.close_pairs_text(tested.filter(verdict=APART)) is None
    assert leaderboard.close_pairs_text(tested.with_columns(clusters=5)) is None


def test_without_domains_nothing_is_said_twice():
    assert leaderboard.domains_text(with_frames(domain_scores=pl.DataFrame())) is None
