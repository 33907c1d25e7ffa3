"""Rate limits: the hourly budget, points a minute, content meters, and how a block looks."""

import time

import pytest

from tests.github.clock import Clock, optional_timestamp, timestamp
from tests.github.world.http_values import ApiError
from tests.github.world.limits import CONTENT_PER_HOUR, CONTENT_PER_MINUTE, Limits


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def limits(clock):
    return Limits(clock)


def refusal(act, *arguments, **options):
    with pytest.raises(ApiError) as refused:
        act(*arguments, **options)
    assert refused.value.status == 403
    return refused.value.headers


def test_content_stops_at_eighty_a_minute_and_flows_again(limits, clock):
    for _ in range(CONTENT_PER_MINUTE):
        limits.admit_content("x")
    assert refusal(limits.admit_content, "x") == {"Retry-After": "60"}
    limits.admit_content("someone else")
    clock.advance(61)
    limits.admit_content("x")


def test_content_stops_at_five_hundred_an_hour(limits, clock):
    for _ in range(CONTENT_PER_HOUR):
        limits.admit_content("x")
        clock.advance(1)
    assert refusal(limits.admit_content, "x") == {"Retry-After": "60"}
    clock.advance(3600)
    assert limits.admit_content("x") is None


def test_reads_cost_one_point_and_writes_five_of_nine_hundred_a_minute(limits, clock):
    for _ in range(150):
        limits.admit("x", "core", write=True)
    for _ in range(150):
        limits.admit("x", "core", write=False)
    assert refusal(limits.admit, "x", "core", write=False) == {"Retry-After": "60"}
    clock.advance(61)
    assert limits.admit("x", "core", write=False) is None


def test_the_hourly_budget_ends_and_begins_anew(limits, clock):
    limits.limits["core"] = 2
    limits.admit("x", "core", write=False)
    limits.admit("x", "core", write=False)
    headers = refusal(limits.admit, "x", "core", write=False)
    assert (headers["x-ratelimit-remaining"], headers["x-ratelimit-used"]) == ("0", "2")
    assert 3590 < int(headers["x-ratelimit-reset"]) - time.time() <= 3601
    limits.admit("x", "graphql", write=False)
    clock.advance(3600)
    limits.admit("x", "core", write=False)


def test_a_block_is_bare_and_counts_who_knocks(limits, clock):
    limits.block("x", 72)
    headers = refusal(limits.admit, "x", "core", write=False)
    assert "Retry-After" not in headers
    assert int(headers["x-ratelimit-remaining"]) > 0
    assert int(headers["x-ratelimit-reset"]) < time.time()
    assert limits.get_meters("x").requests_while_blocked == 1
    clock.advance(73)
    limits.admit("x", "core", write=False)


def test_moments_are_printed_as_github_prints_them():
    assert timestamp(0.9) == "1970-01-01T00:00:00Z"
    assert optional_timestamp(None) is None
    assert optional_timestamp(60) == "1970-01-01T00:01:00Z"


def test_over_the_wire_the_eighty_first_comment_waits(scene, github):
    number = scene.repo.open_issue("Bug")
    client = scene.http(scene.token())
    path = scene.path(f"/issues/{number}/comments")
    answers = [client.post(path, json={"body": "x"}) for _ in range(CONTENT_PER_MINUTE + 1)]
    assert {a.status_code for a in answers[:-1]} == {201}
    assert (answers[-1].status_code, answers[-1].headers["retry-after"]) == (403, "60")
    github.advance(61)
    assert client.post(path, json={"body": "x"}).status_code == 201
    meter = github.meters()[f"installation:{scene.installation}"]
    assert (meter.content_last_hour, meter.refused) == (CONTENT_PER_MINUTE + 1, 1)


def test_over_the_wire_an_exhausted_budget_says_when_it_ends(scene, github):
    client = scene.http(scene.token())
    github.exhaust(scene.installation)
    refused = client.get(scene.path(""))
    assert (refused.status_code, refused.headers["x-ratelimit-remaining"]) == (403, "0")
    github.advance(3601)
    assert scene.http(scene.token()).get(scene.path("")).status_code == 200


def test_graphql_has_a_budget_of_its_own(scene, github):
    github.exhaust(scene.installation, "graphql")
    body = {"query": "{__typename}"}
    client = scene.http(scene.token())
    assert client.post(f"{github.url}/api/graphql", json=body).status_code == 403
    assert client.get(scene.path("")).status_code == 200
