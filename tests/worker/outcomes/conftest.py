"""An evaluation with two alternatives, in a transaction that the test shares."""

import pytest
from sqlalchemy import update

from app.db.session import transaction
from app.db.store.alternatives.attempts import Place
from app.db.store.issues import evaluations
from app.db.store.issues.evaluations import NewEvaluation
from app.db.tables.schema import repositories
from tests.builders.history import stored_verdict
from tests.worker.outcomes.judged_alternatives import ISSUE, save_alternative, save_verdict


@pytest.fixture
def connection(database):
    with transaction(database) as connection:
        yield connection


@pytest.fixture
def judge_alternatives(connection):
    """An evaluation in which the first of two alternatives was judged incorrect; the settings as given."""

    def judge(settings="alternatives: fill", pulls=(stored_verdict.LATE,)):
        group = stored_verdict.settle(connection)
        text = f"version: 1\n{settings}\n"
        connection.execute(update(repositories).values(config_text=text))
        place = Place(stored_verdict.REPOSITORY, group, stored_verdict.BASE, ISSUE)
        alternatives = tuple(save_alternative(connection, place, number) for number in (1, 2))
        rivals = tuple(stored_verdict.build_candidate(pull) for pull in pulls)
        words = (ISSUE.title, ISSUE.body)
        new = NewEvaluation(
            group, "issue", "advisory", 2, *words, rivals, alternatives=alternatives
        )
        identity = evaluations.create(connection, stored_verdict.REPOSITORY, new).id
        save_verdict(connection, identity, [f"#{pull}" for pull in pulls] + ["A1", "A2"])
        return evaluations.load(connection, identity)

    return judge
