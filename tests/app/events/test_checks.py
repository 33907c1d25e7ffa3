from app.events import CheckAction, CheckEvent, Ignored
from tests.builders.github.webhook_payloads import CAT, MONA, SHA, TEN, check, envelope, read


def test_a_finished_check_run_is_read_whole():
    payload = envelope(action="completed", check_run=check())
    assert read("check_run", payload) == CheckEvent(
        delivery="guid",
        repository=CAT,
        sender=MONA,
        action=CheckAction.COMPLETED,
        is_suite=False,
        id=600,
        name="tests",
        head=SHA,
        conclusion="success",
        app_id=15368,
        app_slug="github-actions",
        is_ours=False,
        pulls=(12,),
        external_id="e",
        button=None,
        occurred_at=TEN,
    )


def test_the_output_of_a_check_run_is_read_as_one_text():
    printed = check(output={"title": "1 failed", "summary": None, "text": "sums.py:3: KeyError"})
    event = read("check_run", envelope(action="completed", check_run=printed))
    assert event.output == "1 failed\n\nsums.py:3: KeyError"


def test_a_check_suite_has_neither_name_nor_external_id():
    suite = check(name=None, external_id=None, completed_at=None, updated_at="2026-03-01T10:00:00Z")
    event = read("check_suite", envelope(action="completed", check_suite=suite))
    assert (event.is_suite, event.name, event.external_id, event.occurred_at) == (True, "", "", TEN)


def test_a_pressed_button_says_which():
    payload = envelope(
        action="requested_action", check_run=check(), requested_action={"identifier": "reverify"}
    )
    assert read("check_run", payload).button == "reverify"


def test_our_own_finished_checks_are_ignored_but_their_buttons_are_not():
    ours = check(app={"id": 99, "slug": "r4p"})
    done = envelope(action="completed", check_run=ours)
    again = envelope(action="rerequested", check_run=ours)
    assert read("check_run", done, own_app=99) == Ignored("our own check")
    event = read("check_run", again, own_app=99)
    assert (event.action, event.is_ours) == (CheckAction.REREQUESTED, True)
    assert not read("check_run", again, own_app=98).is_ours
    assert not read("check_run", again).is_ours
