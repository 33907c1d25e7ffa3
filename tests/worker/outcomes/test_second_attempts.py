"""What a verdict or a maintainer says against an alternative is kept as a hint, while the budget lasts."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import update

from app.db.session import transaction
from app.db.store.alternatives import attempts, drafts, hints
from app.db.store.alternatives.attempts import AttemptRecord, Place
from app.db.store.alternatives.drafts import DraftRequest
from app.db.store.alternatives.hints import Hint
from app.db.store.issues import evaluations
from app.db.store.issues.candidates import Candidate
from app.db.store.issues.evaluation_alternatives import Alternative
from app.db.store.issues.evaluations import NewEvaluation, VerificationResult
from app.db.store.outcomes import outcome_events
from app.db.tables.schema import repositories
from app.events import Actor, CheckAction, CheckEvent, ReviewAction, ReviewEvent
from app.github.api.rest_reader import ReviewComment
from app.outcomes import EventKind, OutcomeEvent
from app.policy.alternative_policy import Cost, NoAttempt, RefusalReason
from app.values.identifiers import RepositoryRef
from model.agents.trajectories.guidance import HintSource
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
from worker.judging.verify import build_document
from worker.outcomes import second_attempts
from worker.outcomes.second_attempts import MaintainerRemark

pytestmark = pytest.mark.services

ISSUE = Issue("Crash", "On empty")
ENGINE = EngineInfo("scripted", "m", "")
SAID = {"A1": Verdict.INCORRECT, "A2": Verdict.UNSURE, "#14": Verdict.CORRECT}


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
        ours = (_written(connection, group, 1), _written(connection, group, 2))
        theirs = tuple(
            Candidate(n, stored_verdict.head_of(n), stored_verdict.BASE, "diff", 1) for n in pulls
        )
        new = NewEvaluation(
            group, "issue", "advisory", 2, ISSUE.title, ISSUE.body, theirs, alternatives=ours
        )
        identity = evaluations.create(connection, stored_verdict.REPOSITORY, new).id
        evaluation = evaluations.load(connection, identity)
        verdict = _verdict([f"#{n}" for n in pulls] + ["A1", "A2"])
        said = VerificationResult(
            build_document(evaluation, verdict, "r4p"), verdict.patches, (), "r4p"
        )
        evaluations.save_verdict(connection, identity, said)
        return evaluations.load(connection, identity)

    return made


def _written(connection, group, number):
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


def _verdict(names):
    patches = tuple(
        PatchVerdict(name, SAID[name], VoteCount(1, 1), f"why {name}", Coverage(1, 1))
        for name in names
    )
    return GroupVerdict(patches, ENGINE, (), 2, (tuple(names),), Tokens(), 1.0, 1.0)


def due(connection, evaluation):
    return hints.find_due(
        connection, evaluation.group, [stored_verdict.BASE], attempts.hash_issue(ISSUE)
    )


def test_the_reasons_of_a_verdict_are_hints_about_what_it_calls_incorrect(connection, judged):
    evaluation = judged()
    assert second_attempts.leave_hints_of_verdict(connection, evaluation) == (1,)
    first = evaluation.alternatives[0].attempt
    assert due(connection, evaluation) == (Hint(first, HintSource.VERDICT, "why A1", "r4p"),)
    assert second_attempts.leave_hints_of_verdict(connection, evaluation) == ()


def test_a_maintainers_words_are_about_what_they_name(connection, judged):
    evaluation = judged("alternatives: off")
    assert second_attempts.leave_hints_of_verdict(connection, evaluation) == ()
    words = MaintainerRemark(2, "it drops `None`", "mona")
    assert second_attempts.leave_hints_of_maintainer(connection, evaluation, words) == (2,)
    second = evaluation.alternatives[1].attempt
    assert due(connection, evaluation) == (
        Hint(second, HintSource.MAINTAINER, "it drops `None`", "mona"),
    )


def test_words_that_name_nothing_are_not_about_ours_beside_others(connection, judged):
    evaluation = judged()
    assert (
        second_attempts.leave_hints_of_maintainer(
            connection, evaluation, MaintainerRemark(None, "no", "mona")
        )
        == ()
    )


def test_where_the_budget_is_spent_no_hint_is_left(connection, judged):
    evaluation = judged("alternatives_budget: {tokens: 200}")
    run = attempts.begin_run(connection, stored_verdict.REPOSITORY, Cost(500, 60.0))
    attempts.end_run(connection, run, Cost(200, 2.0))
    words = MaintainerRemark(1, "it drops `None`", "mona")
    refused = NoAttempt(RefusalReason.BUDGET)
    assert second_attempts.leave_hints_of_maintainer(connection, evaluation, words) == refused
    assert not second_attempts.has_second_attempts(refused)
    assert due(connection, evaluation) == ()


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


def check(head, **changes):
    event = CheckEvent(
        delivery="guid",
        repository=RepositoryRef(
            stored_verdict.INSTALLATION, stored_verdict.REPOSITORY, "octo/cat"
        ),
        sender=Actor(9, "ci[bot]", is_bot=True),
        action=CheckAction.COMPLETED,
        is_suite=False,
        id=600,
        name="tests",
        head=head,
        conclusion="failure",
        app_id=4,
        app_slug="ci",
        pulls=(),
        external_id="",
        button=None,
        at=None,
        output="sums.py:3: KeyError",
    )
    return replace(event, **changes)


def test_a_failing_check_of_a_copy_is_a_hint_about_what_was_copied(connection, judged):
    evaluation = judged("alternatives: off")
    copied = stored_verdict.head_of(stored_verdict.FIRST)[::-1]
    stored_verdict.collect(
        connection, stored_verdict.FIRST, copied, evaluation.alternatives[1].diff
    )
    assert second_attempts.leave_hints_of_check(connection, check(copied)) == (
        stored_verdict.ISSUE,
    )
    second = evaluation.alternatives[1].attempt
    assert due(connection, evaluation) == (
        Hint(second, HintSource.CHECK, "sums.py:3: KeyError", "tests"),
    )
    assert second_attempts.leave_hints_of_check(connection, check(copied)) == ()


@pytest.mark.parametrize(
    "change",
    [
        {"conclusion": "success"},
        {"conclusion": "cancelled"},
        {"output": ""},
        {"is_suite": True},
        {"action": CheckAction.REREQUESTED},
    ],
)
def test_other_checks_of_a_copy_say_nothing(connection, judged, change):
    evaluation = judged()
    copied = stored_verdict.head_of(stored_verdict.FIRST)[::-1]
    stored_verdict.collect(
        connection, stored_verdict.FIRST, copied, evaluation.alternatives[1].diff
    )
    assert second_attempts.leave_hints_of_check(connection, check(copied, **change)) == ()


def test_a_failing_check_of_another_edit_says_nothing_of_ours(connection, judged):
    judged()
    assert (
        second_attempts.leave_hints_of_check(
            connection, check(stored_verdict.head_of(stored_verdict.FIRST))
        )
        == ()
    )


def review(head, **changes):
    event = ReviewEvent(
        delivery="guid",
        repository=RepositoryRef(
            stored_verdict.INSTALLATION, stored_verdict.REPOSITORY, "octo/cat"
        ),
        sender=Actor(1, "mona", is_bot=False),
        action=ReviewAction.SUBMITTED,
        number=stored_verdict.FIRST,
        review=800,
        state="changes_requested",
        body="It drops `None`.",
        author=Actor(1, "mona", is_bot=False),
        commit=head,
        at=None,
    )
    return replace(event, **changes)


def test_a_review_that_asks_for_changes_to_a_copy_is_a_hint(connection, judged):
    evaluation = judged("alternatives: off")
    copied = stored_verdict.head_of(stored_verdict.FIRST)[::-1]
    stored_verdict.collect(
        connection, stored_verdict.FIRST, copied, evaluation.alternatives[1].diff
    )
    asks = review(copied)
    assert second_attempts.concerns_alternative(connection, asks)
    assert second_attempts.leave_hints_of_review(connection, asks, ()) == (stored_verdict.ISSUE,)
    second = evaluation.alternatives[1].attempt
    assert due(connection, evaluation) == (
        Hint(second, HintSource.MAINTAINER, "It drops `None`.", "mona"),
    )


@pytest.mark.parametrize(
    "change",
    [{"state": "commented"}, {"commit": None}, {"action": ReviewAction.DISMISSED}],
)
def test_other_reviews_of_a_copy_say_nothing(connection, judged, change):
    evaluation = judged()
    copied = stored_verdict.head_of(stored_verdict.FIRST)[::-1]
    stored_verdict.collect(
        connection, stored_verdict.FIRST, copied, evaluation.alternatives[1].diff
    )
    says = review(copied, **change)
    assert not second_attempts.concerns_alternative(connection, says)
    assert second_attempts.leave_hints_of_review(connection, says, ()) == ()


def test_a_review_without_words_says_nothing_unless_its_lines_do(connection, judged):
    evaluation = judged()
    copied = stored_verdict.head_of(stored_verdict.FIRST)[::-1]
    stored_verdict.collect(
        connection, stored_verdict.FIRST, copied, evaluation.alternatives[1].diff
    )
    silent = review(copied, body=" ")
    assert (
        second_attempts.leave_hints_of_review(connection, silent, [ReviewComment("a.py", " ")])
        == ()
    )
    said = [ReviewComment("a.py", "It drops `None`.")]
    assert second_attempts.leave_hints_of_review(connection, silent, said) == (
        stored_verdict.ISSUE,
    )
    second = evaluation.alternatives[1].attempt
    (hint,) = due(connection, evaluation)
    assert hint == Hint(second, HintSource.MAINTAINER, "a.py: It drops `None`.", "mona")


@pytest.mark.parametrize("moved", [False, True])
def test_our_own_draft_is_a_copy_until_somebody_pushes_to_it(connection, judged, moved):
    evaluation = judged("alternatives: off")
    second = evaluation.alternatives[1].attempt
    asked = DraftRequest("900", stored_verdict.ISSUE, "mona")
    draft = drafts.request_draft(connection, stored_verdict.REPOSITORY, second, asked)
    drafts.save(connection, draft.id, stored_verdict.SECOND)
    if moved:
        push = OutcomeEvent(
            kind=EventKind.HEAD_MOVED,
            source="push",
            occurred_at=datetime.now(UTC),
            pull=stored_verdict.SECOND,
        )
        outcome_events.append(connection, stored_verdict.REPOSITORY, [push])
    asks = review(stored_verdict.head_of(stored_verdict.SECOND), number=stored_verdict.SECOND)
    assert second_attempts.concerns_alternative(connection, asks) is not moved
    expected = () if moved else (stored_verdict.ISSUE,)
    assert second_attempts.leave_hints_of_review(connection, asks, ()) == expected


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
