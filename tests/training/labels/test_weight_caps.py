"""Caps on the shares of people, repositories and owners in a calibrator's fit."""

from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from training.labels.weight_caps import OWN_CAPS, SHARED_CAPS, LabelOrigin, ShareCaps, cap_weights

LOOSE = ShareCaps(person=0.1, repository=0.2, owner=0.25)
LABELS = st.lists(
    st.tuples(
        st.sampled_from([0.5, 1.0]),
        st.builds(
            lambda person, repository: LabelOrigin(person, repository, repository % 7),
            st.one_of(st.none(), st.integers(0, 40).map(str)),
            st.integers(0, 20),
        ),
    ),
    min_size=60,
    max_size=200,
)


def list_shares(weights, sources):
    """Return the largest share of a person, of a repository and of an owner."""
    for field in ("person", "repository", "owner"):
        sums = Counter()
        for weight, source in zip(weights, sources, strict=True):
            key = getattr(source, field)
            sums[key] += 0 if key is None else weight
        yield max(sums.values()) / sum(weights)


@given(LABELS)
def test_every_share_holds_and_no_weight_rises(labels):
    weights, sources = [label[0] for label in labels], [label[1] for label in labels]
    capped = cap_weights(weights, sources, LOOSE)
    assume(capped is not None)
    assert all(0 <= after <= before for after, before in zip(capped, weights, strict=True))
    for share, cap in zip(
        list_shares(capped, sources), (LOOSE.person, LOOSE.repository, LOOSE.owner), strict=True
    ):
        assert share <= cap + 1e-6


def build_crowd(*, people, owners, each=4):
    """Labels of as many people and owners, each person in one repository of one owner."""
    return [
        LabelOrigin(str(person), person % owners, person % owners)
        for person in range(people)
        for _ in range(each)
    ]


def test_modest_shares_lose_nothing():
    sources = build_crowd(people=200, owners=40)
    assert cap_weights([1.0] * len(sources), sources, SHARED_CAPS) == [1.0] * len(sources)


@pytest.mark.parametrize(
    "hostile",
    [
        [LabelOrigin("eve", 1_000 + at % 20, 99) for at in range(1_000)],
        [LabelOrigin("eve", 0, 0) for _ in range(1_000)],
    ],
    ids=["20 repositories of its own", "a shared repository"],
)
def test_thousand_labels_by_one_person_weigh_one_percent(hostile):
    sources = build_crowd(people=200, owners=40) + hostile
    capped = cap_weights([1.0] * len(sources), sources, SHARED_CAPS)
    assert sum(capped[-1_000:]) == pytest.approx(0.01 * sum(capped), rel=1e-3)
    assert sum(capped[:-1_000]) >= 0.98 * 800


@pytest.mark.parametrize(("people", "owners"), [(99, 40), (200, 19)])
def test_too_few_people_or_owners_allow_no_shared_fit(people, owners):
    sources = build_crowd(people=people, owners=owners)
    assert cap_weights([1.0] * len(sources), sources, SHARED_CAPS) is None


def test_one_installation_needs_a_hundred_people_for_its_caps():
    few, many = build_crowd(people=99, owners=1), build_crowd(people=100, owners=1)
    assert cap_weights([1.0] * len(few), few, OWN_CAPS) is None
    assert cap_weights([1.0] * len(many), many, OWN_CAPS) == pytest.approx([1.0] * len(many))
