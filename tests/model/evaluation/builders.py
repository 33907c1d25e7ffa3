"""Judged groups in a few letters: beliefs and truths of the patches of an issue."""

import json
from dataclasses import replace

from model.domain import EngineInfo, PatchId, Tokens, Verdict, Vote, VoteCount
from model.evaluation.judged_group import JudgedGroup, JudgedPatch, JudgementKey
from tests.model.builders import build_diff

ENGINE = EngineInfo("scripted", "script", "f0")


def decide_verdict(belief):
    """A claim from 0.6 up and 0.4 down."""
    if belief is None:
        return Verdict.NOT_JUDGED
    if 0.4 < belief < 0.6:
        return Verdict.UNSURE
    return Verdict.CORRECT if belief >= 0.6 else Verdict.INCORRECT


def make_judged_patch(number, belief, resolved):
    return JudgedPatch(
        id=PatchId(f"candidate-{number}"),
        resolved=resolved,
        source=None,
        also_from=(),
        edited_lines=2,
        verdict=decide_verdict(belief),
        score=belief,
        probability=None,
        votes=VoteCount(),
    )


def set_edits(group, edits):
    """`with_edits(group, "aab")`: which of its patches make the same edit; a blank is unreadable."""
    patches = [
        replace(one, edit=edit.strip() or None, edited_lines=2 if edit.strip() else None)
        for one, edit in zip(group.patches, edits, strict=True)
    ]
    return replace(group, patches=tuple(patches))


def make_judged_group(issue, *pairs, number=0, votes=(), asked=0, seconds=1.0, verifier="r4p"):
    """`judged_group("a", (0.9, True), (None, False))`: patches as (belief, truth)."""
    return JudgedGroup(
        key=JudgementKey(f"{issue}-{number}", verifier, ENGINE, 1),
        instance_id=issue,
        repo="octo/app",
        language=None,
        similarity=None,
        patches=tuple(make_judged_patch(at, *pair) for at, pair in enumerate(pairs, 1)),
        votes=tuple(votes),
        asked=asked,
        tokens=Tokens(10, 2, 3),
        engine_seconds=seconds / 2,
        total_seconds=seconds,
    )


def cast_vote(correct, *, forced=False):
    """A vote; None could not be read."""
    boxed = None if correct is None else frozenset(map(PatchId, correct))
    return Vote(0, (), boxed, "", forced)


RIGHT = {"reply": "I saw.", "box_containing": ["right"], "repeat": True}


def build_row(number, *labels):
    patches = [
        {"patch": build_diff(f"{'right' if good else 'wrong'} {number} {at}"), "resolved": good}
        for at, good in enumerate(labels)
    ]
    return {
        "instance_id": f"octo__app-{number}",
        "repo": "octo/app",
        "problem_statement": f"It breaks in place {number}",
        "patches": patches,
    }


def format_lines(*rows):
    return "\n".join(map(json.dumps, rows)) + "\n"
