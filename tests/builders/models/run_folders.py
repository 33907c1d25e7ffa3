"""Folders of runs to report on, written as a run writes them."""

import json
import math
import random
from dataclasses import asdict

from app.learning.gate_rules import Rules
from model.evaluation.bootstrap import Estimate
from training.datasets.manifest import CurationStep as Kept
from training.datasets.manifest import Manifest, SplitSummary
from training.gate.gate_decision import GateOutcome, decide_gate
from training.gate.gate_facts import ChampionComparison, ProvenanceCheck
from training.gate.gate_facts import StepHealth as Measured
from training.plans.plan_file import load_plan, to_toml
from training.runs.run_folder import (
    RunResult,
    RunStatus,
    TrainingStep,
    format_json,
    format_step_json,
)

MISSED = {"too long": 2}
RATIOS = (
    "reward", "accuracy", "balanced_accuracy", "mcc", "exact_match", "best_of_group", "brier",
    "format_valid",
)  # fmt: skip


def build_step(number, total=40, **changed):
    """What a trainer would say of one step, of a run that learns."""
    chance, gone = random.Random(number), number / total
    told = {
        "step": number,
        "planned_steps": total,
        "reward": 0.5 + 0.4 * gone + chance.gauss(0, 0.04),
        "reward_std": 0.45 * (1 - 0.7 * gone),
        "entropy": 1.2 * math.exp(-3 * gone) + 0.05,
        "clip_low": abs(chance.gauss(0.002, 0.001)),
        "clip_high": abs(chance.gauss(0.006, 0.002)),
        "format_valid": min(1.0, 0.9 + 0.2 * gone),
        "tokens": 7_500 * number,
        "tokens_per_second": chance.gauss(1_900, 80),
        "loss": chance.gauss(0, 0.03),
        "lr": 3e-3,
        "seconds": 3.9,
    }
    return TrainingStep(**(told | changed))


def estimate_around(value, width=0.05):
    return Estimate(value, value - width, value + width)


def build_comparison(name="benchmark, test", gain=0.12, issues=64):
    """Champion and candidate, the candidate better by so much."""
    champion = {one: 0.5 + 0.03 * at for at, one in enumerate(RATIOS)}
    champion |= {"format_valid": 0.95 - gain, "brier": 0.22, "false_accepts": 0.2}
    return ChampionComparison(
        name=name,
        issues=issues,
        groups=2 * issues,
        patches=8 * issues,
        candidate={one: estimate_around(value + gain) for one, value in champion.items()},
        champion={one: estimate_around(value) for one, value in champion.items()},
        difference={
            one: estimate_around(0.0 if one == "false_accepts" else gain, 0.04) for one in champion
        },
        constants={
            who: {one: None if one == "mcc" else 0.5 for one in champion}
            for who in ("all_correct", "all_incorrect")
        },
        only_candidate=19,
        only_champion=4,
        p_worse=0.999,
        p_differs=0.0026,
    )


def build_manifest():
    split = SplitSummary("a" * 64, 420, 61, 12, 31, {"0": 84, "1": 84, "2": 84, "3": 84, "4": 84})
    dropped = {"no linked issue": 214, "a bot wrote it": 97, "only lock files": 12}
    return Manifest(
        seed=7,
        as_of="2026-11-20T00:00:00+00:00",
        rules={"labels": 3},
        steps=(Kept("found", 812, 2_304, {}), Kept("filters", 540, 1_981, dropped)),
        splits={"train": split, "validation": split, "test": split},
    )


def decide(*sets, steps=40, **changed):
    provenance = ProvenanceCheck(
        "finished",
        (Measured(0.01, 0.1, 0.01),) * steps,
        "a",
        "a",
        "d",
        "d",
        3,
        3,
        frozenset(),
        frozenset(),
    )
    return decide_gate(provenance, (), sets, Rules(**changed))


def write_run_folder(folder, *, steps=40, sets=None, plan="cpu-smoke"):
    """A run that finished, was measured and judged."""
    folder.mkdir(parents=True, exist_ok=True)
    sets = (build_comparison(), build_comparison("outcomes, test", 0.03)) if sets is None else sets
    (folder / "plan.toml").write_text(to_toml(load_plan(plan)))
    write_steps(folder, [build_step(at, steps) for at in range(1, steps + 1)])
    write_document(folder, "dataset", {"manifest": asdict(build_manifest())})
    write_result(folder, steps)
    write_document(
        folder,
        "evaluation",
        {"schema": "r4p.evaluation/1", "compared": [asdict(one) for one in sets]},
    )
    write_document(folder, "gate", decide(*sets).document())
    assert decide(*sets).outcome is GateOutcome.PASSED
    return folder


def write_steps(folder, steps):
    (folder / "metrics.jsonl").write_text("".join(map(format_step_json, steps)))


def write_document(folder, name, content):
    (folder / f"{name}.json").write_text(json.dumps(content))


def write_result(folder, steps, status=RunStatus.FINISHED, why="", left_out=MISSED):
    result = RunResult(
        status,
        why,
        "cpu-smoke",
        "grpo",
        "/models/tiny",
        steps,
        40,
        164.2,
        None,
        3,
        left_out,
        "5f" * 32,
    )
    (folder / "result.json").write_text(format_json(result))
