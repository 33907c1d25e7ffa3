"""An evaluation with two alternatives, in a transaction that the test shares."""

import pytest
from sqlalchemy import update

from app.db.session import transaction
from app.db.store.issues import evaluations
from app.db.store.issues.candidates import Candidate
from app.db.store.issues.evaluations import NewEvaluation, VerificationResult
from app.db.tables.schema import repositories
from tests.builders import stored_verdict
from tests.worker.outcomes.judged_alternatives import ISSUE, build_verdict, save_alternative
from worker.judging.verify import build_document


@pytest.fixture
def connection(database):
    with transaction(database) as connection:
        yield connection


@pytest.fixture
def judged(connection):
    """An evaluation in which the first of two alternatives was judged incorrect; the settings as given."""

    def made(settings="alternatives: fill", pulls=(stored_verdict.LATE,)):
        group = stored_verdict.settle(connection)
        text = f"version: 1\n{settings}\n"
        connection.execute(update(repositories).values(config_text=text))
        ours = (save_alternative(connection, group, 1), save_alternative(connection, group, 2))
        theirs = tuple(
            Candidate(n, stored_verdict.head_of(n), stored_verdict.BASE, "diff", 1) for n in pulls
        )
        new = NewEvaluation(
            group, "issue", "advisory", 2, ISSUE.title, ISSUE.body, theirs, alternatives=ours
        )
        identity = evaluations.create(connection, stored_verdict.REPOSITORY, new).id
        evaluation = evaluations.load(connection, identity)
        verdict = build_verdict([f"#{n}" for n in pulls] + ["A1", "A2"])
        said = VerificationResult(
            build_document(evaluation, verdict, "r4p"), verdict.patches, (), "r4p"
        )
        evaluations.save_verdict(connection, identity, said)
        return evaluations.load(connection, identity)

    return made
