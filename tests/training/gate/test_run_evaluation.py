"""A run measured beside the champion, by a real vLLM and in this process."""

import json
from dataclasses import asdict, replace

import pytest
from typer.testing import CliRunner

from app.learning.gate_rules import Rules
from model import typed_json
from model.adapters import adapter_server
from model.adapters.adapter_files import CONFIG, WEIGHTS
from model.adapters.adapter_server import Replica
from model.errors import BadEngine, EngineDown, TemplateError
from model.prompts import prompt_template
from tests.builders.models import tiny_adapters, tiny_model
from tests.model.chat_server import DEAD_URL, MODELS, Reply, serve_chat
from training.commands.cli import main
from training.datasets import dataset
from training.datasets.groups import LabelSource
from training.datasets.manifest import Manifest
from training.evaluation.evaluation_replies import ReplySettings
from training.gate import run_evaluation
from training.gate.gate_decision import GateOutcome
from training.gate.gate_facts import ChampionComparison
from training.gate.run_evaluation import EvaluationRequest, EvaluationServer
from training.runs import run_folder
from training.runs.run_folder import EVALUATION, GATE, BadRun, RunResult, RunStatus, TrainingStep

pytestmark = [
    pytest.mark.model,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore"),  # torch's and PEFT's own
]
ENDED = "2026-11-22T12:00:00+00:00"
RESULT = RunResult(RunStatus.FINISHED, "", "cpu-smoke", "grpo", "", 2, 2, 1.0, None, ended_at=ENDED)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A dataset of toy groups; half of those to measure on were labelled by what maintainers did."""
    folder = tmp_path_factory.mktemp("data") / "dataset"
    groups = tiny_model.build_groups(24)
    told = [replace(one, source=LabelSource.OUTCOMES) for one in groups[8:14]]
    splits = {"train": groups[:8], "test": [*told, *groups[14:20]], "repositories": groups[20:]}
    dataset.write_dataset(
        folder, splits, Manifest(1, None, {"labels": run_evaluation.RULE_VERSION})
    )
    return folder


@pytest.fixture
def run(tmp_path, data):
    """A run's folder as the trainer leaves it."""
    probe = tiny_adapters.write_trained_run(tmp_path)
    write_result(tmp_path, data, adapter_sha256=probe.adapter)
    return tmp_path


def write_result(run, data, **changes):
    result = replace(RESULT, base=str(tiny_model.get_base()), **changes)
    run_folder.write_file(run / run_folder.RESULT, run_folder.format_json(result))
    digest = {"digest": dataset.read_manifest(data).digest}
    run_folder.write_file(run / run_folder.DATASET, json.dumps(digest))
    step = TrainingStep(1, 2, 0.5, 1e-3, 1.0, entropy=1.0, clip_low=0.01, clip_high=0.02)
    run_folder.write_file(run / run_folder.METRICS, run_folder.format_step_json(step))


def build_request(run, data, server=None, **changes):
    plain = EvaluationRequest(
        run, data, server, reply_tokens=16, reply_settings=ReplySettings(2, 4 if server else 1)
    )
    return replace(plain, **{"rules": Rules(least_issues=4)} | changes)


def read_documents(run):
    return [json.loads((run / name).read_text()) for name in (EVALUATION, GATE)]


def test_candidate_and_base_are_measured_on_the_same_groups(vllm, run, data):
    told = []
    server = EvaluationServer(vllm.url, tiny_adapters.BASE)
    decided = run_evaluation.evaluate_run(
        build_request(run, data, server), lambda *seen: told.append(seen)
    )
    evaluation, gate = read_documents(run)
    assert gate["outcome"] == decided.outcome
    compared = [typed_json.read(ChampionComparison, one) for one in evaluation["compared"]]
    assert {one.name: one.issues for one in compared} == {
        "outcomes": 6,
        "benchmark": 6,
        "benchmark, repositories": 4,
    }
    for one in compared:
        assert one.patches == 4 * one.issues
        assert 0 <= one.candidate["reward"].low <= one.candidate["reward"].high <= 1
        assert one.difference["reward"].value == pytest.approx(
            one.candidate["reward"].value - one.champion["reward"].value
        )
        assert set(one.constants) == {"all_correct", "all_incorrect"}
    assert told.count(("candidate", 16, 16)) == told.count(("champion", 16, 16)) == 1
    sound = {one["check"]: one["passed"] for one in gate["findings"]}
    assert all(
        sound[check] for check in ("run", "adapter", "dataset", "labels", "leak", "loadable")
    )
    assert set(adapter_server._fetch_models(Replica(vllm.url))) == {tiny_adapters.BASE}, (
        "it is served when promoted"
    )


def test_run_is_measured_with_the_copy_of_its_template(run, data):
    source = prompt_template.load("r4p_group").source
    (run / "prompt.j2").write_text(source.replace("in patches", "in patches[:3]"))
    with pytest.raises(TemplateError, match=r"prompt\.j2, line 15: patches\[3\] is shown"):
        run_evaluation.evaluate_run(build_request(run, data))


