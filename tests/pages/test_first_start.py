"""The tutorial's way to a bot on a repository leads to a verdict: its commands, its file and its comment, on the stand-in."""

import re
import subprocess
from contextlib import suppress

import httpx
import pytest

from app.settings import build_plain_environment
from tests.github.stand_in import StandIn
from tests.model.chat_server import MODELS, build_completion, serve_chat
from tests.pages.pages import ROOT, TUTORIAL, build_clone, list_blocks
from tests.services import free_port, wait_for

BASE = "def mean(values):\n    return sum(values) / len(values)\n"


def _build_script(app, secret, port, engine_url):
    """The tutorial's commands that start the bot, with real values in the place of the examples."""
    shell = [text for language, text in list_blocks(TUTORIAL) if language == "console"]
    (script,) = [text for text in shell if "export R4P_APP_ID" in text]
    real = {
        "R4P_APP_ID=12345": f"R4P_APP_ID={app.app_id}",
        "R4P_WEBHOOK_SECRET=...": f"R4P_WEBHOOK_SECRET={secret}",
        "--port 8000": f"--port {port}",
        "http://gpu:8000/v1": engine_url,
        "--model MODEL": "--model r4p",
        ".venv/bin/r4p": "exec .venv/bin/r4p",
    }
    for example, value in real.items():
        assert example in script
        script = script.replace(example, value)
    return script


@pytest.fixture
def folder(tmp_path):
    return build_clone(tmp_path)


def _judge_on_repository(standin, app, folder):
    """Install the App, open an issue with two rivals and comment as the tutorial says. Returns the bot's verdict comments."""
    (config,) = [text for language, text in list_blocks(TUTORIAL) if language == "yaml"]
    repo = standin.create_repository("octo/stats", {"stats.py": BASE, ".github/r4p.yml": config})
    standin.grant(repo, "maintainer", "maintain")
    standin.install(app, [repo])
    title, _, body = (folder / "issue.md").read_text().partition("\n")
    number = repo.open_issue(title, body.strip())
    for name in ("a", "c"):
        diff = (folder / f"{name}.diff").read_text()
        repo.open_pr(f"Fix {name}", f"Fixes #{number}.", f"author-{name}", diff=diff)

    def find_verdicts():
        bodies = [comment.body for comment in repo.comments(number)]
        return [body for body in bodies if "<!-- r4p:group" in body and "verdict" in body.lower()]

    for _ in range(6):  # a comment may come before the bot has read the installation
        repo.comment(number, "/r4p verify", author="maintainer")
        with suppress(AssertionError):
            wait_for(find_verdicts, 40)
            break
    return find_verdicts()


@pytest.mark.proof
@pytest.mark.services
@pytest.mark.timeout(420)
def test_the_steps_of_the_tutorial_lead_to_a_verdict(folder):
    secret, port = "a secret of the tutorial", free_port()
    (path,) = re.findall(r"https://YOUR-HOST(/[\w/]+)", (ROOT / TUTORIAL).read_text())
    answer = build_completion(r"Only the first returns 0.0. \boxed{1}")
    with (
        StandIn.start(folder / "github") as standin,
        serve_chat(models=[MODELS], chat=[answer]) as engine,
        (folder / "up.log").open("wb") as log,
    ):
        app = standin.register_app(webhook_secret=secret, slug="r4p-bot")
        (folder / "app.pem").write_text(app.private_key)
        standin.set_webhook_url(app.app_id, f"http://127.0.0.1:{port}{path}")
        script = _build_script(app, f"'{secret}'", port, engine.url)
        environment = build_plain_environment() | {"R4P_GITHUB_URL": standin.url}
        with subprocess.Popen(
            ["bash", "-ec", script], cwd=folder, env=environment, stdout=log, stderr=log
        ) as bot:
            try:
                wait_for(lambda: bot.poll() is not None or _is_up(port), 120)
                verdicts = _judge_on_repository(standin, app, folder)
            finally:
                bot.terminate()
    assert len(verdicts) == 1


def _is_up(port):
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=2).is_success
    except httpx.TransportError:
        return False
