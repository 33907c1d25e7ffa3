"""The track record answers from counts of a bounded age, and people see only repositories that they can read."""

import re
import threading

import pytest
from sqlalchemy import insert, text
from sqlalchemy.exc import OperationalError

from app.db.store.pages.track_record import tally_verdicts
from app.db.tables.schema import jobs as job_table
from app.web.pages import track_record
from app.web.pages.track_record import FRESH_SECONDS, OLDEST_SECONDS, RecordCache
from app.web.pages.verdict_statistics import ModelRecord, Share
from tests.builders.history import judged_group
from tests.services import wait_for

NONE = Share(0, 0)


class Counter:
    """Counts for a cache: the number of patches is the number of the count."""

    def __init__(self):
        self.now = 0.0
        self.asked = []
        self.may_end = threading.Event()
        self.may_end.set()
        self.error = None
        self.running = self.most_running = 0
        self.cache = RecordCache(lambda: self.now, self.count)

    def count(self, _database, repositories):
        self.asked.append(list(repositories))
        number = len(self.asked)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        assert self.may_end.wait(20)
        self.running -= 1
        if self.error:
            raise self.error
        return [ModelRecord(each, "m", number, NONE, NONE, NONE, NONE, ()) for each in repositories]

    def read(self, *repositories):
        """The patches of each repository, and the age of the counts."""
        counted = self.cache.read(None, repositories)
        return {one.repository: one.patches for one in counted.records}, counted.age_seconds


@pytest.fixture
def counter():
    made = Counter()
    yield made
    made.may_end.set()


def test_counts_are_shown_again_for_a_minute(counter):
    assert counter.read(7) == ({7: 1}, 0)
    counter.now = FRESH_SECONDS - 1
    assert counter.read(7) == ({7: 1}, FRESH_SECONDS - 1)
    assert counter.asked == [[7]]


def test_after_a_minute_old_counts_are_shown_while_one_thread_counts_again(counter):
    counter.read(7, 8)
    counter.now = FRESH_SECONDS
    counter.may_end.clear()
    for _ in range(5):
        assert counter.read(7, 8) == ({7: 1, 8: 1}, FRESH_SECONDS)
    wait_for(lambda: len(counter.asked) == 2)
    counter.may_end.set()
    wait_for(lambda: counter.read(7, 8) == ({7: 2, 8: 2}, 0))
    assert (counter.asked, counter.most_running) == ([[7, 8], [7, 8]], 1)


def test_only_stale_and_missing_repositories_are_counted(counter):
    counter.read(7)
    counter.now = FRESH_SECONDS
    assert counter.read(8) == ({8: 2}, 0)
    counter.read(7, 8)
    wait_for(lambda: counter.read(7, 8) == ({7: 3, 8: 2}, 0))
    assert counter.asked == [[7], [8], [7]]


def test_a_failed_count_keeps_the_old_counts_and_tells_their_age(counter, caplog):
    counter.read(7)
    counter.now, counter.error = 5 * FRESH_SECONDS, OperationalError("select", {}, None)
    assert counter.read(7) == ({7: 1}, 5 * FRESH_SECONDS)
    wait_for(lambda: "keeps its old counts" in caplog.text)
    assert counter.read(7) == ({7: 1}, 5 * FRESH_SECONDS)


def test_counts_of_an_hour_are_not_shown_any_more(counter):
    counter.read(7)
    counter.now = OLDEST_SECONDS
    assert counter.read(7) == ({7: 2}, 0)
    counter.now, counter.error = 2 * OLDEST_SECONDS, OperationalError("select", {}, None)
    with pytest.raises(OperationalError):
        counter.read(7)


def test_requests_for_the_same_missing_counts_share_them(counter):
    counter.may_end.clear()
    seen = []
    readers = [threading.Thread(target=lambda: seen.append(counter.read(7))) for _ in range(4)]
    for reader in readers:
        reader.start()
    wait_for(lambda: counter.asked)
    counter.may_end.set()
    for reader in readers:
        reader.join()
    assert (seen, counter.asked) == ([({7: 1}, 0)] * 4, [[7]])


