"""The tests of a small real gym, run on its candidates: what is recorded, and what a verifier makes of it."""

import json
import sys
from dataclasses import replace
from importlib.resources import files

import jsonschema_rs
import pytest
from typer.testing import CliRunner

from app.cli import main
from model.commands.execution.gym_run import app
from model.errors import BadGroups
from model.evaluation.gyms import gym_groups
from model.evaluation.gyms.gym_run import GymRunPlan, run_gym, summarise_run
from model.execution.evidence_record import open_record, read_records
from model.gyms.gym_folder import open_trees, read_gym
from model.gyms.gym_task import GymCandidate
from tests.model.evaluation.gyms.gym_builders import (
    BREAKS,
    FAIL_TO_PASS,
    FIXED_TEST,
    LATE,
    NO_CHANGE,
    TEST,
    build_task,
    write_patch,
    write_tasks,
)


def run(folder, record, **plan):
    gym, progress = read_gym(folder), []
    with open_trees(gym) as trees, open_record(record) as file:
        run_gym(gym, trees, GymRunPlan(lambda _name: None, **plan), file, progress.append)
    return progress


@pytest.fixture
def gym(tmp_path):
    return write_tasks(tmp_path, build_task(), build_task("slugs-2", (BREAKS,)))


@pytest.fixture
def record(bubblewrap, gym, tmp_path):
    run(gym, path := tmp_path / "runs.jsonl", parallel=2)
    return path


def test_each_candidate_is_recorded_with_its_tests(record):
    records = {item.candidate: item for item in read_records(record) if item.task == "slugs-1"}
    assert records.keys() == {"true", "wrong-1", "wrong-2"}
    regression = {name: item.evidence.regression for name, item in records.items()}
    assert {name: shown.expected for name, shown in regression.items()} == dict.fromkeys(records, 2)
    assert regression["true"].broken == regression["wrong-2"].broken == ()
    assert regression["wrong-1"].broken == (
        "test_slugs.Slugs.test_dash",
        "test_slugs.Slugs.test_words",
    )
    outcomes = {name: dict(item.fail_to_pass) for name, item in records.items()}
    assert outcomes == {
        "true": {FAIL_TO_PASS: True},
        "wrong-1": {FAIL_TO_PASS: False},
        "wrong-2": {FAIL_TO_PASS: False},
    }
    assert [records[name].is_resolved for name in ("true", "wrong-1")] == [True, False]


def test_tests_that_the_true_patch_rewrites_are_marked_for_every_candidate(bubblewrap, tmp_path):
    tests = FIXED_TEST.replace('"a-b-c"', 'str("a-b-c")')
    task = build_task(
        candidates=(BREAKS,), test_patch=write_patch("tests/test_slugs.py", TEST, tests)
    )
    run(write_tasks(tmp_path, task), path := tmp_path / "runs.jsonl")
    shown = {item.candidate: item.evidence.regression for item in read_records(path)}
    assert shown["wrong-1"].rewritten == ("test_slugs.Slugs.test_dash",)
    assert len(shown["wrong-1"].broken) == 2
    assert shown["true"].rewritten == ()


def test_a_second_run_continues_the_record(gym, record):
    lines = record.read_text().splitlines(keepends=True)
    record.write_text("".join(lines[:-2]))
    progress = run(gym, record)
    assert progress[0] == 3
    assert progress[-1] == 5
    names = [json.loads(line)["candidate"] for line in record.read_text().splitlines()]
    assert sorted(names) == sorted(json.loads(line)["candidate"] for line in lines)
    assert run(gym, record) == [5]


