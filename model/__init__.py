"""The R4P verifier and the agents: issues and patches in, verdicts and proposed patches out.
`import model` loads the standard library only and offers the types of `domain`.
The top level holds the types, the two protocols, the errors, the published verdict and the catalog.
No module in here imports app, worker or training.
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
    from model.catalog import EngineChoice as EngineChoice
    from model.catalog import consensus as load_consensus
    from model.catalog import engine as load_engine
    from model.catalog import verifier as load_verifier

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

_CATALOG: Final = {
    "EngineChoice": "EngineChoice",
    "load_consensus": "consensus",
    "load_engine": "engine",
    "load_verifier": "verifier",
}


def __getattr__(name: str) -> Any:
    if name not in _CATALOG:
        raise AttributeError(f"module 'model' has no attribute {name!r}")
    return getattr(import_module("model.catalog"), _CATALOG[name])
