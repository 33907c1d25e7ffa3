"""A report of a proof that did not get far says what was not measured."""

import pytest

from model.errors import BadRun
from training.gpu_proof import findings, report
from training.gpu_proof.findings import Change


def test_without_run_files_every_difference_is_not_measured():
    found = report.compare_runs({})
    assert len(found) == 2 * (3 * 5 + 2 * 2)
    assert {finding.change for finding in found} == {Change.UNKNOWN}
    assert findings.summarise(found) == "Nothing was measured."


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(BadRun, match="has no results; give the parts that were sent back"):
        report.write_proof_report(tmp_path)


def test_results_metrics_and_adapters_are_sent_back_and_checkpoints_are_not(tmp_path):
    for path in (
        "results/distinct.consensus.jsonl",
        "full/results/distinct.yes-no-after.jsonl",
        "full/results/slices/grpo.json",
        "full/runs/grpo/metrics.jsonl",
        "full/runs/grpo/adapter/adapter_model.safetensors",
        "full/runs/grpo/checkpoint-5/optimizer.pt",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    small = [
        "results/distinct.consensus.jsonl",
        "results/distinct.yes-no-after.jsonl",
        "results/slices/grpo.json",
        "runs/grpo/metrics.jsonl",
    ]
    assert list(report.list_results(tmp_path, "full", adapters=False)) == small
    assert list(report.list_results(tmp_path, "full", adapters=True)) == [
        *small,
        "runs/grpo/adapter/adapter_model.safetensors",
    ]
