"""When an alternative may be opened as a draft, and where it is put."""

import pytest

from app.jobs.draft_jobs import OpenDraft, TellDraft
from app.jobs.job import Queue
from app.policy.draft_policy import DraftRefusal, find_refusal, name_branch
from app.settings.repo_config import RepoConfig


@pytest.mark.parametrize(
    ("wanted", "has_writer", "why"),
    [
        (False, False, DraftRefusal.NOT_WANTED),
        (False, True, DraftRefusal.NOT_WANTED),
        (True, False, DraftRefusal.NO_WRITER),
        (True, True, None),
    ],
)
def test_draft_needs_repository_setting_and_writer_app(wanted, has_writer, why):
    config = RepoConfig(version=1, draft_pull_requests=wanted)
    assert find_refusal(config, has_writer=has_writer) is why


def test_draft_pull_requests_are_off_by_default():
    assert RepoConfig(version=1).draft_pull_requests is False


def test_the_branch_names_issue_and_alternative():
    assert name_branch(7, "A2") == "r4p/issue-7-A2"


def test_opening_and_telling_of_drafts_have_separate_queues():
    assert (OpenDraft.queue, TellDraft.queue) == (Queue.WRITER, Queue.GITHUB)