def test_what_cannot_be_told_is_recorded_with_its_reason(bubblewrap, tmp_path):
    late = build_task("late", (LATE,), patch="no diff")
    base = build_task("none", (), command="python -m unittest tests.missing")
    folder = write_tasks(tmp_path, late, base)
    run(folder, tmp_path / "runs.jsonl", seconds=5, base_runs=1)
    records = {(item.task, item.candidate): item for item in read_records(tmp_path / "runs.jsonl")}
    slow, true = records["late", "wrong-1"], records["late", "true"]
    assert "ended after 5 s" in slow.evidence.regression.unknown
    assert "ended after 5 s" in slow.fail_to_pass_unknown
    assert (slow.is_resolved, slow.fail_to_pass) == (None, ((FAIL_TO_PASS, None),))
    assert "does not apply" in true.evidence.regression.unknown
    assert "none of" in records["none", "true"].evidence.regression.unknown
    counts = summarise_run(list(records.values()))
    assert (counts["tasks"], counts["candidates"], counts["unknown"]) == (2, 3, 3)
    assert sum(counts["reasons"].values()) == 3


def test_the_command_records_and_continues(bubblewrap, gym, tmp_path):
    record = tmp_path / "new" / "runs.jsonl"
    arguments = ["run", "--gym", str(gym), "--out", str(record), "--python", sys.executable]
    arguments += ["--base-runs", "1", "--limit", "1"]
    first = CliRunner().invoke(app, [*arguments, "--json"])
    assert first.exit_code == 0, first.output
    counts = json.loads(first.stdout)
    assert (counts["tasks"], counts["candidates"], counts["resolved"]) == (1, 3, 1)
    lines = record.read_bytes()
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert record.read_bytes() == lines


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--gym", "/none"), "/none/gym.json can't be read"),
        (("--gym", "GYM", "--command", "make test"), "'make test' starts no test runner"),
        (("--gym", "GYM", "--python", "/no/python"), "--python /no/python does not exist"),
        (("--gym", "GYM", "--out", "/proc/none/x.jsonl"), "can't be written"),
    ],
)
def test_a_wrong_option_of_the_command_is_one_line(gym, tmp_path, arguments, words):
    given = [str(gym) if word == "GYM" else word for word in arguments]
    out = () if "--out" in given else ("--out", str(tmp_path / "runs.jsonl"))
    python = () if "--python" in given else ("--python", sys.executable)
    result = CliRunner().invoke(app, ["run", *given, *out, *python])
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


