"""Which patches can be judged at all, and which fit: decided before a token is paid for (pure).

Nothing is ever clipped: half a patch would be judged as if it were the whole. What stands around a diff is no part of it:
it is left out, and that is said.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from model.domain import Coverage, Patch, PatchId
from model.errors import BadDiff
from model.patches.diff import bare, fingerprint, parse
from model.prompts.untrusted import safe_patch
from model.voting.grouping import SEATS, Candidate

_LONGEST_TOKEN = 40
"""Characters a token can hold on average at the very most; a diff above that is too long uncounted."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Who is let in."""

    seats: int = SEATS
    """How many patches one prompt shows."""
    edited_lines: int = 0
    """Added and removed lines that a patch needs; the paper refuses to judge extremely short ones (section 5.3)."""


ALL = Rules()


@dataclass(frozen=True, slots=True)
class Admitted:
    """A patch that will be judged, as the model is going to see it."""

    candidate: Candidate
    text: str
    coverage: Coverage
    left_out: int = 0
    """Lines around the diff that are not shown."""

    def noted(self, reason: str) -> str:
        """What is said of the patch, and before it what was left out."""
        if not self.left_out:
            return reason
        lines = "1 line" if self.left_out == 1 else f"{self.left_out:,} lines"
        return f"Judged without {lines} of text around the diff. {reason}"


@dataclass(frozen=True, slots=True)
class Refused:
    """A patch that will not be judged, and why."""

    id: PatchId
    reason: str
    coverage: Coverage


def admit(
    patches: Sequence[Patch], room: int, count_tokens: Callable[[str], int], rules: Rules = ALL
) -> tuple[Admitted | Refused, ...]:
    """Each patch's case, in order. `room` is how many tokens the patches of one prompt may take together.

    The longest sit alone until any of the others fit together, so a patch that can't sit with its rivals changes
    nothing for them, and none is pushed out by a longer one. One that needs more than the room is refused.
    """
    sizes: dict[PatchId, int] = {}
    cases = [_readable(patch, rules) for patch in patches]
    for case in cases:
        if isinstance(case, Admitted):
            huge = len(case.text) > room * _LONGEST_TOKEN
            sizes[case.candidate.id] = room + 1 if huge else count_tokens(case.text)
    share = fair_share([size for size in sizes.values() if size <= room], room, rules.seats)
    return tuple(
        case if isinstance(case, Refused) else _seated(case, sizes[case.candidate.id], share, room)
        for case in cases
    )


def fair_share(sizes: Sequence[int], room: int, seats: int = SEATS) -> int:
    """The largest size from which on none sits alone: any `seats` patches up to it fit together."""
    share, seated = room, sorted(sizes)
    while sum(seated[-seats:]) > room:
        longest = seated[-1]
        seated = [size for size in seated if size < longest]
        share = seated[-1] if seated else 0
    return share


def _readable(patch: Patch, rules: Rules) -> Admitted | Refused:
    try:
        files = parse(patch.diff)
        shown = bare(patch.diff)
        identity = fingerprint(shown.text)
    except BadDiff as error:
        return Refused(patch.id, f"Not judged: {error}", Coverage(0, 0))
    coverage = Coverage(len(files), sum(not file.is_binary for file in files))
    if not any(file.is_textual for file in files):
        what = "the patch is empty" if not files else "the patch changes no line of text"
        return Refused(patch.id, f"Not judged: {what}", Coverage(len(files), 0))
    if (edited := sum(file.added + file.removed for file in files)) < rules.edited_lines:
        reason = f"Not judged: the patch edits {edited} lines, and fewer than {rules.edited_lines} tell too little"
        return Refused(patch.id, reason, Coverage(len(files), 0))
    text = safe_patch(shown.text.removesuffix("\n")).text
    return Admitted(Candidate(patch.id, identity), text, coverage, shown.left_out)


def _seated(case: Admitted, size: int, share: int, room: int) -> Admitted | Refused:
    if size > room:
        needs = f"{size:,} tokens" if size > room + 1 else "more tokens"
        return Refused(
            case.candidate.id,
            f"Not judged: the patch needs {needs}, and the verifier has room for {room:,}",
            Coverage(case.coverage.files, 0),
        )
    if size <= share:
        return case
    return replace(case, candidate=replace(case.candidate, solo=True))
