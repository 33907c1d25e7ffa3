"""A whole run from the command line by plans that learn from pairs: what it leaves in its folder."""

import json
import math
import shutil
from dataclasses import replace

import pytest
from typer import Typer
from typer.testing import CliRunner

from model.commands.exit_codes import Exit
from tests.builders import guided_attempts, tiny_model
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
    made = dataset.write_dataset(
        tmp_path / "data",
        {"train": build_groups(6)[:4], "test": build_groups(6)[4:]},
        Manifest(seed=0, as_of=None, rules={}),
    )
    assert made.splits["train"].groups == 4
    return tmp_path / "data"


def plan(name, base, tmp_path):
    """A plan that ships, its sizes made for a machine without a GPU."""
    written = plan_file.load_plan(name)
    small = {
        "name": name,
        "trainer": written.trainer.value,
        "model": {"base": str(base), "dtype": "float32", "gradient_checkpointing": False},
        "adapter": {"rank": 4, "alpha": 8},
        "prompt": {"template": written.prompt.template},
        "supervised" if written.trainer == TrainingMethod.SFT else "pairs": {
            "max_tokens": tiny_model.CONTEXT
        },
        "optimiser": {"learning_rate": 1e-3, "batch": 2, "micro_batch": 2, "max_steps": 2},
        "checkpoints": {"every_steps": 1},
    }
    path = tmp_path / f"{name}.toml"
    path.write_text(plan_file.to_toml(plan_file.parse_plan(small, name)))
    return path


def run(*words):
    app = Typer()
    app.command()(run_cli.run)
    return CliRunner().invoke(app, [str(word) for word in words])


