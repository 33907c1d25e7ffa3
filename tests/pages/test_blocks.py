"""Every code block of the README and the tutorial works as it stands, in the order of its page."""

import re
import subprocess
import sys
import textwrap

import pytest

from app.settings import build_plain_environment
from deploy.build_site import ROOT
from tests.model.chat_server import MODELS, build_completion, serve_chat

PAGES = {name: (ROOT / name).read_text() for name in ("README.md", "docs/tutorial.md")}
SECONDS = 120
PLAYED = (
    "tests/demo/test_scenario.py and tests/stories start the bot beside the stand-in for GitHub"
)
NOT_RUN = {
    "make install": "it made the environment in which this test runs",
    "make demo": "tests/demo/test_scenario.py plays it",
    "export R4P_APP_ID=12345 R4P_PRIVATE_KEY_PATH=app.pem R4P_WEBHOOK_SECRET=...": PLAYED,
    ".venv/bin/r4p up --data var/r4p --port 8000": PLAYED,
    ".venv/bin/r4p up --data var/r4p --port 8000 --engine-url http://gpu:8000/v1 --model MODEL": PLAYED,
}
"""Commands that this test does not run, each with the reason."""
STATUS = {"verify": {0, 3, 4}}
"""Exit codes of commands that tell a verdict by them; all others end with 0."""


def _list_blocks(page):
    """Language and text of each code block, without the indentation of the list that it stands in."""
    fence = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
    return [(language, textwrap.dedent(text)) for _, language, text in fence.findall(PAGES[page])]


@pytest.mark.parametrize("page", PAGES)
def test_a_block_is_in_a_language_that_is_checked(page):
    """`tests/architecture/test_docs.py` reads the YAML."""
    languages = {language for language, _ in _list_blocks(page)}
    assert languages <= {"console", "python", "yaml"}
    assert "console" in languages


def test_every_command_that_is_not_run_stands_on_a_page():
    lines = {line for page in PAGES for _, text in _list_blocks(page) for line in text.splitlines()}
    assert [command for command in NOT_RUN if command not in lines] == []


@pytest.fixture
def folder(tmp_path):
    """A clone's root as the pages see it: the environment, an issue and its patches."""
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    for language, text in _list_blocks("docs/tutorial.md"):
        if language == "console" and "cat > issue.md" in text:
            subprocess.run(["bash", "-ec", text], cwd=tmp_path, check=True)
    return tmp_path


def _run(text, folder, url):
    """Run one block and return its exit status and its output."""
    text = re.sub(r"http://[\w.]+:8000/v1", url, text).replace("--model MODEL", "--model r4p")
    environment = build_plain_environment() | {"HOME": str(folder), "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        ["bash", "-ec", text], cwd=folder, env=environment, timeout=SECONDS, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    return ran.returncode, ran.stdout + ran.stderr


@pytest.mark.proof
@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_works(page, folder):
    answer = build_completion(r"They differ. \boxed{1,2}")
    with serve_chat(models=[MODELS], chat=[answer]) as server:
        for language, text in _list_blocks(page):
            commands = "".join(f"{line}\n" for line in text.splitlines() if line not in NOT_RUN)
            if language == "yaml" or not commands:
                continue
            if language == "python":
                commands = f"exec {sys.executable} - <<'END'\n{commands}END\n"
            status, output = _run(commands, folder, server.url)
            expected = STATUS["verify"] if "r4p verify" in commands else {0}
            assert status in expected, f"{commands}\n{output}"
        asked = [body for path, _, body in server.seen if "chat" in path]
    assert bool(asked) == ("http://localhost:8000/v1" in PAGES[page])
