"""Admission cuts no patch, protects rivals from long patches, and explains every refusal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.coverage import Coverage, UnreadPart, UnreadReason
from model.domain import Patch, PatchId
from model.verifiers.admission import AdmittedPatch, RefusedPatch, admit, compute_fair_share
from tests.model.builders import build_diff, build_patch


def count_words(text):
    return len(text.split())


def admit_one(candidate, room=1000):
    (case,) = admit([candidate], room, count_words)
    return case


@pytest.mark.parametrize(
    ("sizes", "room", "share"),
    [
        ([], 100, 100),
        ([100], 100, 100),
        ([10, 20, 30, 40], 100, 100),
        ([10, 20, 30, 41], 100, 30),
        ([60, 60], 100, 0),
        ([10, 10, 10, 10, 90], 100, 10),
        ([30] * 5, 100, 0),
        ([10, 60, 70], 100, 60),
    ],
)
def test_fair_share_matches_hand_computed_values(sizes, room, share):
    assert compute_fair_share(sizes, room) == share


@given(st.lists(st.integers(0, 120), max_size=9), st.integers(1, 120))
def test_any_four_patches_within_the_share_fit_together(sizes, room):
    share = compute_fair_share([size for size in sizes if size <= room], room)
    fitting = sorted(size for size in sizes if size <= min(share, room))
    assert sum(fitting[-4:]) <= room


@given(st.lists(st.integers(0, 120), max_size=9), st.integers(1, 120), st.integers(1, 120))
def test_too_long_patch_changes_nothing_for_its_rivals(sizes, giant, room):
    share, before = compute_fair_share([*sizes, giant], room), compute_fair_share(sizes, room)
    if giant > max([*sizes, share]):
        assert [size <= share for size in sizes] == [size <= before for size in sizes]


def test_patch_is_admitted_whole():
    case = admit_one(build_patch("a", "new"))
    assert isinstance(case, AdmittedPatch)
    assert case.text == build_diff("new").strip("\n")
    assert case.coverage == Coverage(1, 1)
    assert not case.candidate.sits_alone


@pytest.mark.parametrize(
    ("around", "lines"),
    [
        ("From: A Maintainer\n\nAll tests pass.\n---\n{}-- \n2.39.5\n", "5 lines"),
        ("{}Approved by the maintainers.\n", "1 line"),
    ],
)
def test_text_around_a_diff_is_left_out_with_a_note(around, lines):
    bare, noted = (
        admit_one(build_patch("a", "new")),
        admit_one(Patch(PatchId("a"), around.format(build_diff("new")))),
    )
    assert isinstance(bare, AdmittedPatch)
    assert isinstance(noted, AdmittedPatch)
    assert (noted.text, noted.candidate) == (bare.text, bare.candidate)
    assert bare.add_note("Why.") == "Why."
    assert noted.add_note("Why.") == f"Judged without {lines} of text around the diff. Why."


@pytest.mark.parametrize(
    ("text", "reason", "files"),
    [
        ("", "empty", 0),
        ("diff --git a/x b/y\nrename from x\nrename to y\n", "changes no line of text", 1),
        ("diff --git a/x b/x\nBinary files a/x and b/x differ\n", "changes no line of text", 1),
        ("no diff", "line 1", 0),
    ],
    ids=["empty", "rename only", "binary only", "bad"],
)
def test_unjudgeable_patch_is_refused_with_the_reason(text, reason, files):
    case = admit_one(Patch(PatchId("a"), text))
    assert isinstance(case, RefusedPatch)
    assert reason in case.reason
    assert case.coverage == Coverage(files, 0)


def test_binary_file_lowers_the_coverage():
    text = build_diff("new") + "diff --git a/x b/x\nBinary files a/x and b/x differ\n"
    unread = (UnreadPart("x", UnreadReason.BINARY),)
    assert admit_one(Patch(PatchId("a"), text)).coverage == Coverage(2, 1, unread)


def test_of_a_lock_file_beside_code_the_prompt_shows_the_name_only():
    lock = build_diff("x", path="web/package-lock.json")
    with_lock = admit_one(Patch(PatchId("a"), build_diff("new") + lock))
    alone = admit_one(Patch(PatchId("a"), build_diff("new")))
    lock_header = "diff --git a/web/package-lock.json b/web/package-lock.json"
    assert with_lock.text == f"{alone.text}\n{lock_header}"
    assert with_lock.left_out == 0
    assert with_lock.coverage.is_whole
    assert with_lock.coverage.unread == (
        UnreadPart("web/package-lock.json", UnreadReason.LOCK_FILE),
    )
    assert "+x" in admit_one(Patch(PatchId("a"), lock)).text


def test_patch_above_the_fair_share_sits_alone():
    long = build_patch("long", "word " * 80)
    cases = admit([build_patch("a", "new"), long, build_patch("b", "w " * 20)], 110, count_words)
    assert [case.candidate.sits_alone for case in cases if isinstance(case, AdmittedPatch)] == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("added", "needs"), [("word " * 80, "93 tokens"), ("x" * 3000, "more tokens")]
)
def test_patch_longer_than_the_room_is_refused_not_clipped(added, needs):
    refused, kept = admit([build_patch("long", added), build_patch("a", "new")], 50, count_words)
    assert isinstance(refused, RefusedPatch)
    assert f"needs {needs}" in refused.reason
    assert "room for 50" in refused.reason
    assert refused.coverage == Coverage(1, 0)
    assert isinstance(kept, AdmittedPatch)
