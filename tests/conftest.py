"""Fixtures that every test may use: the shared folder beside the checkout, its oracles and its cases."""

import json
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of oracles, cases and real data beside the checkout; the test is skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("needs the folder `shared` beside the checkout (oracles, cases, real data)")
    return SHARED


@pytest.fixture(scope="session")
def oracle(shared):
    """Read one worked statistic with its known answer: ``oracle("fleiss1971_psychiatric")``."""

    def read(name: str) -> dict[str, Any]:
        return json.loads((shared / "oracles" / f"{name}.json").read_text(encoding="utf-8"))

    return read
