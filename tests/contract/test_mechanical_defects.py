"""Thousands of defects made by rule; the contract must catch nearly all of them.

What is not caught lies where GitHub states no type: headers and payloads of logged deliveries,
custom properties, permissions by name.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.messages import Message, build_answer, build_delivery

MAX_DEPTH = 4
MIN_SHARE = 0.98

Place = tuple[str | int, ...]


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """List every key down to a depth; of lists only the first item."""
    if len(place) == MAX_DEPTH:
        return
    keys: list[str | int] = []
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = list(range(min(len(value), 1)))
    for key in keys:
        yield (*place, key)
        yield from places(value[key], (*place, key))


def with_another_type(parent: Any, key: str | int) -> tuple[str | int, Any]:
    return key, 7 if parent[key] is None or isinstance(parent[key], str) else "x"


def under_another_name(parent: Any, key: str | int) -> tuple[str | int, Any]:
    return (f"{key}X" if isinstance(parent, dict) else key), parent[key]


def count_caught(contract, messages: list[Message], spoil) -> tuple[int, int]:
    """Plant defects one at a time; return how many there were and how many the contract caught."""
    planted = seen = 0
    for message in messages:
        for *steps, key in list(places(message.body)):
            parent = message.body
            for step in steps:
                parent = parent[step]
            name, value = spoil(parent, key)
            original = parent[key]
            if (name, value) == (key, original):
                continue
            if name != key:
                del parent[key]
            parent[name] = value
            planted += 1
            seen += bool(message.violations(contract))
            if name != key:
                del parent[name]
            parent[key] = original
    return planted, seen


def answers(contract) -> list[Message]:
    stored = contract.examples["rest"].items()
    return [
        build_answer(contract, name, int(status))
        for name, examples in stored
        for status in examples
        if status < "300"
    ]


def deliveries(contract) -> list[Message]:
    """Build a delivery of each event."""
    return [
        build_delivery(contract, event, next(iter(examples)))
        for event, examples in contract.events.items()
    ]


@pytest.mark.parametrize(
    ("messages", "spoil", "at_least"),
    [
        (answers, with_another_type, 3000),
        (answers, under_another_name, 3000),
        (deliveries, with_another_type, 2000),
    ],
)
def test_nearly_every_defect_made_by_rule_is_caught(contract, messages, spoil, at_least):
    planted, seen = count_caught(contract, messages(contract), spoil)
    print(f"{messages.__name__} {spoil.__name__}: {seen} of {planted} ({seen / planted:.1%})")  # noqa: T201
    assert planted > at_least
    assert seen / planted >= MIN_SHARE
