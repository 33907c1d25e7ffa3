"""The whole proof on a CPU: packed, received, killed, out of time, resumed, sent back and reported."""

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from model.evaluation import run_file
from tests.training.gpu_proof import rehearsal
from training.gpu_proof import bundle, packing, slice_runner
from training.gpu_proof.slices import SLICES, SliceStatus
from training.runs import run_folder

PRESENT = frozenset({"torch", "transformers", "accelerate"})
"""What the rented machine has, with what these need."""
OPTIONAL = frozenset(
    {"cloudpickle", "googleapis-common-protos", "joblib", "narwhals", "pillow", "protobuf", "r4p-bot", "scikit-learn", "scipy", "threadpoolctl"}
)  # fmt: skip
"""Loaded only where they are installed."""


def list_needs(names):
    """Every distribution that these need, without extras, in lower case with hyphens."""
    from importlib.metadata import requires  # noqa: PLC0415

    from packaging.requirements import Requirement  # noqa: PLC0415

    needed, waiting = set(), list(names)
    while waiting:
        name = waiting.pop().lower().replace("_", "-")
        if name in needed:
            continue
        needed.add(name)
        found = [Requirement(text) for text in requires(name) or ()]
        waiting += [r.name for r in found if not r.marker or r.marker.evaluate({"extra": ""})]
    return needed


def receive_all(parts: Path, home: Path) -> None:
    """Receive every part, a damaged one first, which is refused."""
    folders = sorted(parts.iterdir())
    chunk = max(folders[1].glob("chunk-*"))
    whole = chunk.read_bytes()
    chunk.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    refused = rehearsal.receive(folders[1], home)
    assert refused.returncode == 1
    assert f"receive: part 2: {chunk.name} of" in refused.stderr
    assert "send part 2 again" in refused.stderr
    chunk.write_bytes(whole)
    replies = [rehearsal.receive(folder, home).stdout for folder in reversed(folders)]
    assert "all parts are here" in replies[-1]
    assert f"next: sh {home / 'prove'} run" in replies[-1]


def kill_while_training(home: Path) -> int:
    """Start the run, kill the YES/NO training after a checkpoint, and return the exit code of the run."""
    command = ["sh", home / bundle.PROVE, "run", "--size", "tiny", "--home", home]
    run = home / "tiny" / "runs" / "yes-no-sft"
    with subprocess.Popen(command, env={"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}) as runner:
        while not list(run.glob("checkpoint-*/COMPLETE")):
            assert runner.poll() is None, "the run ended before a checkpoint"
            time.sleep(0.05)
        children = Path(f"/proc/{runner.pid}/task/{runner.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGKILL)
        return runner.wait()


@pytest.mark.proof
@pytest.mark.model
@pytest.mark.timeout(600)
def test_a_proof_survives_a_kill_and_its_limits_and_reports_what_changed(tmp_path):
    home, back, out = tmp_path / "home", tmp_path / "back", tmp_path / "report"
    receive_all(rehearsal.write_bundle(tmp_path / "bundle"), home)
    results = home / "tiny" / "results"

    assert kill_while_training(home) == 3
    killed = slice_runner.read_records(results)["yes-no-sft"]
    assert (killed.status, killed.attempts) == (SliceStatus.UNFINISHED, 1)
    assert killed.why == "killed by signal 9; it goes on from its last state"

    short = rehearsal.prove(
        home, "run", "--size", "tiny", "--minutes", 0.1, "--grace", 1, "--least", 1
    )
    assert short.returncode == 3, short.stderr
    assert "left: yes-no-sft, yes-no-after, parity" in short.stderr
    assert slice_runner.read_records(results)["yes-no-sft"].attempts == 2

    done = rehearsal.prove(home, "run", "--size", "tiny")
    assert done.returncode == 0, done.stderr
    assert "all slices have finished" in done.stderr
    result = run_folder.read_result(home / "tiny" / "runs" / "yes-no-sft")
    assert result.resumed_from >= 4
    steps = run_folder.read_steps(home / "tiny" / "runs" / "yes-no-sft")
    assert [step.step for step in steps] == list(range(1, rehearsal.TINY.yes_no_steps + 1))

    assert rehearsal.prove(home, "collect", "--size", "tiny", "--out", back).returncode == 0
    reported = rehearsal.run_command(
        sys.executable, "-m", "training.gpu_proof", "report", "--out", out, *back.iterdir()
    )
    assert reported.returncode == 0, reported.stderr
    check_report(out, reported.stdout)


def check_report(out: Path, text: str) -> None:
    """The rule is learnt by YES/NO, little changes by two rounds of GRPO, and each is said as plainly."""
    page = (out / "report.html").read_text()
    findings = {
        (item["comparison"], item["group_set"], item["metric"]): item
        for item in json.loads((out / "findings.json").read_text())
    }
    # three comparisons of five metrics, and two with consensus of two metrics, on two sets
    assert len(findings) == 2 * (3 * 5 + 2 * 2)
    for group_set in ("distinct", "r4p_style"):
        learnt = findings["YES/NO after SFT, minus the base", group_set, "auroc"]
        assert learnt["change"] == "gain"
        assert learnt["estimate"]["low"] > 0.2
        line = f"- YES/NO after SFT, minus the base, {group_set}: gain in auroc: +0."
        assert line in text
        together = "YES/NO after SFT with consensus, minus consensus alone"
        assert findings[together, group_set, "brier"]["estimate"]["value"] is not None
    assert ": no gain in " in text
    assert "All slices finished. Machine: device CPU" in text
    assert "No objection." in text
    for step in SLICES:
        assert f"| {step.name} | finished |" in text
    assert "What training on one GPU changed" in page
    judged = run_file.read_sorted(out / "results" / "distinct.yes-no-after.jsonl")
    assert len(judged) == 32
    assert (out / "runs" / "grpo" / "adapter" / "adapter_model.safetensors").exists()


@pytest.mark.proof
def test_what_the_slices_import_is_on_the_machine_or_carried(tmp_path):
    packing.write_source(tmp_path / "source.zip")
    zipfile.ZipFile(tmp_path / "source.zip").extractall(tmp_path / "source")
    loads = (
        "import sys, importlib.metadata as m, training.gpu_proof.slice_work, training.gpu_proof.parity, training.trl.grpo, training.trl.sft, "
        "training.trl.train; names = m.packages_distributions(); "
        "print(*{d for top in {n.split('.')[0] for n in sys.modules} for d in names.get(top, ())})"
    )
    done = subprocess.run(
        [sys.executable, "-c", loads],
        env={"PYTHONPATH": str(tmp_path / "source"), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {name.lower().replace("_", "-") for name in done.stdout.split()}
    carried = {name.lower().replace("_", "-") for name in packing.CARRIED}
    assert loaded - list_needs(PRESENT) - carried == OPTIONAL & loaded
