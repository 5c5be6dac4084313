"""Ranks and the signs of pairs, by hand."""

import numpy as np

from gamut_analysis import orders


def test_ranks_see_unrounded_scores():
    assert orders.competition_ranks(np.array([0.50001, 0.50002, 0.1])).tolist() == [2, 1, 3]


def test_sums_in_another_order_still_tie():
    assert orders.competition_ranks(np.array([0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1])).tolist() == [1, 1]
