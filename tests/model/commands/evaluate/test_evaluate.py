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
from model.evaluation import run_file, run_name
from model.evaluation.evaluation_run import sample_groups
from model.evaluation.labelled_group import read_groups
from model.prompts import prompt_template
from tests.model.chat_server import MODELS, build_completion, serve_chat
from tests.model.evaluation.builders import RIGHT, build_row, format_lines
from tests.services import wait_for

ROOT = Path(__file__).parents[4]
SCHEMA = json.loads((files("model.evaluation") / "evaluate.schema.json").read_text())


def read_document(result):
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    jsonschema_rs.validator_for(SCHEMA).validate(document)
    return document


def test_json_output_is_one_valid_document(run):
    made = read_document(run("--json", "--votes", "2"))
    assert (made["groups"], made["patches"], made["votes"]) == (6, 18, 2)
    assert made["accuracy"]["value"] == made["exact_match"]["value"] == 1.0
    assert made["format_valid"]["value"] == 1.0


def test_packaged_example_is_scored_by_its_hidden_tests(run, real_group):
    made = read_document(run("--json", "--votes", "1", groups=real_group))
    assert (made["patches"], made["correct_patches"]) == (4, 2)
    assert made["accuracy"]["value"] == 0.5  # the script holds none of them correct
    assert made["oracle"]["value"] == 1.0
    assert made["random"]["value"] == made["best_of_group"]["value"] == 0.5


def test_run_of_another_prompt_is_judged_anew_and_named_by_its_fingerprint(run, tmp_path):
    source = prompt_template.load("r4p_group").source
    (tmp_path / "own.j2").write_text(source + "{# own #}")
    shipped = read_document(run("--json", "--votes", "1", "--out", "kept.jsonl"))
    own = read_document(run("--json", "--votes", "1", "--out", "kept.jsonl", "--prompt", "own.j2"))
    loaded = [prompt_template.load(name).fingerprint for name in ("r4p_group", tmp_path / "own.j2")]
    assert [made["engine"]["prompt_fingerprint"] for made in (shipped, own)] == loaded
    kept = (tmp_path / "kept.jsonl").read_text()
    assert [kept.count(fingerprint) for fingerprint in loaded] == [6, 6]


def test_prompt_that_leaves_out_a_patch_is_refused_before_a_group_is_judged(run, tmp_path):
    source = prompt_template.load("r4p_group").source
    (tmp_path / "own.j2").write_text(source.replace("in patches", "in patches[:2]"))
    result = run("--prompt", "own.j2", "--out", "kept.jsonl")
    assert result.exit_code == 2
    assert "own.j2, line 15: patches[2] is shown unchanged 0 times; show it once" in result.stderr
    assert not (tmp_path / "kept.jsonl").exists()


def test_smaller_limit_takes_a_prefix_of_a_larger_one(tmp_path):
    path = tmp_path / "groups.jsonl"
    path.write_text(format_lines(*[build_row(number, True) for number in range(30)]))
    few, more = sample_groups(read_groups(path), 10), sample_groups(read_groups(path), 20)
    assert more[:10] == few
    assert len(sample_groups(read_groups(path))) == 30
    assert [group.instance_id for group in few] != [f"octo__app-{n}" for n in range(10)]


def test_trivial_patches_are_left_out_and_counted(run, tmp_path):
    row, empty = build_row(1, True), {"patch": "", "resolved": False}
    rows = [row | {"patches": [*row["patches"], empty]}, build_row(2, True) | {"patches": [empty]}]
    (tmp_path / "groups.jsonl").write_text(format_lines(*rows))
    plain, skipped = (read_document(run("--json", *ask)) for ask in ([], ["--skip-trivial"]))
    assert (plain["groups"], plain["patches"]) == (2, len(row["patches"]) + 2)
    assert "left_out" not in plain
    assert (skipped["groups"], skipped["patches"]) == (1, len(row["patches"]))
    assert skipped["left_out"] == {"patches": 2, "groups": 1}
    (tmp_path / "groups.jsonl").write_text(format_lines(rows[1]))
    nothing = run("--skip-trivial")
    assert nothing.exit_code == 2
    assert "has only patches that --skip-trivial leaves out" in nothing.stderr
    attacked = run("--skip-trivial", "--attack")
    assert attacked.exit_code == 2
    assert "an attack needs all patches" in attacked.stderr


def test_repeated_group_is_judged_once(run, tmp_path):
    (tmp_path / "groups.jsonl").write_text(format_lines(build_row(1, True), build_row(1, True)))
    assert read_document(run("--json"))["groups"] == 1


