"""`r4p train export-verl`, as it is typed."""

import json

import pytest
from typer.testing import CliRunner

from tests.builders.models import tiny_model
from tests.training.verl.small_export import PLAN, dataset_at
from training.commands.cli import main
from training.plans import plan_file


def export(*arguments):
    return CliRunner().invoke(main, ["export-verl", *map(str, arguments)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a plan, a dataset and a model's tokenizer."""
    path = tmp_path_factory.mktemp("command")
    (path / "plan.toml").write_text(plan_file.to_toml(PLAN))
    dataset_at(path / "dataset")
    tiny_model.write_random_model(path / "model")
    return path


def test_export_writes_a_folder_and_prints_the_start_command(folder):
    options = ["--dataset", folder / "dataset", "--out", folder / "out"]
    done = export(folder / "plan.toml", *options, "--base", folder / "model", "--nodes", 4)
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["rounds"] == 5
    assert done.stderr.endswith(f"RAY_ADDRESS=http://FIRST:8265 {folder}/out/submit.sh\n")
    overrides = (folder / "out" / "overrides.txt").read_text().splitlines()
    assert f"actor_rollout_ref.model.path='{folder}/model'" in overrides
    assert "trainer.nnodes=4" in overrides
    assert plan_file.load_plan(folder / "out" / "plan.toml").scale.nodes == 4


def test_unsupported_plan_is_refused_before_loading_a_model(folder):
    done = export("cpu-smoke", "--dataset", folder / "dataset", "--out", folder / "none")
    assert done.exit_code == 2
    assert done.stderr.startswith(
        "r4p train export-verl: plan cpu-smoke can't be exported to verl: "
        'rollout.engine = transformers: give "colocated"'
    )


def test_model_without_a_tokenizer_is_named(folder):
    options = [
        "--dataset",
        folder / "dataset",
        "--out",
        folder / "none",
        "--base",
        folder / "dataset",
    ]
    done = export(folder / "plan.toml", *options)
    assert done.exit_code == 2
    assert f"model.base = '{folder}/dataset' has no tokenizer" in done.stderr
    assert not (folder / "none").exists()
