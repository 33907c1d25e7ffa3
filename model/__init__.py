"""R4P: issues and patches in, verdicts out. Importing this loads the standard library only."""

from model.domain import (
    Coverage,
    GroupVerdict,
    Issue,
    Label,
    Patch,
    PatchId,
    PatchVerdict,
    Verdict,
    VoteCount,
)

__all__ = [
    "Coverage",
    "GroupVerdict",
    "Issue",
    "Label",
    "Patch",
    "PatchId",
    "PatchVerdict",
    "Verdict",
    "VoteCount",
]
