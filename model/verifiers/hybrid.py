"""Hybrid: one verifier draws up a shortlist, another settles it (R2E-Gym, section 4.3).

R2E-Gym shortlists by log-probabilities and settles by running tests; whatever obeys the protocol can do either.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from model.domain import (
    EngineInfo,
    GroupVerdict,
    Issue,
    Patch,
    PatchId,
    PatchVerdict,
    Tokens,
    Vote,
)
from model.protocols import Verifier
from model.verifiers.prompt_builder import KeepGoing, OnVote, by_id, mixed_fingerprint
from model.voting.selection import composed, shortlist, top_n


class HybridVerifier:
    """Judges by `first`, and the best by its scores once more by `second`, whose verdict stands."""

    def __init__(self, first: Verifier, second: Verifier) -> None:
        self._first = first
        self._second = second

    @property
    def engine(self) -> EngineInfo:
        """Who will speak: both, under one name where they are one."""
        one, other = self._first.engine, self._second.engine
        return EngineInfo(
            _joined(one.name, other.name),
            _joined(one.model, other.model),
            mixed_fingerprint(one.prompt_fingerprint, other.prompt_fingerprint),
        )

    def verify(
        self,
        issue: Issue,
        candidates: Sequence[Patch],
        *,
        votes: int,
        earlier: Sequence[Vote] = (),
        on_vote: OnVote = lambda _done, _asked: None,
        keep_going: KeepGoing = lambda: True,
    ) -> GroupVerdict:
        """The verdict of both, `votes` for each; ranks order all patches, those not settled below the settled.

        Each of the two counts those `earlier` votes that are its own. Raises what they raise.
        """
        first = self._first.verify(
            issue, candidates, votes=votes, earlier=earlier, on_vote=on_vote, keep_going=keep_going
        )
        kept = self._kept(first.patches)
        before = len(first.votes) - len(earlier)
        second = self._second.verify(
            issue,
            [patch for patch in candidates if patch.id in kept],
            votes=votes,
            earlier=earlier,
            on_vote=lambda done, asked: on_vote(before + done, before + asked),
            keep_going=keep_going,
        )
        cast = (*first.votes, *second.votes[len(earlier) :])
        ranks = composed(
            {one.id: one.score for one in first.patches},
            {one.id: one.score for one in second.patches},
        )
        again = by_id(second)
        return GroupVerdict(
            patches=tuple(
                replace(self._merged(one, again.get(one.id)), rank=ranks[one.id])
                for one in first.patches
            ),
            engine=self.engine,
            votes=cast,
            asked=len(cast),
            partition=first.partition,
            tokens=_sum(first.tokens, second.tokens),
            engine_seconds=first.engine_seconds + second.engine_seconds,
            total_seconds=first.total_seconds + second.total_seconds,
            spared=first.spared + second.spared,
        )

    def _kept(self, patches: Collection[PatchVerdict]) -> frozenset[PatchId]:
        """Who goes on to the second verifier."""
        return shortlist({one.id: one.score for one in patches}, top_n(len(patches)))

    def _merged(self, one: PatchVerdict, again: PatchVerdict | None) -> PatchVerdict:
        """What is said of a patch in the end: by the second verifier if it has an opinion, else by the first.

        That a rival sways the second is no lack of an opinion: nothing is claimed then.
        """
        if again is None:
            return replace(one, reason=f"Not on the shortlist. {one.reason}", is_preliminary=True)
        if again.swayed_by:
            return again
        if again.score is None and one.score is not None:
            return replace(one, is_preliminary=True)
        return again


def _joined(one: str, other: str) -> str:
    return one if one == other else f"{one} + {other}"


def _sum(one: Tokens, other: Tokens) -> Tokens:
    return Tokens(
        one.prompt + other.prompt, one.cached + other.cached, one.completion + other.completion
    )
