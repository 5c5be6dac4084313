"""Prices and tokens: worked by hand."""

import pytest

from gamut_analysis.errors import InputError
from gamut_analysis.judge.prices import SHIPPED, Price, price_of, tokens


def test_a_price_is_per_million_tokens():
    # 2,000 tokens in at 2.50 and 500 out at 10: 0.005 + 0.005
    assert Price(2.5, 10).cost(2_000, 500) == pytest.approx(0.01)


def test_a_model_is_found_by_its_full_name_before_its_own(tmp_path):
    path = tmp_path / "prices.toml"
    path.write_text(
        '[models."m"]\ninput = 1\noutput = 2\n[models."local/m"]\ninput = 0\noutput = 0\nas_of = "2026-01"\n', "utf-8"
    )
    assert price_of("local/m", path) == Price(0, 0, "2026-01")
    assert price_of("other/m", path) == Price(1, 2, "")
    assert price_of("n", path) is None


def test_every_price_that_ships_says_since_when():
    price = price_of("openai/gpt-4o")
    assert price is not None
    assert price.as_of
    assert SHIPPED.read_text("utf-8").count("as_of = ") == SHIPPED.read_text("utf-8").count("\n[models.")


@pytest.mark.parametrize(
    "entry", ["input = 1", "input = -1\noutput = 1", 'input = "1"\noutput = 1', "input = nan\noutput = 1"]
)
def test_a_price_that_is_none_is_refused(tmp_path, entry):
    path = tmp_path / "prices.toml"
    path.write_text(f'[models."m"]\n{entry}\n', "utf-8")
    with pytest.raises(InputError, match=r'models."m"'):
        price_of("m", path)


@pytest.mark.parametrize("content", ["[models", "models = 3"])
def test_a_broken_price_file_is_named(tmp_path, content):
    path = tmp_path / "prices.toml"
    path.write_text(content, "utf-8")
    with pytest.raises(InputError, match=r"prices\.toml"):
        price_of("m", path)


def test_letters_of_other_scripts_are_tokens_of_their_own():
    assert tokens("a" * 40) == 10
    assert tokens("通义千问") == 4
    assert tokens("abcd通") == 2