@pytest.mark.services
def test_counts_that_another_person_left_in_the_cache_are_shown_to_nobody_else(pages):
    for login, own, foreign in (
        ("mona", "octo/cat", "rival/dog"),
        ("stranger", "rival/dog", "octo/cat"),
    ):
        browser = pages.sign_in(login)
        page = browser.get("/track-record").text
        assert own in page
        assert foreign not in page
        assert browser.get(f"/r/{own}/track-record").status_code == 200
        assert browser.get(f"/r/{foreign}/track-record").status_code == 404
    assert "3 judged patches" not in pages.sign_in("ops").get("/track-record").text


@pytest.mark.services
def test_a_page_with_old_counts_tells_their_age(pages, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(track_record, "_CACHE", RecordCache(lambda: now[0]))
    browser = pages.sign_in("mona")
    path = "/r/octo/cat/track-record"
    assert "min ago" not in browser.get(path).text
    with pages.owner.begin() as connection:
        connection.execute(text("delete from evaluations"))
    now[0] = 3 * FRESH_SECONDS
    stale = browser.get(path).text
    assert "Counted 3 min ago" in stale
    assert "3 judged patches" in stale
    wait_for(lambda: "has not judged a patch" in browser.get(path).text)


@pytest.mark.services
@pytest.mark.parametrize(("models", "line"), [(20, None), (34, "The 20 with most patches of 34.")])
def test_a_page_that_leaves_records_out_says_so(pages, monkeypatch, models, line):
    def count(_database, repositories):
        return [
            ModelRecord(each, f"m{number:02}", number, NONE, NONE, NONE, NONE, ())
            for each in repositories
            for number in range(models)
        ]

    monkeypatch.setattr(track_record, "_CACHE", RecordCache(count=count))
    page = pages.sign_in("mona").get("/r/octo/cat/track-record").text
    assert page.count("judged patches</caption>") == 20
    assert (f"m{models - 1:02}" in page, f"m{models - 20:02}" in page) == (True, True)
    assert ("m13" in page) is (models == 20)
    assert re.findall("The .* with most patches of .*[.]", page) == ([line] if line else [])


@pytest.mark.services
def test_a_public_track_record_and_its_badge_need_no_session(pages):
    with pages.owner.begin() as connection:
        judged_group.save_repository(connection, 99, 990, "open/source")
        judged_group.save_group(connection, 990)
        connection.execute(
            insert(job_table).values(
                kind="record_event", queue="events", payload={}, installation_id=99
            )
        )
    browser = pages.open_browser()
    assert "open/source" in browser.get("/r/open/source/track-record").text
    badge = browser.get("/r/open/source/badge.svg")
    assert badge.headers["content-type"].startswith("image/svg+xml")
    assert "unknown" in badge.text
    assert browser.get("/r/octo/cat/badge.svg").status_code == 404
    assert browser.get("/r/open/source/issues/3").status_code == 303


MERGED = """
with event as (
    insert into outcome_events (source, repository_id, pull_number, kind, data, occurred_at)
    values ('t' || :pull || :kind, :repository, :pull, 'x', '{}', now() - interval '20 days') returning id)
insert into outcomes (repository_id, pull_number, kind, head_sha, permission, event_id, rule_version)
select :repository, :pull, :kind, :head, 'write', id, 1 from event
"""


@pytest.mark.services
def test_a_merge_that_holds_counts_and_a_revert_counts_against(pages):
    with pages.owner.begin() as connection:
        for pull, kind in ((12, "merged"), (15, "merged"), (15, "reverted"), (17, "disagree")):
            head = f"{pull:040x}"
            values = {"pull": pull, "kind": kind, "repository": pages.cat.id, "head": head}
            connection.execute(text(MERGED), values)
        tallies = tally_verdicts(connection, [pages.cat.id])
    known = {tally.verdict: tally.is_correct for tally in tallies}
    assert known == {"correct": True, "incorrect": False, "unsure": None}
