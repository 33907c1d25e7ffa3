"""Takes the pictures of docs/pages.md: `python -m tests.app.web.pages.pictures docs`. Needs Chromium. Not a test."""

import sys
import tempfile
from pathlib import Path

from PIL import Image
from sqlalchemy import text

from app.db.session import create_database_engine
from model.domain import Verdict
from tests import services
from tests.app.web.pages.browsing import serve_pages
from tests.browser import open_chromium
from tests.builders.history import judged_group
from tests.demo.example import example
from tests.github.stand_in import StandIn

PICTURES = (
    ("pages-worksheet.png", "/", "light", (1000, 620)),
    ("pages-group.png", "/r/django/django/issues/{issue}", "light", (1200, 1120)),
    ("pages-track-record.png", "/r/django/django/track-record", "dark", (1000, 640)),
    ("pages-phone.png", "/r/django/django/issues/{issue}", "dark", (390, 800)),
)
HISTORY = """
with event as (
    insert into outcome_events (source, repository_id, pull_number, kind, occurred_at)
    values ('p' || :pull, :repository, :pull, 'x', now() - interval '20 days') returning id)
insert into outcomes (repository_id, pull_number, kind, head_sha, event_id, rule_version)
select :repository, :pull, :kind, :head, id, 1 from event
"""


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
        with serve_pages(github, app, database_url, servers.redis_url) as url:
            _take(url, issue, folder)


def _fill(database_url, installation, repository):
    engine = create_database_engine(database_url)
    with engine.begin() as connection:
        judged_group.save_repository(
            connection, installation, repository, "django/django", "version: 1\nmode: advisory\n"
        )
        title, rivals = _read_example()
        for past in range(60):
            _save_past(connection, repository, past)
        judged_group.save_group(connection, repository, 412, "QuerySet.total() ignores distinct()")
        judged_group.save_group(connection, repository, 418, title, rivals)
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


def _save_past(connection, repository, past):
    """A closed issue whose pull request was merged, and sometimes reverted."""
    number, share = 1_000 + past, (past % 10 + 0.5) / 10
    verdict = (
        Verdict.CORRECT if share > 0.6 else Verdict.INCORRECT if share < 0.3 else Verdict.UNSURE
    )
    rivals = {number: ("mona", verdict, share, judged_group.diff_of(f"return {past}"))}
    judged_group.save_group(connection, repository, number, f"Issue {past}", rivals)
    is_good = (past * 7 + past // 10 * 3) % 10 < share * 10
    values = {"pull": number, "repository": repository, "head": f"{number:040x}"}
    connection.execute(text(HISTORY), values | {"kind": "merged" if is_good else "reverted"})
    closed = text("update groups set state = 'closed' where issue_number = :pull")
    connection.execute(closed, {"pull": number})


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
            page.screenshot(path=folder / name)
            Image.open(folder / name).quantize(96).save(folder / name, optimize=True)
            context.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