def test_kept_group_is_not_judged_again(run, tmp_path):
    first = read_document(run("--json", "--votes", "1", "--limit", "4", "--out", "runs"))
    kept = tmp_path / "runs" / "groups.r4p.jsonl"
    assert len(kept.read_text().splitlines()) == 4
    assert json.loads((tmp_path / "runs" / "groups.r4p.json").read_text()) == first
    (tmp_path / "two.jsonl").write_text(format_lines(*[RIGHT | {"repeat": False}] * 2))
    every = read_document(run("--json", "--votes", "1", "--out", "runs", script="two.jsonl"))
    assert every["groups"] == 6
    assert len(kept.read_text().splitlines()) == 6


def test_leave_one_out_run_has_its_own_name(run, tmp_path):
    ask = ("--votes", "2", "--json", "--out")
    plain = read_document(run(*ask, "runs"))
    left_out = read_document(run(*ask, "runs", "--leave-one-out"))
    assert (plain["verifier"], left_out["verifier"]) == ("r4p", "r4p-leave-one-out")
    assert plain["engine"]["prompt_fingerprint"] != left_out["engine"]["prompt_fingerprint"]
    names = {path.name for path in (tmp_path / "runs").glob("*.jsonl")}
    assert names == {"groups.r4p.jsonl", "groups.r4p-leave-one-out.jsonl"}
    run(*ask, "one.jsonl")
    run(*ask, "one.jsonl", "--leave-one-out")
    assert len((tmp_path / "one.jsonl").read_text().splitlines()) == 12


@pytest.mark.parametrize("verifier", ["r4p", "consensus", "hybrid:consensus+r4p"])
def test_run_with_a_minimum_of_lines_has_its_own_name(run, tmp_path, verifier):
    script = None if verifier == "consensus" else "script.jsonl"
    ask = ("--json", "--out", "runs", "--min-lines")
    every = read_document(run(*ask, "0", verifier=verifier, script=script))
    none = read_document(run(*ask, "50", verifier=verifier, script=script))
    named = f"{verifier}-min-lines-50"
    assert (every["verifier"], none["verifier"]) == (verifier, named)
    kept = (tmp_path / "runs" / f"groups.{named.replace(':', '-')}.jsonl").read_text()
    said = {one["verdict"] for line in kept.splitlines() for one in json.loads(line)["patches"]}
    assert said == {"not_judged"}
    twins = {json.loads(line)["key"]["verifier"] for line in kept.splitlines()}
    assert twins == ({named, f"{named}-strict"} if verifier == "consensus" else {named})
    assert {run_name.strip_suffixes(one) for one in twins} == {verifier}


@pytest.mark.parametrize("name", ["r4p", "hybrid:yes-no+r4p", "consensus"])
@pytest.mark.parametrize("lines", [0, 3])
@pytest.mark.parametrize("leave_one_out", [False, True])
@pytest.mark.parametrize("suffix", ["", run_name.STRICT_SUFFIX])
def test_run_name_without_suffixes_is_the_verifier(name, lines, leave_one_out, suffix):
    voting = VotingChoice(edited_lines=lines, leave_one_out=leave_one_out)
    named = run_name.build_run_name(name, voting) + suffix
    assert run_name.strip_suffixes(named) == name


def test_hybrid_leaves_one_out_in_its_groups(run, real_group):
    ask = ("--json", "--leave-one-out")
    made = read_document(run(*ask, verifier="hybrid:consensus+r4p", groups=real_group))
    assert made["verifier"] == "hybrid:consensus+r4p-leave-one-out"
    plain = read_document(run("--json", verifier="hybrid:consensus+r4p", groups=real_group))
    assert plain["engine"]["prompt_fingerprint"] != made["engine"]["prompt_fingerprint"]


def test_another_number_of_votes_is_judged_anew(run, tmp_path):
    run("--votes", "1", "--out", "run.jsonl")
    made = read_document(run("--votes", "2", "--out", "run.jsonl", "--json"))
    assert made["votes"] == 2
    assert len((tmp_path / "run.jsonl").read_text().splitlines()) == 12


def _count_lines(kept):
    return kept.read_bytes().count(b"\n") if kept.exists() else 0


def _kill_after(count, kept, *options):
    """Start a run that keeps its groups in `kept`, and kill it when `count` of them are there."""
    command = [sys.executable, "-m", "app.cli", "evaluate", "--verifier", "r4p", "--votes", "1"]
    groups = ["--groups", kept.parent / "groups.jsonl", "--out", kept]
    process = subprocess.Popen([*command, *groups, *options], cwd=ROOT)
    try:
        wait_for(lambda: process.poll() is not None or _count_lines(kept) >= count, 120)
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL


