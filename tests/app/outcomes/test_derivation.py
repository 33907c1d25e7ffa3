import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.outcomes import EventKind, History, derive
from tests.builders.history.outcome_events import (
    BASE,
    HEAD,
    OTHER,
    PULL,
    build_close,
    build_event,
    build_merge,
    build_snapshot,
    outcomes,
    proven,
)

LANDED = build_event(EventKind.LANDED, 0.1)
REVERTED = build_event(EventKind.REVERTED, 4, reverter="#15")


@pytest.mark.parametrize(
    ("snapshots", "expected"),
    [
        ([], ("merged", None)),
        ([build_snapshot(day=None)], ("merged", None)),
        ([build_snapshot()], ("merged", None)),
        ([build_snapshot(day=1)], ("merged", None)),
        ([build_snapshot(OTHER, patch=None)], ("merged_after_changes", "head_moved")),
        ([build_snapshot(OTHER)], ("merged_after_changes", "head_moved")),
        ([build_snapshot(OTHER, "p"), build_snapshot(HEAD, "p", None)], ("merged", None)),
        (
            [build_snapshot(OTHER, "p"), build_snapshot(HEAD, "q", None)],
            ("merged_after_changes", "diff_changed"),
        ),
        ([build_snapshot(OTHER, "q", -3), build_snapshot(HEAD, "p", -2)], ("merged", None)),
        (
            [build_snapshot(HEAD, "p", base=OTHER), build_snapshot(HEAD, "q", None, base=BASE)],
            ("merged_after_changes", "diff_changed"),
        ),
    ],
    ids=[
        "never collected",
        "never judged",
        "judged at this head",
        "judged only after the merge",
        "other head, patch unreadable",
        "other head, merged one not collected",
        "rebased, same diff",
        "other head, other diff",
        "judged again at the merged head",
        "same head on another base",
    ],
)
def test_a_merge_is_compared_with_what_was_judged_last(snapshots, expected):
    assert outcomes(build_merge(base=BASE), snapshots=snapshots) == [expected]


def test_a_verdict_in_the_same_second_as_the_merge_came_before_it():
    late = build_snapshot(OTHER, None, day=0.5 / 86_400)
    assert outcomes(build_merge(), snapshots=[late]) == [("merged_after_changes", "head_moved")]


@pytest.mark.parametrize(
    ("closing", "others", "rivals", "reason"),
    [
        ({}, [], [], "unknown"),
        ({"permission": "read"}, [], [], "unknown"),
        ({"permission": "maintain"}, [], [], "closed_by_maintainer"),
        ({"permission": "app"}, [], [], "closed_by_bot"),
        ({"by_author": True, "permission": "admin"}, [], [], "closed_by_author"),
        ({"by_author": True}, [], [build_merge(-13, pull=13)], "superseded"),
        ({"permission": "app"}, [], [build_merge(13, pull=13)], "superseded"),
        ({}, [], [build_merge(15, pull=13)], "unknown"),
        ({}, [], [build_merge(-15, pull=13)], "unknown"),
        ({}, [LANDED, proven(LANDED)], [build_merge(pull=13)], "landed_indirectly"),
        ({}, [LANDED], [], "unknown"),
        ({}, [LANDED, proven(LANDED, "refuted")], [], "unknown"),
        ({}, [build_event(EventKind.LANDED, -2), proven(LANDED)], [], "unknown"),
        (
            {},
            [build_event(EventKind.ISSUE_CLOSED, -9, state="not_planned")],
            [],
            "issue_not_planned",
        ),
        ({}, [build_event(EventKind.ISSUE_CLOSED, -9, state="completed")], [], "unknown"),
        ({}, [build_event(EventKind.ISSUE_CLOSED, 1, state="duplicate")], [], "unknown"),
    ],
)
def test_a_closing_says_what_is_known_of_why(closing, others, rivals, reason):
    assert outcomes(build_close(**closing), *others, rivals=rivals) == [("closed", reason)]


