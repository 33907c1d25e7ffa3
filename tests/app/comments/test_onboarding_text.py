"""The setup pull request: its settings file is valid and shows every default, and its text keeps to the facts."""

import re

from app.comments import ONBOARDING_TITLE, write_onboarding_body, write_onboarding_file
from app.settings.repo_config import WITHOUT_FILE, Mode, RepoConfig, parse

_HIDDEN_KEY = re.compile(r"^# (\w+: )", re.MULTILINE)


def test_the_file_publishes_and_changes_nothing_else():
    config = parse(write_onboarding_file())
    assert config == WITHOUT_FILE.model_copy(update={"mode": Mode.ADVISORY})


def test_every_key_stands_in_the_file_and_its_comment_shows_the_default():
    text = write_onboarding_file()
    shown = {match.strip(": ") for match in _HIDDEN_KEY.findall(text)} & {*RepoConfig.model_fields}
    assert shown == {*RepoConfig.model_fields} - {"version", "mode"}
    keys = "|".join(shown)
    config = parse(re.sub(rf"^# ((?:{keys}): )", r"\1", text, flags=re.MULTILINE))
    examples = [key for key in shown if getattr(config, key) != getattr(WITHOUT_FILE, key)]
    assert (
        f"# These keys have no default, and their comments show an example: {', '.join(examples)}.\n"
        in text
    )
    without_examples = dict.fromkeys(examples) | {"mode": Mode.SHADOW}
    assert config.model_copy(update=without_examples) == WITHOUT_FILE


def test_no_line_of_the_file_is_too_long_to_read():
    assert max(map(len, write_onboarding_file().splitlines())) <= 104


def test_the_description_says_what_merging_and_closing_change():
    assert ONBOARDING_TITLE == "Set up R4P bot"
    body = write_onboarding_body()
    for fact in (
        "**shadow mode**: it judges, and publishes only\nanswers to commands.",
        "adds `.github/r4p.yml`",
        "| merge this pull request | publishes verdicts",
        "| close it | stays in shadow mode and never asks again",
        "With `training: off`, the default, nothing is learnt from it.",
        "Write `/r4p verify`",
    ):
        assert fact in body
