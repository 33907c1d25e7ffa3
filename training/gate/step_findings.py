"""Check the steps of a run for broken numbers and a dying model (pure)."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean

from app.learning.gate_rules import Rules
from training.gate.gate_facts import GateFinding, StepHealth

AT_THE_END = 10
"""Number of last steps to average. A single step may be an odd batch."""


def check_steps(steps: Sequence[StepHealth], rules: Rules, *, samples: bool) -> list[GateFinding]:
    """Check that metrics are finite and that entropy and clipping are healthy at the end.

    `samples`: the run trained on its own replies, so entropy and clipping must be present.
    """
    return [_check_numbers(steps, samples=samples), *_check_health(steps[-AT_THE_END:], rules)]


def _check_numbers(steps: Sequence[StepHealth], *, samples: bool) -> GateFinding:
    wrong = Counter(problem for step in steps for problem in _list_problems(step, samples=samples))
    problem = ", ".join(f"{what} in {times} of {len(steps)} steps" for what, times in wrong.items())
    passed = bool(steps) and not wrong
    return GateFinding("numbers", passed, problem or f"finite in {len(steps)} steps")


def _list_problems(step: StepHealth, *, samples: bool) -> Iterator[str]:
    for name in ("loss", "entropy", "clipped"):
        value = getattr(step, name)
        if name in step.not_finite or (value is not None and not math.isfinite(value)):
            yield f"{name} is not finite"
        elif value is None and samples:
            yield f"{name} is missing"


def _check_health(last: Sequence[StepHealth], rules: Rules) -> Iterator[GateFinding]:
    if values := [step.entropy for step in last if step.entropy is not None]:
        entropy = fmean(values)
        answer = f"{entropy:.4f} nats in the last {len(values)} steps; {rules.least_entropy} is the least"
        yield GateFinding("entropy", entropy >= rules.least_entropy, answer)
    if values := [step.clipped for step in last if step.clipped is not None]:
        clipped = fmean(values)
        answer = f"{clipped:.0%} of tokens in the last {len(values)} steps; {rules.most_clipped:.0%} is the most"
        yield GateFinding("clipping", clipped <= rules.most_clipped, answer)
