"""Builders of patches and votes with defaults."""

from model.domain import Patch, PatchId, Vote


def build_diff(added: str, *, path: str = "a.py", removed: str = "old") -> str:
    """A diff that replaces one line of one file."""
    return (
        f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
        f"@@ -1 +1 @@\n-{removed}\n+{added}\n"
    )


def build_patch(name: str, added: str) -> Patch:
    """A candidate that changes one line to `added`."""
    return Patch(PatchId(name), build_diff(added))


def build_vote(seats: str, correct: str | None, reply: str = "", *, forced: bool = False) -> Vote:
    """A vote over one-letter patches: `vote("ab", "a")`; a dot is an empty seat, None an unreadable vote."""
    return Vote(
        seed=0,
        seats=tuple(None if seat == "." else PatchId(seat) for seat in seats),
        correct=None if correct is None else frozenset(map(PatchId, correct)),
        reply=reply,
        forced=forced,
        failure="no box" if correct is None else None,
    )


def build_patch_options(*names):
    return [argument for name in names for argument in ("--patch", name)]
