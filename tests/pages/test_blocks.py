"""Every code block of the README and the tutorial works as it stands, in the order of its page."""

import re
import subprocess
import sys
from dataclasses import fields

import pytest

from app.settings import build_plain_environment
from model.commands.options import JudgeOptions
from tests.model.chat_server import MODELS, build_completion, serve_chat
from tests.pages.pages import README, ROOT, TUTORIAL, build_clone, list_blocks

PAGES = (README, TUTORIAL)
SECONDS = 120
PLAYED = (
    "tests/demo/test_scenario.py and tests/stories start the bot beside the stand-in for GitHub"
)
NOT_RUN = {
    r"make install": "it made the environment in which this test runs",
    r"make demo": "tests/demo/test_scenario.py plays it",
    r"export R4P_APP_ID=.*": PLAYED,
    r"\.venv/bin/r4p (up|setup)\b.*": PLAYED,
}
"""Patterns of commands that this test does not run, each with the reason."""
STATUS = {"verify": {0, 3, 4}}
"""Exit codes of commands that tell a verdict by them; all others end with 0."""


@pytest.mark.parametrize("page", PAGES)
def test_a_block_is_in_a_language_that_is_checked(page):
    """`tests/architecture/test_docs.py` reads the YAML."""
    languages = {language for language, _ in list_blocks(page)}
    assert languages <= {"console", "python", "yaml"}
    assert "console" in languages


def _is_left_out(line):
    return any(re.fullmatch(pattern, line) for pattern in NOT_RUN)


def test_every_pattern_of_a_command_that_is_not_run_is_needed():
    lines = [line for page in PAGES for _, text in list_blocks(page) for line in text.splitlines()]
    used = {pattern for pattern in NOT_RUN for line in lines if re.fullmatch(pattern, line)}
    assert used == NOT_RUN.keys()


@pytest.fixture
def folder(tmp_path):
    return build_clone(tmp_path)


def _run(text, folder, url):
    """Run one block and return its exit status and its output."""
    text = re.sub(r"http://[\w.]+:8000/v1", url, text).replace("--model MODEL", "--model r4p")
    environment = build_plain_environment() | {"HOME": str(folder), "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        ["bash", "-ec", text], cwd=folder, env=environment, timeout=SECONDS, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    return ran.returncode, ran.stdout + ran.stderr


def test_tutorial_names_the_number_of_votes():
    (votes,) = [each.default for each in fields(JudgeOptions) if each.name == "votes"]
    words = {1: "once", 2: "twice", 3: "three times", 4: "four times"}
    assert f"asks the model {words[votes]}, each time" in (ROOT / TUTORIAL).read_text()


@pytest.mark.proof
@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_works(page, folder):
    answer = build_completion(r"They differ. \boxed{1,2}")
    with serve_chat(models=[MODELS], chat=[answer]) as server:
        for language, text in list_blocks(page):
            commands = "".join(f"{line}\n" for line in text.splitlines() if not _is_left_out(line))
            if language == "yaml" or not commands:
                continue
            if language == "python":
                commands = f"exec {sys.executable} - <<'END'\n{commands}END\n"
            status, output = _run(commands, folder, server.url)
            expected = STATUS["verify"] if "r4p verify" in commands else {0}
            assert status in expected, f"{commands}\n{output}"
        asked = [body for path, _, body in server.seen if "chat" in path]
    assert bool(asked) == ("http://localhost:8000/v1" in (ROOT / page).read_text())
