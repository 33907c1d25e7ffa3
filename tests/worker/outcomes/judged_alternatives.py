"""Alternatives of an evaluation, the verdict on them, and the hints that lead to second attempts."""

from app.db.store.alternatives import attempts, hints
from app.db.store.alternatives.attempts import AttemptRecord, Place
from app.db.store.issues.evaluation_alternatives import Alternative
from model.domain import (
    Coverage,
    EngineInfo,
    GroupVerdict,
    Issue,
    PatchVerdict,
    Tokens,
    Verdict,
    VoteCount,
)
from tests.builders import stored_verdict

ISSUE = Issue("Crash", "On empty")
ENGINE = EngineInfo("scripted", "m", "")
SAID = {"A1": Verdict.INCORRECT, "A2": Verdict.UNSURE, "#14": Verdict.CORRECT}


def save_alternative(connection, group, number):
    record = AttemptRecord(
        agent="mini-se",
        engine=ENGINE,
        seed=number,
        stop="submitted",
        steps=3,
        tokens=Tokens(prompt=90, completion=10),
        seconds=1.0,
        patch=_diff(number),
    )
    place = Place(stored_verdict.REPOSITORY, group, stored_verdict.BASE, ISSUE)
    attempt = attempts.save(connection, place, record, number)
    return Alternative(attempt, number, "mini-se", "m", 3, stored_verdict.BASE, record.patch)


def _diff(number):
    return f"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 0\n+x = {number}\n"


def build_verdict(names):
    patches = tuple(
        PatchVerdict(name, SAID[name], VoteCount(1, 1), f"why {name}", Coverage(1, 1))
        for name in names
    )
    return GroupVerdict(patches, ENGINE, (), 2, (tuple(names),), Tokens(), 1.0, 1.0)


def list_due_hints(connection, evaluation):
    return hints.find_due(
        connection, evaluation.group, [stored_verdict.BASE], attempts.hash_issue(ISSUE)
    )
