"""`r4p evaluate`: from a file of groups to a document; on a script, without a model."""

import json
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import jsonschema_rs
import pytest

from model.catalog import VotingChoice
from model.evaluation import judge_catalog, run_file
from model.evaluation.evaluation_run import sample_groups
from model.evaluation.labelled_group import read_groups
from tests.model.chat_server import MODELS, build_completion, serve_chat
from tests.model.evaluation.builders import RIGHT, build_row, format_lines
from tests.services import wait_for

ROOT = Path(__file__).parents[4]
SCHEMA = json.loads((files("model.evaluation") / "evaluate.schema.json").read_text())


def document(result):
    assert result.exit_code == 0, result.output
    made = json.loads(result.stdout)
    jsonschema_rs.validator_for(SCHEMA).validate(made)
    return made


def test_json_is_one_valid_document_on_stdout_and_nothing_else(run):
    made = document(run("--json", "--votes", "2"))
    assert (made["groups"], made["patches"], made["votes"]) == (6, 18, 2)
    assert made["accuracy"]["value"] == made["exact_match"]["value"] == 1.0
    assert made["format_valid"]["value"] == 1.0


def test_a_person_gets_a_table_with_the_constants_beside(run):
    result = run("--votes", "1")
    assert result.exit_code == 0, result.output
    (accuracy,) = [line for line in result.stdout.splitlines() if line.startswith(" accuracy")]
    assert accuracy.split() == ["accuracy", "1.000", "0.610", "…", "1.000", *["0.500"] * 3]
    (best,) = [line for line in result.stdout.splitlines() if line.startswith(" best of group")]
    assert best.split()[3:] == ["1.000", "0.610", "…", "1.000", "0.500"]  # every edit is another
    assert "r4p with script: 6 groups of 6 issues, 18 patches" in result.stdout


def test_the_packaged_example_is_judged_by_what_its_hidden_tests_said(run, real_group):
    made = document(run("--json", "--votes", "1", groups=real_group))
    assert (made["patches"], made["correct_patches"]) == (4, 2)
    assert made["accuracy"]["value"] == 0.5  # the script holds none of them correct
    assert made["oracle"]["value"] == 1.0
    assert made["random"]["value"] == made["best_of_group"]["value"] == 0.5


def test_a_limit_takes_a_part_of_what_a_larger_one_takes(tmp_path):
    path = tmp_path / "groups.jsonl"
    path.write_text(format_lines(*[build_row(number, True) for number in range(30)]))
    few, more = sample_groups(read_groups(path), 10), sample_groups(read_groups(path), 20)
    assert more[:10] == few
    assert len(sample_groups(read_groups(path))) == 30
    assert [group.instance_id for group in few] != [f"octo__app-{n}" for n in range(10)]


def test_a_group_that_stands_in_the_file_twice_is_judged_once(run, tmp_path):
    (tmp_path / "groups.jsonl").write_text(format_lines(build_row(1, True), build_row(1, True)))
    assert document(run("--json"))["groups"] == 1


def test_what_is_kept_is_not_judged_again(run, tmp_path):
    first = document(run("--json", "--votes", "1", "--limit", "4", "--out", "runs"))
    kept = tmp_path / "runs" / "groups.r4p.jsonl"
    assert len(kept.read_text().splitlines()) == 4
    assert json.loads((tmp_path / "runs" / "groups.r4p.json").read_text()) == first
    (tmp_path / "two.jsonl").write_text(format_lines(*[RIGHT | {"repeat": False}] * 2))
    every = document(run("--json", "--votes", "1", "--out", "runs", script="two.jsonl"))
    assert every["groups"] == 6
    assert len(kept.read_text().splitlines()) == 6


def test_votes_that_leave_one_out_are_other_work_under_another_name(run, tmp_path):
    ask = ("--votes", "2", "--json", "--out")
    plain = document(run(*ask, "runs"))
    left_out = document(run(*ask, "runs", "--leave-one-out"))
    assert (plain["verifier"], left_out["verifier"]) == ("r4p", "r4p-leave-one-out")
    assert plain["engine"]["prompt_fingerprint"] != left_out["engine"]["prompt_fingerprint"]
    names = {path.name for path in (tmp_path / "runs").glob("*.jsonl")}
    assert names == {"groups.r4p.jsonl", "groups.r4p-leave-one-out.jsonl"}
    run(*ask, "one.jsonl")
    run(*ask, "one.jsonl", "--leave-one-out")
    assert len((tmp_path / "one.jsonl").read_text().splitlines()) == 12


