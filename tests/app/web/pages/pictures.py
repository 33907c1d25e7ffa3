"""Takes the pictures of the pages and of the set-up: `python -m tests.app.web.pages.pictures docs`. Needs Chromium. Not a test."""

import sys
import tempfile
from pathlib import Path

from PIL import Image
from sqlalchemy import text

from app.db.session import create_database_engine
from app.db.store.queue import jobs
from app.db.store.queue.deliveries import Delivery, store_rebuilt
from app.jobs.job import Planned, RecordEvent
from app.operator.setup.setup_server import SetupPages
from model.domain import Verdict
from tests import services
from tests.app.operator.setup.setup_site import serve_setup_pages
from tests.app.web.pages.browsing import serve_pages
from tests.browser import open_chromium
from tests.builders.history import judged_group
from tests.builders.history.trained_models import CANDIDATE, save_models
from tests.demo.example import example
from tests.github.stand_in import StandIn

GUID = "72d3162e-cc78-11e3-81ab-4c9367dc0958"
PICTURES = (
    ("pages-worksheet.png", "/", "light", (1000, 620)),
    ("pages-group.png", "/r/django/django/issues/{issue}", "light", (1200, 1120)),
    ("pages-track-record.png", "/r/django/django/track-record", "dark", (1000, 640)),
    ("pages-repository.png", "/r/django/django", "light", (1000, 640)),
    ("pages-help.png", "/help", "light", (1000, 640)),
    ("pages-deliveries.png", "/deliveries", "light", (1000, 640)),
    ("pages-models.png", "/models", "light", (1000, 640)),
    ("pages-model.png", f"/models/{CANDIDATE}", "dark", (1000, 900)),
    ("pages-phone.png", "/r/django/django/issues/{issue}", "dark", (390, 800)),
)


def main(folder: Path) -> None:
    """Serve the pages with an example of our own, and save a picture of each main page."""
    with (
        tempfile.TemporaryDirectory() as scratch,
        services.running() as servers,
        servers.database() as database_url,
        StandIn.start(Path(scratch)) as github,
    ):
        app = github.register_app()
        repo = github.create_repository("django/django", {"README.md": ""})
        installation = github.install(app, [repo])
        github.grant(repo, "mona", "write")
        github.sign_in_as("mona")
        issue = _fill(database_url, installation, repo.id)
        operators = {"operators": "mona"}
        with serve_pages(github, app, database_url, servers.redis_url, **operators) as url:
            _take(url, issue, folder)
        _take_setup(Path(scratch) / "setup", folder)


def _fill(database_url, installation, repository):
    engine = create_database_engine(database_url)
    with engine.begin() as connection:
        judged_group.save_repository(
            connection, installation, repository, "django/django", "version: 1\nmode: advisory\n"
        )
        title, rivals = _read_example()
        judged_group.save_results(connection, repository)
        judged_group.save_group(connection, repository, 412, "QuerySet.total() ignores distinct()")
        judged_group.save_group(connection, repository, 418, title, rivals)
        save_models(connection)
        _save_delivery(connection, installation, repository)
    engine.dispose()
    return 418


def _read_example():
    """The issue and the patches of the demo, under pull request numbers."""
    diffs = [path.read_text() for path in sorted(Path(example.__file__).parent.glob("*.diff"))]
    title = (Path(example.__file__).parent / "issue.md").read_text().splitlines()[0].lstrip("# ")
    said = [
        ("mona", Verdict.CORRECT, 0.91),
        ("hubot", Verdict.INCORRECT, 0.07),
        ("defunkt", Verdict.UNSURE, 0.48),
        ("agent-7", Verdict.INCORRECT, 0.12),
    ]
    numbered = zip((431, 433, 436, 440), said, diffs, strict=True)
    return title, {number: (*judged, diff) for number, judged, diff in numbered}


def _save_delivery(connection, installation, repository):
    """A delivery whose job gave up, with a second one that waits."""
    for guid in (GUID, GUID.replace("7", "8")):
        store_rebuilt(connection, Delivery(guid, "issues", installation, repository, b"{}"))
        (stored,) = jobs.enqueue(connection, [Planned(RecordEvent(installation, guid))])
        values = {"guid": guid, "id": stored.id}
        connection.execute(text("update jobs set delivery_guid = :guid where id = :id"), values)
    connection.execute(
        text(
            "update jobs set state = 'dead', finished_at = now(), error = :error where delivery_guid = :guid"
        ),
        {"guid": GUID, "error": "GitHub answered 503 to 6 attempts"},
    )


def _take_setup(data, folder):
    """The set-up's first page."""
    pages = SetupPages(data)
    with serve_setup_pages(pages) as url, open_chromium() as browser:
        page = browser.new_context(viewport={"width": 1000, "height": 900}).new_page()
        page.goto(f"{url}/setup?token={pages.access.token}")
        _save(page, folder / "setup.png")


def _take(url, issue, folder):
    with open_chromium() as browser:
        for name, path, scheme, (width, height) in PICTURES:
            context = browser.new_context(
                color_scheme=scheme, viewport={"width": width, "height": height}
            )
            page = context.new_page()
            page.goto(f"{url}/sign-in")
            page.wait_for_url(f"{url}/")
            page.goto(url + path.format(issue=issue))
            _save(page, folder / name)
            context.close()


def _save(page, path):
    page.screenshot(path=path)
    Image.open(path).quantize(96).save(path, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
