"""Run the studies of this folder and print what they measured; exit with 1 when one is outside its bounds."""

import importlib
import pkgutil
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import tests.coverage

Study = Callable[[], dict[str, Any]]


def found(words: list[str]) -> Iterator[tuple[str, str, Study]]:
    """File, name and function of every study whose file or name holds one of the words (all without words)."""
    for module in sorted(info.name for info in pkgutil.iter_modules(tests.coverage.__path__)):
        if module == "__main__":
            continue
        listed = getattr(importlib.import_module(f"tests.coverage.{module}"), "studies", list)
        for name, study in listed():
            if not words or any(word in f"{module} {name}" for word in words):
                yield module, name, study


def line(module: str, name: str, result: dict[str, Any], seconds: float) -> str:
    """One row of the table."""
    inside = result["low"] <= result["measured"] <= result["high"]
    error = (result["measured"] * (1 - result["measured"]) / result["worlds"]) ** 0.5
    bounds = f"{100 * result['low']:.1f}-{100 * result['high']:.1f}"
    return (
        f"{module:<12} {name:<66} {100 * result['target']:6.1f} {100 * result['measured']:8.2f} {100 * error:6.2f} "
        f"{bounds:>11} {result['worlds']:>7} {seconds:7.1f}  {'' if inside else 'OUTSIDE'}"
    ).rstrip()


def main(words: list[str]) -> int:
    """Print the table; the exit code."""
    print(f"{'file':<12} {'study':<66} {'target':>6} {'measured':>8} {'+-':>6} {'bounds':>11} {'worlds':>7} {'s':>7}")
    outside = 0
    for module, name, study in found(words):
        start = time.perf_counter()
        result = study()
        outside += not result["low"] <= result["measured"] <= result["high"]
        print(line(module, name, result, time.perf_counter() - start), flush=True)
    print(f"{outside} outside their bounds")
    return int(outside > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
