"""Takes pictures of the setup's steps on a phone, and in the dark on a desk: `python -m tests.app.operator.setup.pictures FOLDER`.

Needs Chromium. Not a test.
"""

import sys
import tempfile
from pathlib import Path

from app.operator.setup.setup_pages import SetupPages
from tests.app.operator.setup.setup_site import serve_setup_pages
from tests.browser import DESK, PHONE, open_chromium
from tests.github.stand_in import StandIn


def main(folder: Path) -> None:
    """Save one picture a step and a size of the window."""
    with tempfile.TemporaryDirectory() as scratch, StandIn.start(Path(scratch)) as github:
        for scheme, size in (("light", PHONE), ("dark", DESK)):
            pages = SetupPages(Path(scratch) / scheme)
            with serve_setup_pages(pages) as url, open_chromium() as browser:
                page = browser.new_context(color_scheme=scheme, viewport=size).new_page()
                _walk(page, url, pages.access.token, github.url, folder / f"setup-{scheme}")


def _walk(page, url, token, github_url, stem):
    page.goto(f"{url}/setup")
    page.screenshot(path=f"{stem}-1-token.png", full_page=True)
    page.goto(f"{url}/setup?token={token}")
    page.screenshot(path=f"{stem}-2-answers.png", full_page=True)
    for address, name in (("http://127.0.0.1:9", "3-wrong"), (github_url, "4-create")):
        page.fill("#github_url", address)
        page.click("text=Continue")
        page.screenshot(path=f"{stem}-{name}.png", full_page=True)
    page.click("main form button")
    page.click("text=Create GitHub App")
    page.screenshot(path=f"{stem}-5-done.png", full_page=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
