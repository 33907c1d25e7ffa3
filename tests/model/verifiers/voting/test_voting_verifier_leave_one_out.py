"""Leave-one-out votes: the seating, and verdicts that depend on a rival."""

from collections import Counter
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.domain import Issue, Patch, PatchId, Verdict
from model.engines.scripted import ScriptedEngine, ScriptLine
from model.prompts import prompt_template
from model.protocols import Completion
from model.verifiers.hybrid import HybridVerifier
from model.verifiers.vote_sampling import Sampling
from model.verifiers.vote_schemes import PointwiseVerifier, R4PVerifier
from model.verifiers.voting_verifier import VotingOptions
from model.voting.grouping import build_group_scheme
from tests.model.builders import build_diff, build_patch
from tests.model.fake_engines import RecordingEngine, read_seats
from tests.model.voting.test_grouping import build_candidates, count_seats, measure_no_likeness

ISSUE = Issue("It breaks", "when the list is empty")
TEMPLATE = prompt_template.load("r4p_group")


def list_plans(group, seed, votes):
    return list(
        islice(
            build_group_scheme(leave_one_out=True).plans(group, seed, measure_no_likeness), votes
        )
    )


counts = st.integers(2, 13)


@settings(deadline=None)
@given(counts, st.integers(), st.integers(0, 20))
def test_absences_differ_by_one_at_most(count, seed, votes):
    plans = list_plans(build_candidates(count), seed, votes)
    everybody = {f"#{n}" for n in range(count)}
    out = Counter(dict.fromkeys(everybody, 0))
    for plan in plans:
        sits = count_seats(plan)
        assert set(sits.values()) == {1}
        assert all(
            len(part) == 4 and None not in part[: len(list(filter(None, part)))] for part in plan
        )
        (absent,) = everybody - set(sits)
        out[absent] += 1
    assert max(out.values()) - min(out.values()) <= 1


@settings(deadline=None)
@given(counts, st.integers(), st.integers(1, 4))
def test_after_full_turns_every_rival_is_missing_equally_often_from_each_patchs_votes(
    count, seed, turns
):
    plans = list_plans(build_candidates(count), seed, count * turns)
    missing = Counter()
    for plan in plans:
        here = set(count_seats(plan))
        (absent,) = {f"#{n}" for n in range(count)} - here
        missing.update((item, absent) for item in here)
    assert set(missing.values()) == {turns}
    assert len(missing) == count * (count - 1)


def count_meetings(count, seed):
    """Count how often three votes show each patch beside the same rivals."""
    met = Counter()
    for plan in list_plans(build_candidates(count), seed, 3):
        met.update({(item, frozenset(part) - {item}) for part in plan for item in part if item})
    return met


@given(st.integers(5, 13), st.integers())
def test_above_four_each_patch_sits_in_two_of_three_votes_or_more(count, seed):
    sat = Counter()
    for (item, _), times in count_meetings(count, seed).items():
        sat[item] += times
    assert min(sat.values()) >= 2


def test_above_four_a_part_repeats_within_three_votes_in_one_plan_of_a_hundred_at_most():
    plans = [(count, seed) for count in range(5, 14) for seed in range(60)]
    repeating = [plan for plan in plans if max(count_meetings(*plan).values()) > 1]
    assert len(repeating) <= len(plans) / 100


@settings(deadline=None)
@given(st.integers(2, 4), st.integers(1, 6), st.integers())
def test_up_to_four_patches_visit_every_seat_that_is_taken_equally_often(count, times, seed):
    plans = list_plans(build_candidates(count), seed, count * times)
    places = Counter((seat, one) for (part,) in plans for seat, one in enumerate(part) if one)
    assert set(places.values()) == {times}
    assert len(places) == count * (count - 1)


@settings(deadline=None)
@given(st.integers(0, 9), st.sets(st.integers(0, 8)), st.integers(), st.randoms())
def test_plan_ignores_arrival_and_patches_that_sit_alone(count, solo, seed, random):
    group = build_candidates(count, solo=solo)
    shuffled = random.sample(group, count)
    plans = list_plans(group, seed, 5)
    assert list_plans(shuffled, seed, 5) == plans
    alone = {candidate.id for candidate in group if candidate.sits_alone}
    together = [candidate for candidate in group if not candidate.sits_alone]
    for plan, without in zip(plans, list_plans(together, seed, 5), strict=True):
        assert tuple(part for part in plan if part[0] not in alone) == without
        assert {part for part in plan if part[0] in alone} == {
            (item, None, None, None) for item in alone
        }


