"""What attempts have cost by now: those that die, or are taken back, cost something too."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from app.db.store.attempts import Record
from model.agents.trajectory import Attempt, Step
from model.domain import EngineInfo, Tokens


@dataclass(slots=True)
class Bill:
    """Of attempts side by side, by their place."""

    agent: str
    engine: EngineInfo
    seeds: Sequence[int]
    steps: dict[int, list[Step]] = field(default_factory=dict)

    def add(self, at: int, step: Step) -> int:
        """One more step of one of them. Returns how many that makes."""
        self.steps.setdefault(at, []).append(step)
        return len(self.steps[at])

    def records(
        self, finished: Iterable[Attempt], stop: str, why: str, *, paid: int = 0
    ) -> tuple[Record, ...]:
        """Those that were over, and what is known of the others.

        `paid`: tokens read and sampled in all, as far as they are known; what no step told is the first unfinished one's.
        """
        whole = {one.trajectory.seed: Record.of(one) for one in finished}
        found = [
            whole.get(seed) or self._unfinished(at, stop, why) for at, seed in enumerate(self.seeds)
        ]
        untold = paid - sum(one.tokens.prompt + one.tokens.completion for one in found)
        dead = next((at for at, seed in enumerate(self.seeds) if seed not in whole), None)
        if untold > 0 and dead is not None:
            tokens = found[dead].tokens
            found[dead] = replace(
                found[dead], tokens=replace(tokens, prompt=tokens.prompt + untold)
            )
        return tuple(found)

    def _unfinished(self, at: int, stop: str, why: str) -> Record:
        steps = self.steps.get(at, [])
        paid = [step.tokens for step in steps]
        return Record(
            agent=self.agent,
            engine=self.engine,
            seed=self.seeds[at],
            stop=stop,
            steps=len(steps),
            tokens=Tokens(
                sum(one.prompt for one in paid),
                sum(one.cached for one in paid),
                sum(one.completion for one in paid),
            ),
            seconds=max((step.seconds for step in steps), default=0.0),
            failure=why,
        )
