"""The verifier that asks no model: every patch gets its verdict, whatever it is."""

import pytest

from model.domain import Issue, Patch, PatchId, Verdict
from model.errors import Superseded
from model.verifiers import consensus
from tests.model.builders import diff_of, patch

ISSUE = Issue("x is wrong", "x should be 1")


def verdicts(*candidates):
    verdict = consensus.shipped().verify(ISSUE, candidates)
    return verdict, {one.id: one for one in verdict.patches}


def test_rivals_get_calibrated_probabilities():
    verdict, by_id = verdicts(
        patch("a", "x = 1"), patch("b", "x = 1  # so"), patch("c", "while True: wait()")
    )
    assert [one.id for one in verdict.patches] == ["a", "b", "c"]
    assert by_id["a"].probability == by_id["a"].score == pytest.approx(by_id["b"].probability)
    for one in verdict.patches:
        assert (one.verdict is Verdict.CORRECT) == (one.probability >= 0.5)
        assert one.votes.valid == 0
    assert "Of 2 rivals, 1 changes mostly the same lines, 2 touch" in by_id["a"].reason
    assert (verdict.asked, verdict.votes, verdict.partition) == (0, (), (("a", "b", "c"),))


def test_what_cannot_be_read_is_not_judged_and_changes_nothing_for_the_others():
    good = patch("a", "x = 1"), patch("b", "x = 2")
    bad = Patch(PatchId("bad"), "no diff"), Patch(PatchId("empty"), "")
    _, alone = verdicts(*good)
    _, mixed = verdicts(*good, *bad)
    assert {one: mixed[one] for one in alone} == alone
    assert mixed["bad"].verdict is mixed["empty"].verdict is Verdict.NOT_JUDGED
    assert "line 1 starts no file" in mixed["bad"].reason
    assert "empty" in mixed["empty"].reason


def test_one_patch_alone_has_nothing_to_agree_with():
    verdict, by_id = verdicts(patch("a", "x = 1"))
    assert by_id["a"].verdict is Verdict.NOT_JUDGED
    assert by_id["a"].probability is None
    assert "no other patch" in by_id["a"].reason
    assert verdict.partition == (("a",),)
    assert verdicts()[0].patches == ()


def test_other_languages_and_giants_are_judged():
    script = Patch(PatchId("js"), diff_of("const x = 1;", path="web/x.ts"))
    giant = Patch(PatchId("giant"), diff_of("x" * 2_000_000, path="web/x.ts"))
    _, by_id = verdicts(script, giant)
    assert all(0 < one.probability < 1 for one in by_id.values())


def test_it_stops_when_newer_work_came():
    with pytest.raises(Superseded):
        consensus.shipped().verify(ISSUE, [patch("a", "x")], keep_going=lambda: False)


def test_who_measures_is_judged_by_a_fit_that_never_saw_the_issue():
    assert consensus.unseeing("django/django", "django__django-11000").engine.model == "django 1"
    strict = consensus.unseeing("django/django", "django__django-11000", strict=True)
    assert strict.engine.model == "django/django"
    assert consensus.unseeing("new/new", "new__new-1").engine.model == "everything"
