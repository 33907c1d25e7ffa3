"""An App that GitHub created and the bot cannot use: its key is lost, so the page says to delete it."""

import html

import pytest

from app.operator.setup.registration import explain_lost_app


def break_settings(data):
    (data / "settings.json").write_text("{")
    return data / "settings.json"


def block_secrets(data):
    (data / "secrets").touch()
    return data / "secrets"


LOST = "elete the App on GitHub, and create the App again"


@pytest.mark.parametrize("fault", ["502_after_effect", "reset_after_effect", "garbled"])
def test_an_app_whose_key_is_lost_on_the_way_is_to_be_deleted(wizard, fault):
    """GitHub took the code, and its answer never came: only a new App has a key that the bot can know."""
    wizard.sign_in()
    location = wizard.create_app(wizard.answer())
    wizard.github.fault("POST /app-manifests/*", fault)
    page = wizard.browser.get(location)
    assert page.status_code == 502
    assert LOST in html.unescape(page.text)
    assert not wizard.pages.is_done


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (break_settings, " can't be read ("),
        (block_secrets, ": File exists. Correct the file or its folder, "),
    ],
)
def test_an_app_that_cannot_be_stored_is_named_with_the_file_and_the_fix(wizard, spoil, why):
    wizard.sign_in()
    location = wizard.create_app(wizard.answer())
    wizard.pages.data.mkdir()
    file = spoil(wizard.pages.data)
    page = wizard.browser.get(location)
    assert page.status_code == 500
    shown = html.unescape(page.text)
    assert f"{file}{why}" in shown
    assert LOST in shown
    assert not wizard.pages.is_done


def test_an_error_of_the_system_without_a_text_is_told_all_the_same(tmp_path):
    told = explain_lost_app(tmp_path, OSError("the disk went away"))
    assert told.startswith(f"{tmp_path}: the disk went away. Correct the file or its folder, d")
