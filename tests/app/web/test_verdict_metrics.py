"""Metrics of verdicts: what Prometheus reads about the quality, speed and cost of a day."""

import pytest
from sqlalchemy import text

from app.db.store.outcomes import verdict_statistics as queries
from app.metrics import Metrics
from app.outcomes.judgement import Judge
from app.web.verdict_metrics import FAMILIES, KEEP_SECONDS, VerdictMetrics
from model.domain import EngineInfo
from tests.builders.history import judged_history
from tests.builders.queue_rows import execute

pytestmark = pytest.mark.services

REPOSITORY = 70
JUDGE = Judge("r4p", EngineInfo("vllm", "a-model", "f" * 12))
COST = """
update evaluations set created_at = now() - interval '1 hour',
    verified_at = now() - interval '1 hour' + interval '40 s', verdict = verdict ||
    '{"tokens": {"prompt": 100, "cached": 60, "completion": 7}, "seconds": {"engine": 2.5}}'
"""
AGAIN = """
with again as (insert into evaluations
    (group_id, state, trigger, mode, votes, fingerprint, issue_title, issue_body, verifier, verdict,
        verified_at)
    select group_id, state, trigger, mode, votes, fingerprint, issue_title, issue_body, verifier,
        verdict, now() from evaluations where id = {of} returning id)
insert into evaluation_candidates (evaluation_id, candidate_id, position, verdict)
    select again.id, candidate_id, position, '{verdict}' from evaluation_candidates, again
    where evaluation_id = {of}
"""
REACTION = """
insert into deliveries (guid, event, received_at) values ('g', 'push', now() - interval '100 s');
insert into confirmed_writes (key, repository_id, github_id, job_id, delivery_guid, confirmed_at)
    values ('comment:1', 70, 1, 1, 'g', now() - interval '10 s'),
    ('comment:2', 70, 2, 1, 'g', now())
"""


@pytest.fixture
def history(database):
    """Eight issues judged an hour ago: each second patch was taken back after its merge; two claims were wrong."""
    with database.begin() as connection:
        judged_history.settle(connection, REPOSITORY)
        judged_history.live(connection, REPOSITORY, JUDGE, issues=8)
    execute(database, COST)
    return database


def read(database):
    """Every value by the name and the values of the labels, with the newest name's order of labels."""
    metrics = Metrics()
    metrics.register(VerdictMetrics(database))
    return {
        (sample.name, *sample.labels.values()): sample.value
        for metric in metrics.list_metrics()
        for sample in metric.samples
    }


def test_verdicts_and_their_cost_are_told_by_verifier(history):
    values = read(history)
    assert values["r4p_evaluations", "r4p", "judged"] == 8
    assert values["r4p_evaluations", "r4p", "failed"] == 0
    assert values["r4p_verdicts", "r4p", "correct"] == 4
    assert values["r4p_verdicts", "r4p", "incorrect"] == 4
    assert values["r4p_tokens", "r4p", "prompt"] == 800
    assert values["r4p_tokens", "r4p", "cached"] == 480
    assert values["r4p_engine_seconds", "r4p"] == 20
    assert values["r4p_evaluation_seconds", "0.5"] == 40


def test_a_failed_judgement_counts_as_failed_and_as_no_verdict(history):
    execute(history, "update evaluations set failure = 'no engine' where id <= 2")
    values = read(history)
    assert values["r4p_evaluations", "r4p", "failed"] == 2
    assert values["r4p_evaluations", "r4p", "judged"] == 6
    assert (
        values["r4p_verdicts", "r4p", "correct"] + values["r4p_verdicts", "r4p", "incorrect"] == 6
    )


def test_evaluations_of_other_days_and_moved_verdicts_do_not_count(history):
    execute(history, "update evaluations set created_at = now() - interval '25 hours' where id = 1")
    execute(history, "update evaluations set moved_from = 2 where id = 3")
    assert read(history)["r4p_evaluations", "r4p", "judged"] == 6


def test_an_opposite_claim_about_the_same_patch_is_a_flip(history):
    # issue 3 was judged correct, issue 5 correct
    execute(history, AGAIN.format(of=3, verdict="incorrect"))
    execute(history, AGAIN.format(of=5, verdict="correct"))
    execute(history, AGAIN.format(of=7, verdict="unsure"))
    values = read(history)
    assert values["r4p_repeated_claims", "true"] == 1
    assert values["r4p_repeated_claims", "false"] == 1


def test_claims_are_compared_with_merges_once_they_held_for_two_weeks(history):
    assert ("r4p_settled_claims", "correct", "kept") not in read(history)
    execute(history, "update outcome_events set occurred_at = now() - interval '20 days'")
    values = read(history)
    settled = {key[1:]: value for key, value in values.items() if key[0] == "r4p_settled_claims"}
    assert settled == {
        ("correct", "kept"): 3,
        ("correct", "reverted"): 1,
        ("incorrect", "kept"): 1,
        ("incorrect", "reverted"): 3,
    }
    execute(history, "update outcome_events set occurred_at = now() - interval '3 days'")
    values = read(history)
    assert ("r4p_settled_claims", "correct", "kept") not in values
    assert values["r4p_settled_claims", "correct", "reverted"] == 1


def test_the_first_reaction_counts_from_the_delivery_to_the_first_write(history):
    execute(history, REACTION)
    assert read(history)["r4p_first_reaction_seconds", "0.5"] == pytest.approx(90, abs=1)


def test_without_history_there_are_no_made_up_values(database):
    values = read(database)
    names = {name for name, *_ in values}
    assert values["r4p_agent_runs",] == 0
    assert not names & {"r4p_verdicts", "r4p_first_reaction_seconds", "r4p_settled_claims"}


def test_the_database_is_asked_once_a_minute_and_again_after_a_failure(database):
    now = [0.0]
    metrics = VerdictMetrics(database, clock=lambda: now[0])
    execute(database, "alter table evaluations rename to hidden")
    try:
        assert metrics.collect() == []
    finally:
        execute(database, "alter table hidden rename to evaluations")
    now[0] = KEEP_SECONDS - 1
    assert metrics.collect() == []
    now[0] = KEEP_SECONDS
    kept = metrics.collect()
    assert [metric.name for metric in kept] == [family.name for family in FAMILIES]
    assert metrics.collect() is kept


def test_the_statistics_read_no_table_from_end_to_end(history):
    with history.connect() as connection:
        connection.execute(text("set enable_seqscan = off"))
        for query in (queries.EVALUATIONS, queries.VERDICTS, queries.REPEATED):
            plan = "\n".join(connection.scalars(text(f"explain {query}".replace(":", r"\:"))))
            assert "ix_evaluations_created_at" in plan
