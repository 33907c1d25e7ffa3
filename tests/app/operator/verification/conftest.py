"""A private repository on the stand-in with an issue and its rivals, and a token that may only read it."""

from dataclasses import dataclass

import pytest
from typer.testing import CliRunner

from app.cli import main
from tests.github.conftest import Scene, github, make_scene, server

__all__ = ["github", "server"]  # fixtures: the stand-in, and a check of its contract at the end

RIGHTS = {"contents": "read", "issues": "read", "pull_requests": "read"}


@dataclass
class Rivalry:
    """An issue with two pull requests, and ways to change both."""

    scene: Scene
    issue: int
    pulls: list[int]

    @property
    def name(self):
        return self.scene.repo.full_name

    def token(self, **rights):
        return self.scene.token(permissions=rights or RIGHTS)

    def add(self, **options):
        pull = self.scene.repo.open_pr("Fix", f"Fixes #{self.issue}", **options)
        self.pulls.append(pull.number)
        return pull.number


@pytest.fixture
def rivalry(github):
    """An issue with two rivals."""
    scene = make_scene(github, private=True, webhook_secret="secret")  # an App of its own
    issue = scene.repo.open_issue("Size is off | by one", "`size([])` gives 1.")
    rivals = Rivalry(scene, issue, [])
    for text in ("len(items)", "len(items) + 1 if items else 0"):
        rivals.add(files={"tool/core.py": f"def size(items):\n    return {text}\n"})
    return rivals


@pytest.fixture
def run(rivalry, monkeypatch, tmp_path):
    """Run `r4p verify` on the rivalry's repository."""
    monkeypatch.setenv("R4P_GITHUB_URL", rivalry.scene.github.url)
    monkeypatch.setenv("GH_TOKEN", rivalry.token())
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments, issue=rivalry.issue):
        named = [] if issue is None else ["--issue", str(issue)]
        return CliRunner().invoke(main, ["verify", "--repo", rivalry.name, *named, *arguments])

    return invoke
