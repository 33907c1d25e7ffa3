"""What a maintainer's review says of lines becomes a hint once, whatever dies in between."""

import json
from functools import partial

import pytest
from sqlalchemy import delete, insert, select, update

from app.db.session import transaction
from app.db.store.alternatives import attempts, hints
from app.db.store.alternatives.attempts import AttemptRecord, Place
from app.db.store.issues import candidates, evaluations, groups
from app.db.store.issues.candidates import Candidate
from app.db.store.issues.evaluation_alternatives import Alternative
from app.db.store.issues.evaluations import NewEvaluation, VerificationResult
from app.db.tables.schema import deliveries
from app.jobs.job import EvaluateIssue
from app.jobs.outcome_jobs import HearReview
from app.values.identifiers import AlternativeNumber, CommitSha, DeliveryGuid
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
from tests.builders.job_attempts import carry_out, waiting
from tests.builders.pull_requests import build_pull
from worker.judging.verify import build_document
from worker.outcomes.review_hints import hear_review

pytestmark = pytest.mark.services

DIFF = (
    "diff --git a/area.py b/area.py\n--- a/area.py\n+++ b/area.py\n"
    "@@ -1,2 +1,2 @@\n def area(w, h):\n-    return w + h\n+    return w - h\n"
)
ISSUE = Issue("Area is wrong", "It adds.")
ENGINE = EngineInfo("scripted", "m", "")
NOTES = (("area.py", 2, "Multiply the sides."), ("area.py", 1, " "))


@pytest.fixture
def copied(scene, database):
    """`copied(body)`: A1 was judged incorrect, somebody's copy of it is reviewed; the job that hears that."""

    def made(body=""):
        scene.begin("w - h")
        pull = scene.repo.pull(scene.pulls[0])
        with transaction(database) as connection:
            identity = _judged(connection, scene, CommitSha(pull.base_sha))
            row = build_pull(pull.number, "open", pull.head_sha, pull.base_sha, "main")
            groups.upsert_pulls(connection, scene.id, [row])
            copy = Candidate(pull.number, pull.head_sha, pull.base_sha, DIFF, 1)
            candidates.save(connection, scene.id, copy)
            group = evaluations.load(connection, identity).group
            groups.save_links(connection, group, [(pull.number, "closing")])
        scene.repo.review(pull.number, "CHANGES_REQUESTED", "maintainer", body, comments=NOTES)
        return HearReview(scene.installation, scene.id, _delivered(scene, database))

    return made


def _judged(connection, scene, base):
    group = groups.upsert_group(
        connection, scene.id, scene.issue, (ISSUE.title, ISSUE.body), "open"
    )
    place = Place(scene.id, group, base, ISSUE)
    record = AttemptRecord("mini-se", ENGINE, 0, "submitted", 3, Tokens(), 1.0, DIFF)
    attempt = attempts.save(connection, place, record, AlternativeNumber(1))
    ours = (Alternative(attempt, AlternativeNumber(1), "mini-se", "m", 3, base, DIFF),)
    text = (ISSUE.title, ISSUE.body)
    new = NewEvaluation(group, "issue", "advisory", 2, *text, (), alternatives=ours)
    identity = evaluations.create(connection, scene.id, new).id
    said = PatchVerdict("A1", Verdict.INCORRECT, VoteCount(0, 2), "why", Coverage(1, 1))
    verdict = GroupVerdict((said,), ENGINE, (), 2, (("A1",),), Tokens(), 1.0, 1.0)
    evaluation = evaluations.load(connection, identity)
    verified = VerificationResult(
        build_document(evaluation, verdict, "r4p"), verdict.patches, (), "r4p"
    )
    evaluations.save_verdict(connection, identity, verified)
    return identity


def _delivered(scene, database):
    sent = [d for d in scene.standin.deliveries() if d.installation_id == scene.installation][-1]
    row = {"guid": sent.guid, "event": sent.event, "body": json.dumps(sent.payload).encode()}
    about = {"installation_id": scene.installation, "repository_id": scene.id}
    with transaction(database) as connection:
        connection.execute(insert(deliveries).values(**row, **about))
    return DeliveryGuid(sent.guid)


def heard(scene, database):
    """The words of the hints, and how often the issue is to be looked at again."""
    with transaction(database) as connection:
        group = groups.find_group(connection, scene.id, scene.issue).id
        found = hints.find_due(connection, group, [], attempts.hash_issue(ISSUE))
    again = [job for job in waiting(database) if isinstance(job, EvaluateIssue)]
    return [(hint.words, hint.said_by) for hint in found], len(again)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("", "area.py: Multiply the sides."),
        ("It subtracts.", "It subtracts.\n\narea.py: Multiply the sides."),
    ],
)
def test_a_review_is_heard_once_with_its_lines(twice, scene, copied, body, words):
    left = twice(
        partial(hear_review, scene.github),
        lambda _database: copied(body),
        lambda database: heard(scene, database),
    )
    assert left == ([(words, "maintainer")], 1)


@pytest.mark.parametrize("gone", ["review", "delivery"])
def test_a_review_that_is_gone_says_nothing(scene, database, copied, gone):
    job = copied("It subtracts.")
    with transaction(database) as connection:
        told = json.loads(bytes(connection.scalar(select(deliveries.c.body))))
        told["review"]["id"] = 1
        changed = update(deliveries).values(body=json.dumps(told).encode())
        connection.execute(changed if gone == "review" else delete(deliveries))
    carry_out(database, partial(hear_review, scene.github), job)
    assert heard(scene, database) == ([], 0)
