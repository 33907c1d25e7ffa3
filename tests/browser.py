"""A headless Chromium, for the tests of pages and for the scripts that take their pictures."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PHONE, DESK = {"width": 360, "height": 740}, {"width": 1200, "height": 900}
CHROMIUM = shutil.which("chromium")
NO_CHROMIUM = "Chromium is not installed: apt-get install chromium"
_FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@contextmanager
def open_chromium() -> Iterator[Any]:
    """Yield a browser of Playwright. Raises RuntimeError without Chromium."""
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        raise RuntimeError(NO_CHROMIUM)
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=_FLAGS)
        yield browser
        browser.close()


def list_serious(page: Any, name: str) -> list[tuple[str, str, list[str]]]:
    """Return what axe calls serious or critical on a page: the page's name, the rule, and the first nodes."""
    from axe_playwright_python.sync_playwright import Axe

    return [
        (name, violation["id"], [node["html"][:120] for node in violation["nodes"][:3]])
        for violation in Axe().run(page).response["violations"]
        if violation["impact"] in {"serious", "critical"}
    ]


def note_errors(page: Any) -> list[str]:
    """Return a list to which the browser's console adds its errors, such as a broken content security policy.

    A missing icon is no error: the server of the set-up ends as soon as its last page is sent.
    """
    errors: list[str] = []

    def note(line: Any) -> None:
        if line.type == "error" and not line.location["url"].endswith("/favicon.ico"):
            errors.append(line.text)

    page.on("console", note)
    return errors