@pytest.mark.parametrize("verifier", ["r4p", "consensus", "hybrid:consensus+r4p"])
def test_a_minimum_of_lines_is_other_work_under_another_name(run, tmp_path, verifier):
    script = None if verifier == "consensus" else "script.jsonl"
    ask = ("--json", "--out", "runs", "--min-lines")
    every = document(run(*ask, "0", verifier=verifier, script=script))
    none = document(run(*ask, "50", verifier=verifier, script=script))
    named = f"{verifier}-min-lines-50"
    assert (every["verifier"], none["verifier"]) == (verifier, named)
    kept = (tmp_path / "runs" / f"groups.{named.replace(':', '-')}.jsonl").read_text()
    said = {one["verdict"] for line in kept.splitlines() for one in json.loads(line)["patches"]}
    assert said == {"not_judged"}
    twins = {json.loads(line)["key"]["verifier"] for line in kept.splitlines()}
    assert twins == ({named, f"{named}-strict"} if verifier == "consensus" else {named})
    assert {judge_catalog.strip_suffixes(one) for one in twins} == {verifier}


def test_an_option_that_does_nothing_is_a_usage_error(run):
    for vain in (["--votes", "5"], ["--engine-url", "http://127.0.0.1:9/v1"]):
        result = run(*vain, verifier="consensus", script=None)
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"r4p evaluate: {vain[0]} does nothing for verifier consensus" in result.stderr
        assert result.stderr.count("\n") == 1


def test_in_process_vllm_can_be_chosen_for_a_batch(run):
    result = run("--engine", "local_vllm", script=None)
    assert result.exit_code == 5
    assert "engine local_vllm needs vllm, which is not installed here" in result.stderr


def test_a_key_is_read_from_a_file_and_sent(run, tmp_path):
    (tmp_path / "key").write_text("s3cret\n")
    with serve_chat(models=[MODELS], chat=[build_completion("\\boxed{}")]) as server:
        given = ("--engine-url", server.url, "--api-key-file", "key", "--votes", "1")
        document(run(*given, "--json", script=None))
        sent = {headers["Authorization"] for _path, headers, _body in server.seen}
    assert sent == {"Bearer s3cret"}


def test_the_name_of_a_run_tells_whose_it_is():
    for name in ("r4p", "hybrid:yes-no+r4p", "consensus"):
        for voting in (
            VotingChoice(),
            VotingChoice(edited_lines=3),
            VotingChoice(leave_one_out=True),
            VotingChoice(edited_lines=12, leave_one_out=True),
        ):
            assert judge_catalog.strip_suffixes(judge_catalog.build_run_name(name, voting)) == name
            assert (
                judge_catalog.strip_suffixes(
                    judge_catalog.build_run_name(name, voting) + judge_catalog.STRICT_SUFFIX
                )
                == name
            )


def test_a_hybrid_leaves_one_out_in_its_groups(run, real_group):
    ask = ("--json", "--leave-one-out")
    made = document(run(*ask, verifier="hybrid:consensus+r4p", groups=real_group))
    assert made["verifier"] == "hybrid:consensus+r4p-leave-one-out"
    plain = document(run("--json", verifier="hybrid:consensus+r4p", groups=real_group))
    assert plain["engine"]["prompt_fingerprint"] != made["engine"]["prompt_fingerprint"]


def test_nobody_to_leave_out_is_a_usage_error(run):
    result = run("--leave-one-out", verifier="pointwise")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "verifier pointwise shows no groups" in result.stderr


def test_other_votes_are_other_work(run, tmp_path):
    run("--votes", "1", "--out", "run.jsonl")
    made = document(run("--votes", "2", "--out", "run.jsonl", "--json"))
    assert made["votes"] == 2
    assert len((tmp_path / "run.jsonl").read_text().splitlines()) == 12


def _judged(kept):
    return kept.read_bytes().count(b"\n") if kept.exists() else 0


