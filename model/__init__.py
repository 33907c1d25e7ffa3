"""This package judges patches with the R4P verifier and writes patches with agents.
In: issues and patches. Out: verdicts and proposed patches.
`import model` loads the standard library only and offers the types of `domain`.
The package calls neither app, worker nor training.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

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

if TYPE_CHECKING:
    from model.catalog import EngineChoice, load_consensus, load_engine, load_verifier

__all__ = [
    "Coverage",
    "EngineChoice",
    "GroupVerdict",
    "Issue",
    "Label",
    "Patch",
    "PatchId",
    "PatchVerdict",
    "Verdict",
    "VoteCount",
    "load_consensus",
    "load_engine",
    "load_verifier",
]

_LAZY: Final = {"EngineChoice", "load_consensus", "load_engine", "load_verifier"}
"""Names of the catalog, which is imported when the first of them is used."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'model' has no attribute {name!r}")
    return getattr(import_module("model.catalog"), name)