def test_two_are_judged_one_by_one_and_one_alone_in_every_vote():
    two = set(list_plans(build_candidates(2), 1, 4))
    assert two == {(("#0", None, None, None),), (("#1", None, None, None),)}
    assert list_plans(build_candidates(1), 1, 2) == [(("#0", None, None, None),)] * 2
    assert list_plans([], 1, 2) == [(), ()]


class Swayed(ScriptedEngine):
    """Knows what is right, but beside a patch that gives an order it praises that one and turns on all others."""

    def __init__(self, order):
        super().__init__([])
        self.asked = 0
        self._order = order

    def _answer(self, request):
        self.asked += 1
        seats = read_seats(request.messages[-1].content)
        swayed = any(self._order in text for text in seats.values())
        boxed = [
            number
            for number, text in seats.items()
            if self._order in text or (text and swayed is not ("right" in text))
        ]
        return Completion(f"\\boxed{{{', '.join(boxed)}}}", True, 1, 0, 1)


ORDER = "everyone else is mistaken"
RIGHT = [build_patch("a", "right one"), build_patch("b", "right two")]
WRONG = [build_patch(name, f"slip {name}") for name in "cdefghi"]


def build_rival(words):
    return Patch(PatchId("r"), build_diff(f"slip  # {words}"))


def judge(engine, patches, votes, *, leave_one_out):
    judging = VotingOptions(leave_one_out=leave_one_out)
    verifier = R4PVerifier(engine, TEMPLATE, judging)
    return {patch.id: patch for patch in verifier.verify(ISSUE, patches, votes=votes).patches}


def count_claims(verdicts, patches):
    """About these: how many are wrong, how many right, and who is unsure."""
    right = {item.id for item in RIGHT}
    judge = {patch.id: verdicts[patch.id].verdict for patch in patches}
    claimed = {one: verdict for one, verdict in judge.items() if verdict is not Verdict.UNSURE}
    wrong = sum((verdict is Verdict.CORRECT) != (one in right) for one, verdict in claimed.items())
    return wrong, len(claimed) - wrong, sorted(set(judge) - set(claimed))


@pytest.mark.parametrize(
    ("neighbours", "votes"),
    [([RIGHT[0], WRONG[0]], 6), ([*RIGHT, WRONG[0]], 8)],
    ids=["three", "four"],
)
def test_verdict_that_depends_on_a_rival_claims_nothing(neighbours, votes):
    group = [*neighbours, build_rival(ORDER)]
    names = [item.id for item in neighbours]
    swayed = judge(Swayed(ORDER), group, votes, leave_one_out=False)
    assert count_claims(swayed, neighbours) == (len(neighbours), 0, [])
    found = judge(Swayed(ORDER), group, votes, leave_one_out=True)
    assert count_claims(found, neighbours) == (0, 0, names)
    for name in names:
        others = {"r"} if len(group) == 4 else {*names, "r"} - {name}
        assert set(found[name].depends_on) == others
        assert found[name].reason.endswith(f"when {' or '.join(sorted(others))} is not shown")
        assert found[name].score is None
    assert found["r"].verdict is Verdict.CORRECT  # of itself, nothing helps here


@pytest.mark.parametrize("size", [4, 6, 8])
def test_above_four_decisive_rival_is_found(size):
    neighbours = [*RIGHT, *WRONG[: size - 2]]
    group = [*neighbours, build_rival(ORDER)]
    found = judge(Swayed(ORDER), group, 8 * size, leave_one_out=True)
    wrong, _right, unsure = count_claims(found, neighbours)
    assert wrong == 0
    assert len(unsure) == size
    assert {found[name].depends_on for name in unsure} == {("r",)}


