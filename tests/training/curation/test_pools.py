"""Pools of patches, and the labelled groups made of them."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.outcomes.judgement import FrozenIssue, PullRecord, Submission
from app.values.identifiers import (
    CommitSha,
    InstallationId,
    IssueNumber,
    IssueRef,
    PullNumber,
    RepositoryId,
    RepositoryRef,
)
from model.domain import Issue, Patch, PatchId
from model.evaluation import labelled_group
from tests.builders.patch_pools import build_patch, build_pool
from training.curation import pools
from training.curation.pools import (
    Pool,
    PoolPatch,
    build_from_groups,
    build_from_labels,
    describe_belief,
)
from training.datasets.groups import LabelSource
from training.labels import labels
from training.labels.label_rule import LabelGrade

READ, KNOWN = (datetime(2026, month, 1, tzinfo=UTC) for month in (1, 3))
REPOSITORY = RepositoryRef(InstallationId(1), RepositoryId(2), "o/r")
RECORD = PullRecord(
    7,
    IssueRef(REPOSITORY, IssueNumber(12)),
    PullNumber(13),
    submissions=(Submission(CommitSha("f" * 40), "aa", READ),),
)
LABEL = replace(
    labels.label_patch(RECORD, "aa", KNOWN),
    label=LabelGrade.CORRECT,
    probability=0.9,
    weight=0.5,
    outcome_at=KNOWN,
)


def build_labelled_group(name, *resolved):
    patches = tuple(
        labelled_group.LabelledPatch(Patch(PatchId(str(at)), f"{name}{at}"), is_right, "family/run")
        for at, is_right in enumerate(resolved)
    )
    return labelled_group.LabelledGroup(name, "o/r", Issue("Title", "Body"), patches)


def test_groups_of_one_issue_are_one_pool():
    built = build_from_groups(
        [
            build_labelled_group("a-1", True, False),
            build_labelled_group("b-2", False),
            build_labelled_group("a-1", True),
        ]
    )
    assert [one.issue for one in built] == ["a-1", "b-2"]
    assert [one.target for one in built[0].patches] == [1.0, 0.0, 1.0]
    assert built[1] == Pool(
        "b-2", "o/r", "Title\n\nBody", (PoolPatch("b-20", 0.0, author="family/run"),)
    )


def test_groups_and_exports_carry_trajectories(tmp_path):
    group = build_labelled_group("a-1", True, False)
    first = replace(group.patches[0], patch=replace(group.patches[0].patch, trajectory="I ran it."))
    (pool,) = build_from_groups([replace(group, patches=(first, group.patches[1]))])
    assert [patch.trajectory for patch in pool.patches] == ["I ran it.", None]
    ((exported,), _) = pools.build_labelled_groups([pool])
    assert [patch.get("trajectory") for patch in exported["patches"]] == ["I ran it.", None]
    assert "trajectory" not in exported["patches"][1]
    (tmp_path / "groups.jsonl").write_text(json.dumps(exported))
    (read,) = build_from_groups(labelled_group.read_groups(tmp_path / "groups.jsonl"))
    assert [patch.trajectory for patch in read.patches] == ["I ran it.", None]


def test_labels_make_a_pool_with_the_frozen_issue_text():
    rival = replace(
        LABEL, pull=PullNumber(14), patch="bb", probability=None, weight=0.0, outcome_at=None
    )
    gone = replace(LABEL, pull=PullNumber(15), patch="cc")
    unread = replace(LABEL, group=8)
    built = build_from_labels(
        [LABEL, rival, gone, unread],
        {7: FrozenIssue(Issue("Title", "Body"), READ)},
        {"aa": "diff a", "bb": "diff b"},
        {(REPOSITORY.id, PullNumber(13)): "somebody"},
        {(7, "bb"): "I ran it.", (8, "aa"): "of another issue"},
    )
    assert built == [
        Pool(
            issue="o/r#12",
            repo="o/r",
            statement="Title\n\nBody",
            patches=(
                PoolPatch("diff a", 0.9, 0.5, "somebody", KNOWN),
                PoolPatch("diff b", None, 1.0, trajectory="I ran it."),
            ),
            source=LabelSource.OUTCOMES,
            as_of=READ,
        )
    ]


def test_pools_cap_the_labels_that_they_hold():
    known = [
        replace(
            LABEL,
            issue=replace(LABEL.issue, repository=RepositoryRef(owner, owner, "o/r")),
            pull=PullNumber(number),
            decider=str(number),
        )
        for number, owner in enumerate([*range(20)] * 10 + [99] * 50)
    ]
    # purged patches of honest owners leave more of the weight to the others
    diffs = {"aa": "diff a"}
    purged = [replace(label, patch="gone") for label in known[:100]]
    frozen = {7: FrozenIssue(Issue("Title", "Body"), READ)}
    (built,) = build_from_labels([*purged, *known[100:]], frozen, diffs, {})
    weights = [patch.weight for patch in built.patches]
    assert sum(weights[100:]) == pytest.approx(0.05 * sum(weights), rel=1e-3)


def test_later_labels_are_hidden():
    one = replace(
        build_pool(), patches=(build_patch(1, 1.0, outcome_at=KNOWN), build_patch(2, 1.0))
    )
    assert [p.target for p in one.hide_later_labels(KNOWN).patches] == [None, 1.0]
    assert one.hide_later_labels(datetime(2026, 3, 2, tzinfo=UTC)) == one


def test_belief_is_correct_from_one_half_on():
    beliefs = [describe_belief(one) for one in build_pool(targets=(0.5, 0.49, None)).patches]
    assert beliefs == ["correct", "incorrect", "unknown"]


def build_diff_pool(*targets):
    patches = tuple(PoolPatch(f"diff {at}", target) for at, target in enumerate(targets))
    return Pool("o/r#1", "o/r", "It adds.", patches)


def test_labelled_group_holds_confident_labels():
    built, left_out = pools.build_labelled_groups(
        [build_diff_pool(0.9, None, 0.15, 0.3), build_diff_pool(None, 0.75)]
    )
    assert built == [
        {
            "instance_id": "o/r#1",
            "repo": "o/r",
            "problem_statement": "It adds.",
            "patches": [
                {"patch": "diff 0", "resolved": True, "probability": 0.9, "source": "outcomes"},
                {"patch": "diff 2", "resolved": False, "probability": 0.15, "source": "outcomes"},
            ],
        }
    ]
    assert left_out == {
        "patches whose label is unknown": 2,
        "patches whose label is not sure": 2,
        "issues without a known patch": 1,
    }


def test_unknown_is_never_exported_as_incorrect():
    assert pools.build_labelled_groups([build_diff_pool(None, None)], 0.5)[0] == []


def test_confidence_limit_can_be_chosen():
    ((group,), _) = pools.build_labelled_groups([build_diff_pool(0.6, 0.4)], 0.6)
    assert [one["resolved"] for one in group["patches"]] == [True, False]
