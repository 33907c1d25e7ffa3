"""What a reply is worth: a group judged, a fix imitated, an attempt that a verifier believes in (pure).

None is unscorable, never 0: it neither teaches nor moves the baseline of its group.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher, unified_diff
from statistics import fmean

from model.agents.agentless import search_replace
from model.errors import MalformedEdit, UnreadableAnswer
from model.voting.boxed_answer import read_box

MALFORMED = -1.0
"""For a fix that is not written as asked (SWE-RL, arXiv 2502.18449, equation 1)."""
MAX_CHARACTERS = 10_000
"""A longer diff of one file is not compared: the time grows with the square, to seconds."""
_ANSWER = re.compile(r"\s*<think>(.*)</think>\s*<solution>(.*)</solution>\s*", re.DOTALL)
_TAGS = ("<think>", "</think>", "<solution>", "</solution>")


def judgement(boxed: frozenset[int] | None, targets: Sequence[float | None]) -> float | None:
    """The expected share of right judgements, 0 to 1 (R4P, equation 3).

    `boxed` are the seats that the answer names, from 1; None: it has no box that can be read, which earns 0. `targets`
    are the probabilities that the patches are correct; with 0 and 1 alone this is the paper's reward. Patches whose
    truth is unknown do not count; None when no truth is known.
    """
    known = [(seat, target) for seat, target in enumerate(targets, 1) if target is not None]
    if not known:
        return None
    if boxed is None:
        return 0.0
    return fmean(target if seat in boxed else 1 - target for seat, target in known)


def reply(text: str, occupied: Collection[int], targets: Sequence[float | None]) -> float | None:
    """What a verifier's reply to a group earns; `occupied` are the seats with a patch in them, from 1."""
    try:
        boxed = read_box(text, occupied)
    except UnreadableAnswer:
        boxed = None
    return judgement(boxed, targets)


def attempt(*, submitted: bool, believed: float | None) -> float | None:
    """What an agent's attempt earns by a verifier's word: the belief in its patch, 0 or 1 where one vote was asked.

    An attempt without a patch earns 0: that is known. A verifier that failed or could not be read (`believed` is None)
    says nothing: a server that is down must not teach that every patch is wrong.
    """
    return believed if submitted else 0.0


def imitation(text: str, shown: Mapping[str, str], merged: Mapping[str, str]) -> float | None:
    """How like the merged fix a reply's edits are, 0 to 1, or MALFORMED (SWE-RL, section 2.1).

    `shown` has the files before, by path; `merged` those that the fix changed, afterwards. A reply is one thought in
    `<think>`, then edits in one `<solution>` as `model.agents.agentless.search_replace` reads them; it is stricter than the paper
    where SEARCH fits several places. None where the merged fix is too long to compare.
    """
    match = _ANSWER.fullmatch(text)
    if match is None or any(text.count(tag) != 1 for tag in _TAGS):
        return MALFORMED
    try:
        changed = search_replace.apply(search_replace.parse(match[2]), shown)
    except MalformedEdit:
        return MALFORMED
    return likeness(shown, changed, merged)


def likeness(
    before: Mapping[str, str], changed: Mapping[str, str], merged: Mapping[str, str]
) -> float | None:
    """The mean likeness of two changes over the files that either touches; 1 when neither changes anything.

    A file that one side leaves alone counts 0, and so does a diff that only the imitator made too long. None where the
    merged one is too long to compare.
    """
    ours, theirs = _diffs(before, changed), _diffs(before, merged)
    if any(len(diff) > MAX_CHARACTERS for diff in theirs.values()):
        return None
    touched = sorted(ours.keys() | theirs.keys())
    return fmean(_ratio(ours.get(path), theirs.get(path)) for path in touched) if touched else 1.0


def _diffs(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """Unified diffs by path, with three lines of context, of the files that differ."""
    pairs = {path: (before.get(path, ""), text) for path, text in after.items()}
    return {
        path: "\n".join(unified_diff(old.split("\n"), new.split("\n"), lineterm=""))
        for path, (old, new) in pairs.items()
        if old != new
    }


def _ratio(ours: str | None, theirs: str | None) -> float:
    if ours is None or theirs is None or len(ours) > MAX_CHARACTERS:
        return 0.0
    # difflib's guess at junk would make the value jump at 200 characters
    return SequenceMatcher(None, ours, theirs, autojunk=False).ratio()
