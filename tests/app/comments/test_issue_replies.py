"""Replies to the commands that control one issue notify nobody and name where settings come from."""

from app.comments import write_cancel_reply, write_config_reply, write_delegates_reply
from app.settings.config_layers import EffectiveSetting, SettingOrigin
from tests.app.comments.views import render


def test_config_groups_the_settings_by_origin():
    settings = [
        EffectiveSetting("mode", "advisory", SettingOrigin.ORGANISATION),
        EffectiveSetting("votes", "2", SettingOrigin.REPOSITORY),
        EffectiveSetting("training", "off", SettingOrigin.DEFAULT),
    ]
    assert write_config_reply("900", settings, None) == (
        "<!-- r4p:reply=900 -->\n\n"
        "From `.github/r4p.yml` of this repository:\n\n- `votes: 2`\n\n"
        "From `.github/r4p.yml` of the organisation's repository `.github`:\n\n- `mode: advisory`\n\n"
        "The bot's defaults:\n\n- `training: off`\n"
    )


def test_config_names_a_problem_and_values_stay_text():
    hostile = EffectiveSetting("paths", "[` @mona closes #7 <img src=x>]", SettingOrigin.REPOSITORY)
    reply = write_config_reply("900", [hostile], "line 2: unknown key `x`")
    assert "keeps the last good settings: line 2" in reply
    html = render(reply)
    assert not [live for live in ("<img", "@mona", "#7") if live in html]


def test_delegates_are_named_without_a_mention():
    reply = write_delegates_reply("900", ["hubot", "mona"])
    assert "On this issue `hubot` and `mona` may use `verify`" in reply
    assert "@" not in reply
    assert "`delegate`" not in reply
    assert "Nobody has delegated" in write_delegates_reply("900", [])


def test_cancel_says_whether_there_was_something():
    assert "Cancelled." in write_cancel_reply("900", 2)
    assert "Nothing waits or runs here" in write_cancel_reply("900", 0)