def test_a_landed_pull_request_can_be_reverted_and_leave_its_issue_open():
    events = [
        build_close(0),
        LANDED,
        proven(LANDED),
        build_event(EventKind.ISSUE_REOPENED, 3),
        REVERTED,
        proven(REVERTED),
    ]
    assert outcomes(*events) == [
        ("closed", "landed_indirectly"),
        ("reopened", "issue"),
        ("reverted", "by #15"),
    ]
    assert ("reverted", "by #15") not in outcomes(build_close(0), *events[-2:])


def test_an_issue_that_was_opened_again_no_longer_explains_a_closing():
    events = [
        build_event(EventKind.ISSUE_CLOSED, -2, state="not_planned"),
        build_event(EventKind.ISSUE_REOPENED, -1),
        build_close(),
    ]
    assert outcomes(*events) == [("closed", "unknown")]


def test_a_closing_counts_once_until_the_pull_request_is_opened_again():
    reopened = build_event(EventKind.PULL_REOPENED, 2)
    assert outcomes(build_close(0), build_close(1), reopened, build_close(3)) == [
        ("closed", "unknown"),
        ("reopened", "pull_request"),
        ("closed", "unknown"),
    ]


def test_an_issue_reopened_after_the_merge_is_an_outcome_of_it():
    reopened = build_event(EventKind.ISSUE_REOPENED, 1)
    assert outcomes(build_merge(), reopened) == [("merged", None), ("reopened", "issue")]
    assert outcomes(build_merge(2), reopened) == [("merged", None)]
    assert outcomes(reopened) == []


def test_a_merge_reported_twice_is_one_merge():
    assert outcomes(build_merge(source="webhook"), build_merge(source="reconcile")) == [
        ("merged", None)
    ]


def test_a_revert_told_by_pull_request_and_by_commit_is_one_revert():
    by_pull = build_event(EventKind.REVERTED, 1, reverter="#15")
    by_commit = build_event(EventKind.REVERTED, 2, reverter=OTHER)
    answers = [proven(by_pull), proven(by_commit)]
    assert outcomes(build_merge(), by_pull, by_commit, *answers) == [
        ("merged", None),
        ("reverted", "by #15"),
    ]


def test_an_unmerged_pull_request_cannot_be_reverted():
    assert outcomes(build_close(), REVERTED, proven(REVERTED)) == [("closed", "unknown")]


def test_a_revert_without_a_known_cause_has_no_reason():
    revert = build_event(EventKind.REVERTED, 1)
    assert outcomes(build_merge(), revert, proven(revert))[-1] == ("reverted", None)


def test_only_pushes_after_a_public_verdict_are_an_answer_to_it():
    before = build_event(EventKind.HEAD_MOVED)
    after = build_event(EventKind.HEAD_MOVED, 1, evaluation=5)
    assert outcomes(before, after) == [("new_commits_after_verdict", None)]


def test_reviews_keep_their_state_unless_dismissed_or_by_someone_who_cannot_write():
    def review(day, about, state, **fields):
        return build_event(EventKind.REVIEW_SUBMITTED, day, about=about, state=state, **fields)

    assert outcomes(
        review(0, "1", "approved", permission="write"),
        review(1, "2", "changes_requested"),
        review(2, "3", "approved", permission="read"),
        review(3, "4", "approved", permission="admin"),
        build_event(EventKind.REVIEW_DISMISSED, -5, about="4"),
    ) == [("reviewed", "approved"), ("reviewed", "changes_requested")]


def test_a_rerun_of_ci_replaces_what_it_repeats_on_the_same_head():
    def ci(day, state, head=HEAD, about="actions"):
        return build_event(EventKind.CI_CONCLUDED, day, state=state, head=head, about=about)

    assert outcomes(
        ci(0, "failure"), ci(1, "success"), ci(2, "failure", OTHER), ci(3, "neutral", about="x")
    ) == [("ci", "success"), ("ci", "failure"), ("ci", "neutral")]


def test_the_last_word_of_each_person_who_may_write_counts():
    def speak(kind, day, person, permission=None, evaluation=5):
        fields = {"actor_id": person, "permission": permission, "evaluation": evaluation}
        return build_event(kind, day, state="because", **fields)

    assert outcomes(
        speak(EventKind.AGREED, 0, 1, "write"),
        speak(EventKind.DISAGREED, 1, 1, "write"),
        speak(EventKind.AGREED, 2, 2),
        speak(EventKind.DISAGREED, 3, 3, "read"),
        speak(EventKind.DISAGREED, 4, 2, "write", None),
    ) == [("disagree", "because"), ("agree", "because")]


