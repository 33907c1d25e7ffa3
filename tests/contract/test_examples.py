"""The stored examples agree with GitHub's present schemas."""

import time
from dataclasses import replace

import pytest

from tests.contract.messages import build_answer, build_delivery, build_page
from tests.github.contract import Contract
from tests.github.contract.checker import MAX_PAYLOAD_BYTES

LOADED = Contract.load()
ANSWERS = [
    (name, int(status))
    for name, violations in LOADED.examples["rest"].items()
    for status in violations
]
DELIVERIES = [
    (event, action) for event, violations in LOADED.events.items() for action in violations
]
EVENTS = {
    "check_run",
    "check_suite",
    "installation",
    "installation_repositories",
    "issue_comment",
    "issues",
    "label",
    "ping",
    "pull_request",
    "pull_request_review",
    "push",
    "star",
}


@pytest.mark.parametrize(("operation_id", "status"), ANSWERS)
def test_every_rest_example_is_valid(contract, operation_id, status):
    assert build_answer(contract, operation_id, status).violations(contract) == []


@pytest.mark.parametrize(("event", "action"), DELIVERIES)
def test_every_webhook_example_is_valid(contract, event, action):
    assert build_delivery(contract, event, action).violations(contract) == []


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("operation_id", ["issues/list-comments", "checks/list-for-ref"])
def test_every_page_of_a_list_is_valid(contract, operation_id, number):
    assert build_page(contract, operation_id, number).violations(contract) == []


def test_fifty_five_operations_and_twelve_events_are_covered(contract):
    assert len(contract.operations()) == 55
    assert set(contract.events) == EVENTS
    assert {operation for operation, status in ANSWERS if status < 300} == {
        operation
        for operation, (method, _) in contract.operations().items()
        if method != "DELETE" or operation == "issues/remove-label"  # the only one with a body
    }


def test_an_example_is_a_fresh_copy(contract):
    contract.rest_example("pulls/get", 200)["number"] = "spoilt"
    contract.webhook_example("push", None)["ref"] = 0
    assert contract.rest_example("pulls/get", 200)["number"] == 1347
    assert contract.webhook_example("push", None)["ref"].startswith("refs/")


def test_every_delivery_but_ping_names_the_installation(contract):
    missing = [pair for pair in DELIVERIES if "installation" not in contract.webhook_example(*pair)]
    assert missing == [("ping", "")]


def test_a_delivery_that_is_no_json_is_a_violation(contract):
    violations = contract.check_webhook("ping", {}, b"zen")
    assert [(item.where, item.what[:16]) for item in violations] == [
        ("webhook ping", "body is not JSON")
    ]


def test_a_delivery_larger_than_github_sends_is_a_violation(contract):
    ping = build_delivery(contract, "ping")
    ping.body["zen"] = "z" * MAX_PAYLOAD_BYTES
    [violations] = ping.violations(contract)
    assert violations.what.endswith(f"GitHub delivers at most {MAX_PAYLOAD_BYTES}")


def test_a_list_by_cursor_has_its_next_page_by_cursor(contract):
    base = build_answer(contract, "apps/list-webhook-deliveries")
    link = f'<https://api.github.com{base.path}?per_page=1&cursor=v1_20>; rel="next"'
    listed = replace(
        base, body=base.body[:1], headers={**base.headers, "Link": link}, query={"per_page": "1"}
    )
    assert listed.violations(contract) == []


def test_the_contract_takes_seconds_of_a_core_to_load_and_to_compile():
    started = time.process_time()
    fresh = Contract.load()
    loaded = time.process_time()
    for operation_id, status in ANSWERS:
        build_answer(fresh, operation_id, status).violations(fresh)
    for event, action in DELIVERIES:
        build_delivery(fresh, event, action).violations(fresh)
    done = time.process_time()
    print(f"load {loaded - started:.3f} s, compile and check all {done - loaded:.3f} s")  # noqa: T201
    # A core that its neighbour shares is slow: these are several times what it takes alone.
    assert loaded - started < 5
    assert done - loaded < 10