def test_server_with_a_too_small_lora_rank_decides_nothing(vllm, run, data):
    config = run / "adapter" / CONFIG
    config.write_text(json.dumps(json.loads(config.read_text()) | {"r": 64}))
    sha256 = tiny_adapters.name_adapter(run).sha256
    probe = run_evaluation.adapter_files.read_probe(run / run_folder.PROBE)
    run_folder.write_file(
        run / run_folder.PROBE, json.dumps(asdict(replace(probe, adapter=sha256)))
    )
    write_result(run, data, adapter_sha256=sha256)
    with pytest.raises(BadEngine, match=r"HTTP 500: .*greater than max_lora_rank"):
        run_evaluation.evaluate_run(
            build_request(run, data, EvaluationServer(vllm.url, tiny_adapters.BASE))
        )
    given = ["evaluate", "--run", run, "--dataset", data, "--engine-url", vllm.url]
    result = CliRunner().invoke(main, [*map(str, given), "--model", tiny_adapters.BASE])
    assert result.exit_code == 2, "a training ends by it, and does not wait for the server"
    assert "rank 64 is greater than max_lora_rank 8" in result.stderr
    assert "such as a larger --max-lora-rank" in result.stderr
    assert result.stderr.rstrip().endswith(f"then r4p models register {run}")
    assert not (run / GATE).exists()


def test_candidate_and_base_can_judge_in_this_process(run, data):
    few = build_request(run, data, splits=("test",), limit=2, rules=Rules(least_issues=30))
    assert run_evaluation.evaluate_run(few).outcome is GateOutcome.TOO_FEW
    (evaluation, gate) = read_documents(run)
    assert [one["issues"] for one in evaluation["compared"]] == [2]
    assert gate["why"].endswith("2; 30 are needed to decide by it")


def test_broken_run_fails_before_any_request(run, data):
    (run / "adapter" / CONFIG).write_text(json.dumps({"peft_type": "LORA", "bias": "all"}))
    decided = run_evaluation.evaluate_run(build_request(run, data))
    assert decided.outcome is GateOutcome.FAILED
    assert "adapter: was " in decided.why
    assert "loadable: bias is 'all'" in decided.why
    write_result(run, data, status=RunStatus.FAILED, why="the loss is NaN at step 3")
    assert "the loss is NaN at step 3" in run_evaluation.evaluate_run(build_request(run, data)).why


def test_metrics_that_are_not_finite_fail_the_gate(run, data):
    step = replace(run_folder.read_steps(run)[0], clip_low=None, not_finite=("clip_low",))
    (run / run_folder.METRICS).write_text(run_folder.format_step_json(step))
    (run / "adapter" / CONFIG).write_text(json.dumps({"peft_type": "LORA", "bias": "all"}))
    assert (
        "numbers: clipped is not finite in 1 of 1 steps"
        in run_evaluation.evaluate_run(build_request(run, data)).why
    )
    bare = replace(step, entropy=None, not_finite=())
    (run / run_folder.METRICS).write_text(run_folder.format_step_json(bare))
    assert (
        "numbers: entropy is missing in 1 of 1 steps"
        in run_evaluation.evaluate_run(build_request(run, data)).why
    )


def test_wrong_verifier_or_missing_weights_decide_nothing(run, data):
    given = ["evaluate", "--run", str(run), "--dataset", str(data)]
    result = CliRunner().invoke(main, [*given, "--verifier", "bogus"])
    assert result.exit_code == 2
    assert "unknown verifier 'bogus'" in result.stderr
    (run / "adapter" / WEIGHTS).unlink()
    result = CliRunner().invoke(main, given)
    assert result.exit_code == 2
    assert "adapter_model.safetensors can't be read (No such file or directory)" in " ".join(
        result.stderr.split()
    )
    assert not (run / GATE).exists()


def test_unreadable_folders_decide_nothing(run, data, tmp_path):
    (run / run_folder.DATASET).write_text("{}")
    with pytest.raises(BadRun, match="does not name the run's dataset"):
        run_evaluation.evaluate_run(build_request(run, data))
    write_result(run, data, ended_at=None)
    with pytest.raises(BadRun, match="has no end time"):
        run_evaluation.evaluate_run(build_request(run, data))
    (run / run_folder.RESULT).unlink()
    with pytest.raises(BadRun, match="holds no finished run"):
        run_evaluation.evaluate_run(build_request(run, data))
    assert not (run / GATE).exists()


