from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.github.facts import (
    IssueFacts,
    IssueState,
    LinkedPull,
    LinkFacts,
    RepositoryFacts,
)
from app.policy.rival_links import LinkStrength, Member, find_closing_numbers, find_members
from tests.builders.github.pull_requests import build_pull

REPOSITORY = "octo/cat"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "keyword",
    ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"],
)
@pytest.mark.parametrize("form", ["{} #3", "{}: #3", "{}:#3", "{}  #3"])
def test_each_of_githubs_keywords_closes(keyword, form):
    assert find_closing_numbers(form.format(keyword), REPOSITORY) == (3,)
    assert find_closing_numbers(form.format(keyword.upper()), REPOSITORY) == (3,)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Fixes octo/cat#3", (3,)),
        ("Fixes Octo/Cat#3", (3,)),
        ("Fixes other/cat#3", ()),
        ("Fixes GH-3", (3,)),
        ("Fixes https://github.com/octo/cat/issues/3", (3,)),
        ("Fixes https://github.com/octo/cat/issues/3#issuecomment-9", (3,)),
        ("Fixes https://github.example/octo/cat/issues/3", ()),
        ("Fixes https://github.com/other/cat/issues/3", ()),
        ("Fixes #3, fixes #4 and fixes #3", (3, 4)),
        ("Fixes #3, #4", (3,)),
        ("- Fixes #3", (3,)),
        ("# Fixes #3", (3,)),
        ("prefixes #3", ()),
        ("Fixes#3", ()),
        ("Fixes the crash of #3", ()),
        ("Fixes #0", ()),
        ("Fixes #3x", ()),
        ("Fixes #12345678901", ()),
        ("Fixes #٣", ()),
        ("`Fixes #3`", ()),
        ("```\nFixes #3\n```", ()),
        ("> Fixes #3", ()),
        ("<!-- Fixes #3 -->", ()),
        (r"Fixes \#3", ()),
        ("Fixes `code` #3", ()),
        ("", ()),
    ],
)
def test_a_promise_to_close_is_read_as_github_reads_it(text, numbers):
    assert find_closing_numbers(text, REPOSITORY) == numbers


def test_links_of_an_enterprise_server_count_on_that_server():
    text = "Fixes https://git.example.org/octo/cat/issues/3"
    assert find_closing_numbers(text, REPOSITORY, "git.example.org") == (3,)


PULL = replace(build_pull(12, "open", "a" * 40, "b" * 40), repository=REPOSITORY)


def facts(*pulls):
    return IssueFacts(
        repository=RepositoryFacts(REPOSITORY, "main", "c" * 40, None),
        number=3,
        title="Crash",
        body="",
        state=IssueState.OPEN,
        pulls=pulls,
        is_complete=True,
    )


def link_pull(link, **changes):
    return LinkedPull(replace(PULL, **changes), link)


@pytest.mark.parametrize(
    ("pull", "strength"),
    [
        (link_pull(LinkFacts(closes=True, connected=True)), LinkStrength.CLOSING),
        (
            link_pull(LinkFacts(mentions=True), base_ref="dev", body="Fixes #3"),
            LinkStrength.KEYWORD,
        ),
        (link_pull(LinkFacts(connected=True), base_ref="dev"), LinkStrength.CONNECTED),
        (link_pull(LinkFacts(will_close=True)), LinkStrength.CROSS_REFERENCE),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_strongest_link_is_the_one_that_is_shown(pull, strength):
    assert find_members(facts(pull)) == (Member(12, strength),)


@pytest.mark.parametrize(
    "pull",
    [
        link_pull(LinkFacts(mentions=True), body="see #3"),
        link_pull(LinkFacts(mentions=True), body="Fixes #3"),
        link_pull(LinkFacts(closes=True), repository="other/cat"),
    ],
    ids=["mention", "keyword-github-did-not-count", "other-repository"],
)
def test_a_weaker_link_makes_no_rival(pull):
    assert find_members(facts(pull)) == ()


def test_a_group_command_outweighs_every_link():
    pulls = facts(
        link_pull(LinkFacts(closes=True)),
        link_pull(LinkFacts(mentions=True), number=13),
        link_pull(LinkFacts(closes=True), number=14),
    )
    assert find_members(pulls, added={13, 14}, removed={12}) == (
        Member(13, LinkStrength.ADDED),
        Member(14, LinkStrength.ADDED),
    )


def test_a_pull_request_both_added_and_removed_stays_out():
    assert find_members(facts(), added={12}, removed={12}) == ()


def test_strengths_are_ordered_from_strongest_to_weakest():
    assert [strength.rank for strength in LinkStrength] == [0, 1, 2, 3, 4]