def measure(*arguments):
    result = CliRunner().invoke(main, ["evaluate", "--json", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    schema = json.loads((files("model.evaluation") / "evaluate.schema.json").read_text())
    jsonschema_rs.validator_for(schema).validate(document)
    return document


def test_regression_rejects_the_patch_that_breaks_tests(gym, record):
    document = measure("--gym", gym, "--evidence", record, "--verifier", "regression")
    assert (document["groups"], document["patches"], document["correct_patches"]) == (2, 5, 2)
    assert document["engine"]["name"] == "regression"
    # wrong-2 of the first task breaks nothing, so it ties with the true patch there
    assert document["best_of_group"]["value"] == 0.75
    tests = document["tests"]["regression"]
    assert (tests["groups"], tests["tests"]) == (2, 4)
    # with wrong-2, the best wrong patch of the first task passes what the true one passes
    assert tests["distinguishability"]["value"] == 0.5
    assert (tests["toxicity"]["value"], tests["toxic"]) == (0.0, [])
    assert "reproduction" not in document["tests"]


def test_the_table_is_followed_by_a_line_about_the_tests(gym, record, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    arguments = ["evaluate", "--gym", gym, "--evidence", record, "--verifier", "regression"]
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exit_code == 0, result.output
    (line,) = [line for line in result.stdout.splitlines() if "distinguishability" in line]
    assert line.startswith("regression tests, 4 in 2 groups: distinguishability 0.500 (0.")
    assert ", toxicity 0.000 (0.000 … 0." in line


def test_fail_to_pass_tests_decide_everything(gym, record):
    arguments = ("--gym", gym, "--evidence", record, "--fail-to-pass", "--verifier")
    document = measure(*arguments, "execution")
    assert document["auroc"]["value"] == document["best_of_group"]["value"] == 1.0
    reproduction = document["tests"]["reproduction"]
    assert reproduction["distinguishability"]["value"] == 1.0
    assert reproduction["distinguishing"] == [
        {"issue": f"slugs-{n}", "test": FAIL_TO_PASS} for n in (1, 2)
    ]
    hybrid = measure(*arguments, "hybrid:consensus+execution")
    assert hybrid["best_of_group"]["value"] == 1.0
    assert hybrid["engine"]["name"] == "consensus + execution"
    assert hybrid["strict"]["verifier"] == "hybrid:consensus+execution-strict"
    assert hybrid["strict"]["engine"]["model"] == "whole repositories held out + recorded tests"
    assert hybrid["strict"]["best_of_group"]["value"] == 1.0


def test_a_shortlist_has_a_run_file_of_its_own(gym, record, tmp_path):
    arguments = ("--gym", gym, "--evidence", record, "--verifier", "hybrid:consensus+regression")
    measure(*arguments, "--shortlist", "0", "--out", tmp_path / "runs")
    names = sorted(path.name for path in (tmp_path / "runs").glob("*.jsonl"))
    assert names == ["gym.hybrid-consensus+regression-shortlist-0.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--verifier", "regression"), "--evidence FILE"),
        (
            ("--verifier", "consensus", "--evidence", "RECORD"),
            "--evidence does nothing for verifier",
        ),
        (("--verifier", "regression", "--evidence", "/none"), "record /none can't be read"),
        (("--verifier", "consensus", "--fail-to-pass"), "--fail-to-pass needs the record"),
        (("--verifier", "consensus", "--groups", "x"), "leave out --groups"),
    ],
)
def test_a_wrong_combination_is_one_line(gym, tmp_path, arguments, words):
    with open_record(tmp_path / "record.jsonl"):
        pass
    (tmp_path / "record.jsonl").write_text(
        '{"task":"t","candidate":"c","patch":"p","command":"x","evidence":{"regression":{}}}\n'
    )
    given = [str(tmp_path / "record.jsonl") if word == "RECORD" else word for word in arguments]
    result = CliRunner().invoke(main, ["evaluate", "--gym", str(gym), *given])
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


def test_groups_hold_the_true_patch_once_in_an_order_that_tells_nothing():
    tasks = [build_task(f"slugs-{n}", (BREAKS, NO_CHANGE)) for n in range(40)]
    groups = gym_groups.build_groups(tasks)
    places = [[patch.resolved for patch in group.patches].index(True) for group in groups]
    assert {len(group.patches) for group in groups} == {3}
    assert all(sum(patch.resolved for patch in group.patches) == 1 for group in groups)
    assert set(places) == {0, 1, 2}
    (group,) = gym_groups.build_groups(tasks[:1])
    assert (group.issue.title, group.issue.body) == (
        "slugify gives two dashes",
        "slugify('a  b') should be 'a-b'.",
    )


def test_a_blank_line_of_context_at_the_end_of_a_diff_stays():
    diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n \n"
    task = build_task(patch=diff, candidates=())
    wrong = GymCandidate("wrong", diff.replace("+b", "+c").removesuffix("\n"), False, "mutant")
    (group,) = gym_groups.build_groups([replace(task, candidates=(wrong,))])
    assert {patch.patch.diff for patch in group.patches} == {diff, diff.replace("+b", "+c")}


def test_candidates_are_taken_as_they_are_where_one_resolves_the_task():
    task = build_task()
    right = replace(task.candidates[0], id="agent", resolved=True, source="agent")
    group_of = [item.id for item in gym_groups.list_candidates(replace(task, candidates=(right,)))]
    assert group_of == ["agent"]


def test_a_gym_without_a_wrong_candidate_cannot_be_measured_on(tmp_path):
    folder = write_tasks(tmp_path, build_task(candidates=()))
    with pytest.raises(BadGroups, match="no task with a correct and an incorrect candidate"):
        gym_groups.read_groups(folder)
