"""Pages and Link headers, as values and over the wire with ETags."""

import pytest

from tests.github.rest.paging import build_counted_page, build_page
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
    body = build_page(range(110), query, URL).body
    assert len(body) == count
    assert first is None or body[0] == first


def test_the_first_page_links_to_next_and_last():
    expected = f'<{URL}?page=2>; rel="next", <{URL}?page=4>; rel="last"'
    assert build_page(range(110), {}, URL).headers == {"Link": expected}


def test_a_middle_page_links_everywhere_and_keeps_the_query():
    link = build_counted_page("items", range(9), {"per_page": "3", "page": "2"}, URL).headers[
        "Link"
    ]
    assert link == (
        f'<{URL}?per_page=3&page=1>; rel="prev", <{URL}?per_page=3&page=3>; rel="next", '
        f'<{URL}?per_page=3&page=3>; rel="last", <{URL}?per_page=3&page=1>; rel="first"'
    )


def test_the_last_page_links_back_and_a_single_page_nowhere():
    assert "next" not in build_page(range(60), {"page": "2"}, URL).headers["Link"]
    assert build_page(range(30), {}, URL).headers == {}


def test_node_ids_differ_by_kind_and_number():
    ids = {node_id(kind, n) for kind in ("Issue", "PullRequest", "Else") for n in (1, 2)}
    assert len(ids) == 6


def test_a_client_walks_all_pages_by_link(scene):
    number = scene.repo.open_issue("Bug")
    for k in range(31):
        scene.repo.comment(number, f"comment {k}")
    first = scene.get(f"/issues/{number}/comments")
    second = scene.http(scene.token()).get(first.links["next"]["url"])
    bodies = [comment["body"] for comment in first.json() + second.json()]
    assert bodies == [f"comment {k}" for k in range(31)]


def test_an_unchanged_answer_is_304_empty_and_free_and_a_changed_one_is_not(scene):
    client = scene.http(scene.token())
    full = client.get(scene.path("/pulls"))
    etag = {"If-None-Match": full.headers["etag"]}
    again = client.get(scene.path("/pulls"), headers=etag)
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["x-ratelimit-used"] == full.headers["x-ratelimit-used"]
    scene.fix("x = 1\n")
    changed = client.get(scene.path("/pulls"), headers=etag)
    assert changed.status_code == 200
    assert changed.headers["etag"] != full.headers["etag"]
