"""`r4p evaluate` with consensus, alone or in a hybrid: no fit that saw an issue judges it."""

import json
from pathlib import Path

from model.evaluation import judge_catalog
from model.evaluation.labelled_group import read_groups
from model.verifiers import consensus as verifiers
from model.verifiers.hybrid import HybridVerifier
from tests.model.commands.evaluate.test_evaluate import read_document


def test_consensus_needs_no_engine_and_runs_beside_its_strict_twin(run, real_group, tmp_path):
    ask = ("--out", "runs")
    made = read_document(run(*ask, "--json", verifier="consensus", groups=real_group, script=None))
    assert made["calibrated"] is False
    assert made["format_valid"]["value"] is None
    assert made["engine"]["model"] == "blocks of issues held out"
    assert made["strict"]["verifier"] == "consensus-strict"
    assert made["strict"]["engine"]["model"] == "whole repositories held out"
    kept = (tmp_path / "runs" / "real.consensus.jsonl").read_bytes()
    beliefs = [[one["score"] for one in json.loads(line)["patches"]] for line in kept.splitlines()]
    assert len(beliefs) == 2
    assert beliefs[0] != beliefs[1]
    shown = run(*ask, verifier="consensus", groups=real_group, script=None).stdout
    assert "consensus with blocks of issues held out: 1 groups" in shown
    assert "consensus-strict with whole repositories held out: 1 groups" in shown
    assert (tmp_path / "runs" / "real.consensus.jsonl").read_bytes() == kept


def test_hybrid_asks_a_fit_that_never_saw_the_issue(run, real_group):
    (group,) = read_groups(Path(real_group))
    judge = judge_catalog.build_judge_of_parts(
        "hybrid:consensus+consensus", [judge_catalog.build_consensus_part()] * 2, 1
    )
    unseeing = verifiers.build_holdout(group.repo, group.instance_id)
    patches = [one.patch for one in group.patches]
    said = HybridVerifier(unseeing, unseeing).verify(group.issue, patches, votes=1)
    believed = [one.belief for one in judge.judge(group).patches]
    assert believed == [one.score for one in said.patches]
    made = read_document(run("--json", verifier="hybrid:consensus+r4p", groups=real_group))
    assert made["engine"]["model"] == "blocks of issues held out + script"
    assert made["calibrated"] is False


def test_issues_outside_the_held_out_blocks_are_cautioned_about(run, real_group):
    known = run("--json", verifier="consensus", groups=real_group, script=None)
    assert "caution" not in read_document(known)
    other = run("--json", verifier="consensus", script=None)
    assert read_document(other)["caution"].startswith("6 of 6 groups lie outside the blocks")
    assert "6 of 6 groups lie outside the blocks" in other.stderr


def test_consensus_asks_a_fit_that_never_saw_the_issue(run, real_group):
    (group,) = read_groups(Path(real_group))
    for strict in (False, True):
        unseeing = verifiers.build_holdout(group.repo, group.instance_id, strict=strict)
        said = unseeing.verify(group.issue, [one.patch for one in group.patches])
        known = verifiers.build_shipped().verify(group.issue, [one.patch for one in group.patches])
        judge = judge_catalog.build_consensus_judge(strict=strict)
        believed = [one.belief for one in judge.judge(group).patches]
        assert believed == [one.score for one in said.patches]
        assert believed != [one.score for one in known.patches]
