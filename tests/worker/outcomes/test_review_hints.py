"""What a maintainer's review says of lines becomes a hint once, whatever dies in between."""

import json
from functools import partial

import pytest
from sqlalchemy import delete, select, update

from app.db.session import transaction
from app.db.store.alternatives import attempts, hints
from app.db.store.alternatives.attempts import Place
from app.db.store.issues import candidates, evaluations, groups
from app.db.store.issues.candidates import Candidate
from app.db.store.issues.evaluations import NewEvaluation
from app.db.tables.schema import deliveries, delivery_bodies
from app.jobs.job import EvaluateIssue
from app.jobs.outcome_jobs import HearReview
from app.values.identifiers import CommitSha
from model.domain import Issue
from tests.builders.job_attempts import carry_out, waiting
from tests.builders.worker_scene import build_diff, build_pull_row
from tests.worker.outcomes.judged_alternatives import save_alternative, save_verdict
from worker.outcomes.review_hints import hear_review

pytestmark = pytest.mark.services

DIFF = build_diff("w - h")
ISSUE = Issue("Area is wrong", "It adds.")
NOTES = (("area.py", 2, "Multiply the sides."), ("area.py", 1, " "))


@pytest.fixture
def copy_alternative(scene, database):
    """`copied(body)`: A1 was judged incorrect, somebody's copy of it is reviewed; the job that hears that."""

    def copy(body=""):
        scene.begin("w - h")
        pull = scene.repo.pull(scene.pulls[0])
        with transaction(database) as connection:
            group = save_verdict_on_alternative(connection, scene, CommitSha(pull.base_sha))
            groups.upsert_pulls(connection, scene.id, [build_pull_row(pull)])
            candidate = Candidate(pull.number, pull.head_sha, pull.base_sha, DIFF, 1)
            candidates.save(connection, scene.id, candidate)
            groups.save_links(connection, group, [(pull.number, "closing")])
        scene.repo.review(pull.number, "CHANGES_REQUESTED", "maintainer", body, comments=NOTES)
        return HearReview(scene.installation, scene.id, scene.store_last_delivery())

    return copy


def save_verdict_on_alternative(connection, scene, base):
    """Store an alternative that was judged incorrect; return the evaluation's group."""
    text = (ISSUE.title, ISSUE.body)
    group = groups.upsert_group(connection, scene.id, scene.issue, text, "open")
    alternative = save_alternative(connection, Place(scene.id, group, base, ISSUE), 1, DIFF)
    new = NewEvaluation(group, "issue", "advisory", 2, *text, (), alternatives=(alternative,))
    save_verdict(connection, evaluations.create(connection, scene.id, new).id, ["A1"])
    return group


def read_hints(scene, database):
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
def test_a_review_is_heard_once_with_its_lines(twice, scene, copy_alternative, body, words):
    left = twice(
        partial(hear_review, scene.github),
        lambda _database: copy_alternative(body),
        lambda database: read_hints(scene, database),
    )
    assert left == ([(words, "maintainer")], 1)


@pytest.mark.parametrize("gone", ["review", "delivery"])
def test_a_review_that_is_gone_says_nothing(scene, database, copy_alternative, gone):
    job = copy_alternative("It subtracts.")
    with transaction(database) as connection:
        told = json.loads(bytes(connection.scalar(select(delivery_bodies.c.body))))
        told["review"]["id"] = 1
        changed = update(delivery_bodies).values(body=json.dumps(told).encode())
        connection.execute(changed if gone == "review" else delete(deliveries))
    carry_out(database, partial(hear_review, scene.github), job)
    assert read_hints(scene, database) == ([], 0)
