"""A whole run from the command line by plans that learn from pairs: what it leaves in its folder."""

import json
import math
import shutil
from dataclasses import replace

import pytest
from typer import Typer
from typer.testing import CliRunner

from model.commands.exit_codes import Exit
from tests.builders import guided_attempts
from tests.builders.models import tiny_model, training_runs
from tests.training.trl.test_reward_model import build_groups
from training.commands import run as run_cli
from training.datasets import dataset, pairs
from training.datasets.manifest import Manifest
from training.plans import plan_file
from training.plans.plan import TrainingMethod
from training.runs import provenance
from training.trl import checkpoints

pytestmark = [
    pytest.mark.model,
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture
def data(tmp_path):
    written = dataset.write_dataset(
        tmp_path / "data",
        {"train": build_groups(6)[:4], "test": build_groups(6)[4:]},
        Manifest(seed=0, as_of=None, rules={}),
    )
    assert written.splits["train"].groups == 4
    return tmp_path / "data"


def write_plan(name, base, tmp_path):
    """Write a plan that ships, with sizes for a machine without a GPU."""
    shipped = plan_file.load_plan(name)
    section = "supervised" if shipped.trainer == TrainingMethod.SFT else "pairs"
    task = {"task": shipped.supervised.task} if section == "supervised" else {}
    small = training_runs.build_plan(
        shipped.trainer.value,
        base,
        adapter={"rank": 4, "alpha": 8},
        prompt={"template": shipped.prompt.template},
        optimiser={"learning_rate": 1e-3, "batch": 2, "micro_batch": 2, "max_steps": 2},
        checkpoints={"every_steps": 1},
        **{section: {"max_tokens": tiny_model.CONTEXT} | task},
    )
    path = tmp_path / f"{name}.toml"
    path.write_text(plan_file.to_toml(replace(small, name=name)))
    return path


def run(name, base, data, tmp_path, *words, folder="run", edits=()):
    """Run the command with a shipped plan in a folder; `edits` replace texts of the plan."""
    plan = write_plan(name, base, tmp_path)
    for old, new in edits:
        plan.write_text(plan.read_text().replace(old, new))
    app = Typer()
    app.command()(run_cli.run)
    arguments = (plan, "--dataset", data, "--run", tmp_path / folder, *words)
    return CliRunner().invoke(app, [str(word) for word in arguments])


@pytest.fixture
def material(tmp_path):
    """The option that names a file with a pair of attempts."""
    pairs.write_attempts(
        tmp_path / "attempts.jsonl", guided_attempts.build_judged_pair(tmp_path / "tree")
    )
    return "--material", tmp_path / "attempts.jsonl"


def test_guided_pairs_make_an_adapter_and_its_probe(base, data, material, tmp_path):
    done = run("guided-dpo", base, data, tmp_path, *material)
    assert done.exit_code == 0, done.output
    folder = tmp_path / "run"
    result = json.loads((folder / "result.json").read_text())
    assert (result["status"], result["trainer"], result["steps"]) == ("finished", "dpo", 2)
    assert result["adapter_sha256"]
    assert (folder / "probe.json").exists()
    assert not (folder / "prompt.j2").exists(), "an agent's prompt is no judge's"
    assert len((folder / "metrics.jsonl").read_text().splitlines()) == 2


def test_pairs_follow_the_supervised_stage_on_attempts(base, data, material, tmp_path):
    first, second = pairs.read_attempts(material[1])
    unguided = replace(second, trajectory=second.trajectory.remove_guidance())
    pairs.write_attempts(material[1], [first, unguided])
    done = run("attempts-sft", base, data, tmp_path, *material, folder="sft")
    assert done.exit_code == 0, done.output
    warm = ("--adapter", tmp_path / "sft" / "adapter")
    done = run("guided-dpo", base, data, tmp_path, *material, *warm)
    assert done.exit_code == 0, done.output
    started, result = (
        json.loads((tmp_path / folder / "result.json").read_text()) for folder in ("sft", "run")
    )
    assert provenance.read_provenance(tmp_path / "run").adapter == started["adapter_sha256"]
    assert result["adapter_sha256"] != started["adapter_sha256"]


@pytest.mark.parametrize(
    ("name", "file", "message"),
    [
        ("attempts-sft", None, "this plan learns from attempts: name their file with --material"),
        ("guided-dpo", None, "this plan learns from attempts: name their file with --material"),
        ("guided-dpo", "none.jsonl", "none.jsonl can't be read"),
        ("boxed-sft", "attempts.jsonl", "learns from groups only; remove --material"),
    ],
)
def test_wrong_material_begins_no_run(base, data, tmp_path, name, file, message):
    (tmp_path / "attempts.jsonl").touch()
    done = run(name, base, data, tmp_path, *(("--material", tmp_path / file) if file else ()))
    assert done.exit_code == Exit.USAGE
    assert message in " ".join(done.output.split())
    assert not (tmp_path / "run").exists()


def test_resumed_run_needs_the_same_material_and_notes_its_issues(base, data, material, tmp_path):
    attempts = pairs.read_attempts(material[1])
    held = dataset.read_split(data, "test")[0].issue
    held_out = [replace(one, issue=held) for one in attempts]
    pairs.write_attempts(material[1], [*attempts, *held_out])
    assert run("guided-dpo", base, data, tmp_path, *material).exit_code == 0
    noted = set(provenance.read_provenance(tmp_path / "run").issues)
    assert {one.issue for one in attempts} <= noted
    assert held not in noted
    pairs.write_attempts(material[1], attempts)
    again = run("guided-dpo", base, data, tmp_path, *material, "--resume")
    assert again.exit_code == Exit.USAGE
    assert "--material was " in again.output


def test_attempts_at_held_out_issues_are_not_learnt_from(base, data, material, tmp_path):
    held = dataset.read_split(data, "test")[0].issue
    attempts = pairs.read_attempts(material[1])
    pairs.write_attempts(material[1], [replace(one, issue=held) for one in attempts])
    done = run("guided-dpo", base, data, tmp_path, *material)
    assert done.exit_code == Exit.USAGE
    assert "held out" in done.output


def test_reference_of_pairs_after_a_warm_up_is_the_warm_up(base, data, material, tmp_path):
    warm = run("boxed-sft", base, data, tmp_path)
    assert warm.exit_code == 0, warm.output
    adapter = (tmp_path / "run").rename(tmp_path / "warm-up") / "adapter"
    done = run("guided-dpo", base, data, tmp_path, *material, "--adapter", adapter)
    assert done.exit_code == 0, done.output
    first = json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[0])
    assert first["loss"] == pytest.approx(math.log(2), abs=1e-4), "no pair is preferred as yet"