def test_a_killed_run_goes_on_where_it_was(run, tmp_path):
    (tmp_path / "slow.jsonl").write_text(format_lines(RIGHT | {"stall_seconds": 0.4}))
    kept = tmp_path / "run.jsonl"
    command = [sys.executable, "-m", "app.cli", "evaluate", "--verifier", "r4p", "--votes", "1"]
    command += ["--groups", tmp_path / "groups.jsonl", "--script", tmp_path / "slow.jsonl"]
    process = subprocess.Popen([*command, "--out", kept], cwd=ROOT)
    try:
        wait_for(lambda: process.poll() is not None or _judged(kept) >= 2, 120)
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    before = kept.read_bytes()
    done = before.count(b"\n")
    assert 2 <= done < 6
    kept.write_bytes(before + b'{"key":{"group":"ha')
    (tmp_path / "rest.jsonl").write_text(format_lines(*[RIGHT | {"repeat": False}] * (6 - done)))
    result = run("--votes", "1", "--out", "run.jsonl", "--json", script="rest.jsonl")
    assert document(result)["accuracy"]["value"] == 1.0
    after = kept.read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == 6


def test_one_slow_group_holds_back_none_of_the_others(tmp_path):
    """Six groups, four at a time; the first is not answered, and the run is killed."""
    (tmp_path / "groups.jsonl").write_text(
        format_lines(*[build_row(number, True) for number in range(6)])
    )
    kept, over = tmp_path / "run.jsonl", threading.Event()
    held = replace(build_completion("\\boxed{}"), wait_for=over)
    with serve_chat(models=[MODELS], chat=[held, build_completion("\\boxed{}")]) as server:
        command = [sys.executable, "-m", "app.cli", "evaluate", "--verifier", "r4p", "--votes", "1"]
        command += ["--groups", tmp_path / "groups.jsonl", "--engine-url", server.url]
        process = subprocess.Popen([*command, "--together", "4", "--out", kept], cwd=ROOT)
        try:
            wait_for(lambda: process.poll() is not None or _judged(kept) >= 5, 120)
            assert process.poll() is None
        finally:
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
            over.set()
    assert len({one.instance_id for one in run_file.read_run_file(kept)}) == 5


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "groups.jsonl can't be read: No such file"),
        ("{}", "groups.jsonl, line 1: instance_id is wrong"),
        ("", "groups.jsonl is empty"),
    ],
)
def test_a_bad_file_of_groups_is_one_line_and_a_usage_error(run, tmp_path, content, said):
    path = tmp_path / "groups.jsonl"
    path.unlink() if content is None else path.write_text(content)
    result = run()
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_unknown_verifier_is_one_line_and_a_usage_error(run):
    result = run(verifier="oracle")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "unknown verifier 'oracle'; choose r4p, " in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_file_that_is_no_run_is_a_usage_error(run, tmp_path):
    (tmp_path / "notes.jsonl").write_text("a note\n")
    result = run("--out", "notes.jsonl")
    assert result.exit_code == 2
    assert "line 1 is no judged group" in result.stderr
    assert (tmp_path / "notes.jsonl").read_text() == "a note\n"


def test_a_dead_engine_is_one_line_and_keeps_what_was_judged(run, tmp_path):
    script = [RIGHT | {"repeat": False}] * 2 + [{"down": "gone"}]
    (tmp_path / "script.jsonl").write_text(format_lines(*script))
    result = run("--votes", "1", "--out", "run.jsonl")
    assert (result.exit_code, result.stdout) == (5, "")
    assert "gone; what was judged is in run.jsonl: run again to go on" in result.stderr
    assert result.stderr.count("\n") == 1
    assert len((tmp_path / "run.jsonl").read_text().splitlines()) == 2


def test_a_dead_url_is_one_line_and_no_backend(run):
    result = run("--engine-url", "http://127.0.0.1:9/v1", script=None)
    assert result.exit_code == 5
    assert "no engine answers at http://127.0.0.1:9/v1" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_server_is_asked_by_url(run):
    with serve_chat(
        models=[MODELS], chat=[build_completion("It works.\n\\boxed{1, 2, 3}")]
    ) as server:
        made = document(run("--engine-url", server.url, "--votes", "1", "--json", script=None))
    assert made["engine"]["model"] == "r4p"
    assert made["f1"] == made["constant_baselines"]["all_correct"]["f1"]


def test_nothing_of_the_labels_reaches_the_engine(run, tmp_path):
    with serve_chat(models=[MODELS], chat=[build_completion("\\boxed{}")]) as server:
        secret = build_row(1, True, False)
        secret["patches"][0] |= {"source": "secret-system/run", "also_from": ["secret-other/1"]}
        (tmp_path / "groups.jsonl").write_text(format_lines(secret))
        run("--engine-url", server.url, "--votes", "1", "--json", script=None)
        (body,) = server.sent_to("/v1/chat/completions")
    said = json.dumps(body)
    assert "right 1 0" in said
    assert not [word for word in ("secret", "octo__app", "candidate-1") if word in said]
