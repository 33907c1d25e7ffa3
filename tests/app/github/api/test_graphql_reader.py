"""The facts of an issue and its rivals, in one call, as GitHub itself links them."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.github.api.graphql_reader import (
    list_new_reviews,
    read_heads,
    read_issue,
    read_pull,
    read_repository,
)
from app.github.errors import NotFound
from app.github.facts import (
    HeadFacts,
    IssueMention,
    IssueState,
    LinkFacts,
)
from app.github.wire.graphql_reviews import ReviewSlice
from app.values.identifiers import IssueNumber, IssueRef, PullNumber
from tests.builders.github.github_scene import links, open_scene


def test_an_issue_its_configuration_and_its_rivals_come_in_one_call(scene):
    issue = scene.repo.open_issue("Broken", "It fails.", author="alice")
    first, second = scene.rivals(issue, 2)
    mark = scene.standin.mark()
    facts = read_issue(scene.github, scene.issue(issue))
    assert scene.standin.calls(mark).operations == {"POST /graphql": 1}
    assert (facts.number, facts.title, facts.body, facts.state) == (
        issue,
        "Broken",
        "It fails.",
        IssueState.OPEN,
    )
    assert facts.repository.default_branch == "main"
    assert facts.repository.config.text == "mode: advisory\n"
    assert facts.is_complete
    pull = facts.pulls[0].pull
    assert (pull.number, pull.head_sha, pull.base_sha) == (
        first.number,
        first.head_sha,
        first.base_sha,
    )
    assert (pull.state, pull.is_draft) == (IssueState.OPEN, False)
    assert pull.repository == scene.repo.full_name
    assert links(facts)[second.number].closes


@pytest.fixture
def other_reference(scene):
    """A reference with the name of another, public repository, as after a transfer and a new repository of the old name."""
    other = scene.standin.create_repository(f"{scene.repo.full_name}-new", {"a": "1\n"})
    number = other.open_issue("Broken", author="alice")
    other.open_pr("Fix", f"Fixes #{number}", files={"a": "2\n"})
    return replace(scene.repository, full_name=other.full_name)


@pytest.mark.parametrize(
    "read",
    [
        read_repository,
        lambda github, ref: read_issue(github, IssueRef(ref, IssueNumber(1))),
        lambda github, ref: read_pull(github, ref, PullNumber(2)),
        lambda github, ref: read_heads(github, IssueRef(ref, IssueNumber(1)), [PullNumber(2)]),
        lambda github, ref: list_new_reviews(github, ref, [], datetime.now(UTC)),
    ],
    ids=["repository", "issue", "pull request", "heads", "reviews"],
)
def test_a_name_that_leads_to_another_repository_is_not_found(scene, other_reference, read):
    with pytest.raises(NotFound, match=f"not {scene.repository.id}: it was moved or replaced"):
        read(scene.github, other_reference)


def test_a_private_repository_without_configuration_is_read_too(standin, app):
    with open_scene(standin, app, private=True) as scene:
        scene.repo.commit({".github/r4p.yml": None})
        facts = read_repository(scene.github, scene.repository)
        assert facts.config is None


def test_each_way_of_pointing_is_told_apart(scene):
    scene.repo.commit({"x": "1"}, branch="next")
    issue = scene.repo.open_issue("Broken")
    files = {"a.py": "x\n"}
    closing = scene.repo.open_pr("A", f"Fixes #{issue}", files=files)
    elsewhere = scene.repo.open_pr("B", f"Fixes #{issue}", files=files, base="next", fork=False)
    mention = scene.repo.open_pr("C", f"See #{issue}", files=files)
    by_hand = scene.repo.open_pr("D", "", files=files)
    undone = scene.repo.open_pr("E", "", files=files)
    scene.repo.link(by_hand.number, issue)
    scene.repo.link(undone.number, issue)
    scene.repo.unlink(undone.number, issue)
    found = links(read_issue(scene.github, scene.issue(issue)))
    assert found[closing.number].closes
    assert not found[elsewhere.number].closes
    assert found[elsewhere.number].mentions
    assert found[mention.number] == LinkFacts(mentions=True)
    assert (found[by_hand.number].closes, found[by_hand.number].connected) == (True, True)
    assert undone.number not in found


def test_merged_and_closed_rivals_stay_in_sight(scene):
    issue = scene.repo.open_issue("Broken")
    merged, closed = scene.rivals(issue, 2)
    scene.repo.merge(merged.number, method="squash")
    scene.repo.close(closed.number)
    facts = read_issue(scene.github, scene.issue(issue))
    pulls = {linked.pull.number: linked.pull for linked in facts.pulls}
    assert pulls[merged.number].state is IssueState.MERGED
    assert pulls[closed.number].state is IssueState.CLOSED
    assert facts.state is IssueState.CLOSED


def test_a_bot_is_named_as_in_webhooks_and_a_lost_account_is_none(scene):
    scene.standin.add_user("fixer[bot]", "Bot")
    scene.standin.add_user(f"gone-{scene.repo.id}")
    issue = scene.repo.open_issue("Broken")
    files = {"a.py": "x\n"}
    scene.repo.open_pr("A", f"Fixes #{issue}", author="fixer[bot]", files=files)
    scene.repo.open_pr(
        "B", f"Fixes #{issue}", author=f"gone-{scene.repo.id}", files=files, fork=False
    )
    scene.standin.delete_user(f"gone-{scene.repo.id}")
    facts = read_issue(scene.github, scene.issue(issue))
    assert [linked.pull.author for linked in facts.pulls] == ["fixer[bot]", None]


def test_more_links_than_a_page_are_all_read(scene):
    issue = scene.repo.open_issue("Broken")
    for n in range(53):
        scene.repo.open_pr(f"P{n}", f"Fixes #{issue}", files={"a.py": f"{n}\n"}, fork=False)
    mark = scene.standin.mark()
    facts = read_issue(scene.github, scene.issue(issue))
    assert scene.standin.calls(mark).total == 2
    assert len(facts.pulls) == 53
    assert all(linked.link.closes for linked in facts.pulls)
    assert facts.is_complete


def test_a_pull_request_read_as_an_issue_is_not_found(scene):
    (pull,) = scene.rivals(scene.repo.open_issue("Broken"), 1)
    for number in (pull.number, 999):
        with pytest.raises(NotFound):
            read_issue(scene.github, scene.issue(number))


def test_heads_are_read_again_in_one_call_without_those_that_are_gone(scene):
    issue = scene.repo.open_issue("Broken")
    first, second = scene.rivals(issue, 2)
    moved = scene.repo.push(first.number, files={"a.py": "pushed\n"})
    mark = scene.standin.mark()
    asked = [PullNumber(n) for n in (second.number, 999, first.number)]
    heads = read_heads(scene.github, scene.issue(issue), asked)
    assert scene.standin.calls(mark).total == 1
    assert heads.issue is IssueState.OPEN
    assert heads.pulls == tuple(
        HeadFacts(number, IssueState.OPEN, head, title="Fix", author="contributor")
        for number, head in ((second.number, second.head_sha), (first.number, moved))
    )


def test_an_issue_that_is_gone_has_no_state_and_no_pulls_are_needed(scene):
    heads = read_heads(scene.github, scene.issue(999), [])
    assert (heads.issue, heads.pulls) == (None, ())


def test_a_pull_request_names_the_issues_it_closes(scene):
    issue = scene.repo.open_issue("Broken")
    (pull,) = scene.rivals(issue, 1)
    found = read_pull(scene.github, scene.repository, PullNumber(pull.number))
    assert found.closes == (IssueMention(scene.repo.full_name, IssueNumber(issue)),)
    assert (found.default_branch, found.pull.number) == ("main", pull.number)
    with pytest.raises(NotFound):
        read_pull(scene.github, scene.repository, PullNumber(issue))


def test_every_new_review_of_a_person_is_read_however_many_pages_there_are(scene):
    issue = scene.repo.open_issue("Broken")
    first, second = scene.rivals(issue, 2)
    scene.repo.review(first.number, body="Old", author="alice")
    scene.standin.advance(60)
    new = [scene.repo.review(first.number, body=f"{n}", author="alice") for n in range(45)]
    new.append(scene.repo.review(second.number, body="Fine", author="alice"))
    since = datetime.fromtimestamp(scene.standin.now() - 30, UTC)
    found = list_new_reviews(scene.github, scene.repository, [first.number, second.number], since)
    assert sorted(review.id for review in found) == new
    assert found[0].head == scene.repo.pull(found[0].pull).head_sha


def build_review(**changes):
    author = {"__typename": "User", "login": "mona", "databaseId": 7}
    fields = {"fullDatabaseId": "9", "body": "Fine", "state": "COMMENTED", "author": author}
    times = {"submittedAt": "2026-01-01T00:00:00Z", "lastEditedAt": None, "commit": None}
    return ReviewSlice.model_validate(fields | times | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"author": None},
        {"author": {"__typename": "Bot", "login": "fixer"}},
        {"state": "DISMISSED"},
        {"state": "PENDING", "submittedAt": None},
        {"lastEditedAt": "2026-01-02T00:00:00Z"},
    ],
)
def test_a_review_that_never_commands_is_left_out(changes):
    assert build_review().facts(PullNumber(3)).author_id == 7
    assert build_review(**changes).facts(PullNumber(3)) is None
