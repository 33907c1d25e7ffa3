"""A model writes reproduction tests for the tasks of a gym: which count, and what a verifier makes of them."""

import json
import sys

import pytest
from typer.testing import CliRunner

from app.cli import main
from model.commands.execution.gym_run import app
from model.evaluation.gyms.gym_run import summarise_run
from model.execution.evidence_record import read_records
from tests.model.evaluation.gyms.gym_builders import BREAKS, NO_CHANGE, build_task, write_tasks

SEES_IT = """\
from slugs import slugify

if "--" in slugify("a  b"):
    print("Issue reproduced")
else:
    print("Issue resolved")
"""
SEES_NOTHING = "print('Issue resolved')\n"


def fence(text):
    return f"```python\n{text}```"


@pytest.fixture
def gym(tmp_path):
    return write_tasks(tmp_path, build_task("slugs-1", (BREAKS, NO_CHANGE)))


@pytest.fixture
def run(gym, tmp_path):
    """Runs the command with these replies of a scripted engine; returns its result and the path of the record."""

    def run(*replies, arguments=("--tests", "2")):
        script = tmp_path / "script.jsonl"
        script.write_text("".join(json.dumps({"reply": reply}) + "\n" for reply in replies))
        record = tmp_path / "runs.jsonl"
        given = ["run", "--gym", str(gym), "--out", str(record), "--python", sys.executable]
        given += ["--base-runs", "1", "--script", str(script), *arguments]
        return CliRunner().invoke(app, given), record

    return run


def test_only_tests_that_reproduce_the_issue_run_on_the_candidates(bubblewrap, run):
    result, path = run(fence(SEES_IT), fence(SEES_NOTHING))
    assert result.exit_code == 0, result.output
    assert "written tests: 1 kept, 1 resolved_on_base" in result.stderr
    records = {item.candidate: item for item in read_records(path)}
    outcomes = {name: [o for _, o in item.evidence.reproduction] for name, item in records.items()}
    assert outcomes == {"true": [True], "wrong-1": [True], "wrong-2": [False]}
    assert records["wrong-1"].evidence.regression.broken != ()
    assert summarise_run(list(records.values()))["written"] == {"kept": 1, "resolved_on_base": 1}


def test_a_verifier_judges_by_the_written_tests(bubblewrap, run, gym):
    _, path = run(fence(SEES_IT), fence(SEES_NOTHING))
    arguments = ["--gym", gym, "--evidence", path, "--verifier", "execution", "--json"]
    result = CliRunner().invoke(main, ["evaluate", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["auroc"]["value"] == document["best_of_group"]["value"] == 1.0
    reproduction = document["tests"]["reproduction"]
    # wrong-1 passes the written test as the true patch does, but breaks tests of the base
    assert (reproduction["tests"], reproduction["distinguishability"]["value"]) == (1, 0.0)


def test_without_a_test_that_counts_the_regression_tests_stand_alone(bubblewrap, run):
    result, path = run("I can't write a test.", fence(SEES_NOTHING))
    assert result.exit_code == 0, result.output
    records = read_records(path)
    assert all(item.evidence.reproduction == () for item in records)
    assert {json.dumps(item.written, sort_keys=True) for item in records} == {
        '{"kept": 0, "no_script": 1, "resolved_on_base": 1}'
    }


def test_an_engine_without_a_number_of_tests_is_refused(run):
    result, path = run("", arguments=())
    assert (result.exit_code, result.stdout) == (2, "")
    assert "an engine writes tests only with --tests" in result.stderr
    assert not path.exists()
