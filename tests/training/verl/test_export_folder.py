"""The folder that verl trains from."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from transformers import AutoTokenizer

from tests.builders.models import tiny_model
from tests.training.verl.small_export import DATASET, PLAN, dataset_at
from training.datasets import dataset
from training.plans.plan import BadPlan
from training.verl import export_folder
from training.verl.reward_function import compute_score


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return AutoTokenizer.from_pretrained(
        tiny_model.write_random_model(tmp_path_factory.mktemp("model"))
    )


@pytest.fixture
def source(tmp_path):
    return dataset_at(tmp_path / "dataset")


def test_export_counts_what_it_holds(tmp_path, source, tokenizer):
    export = export_folder.write_export(PLAN, source, tmp_path / "out", tokenizer)
    # 10 of 12 groups twice are 5 rounds of 4; nothing is known of the two others
    assert (export.rounds, export.steps, export.prompts, export.filled) == (5, 10, 20, 0)
    assert export.left_out == {"no patch whose label is known": 2}
    assert export.validation == 3
    assert json.loads((tmp_path / "out" / "export.json").read_text())["prompts"] == 20
    assert export.dataset == dataset.read_manifest(source).digest


def test_each_epoch_has_its_own_order(tmp_path, source, tokenizer):
    export_folder.write_export(PLAN, source, tmp_path / "out", tokenizer)
    rows = pq.read_table(tmp_path / "out" / "train.parquet").to_pylist()
    keys = [row["extra_info"]["key"] for row in rows]
    assert sorted(keys[:10]) == sorted(keys[10:])
    assert keys[:10] != keys[10:]
    groups = {one.key: one for one in DATASET["train"]}
    for row in rows:
        group = groups[row["extra_info"]["key"]]
        truth = json.loads(row["reward_model"]["ground_truth"])
        assert sorted(map(str, truth["targets"])) == sorted(map(str, group.targets))
        assert truth["occupied"] == [1, 2, 3, 4]
        assert [one["role"] for one in row["prompt"]] == ["system", "user"]


def test_last_round_is_filled_up_and_counted(tmp_path, source, tokenizer):
    plan = replace(PLAN, optimiser=replace(PLAN.optimiser, epochs=1))
    export = export_folder.write_export(plan, source, tmp_path / "out", tokenizer)
    assert (export.prompts, export.filled, export.rounds) == (12, 2, 3)


def test_exported_reward_equals_ours(tmp_path, source, tokenizer):
    export_folder.write_export(PLAN, source, tmp_path / "out", tokenizer)
    code = {}
    exec((tmp_path / "out" / "reward.py").read_text(), code)
    truth = '{"targets": [1.0, 0.0, null, 0.2], "occupied": [1, 2, 3, 4]}'
    for reply, reward in [(r"\boxed{1}", 2.8 / 3), (r"\boxed{", 0.0), (r"\boxed{5}", 0.0)]:
        assert code["compute_score"]("r4p/outcomes", reply, truth) == pytest.approx(reward)
        assert compute_score("r4p/outcomes", reply, truth) == pytest.approx(reward)


def test_group_without_targets_has_no_reward():
    truth = '{"targets": [null, null], "occupied": [1, 2]}'
    with pytest.raises(ValueError, match="group a of r4p/outcomes has no known target"):
        compute_score("r4p/outcomes", r"\boxed{1}", truth, {"key": "a"})


def test_existing_export_is_never_overwritten(tmp_path, source, tokenizer):
    export_folder.write_export(PLAN, source, tmp_path / "out", tokenizer)
    with pytest.raises(BadPlan, match="exists already"):
        export_folder.write_export(PLAN, source, tmp_path / "out", tokenizer)


def test_failed_export_leaves_nothing(tmp_path, source, tokenizer):
    plan = replace(PLAN, checkpoints=replace(PLAN.checkpoints, every_steps=3))
    with pytest.raises(BadPlan, match=r"checkpoints\.every_steps = 3"):
        export_folder.write_export(plan, source, tmp_path / "out", tokenizer)
    assert [one.name for one in tmp_path.iterdir()] == ["dataset"]


def test_export_needs_a_validation_split(tmp_path, tokenizer):
    source = dataset_at(tmp_path / "dataset", validation=())
    with pytest.raises(BadPlan, match="none of 0 groups of the validation split"):
        export_folder.write_export(PLAN, source, tmp_path / "out", tokenizer)


def test_scripts_pass_the_overrides_unchanged(tmp_path, source, tokenizer):
    out = tmp_path / "it's a run"
    export_folder.write_export(PLAN, source, out, tokenizer)
    programs = tmp_path / "programs"
    programs.mkdir()
    # a cluster of one: takes the job's options and runs what follows them
    _write_program(
        programs / "ray", 'echo "$@" > "$SAID"; while [ "$1" != -- ]; do shift; done; "${@:2}"'
    )
    _write_program(programs / "python3", f'exec {sys.executable} -c "{_PRINT_ARGUMENTS}" "$@"')
    environment = {
        "PATH": f"{programs}:{os.defpath}",
        "RAY_ADDRESS": "http://first:8265",
        "SAID": str(tmp_path / "said"),
    }
    command = [str(out / "submit.sh"), "trainer.val_only=True"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    module, *overrides = json.loads(done.stdout)
    assert module == ["-m", "verl.trainer.main_ppo"]
    expected = (out / "overrides.txt").read_text().splitlines()
    assert overrides == [*expected, "trainer.val_only=True"]
    job_arguments = (tmp_path / "said").read_text()
    assert "job submit --address http://first:8265 --runtime-env" in job_arguments
    packages = json.loads((out / "runtime_env.json").read_text())["py_modules"]
    assert [Path(one).name for one in packages] == ["model", "training"]


def test_submit_without_a_cluster_names_the_variable(tmp_path, source, tokenizer):
    export_folder.write_export(PLAN, source, tmp_path / "out", tokenizer)
    command = [str(tmp_path / "out" / "submit.sh")]
    done = subprocess.run(
        command, env={"PATH": os.defpath}, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "RAY_ADDRESS: set it to the cluster" in done.stderr


_PRINT_ARGUMENTS = "import json, sys; print(json.dumps([sys.argv[1:3], *sys.argv[3:]]))"


def _write_program(path, body):
    path.write_text(f"#!{shutil.which('bash')}\n{body}\n")
    path.chmod(0o755)