@pytest.mark.parametrize(
    ("whole", "named"),
    [(EventKind.AGREED, EventKind.DISAGREED), (EventKind.DISAGREED, EventKind.AGREED)],
)
def test_an_opinion_that_names_the_pull_request_outweighs_a_general_one(whole, named):
    verdict = build_event(whole, pull=None, evaluation=5)
    this = build_event(named, evaluation=5, state="but this")
    assert [reason for _, reason in outcomes(verdict, this)] == ["but this"]
    later = build_event(whole, 1, pull=None, evaluation=5, state="all in all")
    assert [reason for _, reason in outcomes(this, later)] == ["all in all"]


def test_reactions_count_people_known_to_have_write():
    def thumb(day, about, person, permission, state="+1", *, gone=False):
        fields = {"about": about, "actor_id": person, "permission": permission, "gone": gone}
        return build_event(EventKind.REACTION, day, state=state, **fields)

    events = (
        thumb(0, "1", 1, "write"),
        thumb(1, "2", 2, "admin"),
        thumb(2, "3", 3, None),
        thumb(3, "4", 4, "read", "-1"),
        thumb(4, "5", 5, "write", "-1"),
        thumb(5, "6", 6, "write", "-1"),
        thumb(6, "6", 6, "write", "-1", gone=True),
        thumb(7, "7", 1, "write", "heart"),
    )
    found = derive(History(PULL, events))
    assert [(outcome.reason, outcome.value) for outcome in found] == [("+1", 2.0), ("-1", 1.0)]


def test_survival_keeps_the_last_measure_of_each_age_and_zero_is_a_value():
    def measure(day, days, share):
        return build_event(EventKind.SURVIVAL, day, days=days, share=share)

    found = derive(History(PULL, (measure(7, 7, 1.0), measure(8, 7, 0.5), measure(30, 30, 0.0))))
    assert [(outcome.reason, outcome.value) for outcome in found] == [
        ("after_7_days", 0.5),
        ("after_30_days", 0.0),
    ]


@st.composite
def _events(draw):
    kind = draw(st.sampled_from(EventKind))
    return build_event(
        kind,
        draw(st.integers(0, 4)),
        source=draw(st.uuids()).hex,
        permission=draw(st.sampled_from([None, "read", "write", "app"])),
        evaluation=draw(st.sampled_from([None, 5, 6])),
        actor_id=draw(st.integers(1, 2)),
        head=draw(st.sampled_from([HEAD, OTHER, None])),
        state=draw(st.sampled_from(["+1", "-1", "not_planned"])),
        about=draw(st.sampled_from(["1", "2"])),
        days=draw(st.sampled_from([7, 30])),
        gone=draw(st.booleans()),
    )


@given(st.lists(_events(), max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_arrival_changes_nothing(events, chance):
    snapshots = [
        build_snapshot(OTHER, "q", -2, evaluation=5),
        build_snapshot(HEAD, "p", 1, evaluation=6),
    ]
    rivals = [build_merge(day, pull=13) for day in (1, 30)]
    expected = derive(History(PULL, tuple(events), tuple(snapshots), tuple(rivals)))
    for pile in (events, snapshots, rivals):
        chance.shuffle(pile)
    assert derive(History(PULL, tuple(events), tuple(snapshots), tuple(rivals))) == expected


def test_every_order_of_a_whole_life_gives_the_same_outcomes():
    life = [
        build_close(0, by_author=True),
        build_event(EventKind.PULL_REOPENED, 1),
        build_merge(2),
        REVERTED,
        proven(REVERTED),
    ]
    expected = [
        ("closed", "closed_by_author"),
        ("reopened", "pull_request"),
        ("merged", None),
        ("reverted", "by #15"),
    ]
    assert all(outcomes(*order) == expected for order in itertools.permutations(life))
