"""A page in a headless browser with the network off: whatever it asks for or complains about fails the test."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
_HARMLESS = ("request file:", "request data:", "request blob:")

needs_browser = pytest.mark.skipif(
    not CHROMIUM.exists() or importlib.util.find_spec("playwright") is None,
    reason="needs Debian's chromium and the package playwright",
)


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser, closed at the end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=_FLAGS)
        yield browser
        browser.close()


@contextmanager
def tabs(browser: Any, folder: Path) -> Iterator[Any]:
    """A function that opens a page's HTML in a tab of its own and waits until the page is ready.

    ``allowed``: beginnings of lines that this page may be complained of with.
    """
    contexts: list[tuple[Any, tuple[str, ...]]] = []
    seen: list[str] = []

    def open_page(
        content: str, *, dark: bool = False, width: int = 1280, scripts: bool = True, allowed: tuple[str, ...] = ()
    ) -> Any:
        path = folder / "page.html"
        path.write_text(content, encoding="utf-8")
        scheme = "dark" if dark else "light"
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, color_scheme=scheme, java_script_enabled=scripts)
        context.set_offline(True)
        tab = context.new_page()
        tab.on("request", lambda sent: seen.append(f"request {sent.url[:60]}"))
        tab.on("console", lambda said: seen.append(f"{said.type}: {said.text}"))
        tab.on("pageerror", lambda error: seen.append(f"error: {error}"))
        tab.on("dialog", lambda dialog: (seen.append("dialog"), dialog.dismiss()))
        contexts.append((context, allowed))
        tab.goto(path.as_uri())
        if scripts:
            tab.wait_for_function("() => document.documentElement.dataset.state === 'ready'")
        return tab

    yield open_page
    for context, allowed in contexts:
        context.close()
        assert [line for line in seen if not line.startswith((*_HARMLESS, *allowed))] == []
