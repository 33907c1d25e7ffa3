"""A message that claims a revert changes nothing by itself."""

from dataclasses import replace

import pytest

from app.outcomes import EventKind
from tests.builders.history.outcome_events import (
    BASE,
    OTHER,
    build_event,
    build_merge,
    outcomes,
    proven,
)

REVERTED = build_event(EventKind.REVERTED, 4, reverter="#15")


@pytest.mark.parametrize(
    ("claim", "answers", "counts"),
    [
        pytest.param({}, [], False, id="a message alone"),
        pytest.param({}, ["refuted"], False, id="another patch"),
        pytest.param({}, ["refuted", "proven"], True, id="the inverse patch"),
        pytest.param({"permission": "admin"}, [], False, id="merged by a maintainer"),
        pytest.param({"by_author": True}, [], False, id="its author merged; permission unknown"),
        pytest.param({"by_author": True, "permission": "read"}, [], False, id="its author reads"),
        pytest.param({"by_author": True, "permission": "write"}, [], True, id="a writer's word"),
        pytest.param(
            {"by_author": True, "permission": "write", "reverter": OTHER},
            [],
            False,
            id="in a commit",
        ),
    ],
)
def test_a_revert_counts_by_its_patch_or_by_the_word_of_a_writer(claim, answers, counts):
    revert = build_event(EventKind.REVERTED, 1, **({"reverter": "#15"} | claim))
    checks = [replace(proven(revert, state), source=state) for state in answers]
    kinds = [kind for kind, _ in outcomes(build_merge(), revert, *checks)]
    assert kinds == (["merged", "reverted"] if counts else ["merged"])


def test_an_answer_about_another_commit_proves_nothing():
    about_another = replace(proven(REVERTED), head=BASE)
    assert outcomes(build_merge(), REVERTED, about_another) == [("merged", None)]