def test_server_that_is_down_decides_nothing(run, data):
    with pytest.raises(EngineDown, match="no engine answers"):
        run_evaluation.evaluate_run(
            build_request(run, data, EvaluationServer(DEAD_URL, tiny_adapters.BASE))
        )
    given = ["evaluate", "--run", str(run), "--dataset", str(data), "--engine-url", DEAD_URL]
    assert CliRunner().invoke(main, [*given, "--model", tiny_adapters.BASE]).exit_code == 5
    assert CliRunner().invoke(main, given).exit_code == 2
    assert not (run / GATE).exists()


def test_command_prints_the_gates_outcome(run, data):
    given = ["evaluate", "--run", str(run), "--dataset", str(data), "--split", "test"]
    more = ["--limit", "2", "--votes", "1", "--reply-tokens", "8", "--json"]
    result = CliRunner().invoke(main, [*given, *more])
    assert result.exit_code == 4
    assert json.loads(result.stdout)["outcome"] == "too few"
    assert "measured beside the base, in this process" in result.stderr
    assert CliRunner().invoke(main, [*given, "--split", "nowhere"]).exit_code == 2


@pytest.fixture
def write_newer_dataset(tmp_path_factory):
    """A dataset with issues that the run didn't learn from, and one with an issue that it did."""

    def write(start):
        folder = tmp_path_factory.mktemp("newer") / "dataset"
        groups = tiny_model.build_groups(40)
        splits = {"train": groups[30:], "test": groups[start : start + 4]}
        dataset.write_dataset(
            folder, splits, Manifest(2, None, {"labels": run_evaluation.RULE_VERSION})
        )
        return folder

    return write


def test_newer_dataset_is_checked_for_leaks(run, data, write_newer_dataset):
    with pytest.raises(BadRun, match="name that one with --learnt-from"):
        run_evaluation.evaluate_run(build_request(run, write_newer_dataset(24)))
    assert not (run / GATE).exists()

    def list_checks(start):
        few = build_request(
            run, write_newer_dataset(start), learnt_from=data, limit=1, rules=Rules(least_issues=30)
        )
        run_evaluation.evaluate_run(few)
        _, gate = read_documents(run)
        return {one["check"]: one["passed"] for one in gate["findings"]}

    assert list_checks(24) | {"dataset": True, "leak": True} == list_checks(24)
    assert list_checks(4)["leak"] is False


def test_server_that_refuses_an_adapter_is_a_bad_engine(run, data):
    with serve_chat(models=[MODELS]) as server:
        server.routes["/v1/load_lora_adapter"] = [Reply({"error": "no"}, 500)]
        asked = build_request(run, data, EvaluationServer(server.url, tiny_adapters.BASE))
        server.routes["/v1/completions"] = [Reply({"error": "the engine is dead"}, 500)]
        with pytest.raises(EngineDown) as down:
            run_evaluation.evaluate_run(asked)
        assert not isinstance(down.value, BadEngine)
        server.routes["/v1/completions"] = [Reply({"choices": []})]
        with pytest.raises(
            BadEngine, match=r"HTTP 500: .*; the server answers as tiny, so it runs"
        ):
            run_evaluation.evaluate_run(asked)
        server.routes["/v1/load_lora_adapter"] = [Reply({"detail": "Not Found"}, 404)]
        with pytest.raises(BadEngine, match="VLLM_ALLOW_RUNTIME_LORA_UPDATING=1"):
            run_evaluation.evaluate_run(asked)
        missing = {"error": {"message": "Loading lora failed: No adapter found for there"}}
        server.routes["/v1/load_lora_adapter"] = [Reply(missing, 404)]
        with pytest.raises(BadEngine, match="see the adapter's folder at the same path"):
            run_evaluation.evaluate_run(asked)
    assert not (run / GATE).exists()


def test_server_that_refuses_the_key_is_a_usage_error(run, data):
    with serve_chat(models=[Reply({"error": "Unauthorized"}, 401)]) as server:
        given = ["evaluate", "--run", run, "--dataset", data, "--engine-url", server.url]
        result = CliRunner().invoke(main, [*map(str, given), "--model", tiny_adapters.BASE])
    assert result.exit_code == 2
    assert "refuses the API key (HTTP 401): none was given" in result.stderr
    assert "--api-key-file in R4P_TRAIN_EVALUATE_ARGS" in result.stderr
    assert not (run / GATE).exists()


@pytest.mark.parametrize(
    ("status", "decided"), [(500, False), (429, False), (401, False), (400, True)]
)
def test_server_that_fails_for_a_while_decides_nothing(run, data, status, decided):
    with serve_chat(models=[MODELS]) as server:
        server.routes["/v1/load_lora_adapter"] = [Reply({"error": "not now"}, status)]
        asked = build_request(run, data, EvaluationServer(server.url, tiny_adapters.BASE))
        if decided:
            assert run_evaluation.evaluate_run(asked).outcome is GateOutcome.FAILED
        else:
            with pytest.raises(EngineDown, match=f"HTTP {status}"):
                run_evaluation.evaluate_run(asked)
    assert (run / GATE).exists() is decided
