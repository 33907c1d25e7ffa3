"""Answers about an issue that are odd, cut short or hostile, as a server of our own gives them."""

import re

import pytest

from app.comments.notices import LINKS_NOTE
from app.github.api.graphql_reader import (
    MOST_PAGES,
    read_heads,
    read_issue,
    read_pull,
    read_repository,
)
from app.github.errors import NotFound
from app.github.facts import (
    LinkFacts,
)
from app.github.wire import graphql_queries
from app.values.identifiers import IssueNumber, IssueRef
from tests.builders.github.github_scene import links
from tests.builders.github.local_github import REPOSITORY, Reply

REF = IssueRef(REPOSITORY, IssueNumber(1))
PULL = {
    "__typename": "PullRequest",
    "number": 5,
    "body": None,
    "state": "OPEN",
    "isDraft": False,
    "baseRefName": "main",
    "baseRefOid": "a" * 40,
    "headRefOid": "b" * 40,
    "author": None,
    "repository": {"nameWithOwner": "octo/repo"},
}


def repository(**issue):
    node = {
        "databaseId": 42,
        "nameWithOwner": "octo/repo",
        "defaultBranchRef": None,
        "config": None,
        "issue": {
            "number": 1,
            "title": "T",
            "body": "B",
            "state": "OPEN",
            "closedByPullRequestsReferences": None,
            "timelineItems": {"nodes": [], "pageInfo": {"hasNextPage": False}},
        }
        | issue,
    }
    return Reply(200, {"data": {"repository": node}})


def test_characters_that_a_database_refuses_are_removed(server, github):
    nasty = b'"a\\u0000b\\ud800c\\ud83d\\ude00"'
    server.replies = [repository()]
    server.replies[0].body = server.replies[0].encode().replace(b'"T"', nasty)
    facts = read_issue(github, REF)
    assert facts.title == "ab\ufffdc\U0001f600"


def test_nodes_that_we_may_not_see_are_left_out(server, github):
    events = [
        None,
        {"__typename": "CrossReferencedEvent", "willCloseTarget": False, "source": None},
        {
            "__typename": "CrossReferencedEvent",
            "willCloseTarget": True,
            "source": {"__typename": "Issue"},
        },
        {"__typename": "CrossReferencedEvent", "willCloseTarget": True, "source": PULL},
        {"__typename": "ConnectedEvent", "subject": {"__typename": "Issue"}},
    ]
    timeline = {"nodes": events, "pageInfo": {"hasNextPage": False, "endCursor": None}}
    server.replies = [repository(timelineItems=timeline)]
    facts = read_issue(github, REF)
    assert links(facts) == {5: LinkFacts(mentions=True, will_close=True)}
    assert facts.pulls[0].pull.body == ""
    assert (facts.repository.default_branch, facts.repository.default_sha) == (None, None)


def test_links_without_end_are_said_to_be_incomplete(server, github):
    endless = {"nodes": [], "pageInfo": {"hasNextPage": True, "endCursor": "x"}}
    server.replies = [repository(timelineItems=endless) for _ in range(5)]
    assert not read_issue(github, REF).is_complete
    assert len(server.asked) == MOST_PAGES
    pages = [int(size) for size in re.findall(r"first: (\d+)", graphql_queries.ISSUE)]
    said = re.findall(r"\d{3,}", LINKS_NOTE)
    assert [MOST_PAGES * size for size in pages] == [int(figure) for figure in said]
    assert server.asked[4].body["variables"]["events"] == "x"


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"oid": "c" * 40, "text": "mode: off", "byteSize": 9, "isTruncated": True}, None),
        ({"oid": "c" * 40, "text": None, "byteSize": 9, "isTruncated": False}, None),
        ({"oid": "c" * 40, "text": "mode: off", "byteSize": 9, "isTruncated": False}, "mode: off"),
    ],
    ids=["cut off", "binary", "whole"],
)
def test_a_configuration_that_is_not_whole_has_no_text(server, github, config, text):
    server.replies = [repository()]
    server.replies[0].body["data"]["repository"]["config"] = config
    facts = read_issue(github, REF)
    assert (facts.repository.config.byte_size, facts.repository.config.text) == (9, text)


def test_a_folder_in_place_of_the_configuration_is_none(server, github):
    server.replies = [repository()]
    server.replies[0].body["data"]["repository"]["config"] = {}
    assert read_issue(github, REF).repository.config is None


@pytest.mark.parametrize(
    "ask",
    [
        read_issue,
        lambda g, r: read_repository(g, r.repository),
        lambda g, r: read_pull(g, r.repository, 1),
        lambda g, r: read_heads(g, r, [1]),
    ],
)
def test_a_repository_hidden_from_us_is_not_found(server, github, ask):
    server.replies = [Reply(200, {"data": {"repository": None, "x": 1}})]
    with pytest.raises(NotFound):
        ask(github, REF)


def test_a_list_that_has_ended_never_begins_anew(server, github):
    """What is behind a list's end has no cursor, and without a cursor GitHub begins at the start."""
    endless = {"nodes": [], "pageInfo": {"hasNextPage": True, "endCursor": "x"}}
    ended = {"nodes": [], "pageInfo": {"hasNextPage": False, "endCursor": "last"}}
    behind = {"nodes": [], "pageInfo": {"hasNextPage": False, "endCursor": None}}
    server.replies = [
        repository(timelineItems=endless, closedByPullRequestsReferences=closing)
        for closing in (ended, behind, behind, behind, behind)
    ]
    read_issue(github, REF)
    asked = [request.body["variables"]["closing"] for request in server.asked]
    assert asked == [None, "last", "last", "last", "last"]
