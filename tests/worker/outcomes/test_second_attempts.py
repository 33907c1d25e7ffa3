"""What a verdict or a maintainer says against an alternative is kept as a hint, while the budget lasts."""

import pytest

from app.db.store.alternatives import attempts
from app.db.store.alternatives.hints import Hint
from app.db.store.issues import evaluations
from app.db.store.issues.evaluations import NewEvaluation
from app.policy.alternative_policy import Cost, NoAttempt, RefusalReason
from model.agents.trajectories.guidance import HintSource
from tests.builders.history import stored_verdict
from tests.worker.outcomes.judged_alternatives import ISSUE, list_due_hints
from worker.outcomes import second_attempts
from worker.outcomes.second_attempts import MaintainerRemark

pytestmark = pytest.mark.services


def test_the_reasons_of_a_verdict_are_hints_about_what_it_calls_incorrect(
    connection, judge_alternatives
):
    evaluation = judge_alternatives()
    assert second_attempts.leave_hints_of_verdict(connection, evaluation) == (1,)
    first = evaluation.alternatives[0].attempt
    assert list_due_hints(connection, evaluation) == (
        Hint(first, HintSource.VERDICT, "why A1", "r4p"),
    )
    assert second_attempts.leave_hints_of_verdict(connection, evaluation) == ()


def test_a_maintainers_words_are_about_what_they_name(connection, judge_alternatives):
    evaluation = judge_alternatives("alternatives: off")
    assert second_attempts.leave_hints_of_verdict(connection, evaluation) == ()
    words = MaintainerRemark(2, "it drops `None`", "mona")
    assert second_attempts.leave_hints_of_maintainer(connection, evaluation, words) == (2,)
    second = evaluation.alternatives[1].attempt
    assert list_due_hints(connection, evaluation) == (
        Hint(second, HintSource.MAINTAINER, "it drops `None`", "mona"),
    )


def test_words_that_name_nothing_are_not_about_ours_beside_others(connection, judge_alternatives):
    evaluation = judge_alternatives()
    assert (
        second_attempts.leave_hints_of_maintainer(
            connection, evaluation, MaintainerRemark(None, "no", "mona")
        )
        == ()
    )


def test_a_spent_budget_leaves_no_hint(connection, judge_alternatives):
    evaluation = judge_alternatives("alternatives_budget: {tokens: 200}")
    run = attempts.begin_run(connection, stored_verdict.REPOSITORY, Cost(500, 60.0))
    attempts.end_run(connection, run, Cost(200, 2.0))
    words = MaintainerRemark(1, "it drops `None`", "mona")
    refused = NoAttempt(RefusalReason.BUDGET)
    assert second_attempts.leave_hints_of_maintainer(connection, evaluation, words) == refused
    assert not second_attempts.has_second_attempts(refused)
    assert list_due_hints(connection, evaluation) == ()


def test_a_verdict_without_ours_leads_to_nothing(connection):
    group = stored_verdict.settle(connection)
    new = NewEvaluation(group, "issue", "advisory", 2, ISSUE.title, ISSUE.body, ())
    identity = evaluations.create(connection, stored_verdict.REPOSITORY, new).id
    evaluation = evaluations.load(connection, identity)
    assert (
        second_attempts.leave_hints_of_maintainer(
            connection, evaluation, MaintainerRemark(1, "no", "mona")
        )
        == ()
    )


def test_a_hint_names_places_of_the_tree_that_is_there(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src/sums.py").write_text("x = 1\n")
    said = Hint(1, HintSource.MAINTAINER, "look at src/sums.py and at src/none.py", "mona")
    told = second_attempts.create_guidance(tmp_path, said)
    assert (told.locations, told.source, told.said_by) == (
        ("src/sums.py",),
        HintSource.MAINTAINER,
        "mona",
    )
    assert (
        second_attempts.create_guidance(tmp_path, Hint(1, HintSource.MAINTAINER, " ", "mona"))
        is None
    )
