"""The next version of GitHub's API is the stored one with GitHub's own list of changes."""

from dataclasses import replace

import pytest

from tests.contract.messages import build_answer, build_delivery
from tests.github.contract import Contract
from tests.github.contract.api_version import NEXT, STORED, ApiVersion, drop_fields, merge

CHANGED = [
    ("pulls/get", "merge_commit_sha"),
    ("pulls/get", "assignee"),
    ("pulls/list", "merge_commit_sha"),
    ("issues/get", "assignee"),
    ("repos/get", "has_downloads"),
    ("rate-limit/get", "rate"),
]


@pytest.fixture(scope="module")
def upcoming():
    return Contract.load(NEXT)


def test_a_merge_patch_removes_replaces_and_adds():
    target = {"kept": 1, "gone": 2, "deep": {"kept": 3, "gone": 4}, "list": [1, 2]}
    patch = {"gone": None, "deep": {"gone": None, "new": 5}, "list": [2], "absent": None}
    assert merge(target, patch) == {"kept": 1, "deep": {"kept": 3, "new": 5}, "list": [2]}
    assert target["deep"] == {"kept": 3, "gone": 4}


def test_the_next_version_drops_six_fields_of_answers_and_two_of_deliveries():
    version = ApiVersion.load(NEXT)
    assert version.rest_fields == {
        "assignee",
        "has_downloads",
        "master_branch",
        "merge_commit_sha",
        "rate",
        "use_squash_pr_title_as_default",
    }
    assert version.webhook_fields == {"merge_commit_sha", "use_squash_pr_title_as_default"}
    assert ApiVersion.load(STORED).rest_fields == frozenset()


@pytest.mark.parametrize(("operation_id", "field"), CHANGED)
def test_an_answer_with_a_dropped_field_breaks_the_next_contract(
    contract, upcoming, operation_id, field
):
    answer = build_answer(contract, operation_id, 200)
    assert answer.violations(contract) == []
    assert field in " ".join(broken.what for broken in answer.violations(upcoming))
    without = drop_fields(answer.body, upcoming.version.rest_fields)
    assert replace(answer, body=without).violations(upcoming) == []


def test_a_delivery_without_the_merge_commit_breaks_the_stored_contract_only(contract, upcoming):
    delivery = build_delivery(contract, "pull_request", "closed")
    without = drop_fields(delivery.body, upcoming.version.webhook_fields)
    (broken,) = replace(delivery, body=without).violations(contract)
    assert "merge_commit_sha" in broken.what
    assert replace(delivery, body=without).violations(upcoming) == []


def test_a_request_for_another_version_is_a_violation(upcoming):
    headers = {"User-Agent": "r4p", "Accept": "application/json", "X-GitHub-Api-Version": STORED}
    (broken,) = upcoming.check_request("GET", "/app", {}, headers, b"")
    assert broken.what == "X-GitHub-Api-Version is '2022-11-28', not '2026-03-10'"
