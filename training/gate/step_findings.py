"""What the steps of a run say for or against what it made (pure)."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean

from app.learning.gate_rules import Rules
from training.gate.gate_facts import Finding, Step

AT_THE_END = 10
"""Steps: one alone may be an odd batch."""


def findings(steps: Sequence[Step], rules: Rules, *, samples: bool) -> list[Finding]:
    """Whether the numbers of a run are numbers, and whether its model was alive at the end.

    `samples`: it learnt from replies of its own, so that no step may lack an entropy or a share of clipped tokens.
    """
    return [_numbers(steps, samples=samples), *_healthy(steps[-AT_THE_END:], rules)]


def _numbers(steps: Sequence[Step], *, samples: bool) -> Finding:
    wrong = Counter(said for one in steps for said in _wrong(one, samples=samples))
    said = ", ".join(f"{what} in {times} of {len(steps)} steps" for what, times in wrong.items())
    passed = bool(steps) and not wrong
    return Finding("numbers", passed, said or f"finite in {len(steps)} steps")


def _wrong(step: Step, *, samples: bool) -> Iterator[str]:
    for name in ("loss", "entropy", "clipped"):
        value = getattr(step, name)
        if name in step.not_finite or (value is not None and not math.isfinite(value)):
            yield f"{name} is not finite"
        elif value is None and samples:
            yield f"{name} is missing"


def _healthy(last: Sequence[Step], rules: Rules) -> Iterator[Finding]:
    if known := [one.entropy for one in last if one.entropy is not None]:
        entropy = fmean(known)
        said = (
            f"{entropy:.4f} nats in the last {len(known)} steps; {rules.least_entropy} is the least"
        )
        yield Finding("entropy", entropy >= rules.least_entropy, said)
    if known := [one.clipped for one in last if one.clipped is not None]:
        clipped = fmean(known)
        said = f"{clipped:.0%} of tokens in the last {len(known)} steps; {rules.most_clipped:.0%} is the most"
        yield Finding("clipping", clipped <= rules.most_clipped, said)