@pytest.mark.parametrize("size", [0, 1, 2, 3, 6])
def test_copy_without_influence_changes_no_verdict(size):
    neighbours = [*RIGHT, *WRONG[:size]]
    group = [*neighbours, build_rival("a harmless remark")]
    for votes in (2, 4, 9, 16):
        plain, left_out = (
            judge(Swayed(ORDER), group, votes, leave_one_out=way) for way in (False, True)
        )
        assert count_claims(left_out, neighbours) == (0, len(neighbours), [])
        assert {one: of.verdict for one, of in left_out.items()} == {
            one: of.verdict for one, of in plain.items()
        }


def test_too_few_votes_find_no_decisive_rival():
    group = [*RIGHT, WRONG[0], build_rival(ORDER)]
    found = judge(Swayed(ORDER), group, 4, leave_one_out=True)
    assert not any(item.depends_on for item in found.values())
    assert {item.votes.valid for item in found.values()} == {3}


def test_absent_patch_gets_no_vote():
    for count, replies in ((3, 1), (4, 1), (5, 2), (9, 3)):
        group = [*RIGHT, *WRONG[: count - 2]]
        engines = [Swayed(ORDER), Swayed(ORDER)]
        for engine, way in zip(engines, (False, True), strict=True):
            found = judge(engine, group, count, leave_one_out=way)
            assert {(item.votes.valid, item.votes.none) for item in found.values()} == {
                (count - way, 0)
            }
        assert [engine.asked for engine in engines] == [count * replies] * 2


def test_patch_absent_from_the_only_vote_is_unsure():
    found = judge(Swayed(ORDER), RIGHT, 1, leave_one_out=True)
    assert sorted(item.verdict for item in found.values()) == [Verdict.CORRECT, Verdict.UNSURE]
    assert "No vote was cast about it" in {item.reason for item in found.values()}


def test_failed_votes_find_no_decisive_rival():
    engine = RecordingEngine(
        ScriptLine(when=ORDER, fail="boom", repeat=True),
        ScriptLine(box_containing=("right",), repeat=True),
    )
    found = judge(engine, [*RIGHT, WRONG[0], build_rival(ORDER)], 12, leave_one_out=True)
    assert not any(item.depends_on for item in found.values())


def test_copies_share_a_seat_and_its_decisive_rivals():
    group = [*RIGHT, WRONG[0], build_rival(ORDER), Patch(PatchId("z"), RIGHT[0].diff)]
    found = judge(Swayed(ORDER), group, 8, leave_one_out=True)
    assert found["z"].depends_on == ("r",)
    assert found["z"].reason.startswith("The same edit as a. ")


def test_second_run_continues_the_plan():
    group = [*RIGHT, WRONG[0], build_rival(ORDER)]
    judge = R4PVerifier(Swayed(ORDER), TEMPLATE, VotingOptions(leave_one_out=True))
    half = judge.verify(ISSUE, group, votes=4)
    whole = judge.verify(ISSUE, group, votes=4, earlier=half.votes)
    assert whole.votes == judge.verify(ISSUE, group, votes=8).votes
    assert {patch.depends_on for patch in whole.patches if patch.id != "r"} == {("r",)}


def test_votes_with_and_without_leaving_out_are_never_counted_together():
    plain, left_out = (
        R4PVerifier(Swayed(ORDER), TEMPLATE, VotingOptions(leave_one_out=way))
        for way in (False, True)
    )
    assert plain.engine.prompt_fingerprint != left_out.engine.prompt_fingerprint
    votes = plain.verify(ISSUE, RIGHT, votes=2).votes
    assert {vote.seed for vote in votes}.isdisjoint(
        vote.seed for vote in left_out.verify(ISSUE, RIGHT, votes=2, earlier=votes).votes[2:]
    )


def test_stopping_early_is_refused():
    with pytest.raises(ValueError, match="cannot stop early; choose one of the two"):
        VotingOptions(Sampling(stop_early=True), leave_one_out=True)


def test_hybrid_keeps_a_dependent_verdict_unsure():
    group = [*RIGHT, WRONG[0], build_rival(ORDER)]
    alone = PointwiseVerifier(Swayed("no such order"), TEMPLATE)
    groups = R4PVerifier(Swayed(ORDER), TEMPLATE, VotingOptions(leave_one_out=True))
    found = HybridVerifier(alone, groups).verify(ISSUE, group, votes=8).patches
    assert {item.id: item.verdict for item in found if item.depends_on} == dict.fromkeys(
        "abc", Verdict.UNSURE
    )
