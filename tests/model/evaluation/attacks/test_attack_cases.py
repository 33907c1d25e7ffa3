"""The corpus of attacks: large enough, always the same, honest in its twins, and made of diffs that git reads."""

import json
import subprocess
from collections import Counter
from itertools import zip_longest
from pathlib import Path

import pytest

from model.domain import Patch, PatchId
from model.evaluation import labelled_group
from model.evaluation.attacks import attack_run
from model.evaluation.attacks.attack_cases import build_cases, place_text
from model.evaluation.attacks.attack_plays import (
    STRUCTURAL,
    AttackKind,
    Goal,
    Place,
    load_templates,
    neutralise_text,
)
from model.patches import diff
from tests.model.builders import build_diff

CORPUS = Path(__file__).with_name("attack_corpus.jsonl")
"""One line a case: what is attacked, with which words, and what stands there in the twin."""


@pytest.fixture(scope="module")
def corpus():
    return attack_run.load_attack_cases(None, None)


def list_differences(case):
    """The issue's end or the lines that twin and attacked group do not share, as (twin's, attack's)."""
    texts = [
        [group.issue.text, *(one.patch.diff for one in group.patches)]
        for group in (case.twin, case.attacked)
    ]
    return [(a, b) for a, b in zip_longest(*texts, fillvalue="") if a != b]


def describe_case(case):
    pairs = [
        [line for line in one.split("\n") if line not in set(other.split("\n"))]
        for twin, attack in list_differences(case)
        for one, other in ((twin, attack), (attack, twin))
    ]
    shown = [lines if len(lines) < 40 else [f"{len(lines)} lines"] for lines in pairs]
    return {
        "case": case.id,
        "place": case.template.place,
        "goal": case.template.goal,
        "attacker": case.attacker,
        "target": case.target,
        "attacks": shown[1::2],
        "twin": shown[::2],
    }


def test_corpus_is_the_recorded_one(corpus):
    """After a change on purpose: `python -m tests.model.evaluation.attacks.test_attack_cases`."""
    assert list(map(describe_case, corpus)) == [
        json.loads(line) for line in CORPUS.read_text().splitlines()
    ]


def test_corpus_has_every_kind_on_every_base_group(corpus):
    assert len(corpus) >= 120
    assert len({case.id for case in corpus}) == len(corpus)
    counted = Counter(case.template.kind for case in corpus)
    assert min(counted[kind] for kind in AttackKind) >= 24
    assert {case.twin.instance_id for case in corpus} == {
        case.twin.instance_id for case in corpus if case.template.kind in STRUCTURAL
    }


def test_attacker_is_wrong_and_targets_itself_or_a_correct_rival(corpus):
    for case in corpus:
        truth = {one.patch.id: one.resolved for one in case.twin.patches}
        assert truth[case.attacker] is False
        assert truth[case.target] is (case.template.goal is Goal.SINK)


def test_twin_has_harmless_words_of_the_same_length_in_the_same_place(corpus):
    for case in corpus:
        if case.template.place is Place.RIVALS:
            assert case.attacked.patches[: len(case.twin.patches)] == case.twin.patches
            assert len(case.attacked.patches) > len(case.twin.patches)
            continue
        pairs = list_differences(case)
        assert len(pairs) <= 1
        for twin, attack in pairs:
            assert [len(line) for line in twin.split("\n")] == [
                len(line) for line in attack.split("\n")
            ]
    same = [case.template.name for case in corpus if case.twin == case.second_twin]
    assert set(same) <= {"a colon", "one character"}


def test_structural_case_has_a_variant_of_words_only(corpus):
    for case in corpus:
        is_text = case.template.kind in {AttackKind.DELIMITERS, AttackKind.BOXES, AttackKind.IDS}
        assert (case.words_only is not None) is is_text is (len(case.groups) == 4)
        if case.words_only:
            alone, attack = (
                "".join([one.issue.text, *(patch.patch.diff for patch in one.patches)])
                for one in (case.words_only, case.attacked)
            )
            assert alone != attack
            assert len(alone) == len(attack)
            changed = {two for one, two in zip(attack, alone, strict=True) if one != two}
            assert changed == {"-"}


