"""Alternatives of an evaluation, the verdict on them, and the hints that lead to second attempts."""

from app.db.store.alternatives import attempts, hints
from app.db.store.issues import evaluations
from app.db.store.issues.evaluation_alternatives import Alternative
from app.db.store.issues.evaluations import VerificationResult
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
from tests.builders.history import stored_verdict
from worker.judging.verify import build_document

ISSUE = Issue("Crash", "On empty")
ENGINE = EngineInfo("scripted", "m", "")
VERDICTS = {"A1": Verdict.INCORRECT, "A2": Verdict.UNSURE, "#14": Verdict.CORRECT}


def save_alternative(connection, place, number, diff=None):
    """Store an attempt of the bot that became an alternative."""
    record = stored_verdict.build_attempt(seed=number, patch=diff or _diff(number))
    attempt = attempts.save(connection, place, record, number)
    return Alternative(attempt, number, "mini-se", "m", 3, place.base, record.patch)


def save_verdict(connection, identity, names):
    """Store the verdict on the patches of an evaluation."""
    verdict = build_verdict(names)
    document = build_document(evaluations.load(connection, identity), verdict, "r4p")
    result = VerificationResult(document, verdict.patches, (), "r4p")
    evaluations.save_verdict(connection, identity, result)


def _diff(number):
    return f"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 0\n+x = {number}\n"


def build_verdict(names):
    patches = tuple(
        PatchVerdict(name, VERDICTS[name], VoteCount(1, 1), f"why {name}", Coverage(1, 1))
        for name in names
    )
    return GroupVerdict(patches, ENGINE, (), 2, (tuple(names),), Tokens(), 1.0, 1.0)


def list_due_hints(connection, evaluation):
    return hints.find_due(
        connection, evaluation.group, [stored_verdict.BASE], attempts.hash_issue(ISSUE)
    )
