"""`r4p propose --tests-command`: the tests of the tree and those of the model choose among patches, in real sandboxes."""

import json
from dataclasses import replace
from importlib.resources import files

import jsonschema_rs
import pytest
from typer.testing import CliRunner

from app.cli import main
from model.engines.scripted import ScriptLine
from tests.model.agents import agentless_replies, builders
from tests.model.agents.agentless_replies import MATHS, MEND, ROUND, reproduce_reply
from tests.model.agents.builders import SUBMIT, script_call
from tests.model.codegraph.builders import write_files

SUITE = """
import unittest
from pie.maths import half

class Halves(unittest.TestCase):
    def test_four(self):
        self.assertEqual(half(4), 2)
"""
TREE = agentless_replies.TREE | {"tests/test_maths.py": SUITE, "pie/__init__.py": ""}
COMMAND = "python -m unittest discover -s tests -t ."
TEST = """
from pie.maths import half
print("Issue resolved" if half(3) == 1.5 else "Issue reproduced")
"""


@pytest.fixture
def run(bubblewrap, tmp_path, monkeypatch):
    """Runs the command on a tree whose one test passes, with these lines of a script."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "issue.md").write_text("# Halving is off\n\n`half` of 3 should be 1.5, and is 1.\n")
    write_files(tmp_path / "tree", TREE | {"tests/__init__.py": ""})

    def invoke(lines, *arguments):
        rows = [
            {"when": one.when, "reply": one.reply, "repeat": one.repeat}
            | {"calls": [{"name": name, "arguments": given} for name, given in one.calls]}
            for one in lines
        ]
        (tmp_path / "script.jsonl").write_text("\n".join(map(json.dumps, rows)))
        given = "--tree tree --issue issue.md --database graph.sqlite --script script.jsonl --json"
        return CliRunner().invoke(main, ["propose", *given.split(), *arguments])

    return invoke


def read(result):
    document = json.loads(result.stdout)
    schema = json.loads((files("model.agents") / "proposal.schema.json").read_text())
    jsonschema_rs.validator_for(schema).validate(document)
    return document


def test_the_tests_outvote_the_majority(run):
    """Two of three repairs round up. Only the third resolves the issue."""
    lines = [MATHS, ROUND, ROUND, MEND, reproduce_reply(TEST), reproduce_reply("print('hello')")]
    plan = ("--localisations", "2", "--repairs", "3", "--tests", "2")
    result = run(lines, "--agent", "agentless-mini", *plan, "--tests-command", COMMAND)
    assert result.exit_code == 0, result.output
    document = read(result)
    assert "+    return n / 2\n" in document["patch"]
    (attempt,) = document["attempts"]
    assert attempt["rounds"] == 7
    execution = attempt["execution"]
    assert execution["regression"] == {"expected": 1, "flaky": 0}
    (test,) = execution["tests"].pop("used")
    assert execution["tests"] == {"written": 2, "kept": 1, "dropped": {"silent": 1}}
    passed = [patch["passed"] for patch in execution["patches"]]
    assert passed == [[], [], [test["id"]]]
    assert document["execution"] is None


def test_tests_of_all_attempts_choose_among_attempts(run):
    """The first attempt repairs wrongly and writes the test that tells the second one's patch from its own."""
    plan = ("--localisations", "1", "--repairs", "1", "--tests", "1", "--attempts", "2")
    lines = [MATHS, ROUND, MEND, reproduce_reply(TEST), reproduce_reply("print('hello')")]
    result = run(lines, "--agent", "agentless-mini", *plan, "--tests-command", COMMAND)
    assert result.exit_code == 0, result.output
    document = read(result)
    assert "+    return n / 2\n" in document["patch"]
    assert document["execution"]["tests"]["kept"] == 1
    assert document["why"].endswith("; the tests prefer 1 of 2 patches")


def test_the_engine_writes_the_tests_of_an_agent_that_writes_none(run):
    submit = ScriptLine(when="Edited pie/maths.py", calls=SUBMIT.calls, repeat=True)
    edit = script_call("edit_tool", path="pie/maths.py", old_str="n // 2", new_str="round(n / 2)")
    lines = [submit, replace(reproduce_reply(TEST), repeat=True), edit, builders.MEND]
    result = run(lines, "--attempts", "2", "--tests", "3", "--tests-command", COMMAND)
    assert result.exit_code == 0, result.output
    document = read(result)
    assert "+    return n / 2\n" in document["patch"]
    tests = document["execution"]["tests"]
    assert (tests["written"], tests["kept"], tests["dropped"]) == (3, 1, {"duplicate": 2})
    assert [attempt["execution"] for attempt in document["attempts"]] == [None, None]


def test_without_tests_of_the_model_the_fewest_broken_tests_decide(run):
    bad = agentless_replies.repair_reply("    return 1.5")
    plan = ("--localisations", "1", "--repairs", "3", "--tests", "0")
    result = run(
        [MATHS, bad, bad, MEND], "--agent", "agentless-mini", *plan, "--tests-command", COMMAND
    )
    document = read(result)
    assert "+    return n / 2\n" in document["patch"]
    patches = document["attempts"][0]["execution"]["patches"]
    assert [patch["broken"] for patch in patches] == [1, 1, 0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--tests-command", "make test"), "'make test' starts no test runner that is known here"),
        (("--tests-command", "pytest missing"), "the tests say nothing about the base"),
        (("--python", "/no/python"), "--python needs --tests-command"),
        (
            ("--tests-command", COMMAND, "--python", "/no/python"),
            "--python /no/python does not exist; name an interpreter",
        ),
        (("--repairs", "3"), "localisations and repairs do nothing for agent mini-se"),
        (("--agent", "agentless-mini", "--repairs", "2000"), "are more than 1,000"),
    ],
)
def test_a_wrong_option_is_one_line_before_the_model_is_asked(run, arguments, words):
    result = run([], *arguments)
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
