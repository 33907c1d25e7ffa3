import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.events import Ignored, parse
from tests.builders.github.webhook_payloads import (
    check,
    comment,
    encode,
    envelope,
    installation,
    issue,
    pull,
    push,
    read,
    review,
)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe{}",
        '{"action": "opened"}'.encode("utf-16"),
        b"\xef\xbb\xbf{}",
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"number": ' + b"9" * 5_000 + b"}",
        b"{" + b" " * 25_000_000,
        b"[]",
        b"null",
    ],
    ids=[
        "empty",
        "not-utf8",
        "utf-16",
        "byte-order-mark",
        "deep-lists",
        "deep-objects",
        "5000-digits",
        "25-MB-of-whitespace",
        "list",
        "null",
    ],
)
def test_hostile_bytes_are_unreadable_and_nothing_worse(body):
    event = parse("pull_request", "guid", body)
    assert isinstance(event, Ignored)
    assert event.reason.startswith("unreadable: ")


def test_text_is_cleaned_of_what_a_database_refuses():
    hostile = envelope(
        action="opened", pull_request=pull(title="a\0b\ud800c", body="\U0001f600" * 70_000)
    )
    event = read("pull_request", hostile)
    assert event.title == "abc"
    assert event.body == "\U0001f600" * 65_536


def test_the_last_of_two_equal_keys_counts():
    body = encode(envelope(action="opened", pull_request=pull()))
    doubled = body.replace(b'"title": "Handle', b'"title": "x", "title": "Handle')
    assert parse("pull_request", "guid", doubled).title == "Handle empty input"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


SOUND = {
    "pull_request": envelope(action="edited", pull_request=pull(), changes={}),
    "issues": envelope(action="opened", issue=issue()),
    "issue_comment": envelope(action="created", issue=issue(), comment=comment()),
    "pull_request_review": envelope(action="submitted", pull_request=pull(), review=review()),
    "check_run": envelope(action="completed", check_run=check()),
    "push": push(),
    "installation": installation(action="created", repositories=[]),
}


@settings(max_examples=200, deadline=None)
@given(name=st.sampled_from(sorted(SOUND)), data=st.data())
def test_a_spoilt_field_never_raises_and_never_reaches_the_database_dirty(name, data):
    payload = json.loads(json.dumps(SOUND[name]))
    part = payload
    while True:
        key = data.draw(st.sampled_from(sorted(part)))
        if isinstance(part[key], dict) and part[key] and data.draw(st.booleans()):
            part = part[key]
            continue
        part[key] = data.draw(json_values)
        break
    event = read(name, payload)
    text = (
        repr(event)
        if isinstance(event, Ignored)
        else event.repository.full_name
        if hasattr(event, "repository")
        else event.account
    )
    text.encode("utf-8")
    assert "\0" not in text


@settings(max_examples=200, deadline=None)
@given(st.binary())
def test_any_bytes_give_an_answer(body):
    assert isinstance(parse("push", "guid", body), Ignored)
