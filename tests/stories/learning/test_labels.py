"""What maintainers do after a verdict labels patches; what proves nothing stays unknown."""

from datetime import UTC, datetime, timedelta

import pytest

from training.corpus import Corpus
from training.labels import labels

pytestmark = pytest.mark.services


def told(story, days):
    """Each pull request's label so many days from now: of its first patch, and of its last one."""
    records = Corpus(story.stage.database).list_records()
    now = datetime.now(UTC) + timedelta(days=days)
    found: dict[int, list[labels.LabelledPatch]] = {}
    for one in labels.label_patches(records, now):
        found.setdefault(one.pull, []).append(one)
    return {pull: (patches[0], patches[-1]) for pull, patches in found.items()}


def test_what_is_done_to_pull_requests_labels_their_patches(story):
    issue, (right, wrong) = story.judged()
    story.verdict(issue)
    story.repo.review(wrong, "CHANGES_REQUESTED", body="It still subtracts.")
    story.settle()
    story.push(wrong, "h * w")
    story.settle()
    assert story.verdict(issue).rows[wrong] == "Correct"
    story.repo.merge(wrong)
    story.repo.close(right)
    story.settle()
    assert {one.rule_name for both in told(story, 1).values() for one in both} == {"lately"}
    (first, last), (closed, _) = (told(story, 15)[pull] for pull in (wrong, right))
    assert (first.is_first, first.rule_name, first.decided_by) == (True, "sent_back", "maintainer")
    assert (last.is_first, last.rule_name, last.label) == (
        False,
        "merged",
        labels.LabelGrade.CORRECT,
    )
    assert first.is_echo
    assert last.is_echo
    assert (closed.rule_name, closed.probability, closed.weight) == ("superseded", None, 0.0)


def test_a_word_and_a_revert_label_too(story):
    issue, (right, wrong) = story.judged()
    story.verdict(issue)
    story.command(issue, f"/r4p agree #{wrong}")
    story.repo.merge(right)
    story.settle()
    before = told(story, 15)
    assert (before[right][0].rule_name, before[wrong][0].rule_name) == ("merged", "called_wrong")
    revert = story.repo.revert(right)
    story.numbers.append(revert.number)
    story.repo.merge(revert.number)
    story.settle()
    # not now: other stories have set GitHub's clock a little ahead of ours
    assert told(story, 1)[right][0].label is labels.LabelGrade.INCORRECT