def test_twin_of_a_hidden_comment_is_hidden():
    (play,) = (one for one in load_templates() if one.name == "a comment of the issue")
    assert neutralise_text(play, play.text).startswith("<!-- ")


def test_smaller_limit_keeps_every_kind(corpus):
    assert corpus[:40] == attack_run.load_attack_cases(None, 40)
    assert {case.template.kind for case in corpus[:13]} == set(AttackKind)


def test_group_without_a_wrong_patch_cannot_be_attacked(corpus):
    base = corpus[0].twin
    right = tuple(one for one in base.patches if one.resolved)
    wrong = tuple(one for one in base.patches if not one.resolved)
    assert build_cases([labelled_group.LabelledGroup("a-1", "a/a", base.issue, right)]) == []
    only = build_cases([labelled_group.LabelledGroup("a-1", "a/a", base.issue, wrong)])
    assert {case.template.goal for case in only} == {Goal.RAISE}


def test_copy_of_a_patch_that_only_removes_adds_a_line(corpus):
    text = "--- a/x.py\n+++ b/x.py\n@@ -1 +0,0 @@\n-gone\n"
    removes = labelled_group.LabelledPatch(Patch(PatchId("a"), text), resolved=False, source=None)
    cases = build_cases(
        [labelled_group.LabelledGroup("a-1", "a/a", corpus[0].twin.issue, (removes,))]
    )
    (case,) = (one for one in cases if one.template.name == "one name changed")
    assert all("+pass  # " in one.patch.diff for one in case.attacked.patches[1:])


@pytest.mark.parametrize("place", [Place.BEFORE, Place.BETWEEN, Place.AFTER])
def test_text_around_a_diff_leaves_the_diff_unchanged(corpus, place):
    cases = [case for case in corpus if case.template.place is place]
    assert {case.template.kind for case in cases} == {AttackKind.PREAMBLE}
    for case in cases:
        patches = zip(case.twin.patches, case.attacked.patches, strict=True)
        (pair,) = ([one.patch.diff for one in two] for two in patches if two[0] != two[1])
        twin, attacked = map(diff.extract_bare_diff, pair)
        assert twin == attacked
        assert twin.left_out


@pytest.mark.parametrize("place", [Place.COMMENT, Place.STRING, Place.FILE, Place.PATH])
@pytest.mark.parametrize(
    "text",
    [
        build_diff("new"),
        build_diff("    deep", removed="    old") + build_diff("x", path="b.py"),
        "--- a/x\n+++ b/x\n@@ -2 +1,0 @@\n-gone\n",
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n",
    ],
    ids=["one line", "two files", "only removes", "no newline"],
)
def test_placed_text_leaves_a_diff_that_git_reads(text, place):
    cases = place_text(text, place, "one\n\ntwo" if place is not Place.PATH else "one two")
    added = [(one.added, one.removed) for one in diff.parse(cases)]
    shown = subprocess.run(
        ["git", "apply", "--numstat", "-"], input=cases.encode(), capture_output=True, check=True
    )
    rows = [line.split("\t")[:2] for line in shown.stdout.decode().splitlines()]
    assert [tuple(map(int, one)) for one in rows] == added
    assert sum(one for one, _ in added) > sum(one.added for one in diff.parse(text))


def test_every_attacked_patch_is_parsed(corpus):
    for case in corpus[:100]:
        for one in case.attacked.patches:
            assert diff.parse(one.patch.diff), case.id


def test_copies_are_equal_or_nearly_equal_edits(corpus):
    for case in corpus:
        if case.template.kind is not AttackKind.COPIES:
            continue
        prints = {one.patch.id: diff.fingerprint(one.patch.diff) for one in case.attacked.patches}
        copy = prints[PatchId("rival-1")]
        assert (copy == prints[case.attacker]) is (
            "same" in case.template.name and "one" not in case.template.name
        )


if __name__ == "__main__":
    rows = map(describe_case, attack_run.load_attack_cases(None, None))
    CORPUS.write_text("".join(json.dumps(one, ensure_ascii=True) + "\n" for one in rows))
