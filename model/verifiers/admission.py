"""This module decides which patches can be judged, and which fit in a prompt, before the engine is asked (pure).

No patch is ever cut, because half a patch would be judged as the whole. Text around a diff is not part of the patch: it
is left out, and the reason says so. The contents of lock files beside other changes are left out, and the coverage says so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from model.domain import Coverage, Patch, PatchId
from model.errors import BadDiff
from model.patches.diff import extract_bare_diff, fingerprint, parse
from model.patches.unread_parts import list_unread_lock_files, measure_coverage
from model.prompts.special_tokens import SpecialTokens
from model.prompts.untrusted import escape_patch
from model.voting.grouping import SEATS, Candidate

_MAX_TOKEN_CHARACTERS = 40
"""Upper bound of the mean characters per token. A diff that is too long by this bound is not tokenised."""


@dataclass(frozen=True, slots=True)
class AdmissionRules:
    """The limits for patches in a prompt."""

    seats: int = SEATS
    """The number of patches in one prompt."""
    edited_lines: int = 0
    """The fewest added and removed lines of a judged patch (very short patches: R4P, section 5.3)."""


DEFAULT_RULES = AdmissionRules()


@dataclass(frozen=True, slots=True)
class AdmittedPatch:
    """A patch that will be judged, with its text for the prompt."""

    candidate: Candidate
    text: str
    coverage: Coverage
    left_out: int = 0
    """The number of lines around the diff that the prompt does not show."""

    def add_note(self, reason: str) -> str:
        """Return `reason`, the reason of a verdict, after a remark if the prompt left out text around the diff."""
        if not self.left_out:
            return reason
        lines = "1 line" if self.left_out == 1 else f"{self.left_out:,} lines"
        return f"Judged without {lines} of text around the diff. {reason}"


@dataclass(frozen=True, slots=True)
class RefusedPatch:
    """A patch that will not be judged, with the reason."""

    id: PatchId
    reason: str
    coverage: Coverage


AdmissionResult = AdmittedPatch | RefusedPatch


def admit(
    patches: Sequence[Patch],
    room: int,
    count_tokens: Callable[[str], int],
    rules: AdmissionRules = DEFAULT_RULES,
    special_tokens: SpecialTokens = None,
) -> tuple[AdmissionResult, ...]:
    """Return each patch, in order, as an AdmittedPatch with its text for the prompt or as a RefusedPatch.

    The texts hold none of `special_tokens`, the engine's. `room` is the number of tokens for all patches of one prompt, as `count_tokens` counts them. A patch that needs more
    than `room` is refused. A patch above `compute_fair_share` gets a prompt of its own. So a long patch neither pushes
    out a rival nor changes its prompt.
    """
    sizes: dict[PatchId, int] = {}
    cases = [_read_patch(patch, rules, special_tokens) for patch in patches]
    for case in cases:
        if isinstance(case, AdmittedPatch):
            # Tokenising megabytes would take longer than a verdict.
            huge = len(case.text) > room * _MAX_TOKEN_CHARACTERS
            sizes[case.candidate.id] = room + 1 if huge else count_tokens(case.text)
    share = compute_fair_share([size for size in sizes.values() if size <= room], room, rules.seats)
    return tuple(
        case
        if isinstance(case, RefusedPatch)
        else _seat(case, sizes[case.candidate.id], share, room)
        for case in cases
    )


def compute_fair_share(sizes: Sequence[int], room: int, seats: int = SEATS) -> int:
    """Return the largest patch size up to which any `seats` of the patches fit into `room` together.

    `sizes` are the sizes of all patches. All numbers are tokens. Returns `room` where all patches fit.
    """
    share, remaining = room, sorted(sizes)
    # The largest `seats` sizes are the worst case of any prompt.
    while sum(remaining[-seats:]) > room:
        longest = remaining[-1]
        remaining = [size for size in remaining if size < longest]
        share = remaining[-1] if remaining else 0
    return share


def _read_patch(
    patch: Patch, rules: AdmissionRules, special_tokens: SpecialTokens
) -> AdmissionResult:
    try:
        files = parse(patch.diff)
        coverage = measure_coverage(patch.diff, files)
        shown = extract_bare_diff(patch.diff, without=list_unread_lock_files(files))
        identity = fingerprint(shown.text)
    except BadDiff as error:
        return RefusedPatch(patch.id, f"Not judged: {error}", Coverage(0, 0))
    if not any(file.is_textual for file in files):
        what = "the patch is empty" if not files else "the patch changes no line of text"
        return RefusedPatch(patch.id, f"Not judged: {what}", Coverage(len(files), 0))
    if (edited := sum(file.added + file.removed for file in files)) < rules.edited_lines:
        reason = f"Not judged: the patch edits {edited} lines, and the verifier needs at least {rules.edited_lines}"
        return RefusedPatch(patch.id, reason, Coverage(len(files), 0))
    text = escape_patch(shown.text.removesuffix("\n"), special_tokens).text
    return AdmittedPatch(Candidate(patch.id, identity), text, coverage, shown.left_out)


def _seat(case: AdmittedPatch, size: int, share: int, room: int) -> AdmissionResult:
    if size > room:
        needs = f"{size:,} tokens" if size > room + 1 else "more tokens"
        return RefusedPatch(
            case.candidate.id,
            f"Not judged: the patch needs {needs}, and the verifier has room for {room:,}",
            Coverage(case.coverage.files, 0),
        )
    if size <= share:
        return case
    return replace(case, candidate=replace(case.candidate, sits_alone=True))
