"""`r4p evaluate` in a folder of its own."""

import pytest
import typer
from typer.testing import CliRunner

from model.commands.evaluate import evaluate
from tests.demo.example import example
from tests.model.evaluation.builders import RIGHT, build_row, format_lines

app = typer.Typer()
app.command()(evaluate)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the command in a folder with six groups and a script that knows the truth."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    rows = [build_row(number, True, False, number % 2 == 0) for number in range(6)]
    (tmp_path / "groups.jsonl").write_text(format_lines(*rows))
    (tmp_path / "script.jsonl").write_text(format_lines(RIGHT))

    def invoke(*arguments, script="script.jsonl", groups="groups.jsonl", verifier="r4p"):
        given = ["--script", script] if script else []
        return CliRunner().invoke(
            app, ["--groups", groups, "--verifier", verifier, *given, *arguments]
        )

    return invoke


@pytest.fixture
def real_group(tmp_path):
    """The packaged example: an issue of Django, four patches, and what the hidden tests said of them."""
    real = example.load()
    group = {
        "instance_id": "django__django-11790",
        "repo": "django/django",
        "problem_statement": f"{real.title}\n{real.body}",
        "patches": [{"patch": one.diff, "resolved": one.resolved} for one in real.rivals],
    }
    (tmp_path / "real.jsonl").write_text(format_lines(group))
    return "real.jsonl"
