"""`r4p evaluate --attack`: from a file of groups, or none, to a document."""

import json
from importlib.resources import files

import jsonschema_rs
from typer.testing import CliRunner

from tests.model.commands.evaluate.conftest import app
from tests.model.evaluation.builders import build_row, format_lines

ATTACKS = json.loads((files("model.evaluation.attacks") / "attack.schema.json").read_text())


def test_attacks_need_no_groups_and_continue_where_they_stopped(run, tmp_path):
    ask = ("--attack", "--limit", "12", "--votes", "1", "--out", "runs")
    command = ["--verifier", "r4p", "--script", "script.jsonl", *ask]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    assert "structural" in shown.stdout
    kept = tmp_path / "runs" / "corpus.r4p.attack.jsonl"
    judged = kept.read_bytes()
    (tmp_path / "script.jsonl").write_text("")
    again = CliRunner().invoke(app, [*command, "--json"])
    made = json.loads(again.stdout)
    jsonschema_rs.validator_for(ATTACKS).validate(made)
    assert made["kinds"]["all"]["cases"] == 12
    assert kept.read_bytes() == judged
    assert json.loads(kept.with_suffix(".json").read_text()) == made


def test_attacks_on_consensus_count_copies_once(run, real_group):
    asked = run(
        "--attack", "--json", "--limit", "24", verifier="consensus", groups=real_group, script=None
    )
    made = json.loads(asked.stdout)
    assert made["engine"]["model"] == "blocks of issues held out, copies one opinion"
    assert made["kinds"]["structural"]["flips"] == 0


def test_attack_needs_a_group_that_can_be_attacked(run, tmp_path):
    (tmp_path / "groups.jsonl").write_text(format_lines(build_row(2, True, True)))
    result = run("--attack")
    assert result.exit_code == 2
    assert "has no group that can be attacked" in result.stderr
    result = CliRunner().invoke(app, ["--verifier", "consensus"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "name a file with --groups" in result.stderr


def test_run_file_of_attacks_has_its_own_suffix(run, tmp_path):
    result = run("--attack", "--limit", "3", "--out", "mine.jsonl", groups="groups.jsonl")
    assert result.exit_code == 2
    assert "mine.jsonl of an attack has to end in .attack.jsonl" in result.stderr
    assert not (tmp_path / "mine.jsonl").exists()
    named = run("--attack", "--limit", "3", "--out", "mine.attack.jsonl", groups="groups.jsonl")
    assert named.exit_code == 0
    assert (tmp_path / "mine.attack.json").exists()
