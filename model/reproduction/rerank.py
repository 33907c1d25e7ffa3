"""Choose among the patches of one issue by regression tests and reproduction tests, as Agentless Mini does (pure).

SWE-RL, appendix B, "Reranking": first the patches that break the fewest existing tests, then CodeT's dual execution
agreement among them, then the majority of equal patches (`model.agents.attempt_selection`).
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from model.domain import PatchId


@dataclass(frozen=True, slots=True)
class RerankedPatches:
    """The patches of an issue that may win the majority vote, and how the tests left them."""

    kept: frozenset[PatchId]
    unbroken: int
    """Number of patches that break the fewest regression tests."""
    best_score: int
    """The score |P|·|T|² of the kept consensus groups; 0 where no patch passes a reproduction test."""


@dataclass(frozen=True, slots=True)
class SelectedPatches:
    """The patches that may win the majority vote, in their order."""

    kept: tuple[PatchId, ...]
    record: Mapping[str, Any]
    """What the tests showed, as JSON values: the field `execution` of `r4p.proposal/1`."""


def rerank_patches(
    broken: Mapping[PatchId, int | None], passed: Mapping[PatchId, Collection[str]]
) -> RerankedPatches:
    """Filter patches by regression tests, then by reproduction tests.

    `broken` holds the number of regression tests that each patch breaks, and None where nobody knows it. `passed` holds
    the reproduction tests that each of the same patches passes.
    """
    unbroken = keep_fewest_broken(broken)
    considered = {patch: tests for patch, tests in passed.items() if patch in unbroken}
    best_score = max(score_consensus(considered).values(), default=0)
    return RerankedPatches(keep_best_consensus(considered), len(unbroken), best_score)


def keep_fewest_broken(broken: Mapping[PatchId, int | None]) -> frozenset[PatchId]:
    """Return the patches that break the fewest regression tests. `broken` holds the number for each patch.

    None means that nobody knows the number. Such a patch is kept only if no number is known.
    """
    numbers = [number for number in broken.values() if number is not None]
    fewest = min(numbers, default=None)
    return frozenset(patch for patch, number in broken.items() if number == fewest)


def score_consensus(
    passed: Mapping[PatchId, Collection[str]],
) -> dict[frozenset[str], int]:
    """Return the score |P|·|T|² of each consensus group of CodeT, by the tests that its patches pass.

    A group is the set P of patches that pass the same set T of reproduction tests. `passed` holds the tests that each
    patch passes. Equal patches of several samples count as often as they were sampled.
    """
    sizes = Counter(frozenset(tests) for tests in passed.values())
    return {tests: size * len(tests) ** 2 for tests, size in sizes.items()}


def keep_best_consensus(passed: Mapping[PatchId, Collection[str]]) -> frozenset[PatchId]:
    """Return the patches of the consensus groups with the highest score. Where no patch passes a test, all tie."""
    scores = score_consensus(passed)
    best = max(scores.values(), default=0)
    return frozenset(patch for patch, tests in passed.items() if scores[frozenset(tests)] == best)
