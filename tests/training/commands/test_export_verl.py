"""`r4p train export-verl`, as it is typed."""

import json

import pytest
from typer.testing import CliRunner

from tests.builders import tiny_model
from tests.training.verl.small_export import PLAN, dataset_at
from training.commands.cli import main
from training.plans import plan_file


def export(*arguments):
    return CliRunner().invoke(main, ["export-verl", *map(str, arguments)])


@pytest.fixture(scope="module")
def at(tmp_path_factory):
    """A folder with a plan, a dataset and a model's tokenizer."""
    folder = tmp_path_factory.mktemp("command")
    (folder / "plan.toml").write_text(plan_file.to_toml(PLAN))
    dataset_at(folder / "dataset")
    tiny_model.write_random_model(folder / "model")
    return folder


def test_it_writes_a_folder_and_says_how_to_start(at):
    options = ["--dataset", at / "dataset", "--out", at / "out"]
    done = export(at / "plan.toml", *options, "--base", at / "model", "--nodes", 4)
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["rounds"] == 5
    assert done.stderr.endswith(f"RAY_ADDRESS=http://FIRST:8265 {at}/out/submit.sh\n")
    overrides = (at / "out" / "overrides.txt").read_text().splitlines()
    assert f"actor_rollout_ref.model.path='{at}/model'" in overrides
    assert "trainer.nnodes=4" in overrides
    assert plan_file.load_plan(at / "out" / "plan.toml").scale.nodes == 4


def test_what_it_cannot_export_it_says_before_it_looks_for_a_model(at):
    done = export("cpu-smoke", "--dataset", at / "dataset", "--out", at / "none")
    assert done.exit_code == 2
    assert done.stderr.startswith(
        "r4p train export-verl: plan cpu-smoke can't be exported to verl: "
        'rollout.engine = transformers: give "colocated"'
    )


def test_a_model_without_a_tokenizer_is_named(at):
    options = ["--dataset", at / "dataset", "--out", at / "none", "--base", at / "dataset"]
    done = export(at / "plan.toml", *options)
    assert done.exit_code == 2
    assert f"model.base = '{at}/dataset' has no tokenizer" in done.stderr
    assert not (at / "none").exists()
