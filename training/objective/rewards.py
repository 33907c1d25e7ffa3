"""Reward replies: a judged group, an imitated fix, or an attempt that a verifier scored (pure).

A reward of None means unscorable, never 0. It gets no loss and does not change its group's mean.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher, unified_diff
from itertools import islice
from statistics import fmean
from typing import Literal

from model.agents.agentless import search_replace
from model.errors import MalformedEdit, UnreadableAnswer
from model.voting.boxed_answer import read_box

MALFORMED_REWARD = -1.0
"""Reward of a fix in the wrong format (SWE-RL, arXiv 2502.18449, equation 1)."""
MAX_CHARACTERS = 10_000
"""Longer diffs of one file are not compared: the time grows with the square of the length."""
_FORM = re.compile(r"<think>(.*)</think>.*<solution>.*</solution>", re.DOTALL)
_TAGS = ("<think>", "</think>", "<solution>", "</solution>")


def reward_judgement(boxed: frozenset[int] | None, targets: Sequence[float | None]) -> float | None:
    """Reward a boxed answer to a group: the expected share of right judgements, 0 to 1 (R4P, equation 3).

    `boxed` are the seats in the answer, counted from 1. None is an unreadable answer and earns 0. `targets` are
    the probabilities that the patches are correct; with targets of 0 and 1 the result is the paper's reward.
    Seats with an unknown target do not count. Returns None if no target is known.
    """
    # Seats count from 1, as in the prompt. Padding and unknown patches have no target.
    labelled = [(seat, target) for seat, target in enumerate(targets, 1) if target is not None]
    # Before the format check: with no known target even an unreadable reply cannot be scored.
    if not labelled:
        return None
    if boxed is None:
        return 0.0
    # A seat in the box claims correct, any other seat incorrect.
    return fmean(target if seat in boxed else 1 - target for seat, target in labelled)


def reward_reply(
    text: str, occupied: Collection[int], targets: Sequence[float | None]
) -> float | None:
    """Return the reward of a verifier's reply to a group: the expected share of right judgements, 0 to 1.

    `text` is the reply, `occupied` are the seats with a patch, counted from 1, and `targets` the probabilities that the
    patches are correct. An unreadable reply earns 0. Returns None if no target is known.
    """
    try:
        boxed = read_box(text, occupied)
    except UnreadableAnswer:
        boxed = None
    return reward_judgement(boxed, targets)


def reward_attempt(*, is_submitted: bool, belief: float | None) -> float | None:
    """Return the reward of an agent's attempt: the verifier's belief in its patch, 0 to 1.

    An attempt that submitted no patch earns 0. A `belief` of None (the verifier failed) returns None, so that a server
    failure does not teach that patches are wrong.
    """
    # 0 only for a missing patch; a known patch with an unknown belief stays None.
    return belief if is_submitted else 0.0


def reward_imitation(
    text: str,
    shown: Mapping[str, str],
    merged: Mapping[str, str],
    match: Literal["continuous", "discrete"] = "continuous",
) -> float | None:
    """Return how a reply's edits match the merged fix, 0 to 1, or MALFORMED_REWARD (SWE-RL, 2.1 and equation 1).

    `text` is the reply in the form of `model/prompts/swe_rl_repair.j2` (appendix D). `shown` maps paths to file contents
    before the fix, `merged` maps the fixed paths to contents after it. `match` is the paper's `compare`: `continuous` is
    `measure_similarity`, its default, and `discrete` is `match_exactly`, its ablation (section 3.6). Returns None if the
    merged fix is too long to compare.

    As in the authors' code, each tag occurs once, a blank thought is malformed, and text outside the tags is ignored.
    The agent's own parser reads the edits. The reward is stricter than theirs: the thought comes first
    (appendix D), every block is readable, and SEARCH is whole lines that stand in one place of a file that was shown. It
    is looser in two things: an edit needs no fence, and an empty REPLACE deletes the lines.
    """
    form = _FORM.search(text)
    # A second tag inside the thought would let a reply hide several solutions.
    if form is None or not form[1].strip() or any(text.count(tag) != 1 for tag in _TAGS):
        return MALFORMED_REWARD
    try:
        changed = search_replace.apply(search_replace.parse_solution(text), shown)
    except MalformedEdit:
        return MALFORMED_REWARD
    # Section 3.6 replaces `compare` alone: the format costs -1 under both.
    compare = match_exactly if match == "discrete" else measure_similarity
    return compare(shown, changed, merged)


def match_exactly(
    before: Mapping[str, str], changed: Mapping[str, str], merged: Mapping[str, str]
) -> float:
    """Return 1 if two changes of the same files are the same patch, else 0 (SWE-RL, section 3.6).

    The arguments are those of `measure_similarity`, which is 1 for the same patch and less for any other. Diffs of any
    length are compared.
    """
    # Diffs and not contents: the end of the last line and files that nobody changed are no part of a patch.
    return float(_build_diffs(before, changed) == _build_diffs(before, merged))


def measure_similarity(
    before: Mapping[str, str], changed: Mapping[str, str], merged: Mapping[str, str]
) -> float | None:
    """Return how similar two changes of the same files are, 0 to 1: the mean over the files that either changes.

    All arguments map paths to contents: `before` both changes, after the reply's change, and after the merged fix. This
    is `compare` of SWE-RL's equation 1, as in the authors' code: difflib's ratio of two unified diffs without their two
    header lines; a file that only one of them changes counts 0; two empty changes are equal. MAX_CHARACTERS is ours: a
    longer diff of the reply counts 0, and a longer merged diff returns None.
    """
    own_diffs, merged_diffs = _build_diffs(before, changed), _build_diffs(before, merged)
    if any(len(diff) > MAX_CHARACTERS for diff in merged_diffs.values()):
        return None
    touched = sorted(own_diffs.keys() | merged_diffs.keys())
    return (
        fmean(_compute_ratio(own_diffs.get(path), merged_diffs.get(path)) for path in touched)
        if touched
        else 1.0
    )


def _build_diffs(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """Return unified diffs by path, with three lines of context and no header, of the files whose lines differ."""
    diffs = {path: _build_diff(before.get(path, ""), text) for path, text in after.items()}
    return {path: diff for path, diff in diffs.items() if diff}


def _build_diff(old: str, new: str) -> str:
    # splitlines: the end of the last line is no line of its own, so it makes no line of context
    lines = unified_diff(old.splitlines(), new.splitlines(), lineterm="")
    # `--- ` and `+++ ` are equal in every pair of diffs and would raise every ratio
    return "\n".join(islice(lines, 2, None))


def _compute_ratio(own_diff: str | None, merged_diff: str | None) -> float:
    if own_diff is None or merged_diff is None or len(own_diff) > MAX_CHARACTERS:
        return 0.0
    # difflib's guess at junk would make the value jump at 200 characters
    return SequenceMatcher(None, own_diff, merged_diff, autojunk=False).ratio()
