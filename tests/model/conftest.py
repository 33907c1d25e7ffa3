"""Fixtures of the model tests: a real vLLM server and the verify command."""

import json
from collections.abc import Iterator

import pytest
import typer
from typer.testing import CliRunner

from model.commands.verify import verify
from tests import vllm_server
from tests.model.builders import build_diff

app = typer.Typer()
app.command()(verify)


@pytest.fixture(scope="package")
def vllm() -> Iterator[vllm_server.Server]:
    """A server of the 135M model, started for the first test that asks."""
    with vllm_server.running() as server:
        yield server


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the command in a directory with an issue, two candidates and a script that finds `a` right."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "issue.md").write_text("# It breaks\n\nwhen the list is empty\n")
    for name in "ab":
        (tmp_path / f"{name}.diff").write_text(build_diff(f"solution {name}"))
    line = {"reply": "Patch 1 I saw.", "box_containing": ["solution a"], "repeat": True}
    (tmp_path / "script.jsonl").write_text(json.dumps(line))

    def invoke(*arguments, script="script.jsonl", stdin=None):
        given = ["--script", script] if script else []
        return CliRunner().invoke(app, ["--issue", "issue.md", *given, *arguments], input=stdin)

    return invoke
