"""Pages and Link headers, as values and over the wire with ETags."""

import pytest

from tests.github.rest.paging import counted_page, page
from tests.github.world.node_ids import node_id

URL = "http://h/items"


@pytest.mark.parametrize(
    ("query", "first", "count"),
    [
        ({}, 0, 30),
        ({"per_page": "100"}, 0, 100),
        ({"per_page": "1000"}, 0, 100),
        ({"per_page": "0"}, 0, 30),
        ({"per_page": "x"}, 0, 30),
        ({"page": "2"}, 30, 30),
        ({"page": "9"}, None, 0),
    ],
    ids=str,
)
def test_a_page_holds_thirty_unless_asked_and_never_over_a_hundred(query, first, count):
    body = page(range(110), query, URL).body
    assert len(body) == count
    assert first is None or body[0] == first


def test_the_first_page_links_to_next_and_last():
    expected = f'<{URL}?page=2>; rel="next", <{URL}?page=4>; rel="last"'
    assert page(range(110), {}, URL).headers == {"Link": expected}


def test_a_middle_page_links_everywhere_and_keeps_the_query():
    link = counted_page("items", range(9), {"per_page": "3", "page": "2"}, URL).headers["Link"]
    assert link == (
        f'<{URL}?per_page=3&page=1>; rel="prev", <{URL}?per_page=3&page=3>; rel="next", '
        f'<{URL}?per_page=3&page=3>; rel="last", <{URL}?per_page=3&page=1>; rel="first"'
    )


def test_the_last_page_links_back_and_a_single_page_nowhere():
    assert "next" not in page(range(60), {"page": "2"}, URL).headers["Link"]
    assert page(range(30), {}, URL).headers == {}


def test_node_ids_differ_by_kind_and_number():
    ids = {node_id(kind, n) for kind in ("Issue", "PullRequest", "Else") for n in (1, 2)}
    assert len(ids) == 6


def test_pygithub_walks_all_pages(scene):
    number = scene.repo.open_issue("Bug")
    for k in range(31):
        scene.repo.comment(number, f"comment {k}")
    listed = [c.body for c in scene.bot_repo().get_issue(number).get_comments()]
    assert listed == [f"comment {k}" for k in range(31)]


def test_an_unchanged_answer_is_304_empty_and_free(scene):
    client = scene.http(scene.token())
    path = scene.path("/contents/.github/r4p.yml")
    full = client.get(path)
    before = int(client.get("/rate_limit").json()["rate"]["used"])
    again = client.get(path, headers={"If-None-Match": full.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert int(client.get("/rate_limit").json()["rate"]["used"]) == before


def test_a_changed_answer_has_another_etag(scene):
    client = scene.http(scene.token())
    path = scene.path("/contents/.github/r4p.yml")
    etag = client.get(path).headers["etag"]
    scene.repo.commit({".github/r4p.yml": "mode: shadow\n"})
    changed = client.get(path, headers={"If-None-Match": etag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != etag
