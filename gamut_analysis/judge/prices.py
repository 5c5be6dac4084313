"""What a model's tokens cost, from a price file, and how many tokens a text has before anybody counted them."""

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path

from gamut_analysis import paths
from gamut_analysis.errors import InputError

SHIPPED = paths.PACKAGE / "judge" / "prices.toml"
_CHARACTERS_A_TOKEN = 4.0  # of English prose, by the rule of thumb of the providers


@dataclass(frozen=True)
class Price:
    """USD per million tokens, of what goes in and of what comes out, and since when that is so."""

    input: float
    output: float
    as_of: str = ""

    def cost(self, input_tokens: float, output_tokens: float) -> float:
        """USD for some tokens.

        >>> Price(2.5, 10).cost(1_000_000, 100_000)
        3.5
        """
        return (self.input * input_tokens + self.output * output_tokens) / 1e6


def price_of(model: str, given: str | Path = "") -> Price | None:
    """The price of a model in a price file (the one that ships if none is given); None where it has no entry.

    Raises InputError with the entry and what would be right.
    """
    path = Path(given) if given else SHIPPED
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8-sig")).get("models", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: not readable as a price file: {error}") from error
    if not isinstance(entries, dict):
        raise InputError(f'{path}: models is needed as sections, [models."name"], with input and output')
    for name in (model, model.rsplit("/", 1)[-1]):
        if name in entries:
            return _price(path, name, entries[name])
    return None


def _price(path: Path, name: str, entry: object) -> Price:
    told = entry if isinstance(entry, dict) else {}
    amounts = [told.get(side) for side in ("input", "output")]
    if not all(_is_amount(amount) for amount in amounts):
        raise InputError(
            f'{path}: [models."{name}"] needs input and output in USD per million tokens, 0 or more; it has {entry}'
        )
    return Price(float(amounts[0]), float(amounts[1]), str(told.get("as_of", "")))  # type: ignore[arg-type]


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def tokens(text: str) -> int:
    """About how many tokens a text has: a quarter of its characters in Latin letters, one for each other letter.

    >>> tokens("four letters"), tokens("")
    (3, 0)
    """
    wide = sum(1 for letter in text if ord(letter) > 0x2E80) if not text.isascii() else 0
    return math.ceil((len(text) - wide) / _CHARACTERS_A_TOKEN) + wide