def test_reward_model_is_an_adapter_with_its_head(base, data, tmp_path):
    done = run("reward-model", base, data, tmp_path)
    assert done.exit_code == 0, done.output
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert (result["status"], result["trainer"]) == ("finished", "reward-model")
    config = json.loads((tmp_path / "run" / "adapter" / "adapter_config.json").read_text())
    assert config["task_type"] == "SEQ_CLS"
    assert "score" in config["modules_to_save"]


@pytest.mark.parametrize(
    "name",
    [
        "boxed-sft",
        pytest.param("guided-dpo", marks=pytest.mark.proof),
        pytest.param("reward-model", marks=pytest.mark.proof),
    ],
)
def test_stopped_run_resumes_to_the_same_adapter(base, data, material, tmp_path, name):
    words = material if name == "guided-dpo" else ()
    assert run(name, base, data, tmp_path, *words).exit_code == 0
    folder = tmp_path / "run"
    whole = json.loads((folder / "result.json").read_text())
    (folder / "result.json").unlink()
    shutil.rmtree(folder / "adapter")
    shutil.rmtree(folder / "checkpoint-2")
    again = run(name, base, data, tmp_path, *words, "--resume")
    assert again.exit_code == 0, again.output
    result = json.loads((folder / "result.json").read_text())
    assert result["resumed_from"] == 1
    assert result["adapter_sha256"] == whole["adapter_sha256"]
    assert len((folder / "metrics.jsonl").read_text().splitlines()) == 2


def test_checkpoint_is_removed_only_when_the_next_is_complete(base, data, tmp_path, monkeypatch):
    mark, complete = checkpoints.mark_complete, []

    def list_and_mark(checkpoint, *more):
        folders = checkpoint.parent.glob("checkpoint-*/COMPLETE")
        complete.append([one.parent.name for one in folders])
        mark(checkpoint, *more)

    monkeypatch.setattr(checkpoints, "mark_complete", list_and_mark)
    edits = [("max_steps = 2", "max_steps = 3"), ("keep = 2", "keep = 1")]
    done = run("boxed-sft", base, data, tmp_path, edits=edits)
    assert done.exit_code == 0, done.output
    assert complete == [[], ["checkpoint-1"], ["checkpoint-2"]]


@pytest.mark.parametrize("taken", ["file", "file/run", "/proc/run"])
def test_unwritable_folder_is_a_usage_error(base, data, tmp_path, taken):
    (tmp_path / "file").write_text("mine")
    done = run("boxed-sft", base, data, tmp_path, folder=taken)
    assert done.exit_code == Exit.USAGE, done.output
    assert f"{tmp_path / taken} can't be written: " in done.output
    assert "name a folder that can, or make room" in done.output
    assert (tmp_path / "file").read_text() == "mine"