def test_guided_pairs_make_an_adapter_and_its_probe(base, data, tmp_path):
    attempts = guided_attempts.build_judged_pair(tmp_path / "tree")
    pairs.write_attempts(tmp_path / "attempts.jsonl", attempts)
    folder = tmp_path / "run"
    words = (plan("guided-dpo", base, tmp_path), "--dataset", data, "--run", folder)
    done = run(*words, "--material", tmp_path / "attempts.jsonl")
    assert done.exit_code == 0, done.output
    result = json.loads((folder / "result.json").read_text())
    assert (result["status"], result["trainer"], result["steps"]) == ("finished", "dpo", 2)
    assert result["adapter_sha256"]
    assert (folder / "probe.json").exists()
    assert len((folder / "metrics.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("name", "material", "said"),
    [
        ("guided-dpo", None, "this plan learns from attempts: name their file with --material"),
        ("guided-dpo", "none.jsonl", "none.jsonl can't be read"),
        ("boxed-sft", "attempts.jsonl", "learns from groups only; remove --material"),
    ],
)
def test_a_mistake_about_material_begins_no_run(base, data, tmp_path, name, material, said):
    (tmp_path / "attempts.jsonl").touch()
    told = ("--material", tmp_path / material) if material else ()
    folder = tmp_path / "run"
    done = run(plan(name, base, tmp_path), "--dataset", data, "--run", folder, *told)
    assert done.exit_code == Exit.USAGE
    assert said in " ".join(done.output.split())
    assert not folder.exists()


def test_a_run_goes_on_with_the_same_material_alone_and_notes_whose_it_is(base, data, tmp_path):
    attempts, held = (
        guided_attempts.build_judged_pair(tmp_path / "tree"),
        dataset.read_split(data, "test")[0].issue,
    )
    told = [*attempts, *(replace(one, issue=held) for one in attempts)]
    pairs.write_attempts(tmp_path / "attempts.jsonl", told)
    folder = tmp_path / "run"
    words = (plan("guided-dpo", base, tmp_path), "--dataset", data, "--run", folder)
    words = (*words, "--material", tmp_path / "attempts.jsonl")
    assert run(*words).exit_code == 0
    noted = set(provenance.read_provenance(folder).issues)
    assert {one.issue for one in attempts} <= noted
    assert held not in noted
    pairs.write_attempts(tmp_path / "attempts.jsonl", told[: len(attempts)])
    again = run(*words, "--resume")
    assert again.exit_code == Exit.USAGE
    assert "--material was " in again.output


def test_an_attempt_at_an_issue_of_the_test_split_is_not_learnt_from(base, data, tmp_path):
    held = dataset.read_split(data, "test")[0].issue
    attempts = [
        type(one)(held, one.belief, one.trajectory)
        for one in guided_attempts.build_judged_pair(tmp_path / "tree")
    ]
    pairs.write_attempts(tmp_path / "attempts.jsonl", attempts)
    folder = tmp_path / "run"
    words = (plan("guided-dpo", base, tmp_path), "--dataset", data, "--run", folder)
    done = run(*words, "--material", tmp_path / "attempts.jsonl")
    assert done.exit_code == Exit.USAGE
    assert "held out" in done.output


def test_pairs_after_a_warm_up_are_held_against_the_warm_up(base, data, tmp_path):
    warm = run(plan("boxed-sft", base, tmp_path), "--dataset", data, "--run", tmp_path / "warm-up")
    assert warm.exit_code == 0, warm.output
    pairs.write_attempts(
        tmp_path / "attempts.jsonl", guided_attempts.build_judged_pair(tmp_path / "tree")
    )
    folder = tmp_path / "run"
    words = (plan("guided-dpo", base, tmp_path), "--dataset", data, "--run", folder)
    more = ("--material", tmp_path / "attempts.jsonl", "--adapter", tmp_path / "warm-up/adapter")
    done = run(*words, *more)
    assert done.exit_code == 0, done.output
    first = json.loads((folder / "metrics.jsonl").read_text().splitlines()[0])
    assert first["loss"] == pytest.approx(math.log(2), abs=1e-4), "no pair is preferred as yet"


def test_a_reward_model_is_an_adapter_with_its_head(base, data, tmp_path):
    folder = tmp_path / "run"
    done = run(plan("reward-model", base, tmp_path), "--dataset", data, "--run", folder)
    assert done.exit_code == 0, done.output
    result = json.loads((folder / "result.json").read_text())
    assert (result["status"], result["trainer"]) == ("finished", "reward-model")
    config = json.loads((folder / "adapter" / "adapter_config.json").read_text())
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
def test_a_run_that_was_stopped_ends_as_if_it_had_not_been(base, data, tmp_path, name):
    pairs.write_attempts(
        tmp_path / "attempts.jsonl", guided_attempts.build_judged_pair(tmp_path / "tree")
    )
    folder = tmp_path / "run"
    words = (plan(name, base, tmp_path), "--dataset", data, "--run", folder)
    material = ("--material", tmp_path / "attempts.jsonl") if name == "guided-dpo" else ()
    assert run(*words, *material).exit_code == 0
    whole = json.loads((folder / "result.json").read_text())
    (folder / "result.json").unlink()
    shutil.rmtree(folder / "adapter")
    shutil.rmtree(folder / "checkpoint-2")
    again = run(*words, *material, "--resume")
    assert again.exit_code == 0, again.output
    result = json.loads((folder / "result.json").read_text())
    assert result["resumed_from"] == 1
    assert result["adapter_sha256"] == whole["adapter_sha256"]
    assert len((folder / "metrics.jsonl").read_text().splitlines()) == 2


def test_a_checkpoint_goes_only_when_the_next_one_is_whole(base, data, tmp_path, monkeypatch):
    mark, whole = checkpoints.mark_complete, []

    def told(made, *more):
        whole.append([one.parent.name for one in made.parent.glob("checkpoint-*/COMPLETE")])
        mark(made, *more)

    monkeypatch.setattr(checkpoints, "mark_complete", told)
    wanted = plan("boxed-sft", base, tmp_path)
    text = wanted.read_text().replace("max_steps = 2", "max_steps = 3")
    wanted.write_text(text.replace("keep = 2", "keep = 1"))
    done = run(wanted, "--dataset", data, "--run", tmp_path / "run")
    assert done.exit_code == 0, done.output
    assert whole == [[], ["checkpoint-1"], ["checkpoint-2"]]


@pytest.mark.parametrize("taken", ["file", "file/run", "/proc/run"])
def test_a_folder_that_cannot_be_written_is_said_in_one_line(base, data, tmp_path, taken):
    (tmp_path / "file").write_text("mine")
    folder = tmp_path / taken
    done = run(plan("boxed-sft", base, tmp_path), "--dataset", data, "--run", folder)
    assert done.exit_code == Exit.USAGE, done.output
    assert f"{folder} can't be written: " in done.output
    assert "name a folder that can, or make room" in done.output
    assert (tmp_path / "file").read_text() == "mine"