def test_killed_run_continues_where_it_stopped(run, tmp_path):
    (tmp_path / "slow.jsonl").write_text(format_lines(RIGHT | {"stall_seconds": 0.4}))
    kept = tmp_path / "run.jsonl"
    _kill_after(2, kept, "--script", tmp_path / "slow.jsonl")
    before = kept.read_bytes()
    done = before.count(b"\n")
    assert 2 <= done < 6
    kept.write_bytes(before + b'{"key":{"group":"ha')
    (tmp_path / "rest.jsonl").write_text(format_lines(*[RIGHT | {"repeat": False}] * (6 - done)))
    result = run("--votes", "1", "--out", "run.jsonl", "--json", script="rest.jsonl")
    assert read_document(result)["accuracy"]["value"] == 1.0
    after = kept.read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == 6


def test_slow_group_does_not_hold_back_the_others(tmp_path):
    """Six groups, four at a time; the first is not answered, and the run is killed."""
    rows = [build_row(number, True) for number in range(6)]
    (tmp_path / "groups.jsonl").write_text(format_lines(*rows))
    kept, over = tmp_path / "run.jsonl", threading.Event()
    held = replace(build_completion("\\boxed{}"), wait_for=over)
    with serve_chat(models=[MODELS], chat=[held, build_completion("\\boxed{}")]) as server:
        try:
            _kill_after(5, kept, "--engine-url", server.url, "--together", "4")
        finally:
            over.set()
    assert len({one.instance_id for one in run_file.read_run_file(kept)}) == 5


@pytest.mark.parametrize(
    ("arguments", "verifier", "message"),
    [
        (["--votes", "5"], "consensus", "r4p evaluate: --votes does nothing for verifier consensus"),
        (["--leave-one-out"], "pointwise", "verifier pointwise shows no groups"),
        ([], "oracle", "unknown verifier 'oracle'; choose r4p, "),
        (["--out", "notes.jsonl"], "r4p", "line 1 is no judged group"),
        (["--groups", "none.jsonl"], "r4p", "none.jsonl can't be read: No such file"),
        (["--groups", "notes.jsonl"], "r4p", "notes.jsonl, line 1"),
        (["--groups", "empty.jsonl"], "r4p", "empty.jsonl is empty"),
    ],
)  # fmt: skip
def test_wrong_argument_is_a_usage_error_of_one_line(run, tmp_path, arguments, verifier, message):
    (tmp_path / "notes.jsonl").write_text("{}\n")
    (tmp_path / "empty.jsonl").touch()
    script = None if verifier == "consensus" else "script.jsonl"
    result = run(*arguments, verifier=verifier, script=script)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert (tmp_path / "notes.jsonl").read_text() == "{}\n"


def test_dead_engine_keeps_the_judged_groups(run, tmp_path):
    script = [RIGHT | {"repeat": False}] * 2 + [{"down": "gone"}]
    (tmp_path / "script.jsonl").write_text(format_lines(*script))
    result = run("--votes", "1", "--out", "run.jsonl")
    assert (result.exit_code, result.stdout) == (5, "")
    assert "gone; what was judged is in run.jsonl: run again to go on" in result.stderr
    assert result.stderr.count("\n") == 1
    assert len((tmp_path / "run.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--engine-url", "http://127.0.0.1:9/v1"], "no engine answers at http://127.0.0.1:9/v1"),
        (["--engine", "local_vllm"], "engine local_vllm needs vllm, which is not installed here"),
    ],
)
def test_missing_engine_exits_with_no_engine_in_one_line(run, arguments, message):
    result = run(*arguments, script=None)
    assert (result.exit_code, result.stdout) == (5, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_server_is_asked_by_its_url_with_the_key_of_a_file(run, tmp_path):
    (tmp_path / "key").write_text("s3cret\n")
    with serve_chat(
        models=[MODELS], chat=[build_completion("It works.\n\\boxed{1, 2, 3}")]
    ) as server:
        options = ("--engine-url", server.url, "--api-key-file", "key", "--votes", "1", "--json")
        made = read_document(run(*options, script=None))
    assert made["engine"]["model"] == "r4p"
    assert made["f1"] == made["constant_baselines"]["all_correct"]["f1"]
    assert {headers["Authorization"] for _, headers, _ in server.seen} == {"Bearer s3cret"}


def test_no_label_reaches_the_engine(run, tmp_path):
    with serve_chat(models=[MODELS], chat=[build_completion("\\boxed{}")]) as server:
        secret = build_row(1, True, False)
        secret["patches"][0] |= {"source": "secret-system/run", "also_from": ["secret-other/1"]}
        (tmp_path / "groups.jsonl").write_text(format_lines(secret))
        run("--engine-url", server.url, "--votes", "1", "--json", script=None)
        (body,) = server.list_bodies("/v1/chat/completions")
    said = json.dumps(body)
    assert "right 1 0" in said
    assert not [word for word in ("secret", "octo__app", "candidate-1") if word in said]
