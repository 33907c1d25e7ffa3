"""Actions of maintainers after a verdict label patches; weak evidence stays unknown."""

from datetime import UTC, datetime, timedelta

import pytest

from training.corpus import Corpus
from training.labels import labels
from training.labels.label_rule import LabelGrade

pytestmark = pytest.mark.services


def explain_labels(story, days):
    """Return the labels of each pull request's first and last patch some days from now."""
    records = [
        record
        for record in Corpus(story.stage.database).list_records()
        if record.issue.repository.id == story.repo.id
    ]
    now = datetime.now(UTC) + timedelta(days=days)
    by_pull: dict[int, list[labels.LabelledPatch]] = {}
    for label in labels.label_patches(records, now):
        by_pull.setdefault(label.pull, []).append(label)
    return {pull: (patches[0], patches[-1]) for pull, patches in by_pull.items()}


def test_what_is_done_to_pull_requests_labels_their_patches(story):
    issue, (right, wrong) = story.open_judged_issue()
    story.verdict(issue)
    story.repo.review(wrong, "CHANGES_REQUESTED", body="It still subtracts.")
    story.settle()
    story.push(wrong, "h * w")
    story.settle()
    assert story.verdict(issue).rows[wrong] == "Correct"
    story.repo.merge(wrong)
    story.repo.close(right)
    story.settle()
    assert {label.rule_name for both in explain_labels(story, 1).values() for label in both} == {
        "lately"
    }
    (first, last), (closed, _) = (explain_labels(story, 15)[pull] for pull in (wrong, right))
    assert (first.is_first, first.rule_name) == (True, "sent_back")
    assert (last.is_first, last.rule_name, last.label) == (
        False,
        "merged",
        LabelGrade.CORRECT,
    )
    assert first.is_echo
    assert last.is_echo
    assert (closed.rule_name, closed.probability, closed.weight) == ("superseded", None, 0.0)


def test_a_word_and_a_revert_label_too(story):
    issue, (right, wrong) = story.open_judged_issue()
    story.verdict(issue)
    story.command(issue, f"/r4p agree #{wrong}")
    story.repo.merge(right)
    story.settle()
    before = explain_labels(story, 15)
    assert (before[right][0].rule_name, before[wrong][0].rule_name) == ("merged", "called_wrong")
    revert = story.repo.revert(right)
    story.numbers.append(revert.number)
    story.repo.merge(revert.number)
    story.settle()
    # not now: other stories have set GitHub's clock a little ahead of ours
    assert explain_labels(story, 1)[right][0].label is LabelGrade.INCORRECT
