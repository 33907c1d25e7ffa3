"""Actions of maintainers after a verdict become outcome rows."""

import pytest

pytestmark = pytest.mark.services


@pytest.fixture
def verdict_issue(story):
    """An issue with two judged rivals."""
    issue, pulls = story.open_judged_issue()
    story.verdict(issue)
    return story, issue, pulls


def test_one_is_merged_and_the_other_closed(verdict_issue):
    story, issue, (right, wrong) = verdict_issue
    story.repo.merge(right, method="squash")
    story.repo.close(wrong)
    story.settle()
    assert sorted(story.outcomes(issue)) == [
        (right, "merged", None),
        (wrong, "closed", "superseded"),
    ]
    assert {row.permission for row in story.outcome_rows(issue)} == {"maintain"}


def test_commits_after_the_verdict_and_then_a_merge(verdict_issue):
    story, issue, (_, wrong) = verdict_issue
    story.push(wrong, "h * w")
    story.settle()
    assert story.verdict(issue).rows[wrong] == "Correct"
    story.repo.merge(wrong)
    story.settle()
    assert [(kind, reason) for _, kind, reason in story.outcomes(issue)] == [
        ("new_commits_after_verdict", None),
        ("merged", None),
    ]


def test_closed_by_a_maintainer_and_reopened(verdict_issue):
    story, issue, (_, wrong) = verdict_issue
    story.repo.close(wrong)
    story.settle()
    story.repo.reopen(wrong)
    story.settle()
    assert story.outcomes(issue) == [
        (wrong, "closed", "closed_by_maintainer"),
        (wrong, "reopened", "pull_request"),
    ]


def test_a_review_and_ci_are_recorded_with_who_and_what(verdict_issue):
    story, issue, (right, wrong) = verdict_issue
    story.repo.review(wrong, "CHANGES_REQUESTED", body="It still subtracts.")
    story.repo.check_suite(story.repo.head(right), "success")
    story.settle()
    assert sorted(story.outcomes(issue)) == [
        (right, "ci", "success"),
        (wrong, "reviewed", "changes_requested"),
    ]


def test_every_row_says_who_with_which_right_why_it_is_known_and_of_which_head(verdict_issue):
    story, issue, (right, wrong) = verdict_issue
    judged = {pull: story.repo.head(pull) for pull in (right, wrong)}
    comment = story.verdict(issue).id
    story.command(issue, "/r4p agree")
    story.command(issue, f"/r4p disagree #{wrong} it works for squares")
    story.repo.react(comment, "+1", "maintainer")
    story.stage.tick("reactions")
    story.wait_for(lambda: (wrong, "reaction", "+1") in story.outcomes(issue))
    story.repo.check_suite(judged[right], "success")
    story.repo.review(wrong, "CHANGES_REQUESTED", body="It still subtracts.")
    story.repo.merge(right)
    story.settle()
    story.repo.reopen(issue)
    moved = story.push(wrong, "h * w")
    story.settle()
    story.verdict(issue)
    rows = {(row.pull, row.kind.value): row for row in story.outcome_rows(issue)}
    assert {key: (row.actor, row.permission, row.head_sha) for key, row in rows.items()} == {
        (right, "agree"): ("maintainer", "maintain", judged[right]),
        (wrong, "disagree"): ("maintainer", "maintain", judged[wrong]),
        (right, "reaction"): ("maintainer", "maintain", judged[right]),
        (wrong, "reaction"): ("maintainer", "maintain", judged[wrong]),
        (right, "ci"): ("ci[bot]", "app", judged[right]),
        (wrong, "reviewed"): ("maintainer", "maintain", judged[wrong]),
        (right, "merged"): ("maintainer", "maintain", judged[right]),
        (right, "reopened"): ("maintainer", "maintain", judged[right]),
        (wrong, "new_commits_after_verdict"): ("contributor", "read", moved),
    }
    assert all(row.source and row.evaluation for row in rows.values())


def test_a_merge_that_is_reverted_loses_its_lines(verdict_issue):
    story, issue, (right, _) = verdict_issue
    story.repo.merge(right)
    story.settle()
    revert = story.repo.revert(right)
    story.numbers.append(revert.number)
    story.repo.merge(revert.number)
    story.settle()
    assert {kind for _, kind, _ in story.outcomes(issue)} == {"merged", "reverted"}
    story.let_days_pass(8)
    shares = {row.reason: row.value for row in story.outcome_rows(issue) if row.kind == "survival"}
    assert shares == {"after_7_days": 0.0}


def test_lines_that_stay_are_counted_after_7_30_and_90_days(verdict_issue):
    story, issue, (right, _) = verdict_issue
    story.repo.merge(right)
    story.settle()
    for days in (8, 23, 61):
        story.let_days_pass(days)
    shares = {row.reason: row.value for row in story.outcome_rows(issue) if row.kind == "survival"}
    assert shares == {"after_7_days": 1.0, "after_30_days": 1.0, "after_90_days": 1.0}


def test_thumbs_of_maintainers_are_polled_and_taken_back(verdict_issue):
    story, issue, (right, wrong) = verdict_issue
    comment = story.verdict(issue).id
    story.repo.react(comment, "+1", "maintainer")
    story.repo.react(comment, "-1", "reader")
    story.stage.tick("reactions")
    story.wait_for(lambda: len(story.outcomes(issue)) == 2)
    story.settle()
    assert sorted(story.outcomes(issue)) == [(right, "reaction", "+1"), (wrong, "reaction", "+1")]


def test_a_later_look_at_an_old_verdict_changes_no_outcome(verdict_issue):
    story, issue, (right, wrong) = verdict_issue
    story.repo.merge(right)
    story.repo.close(wrong)
    story.settle()
    before = story.outcomes(issue)
    for name in ("reconcile", "reactions"):
        story.stage.tick(name)
    story.wait_for(lambda: {"reconcile", "poll_reactions"} <= story.count_jobs().keys())
    story.settle()
    assert story.outcomes(issue) == before
