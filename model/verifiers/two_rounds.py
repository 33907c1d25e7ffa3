"""Two rounds: groups filter, then the engine names the single most likely patch of those left (R4P, section 5.2)."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from model.domain import EngineInfo, GroupVerdict, Issue, Patch, PatchId, PatchVerdict, Vote
from model.prompts.prompt_template import Template
from model.protocols import Engine, Verifier
from model.verifiers.hybrid import HybridVerifier
from model.verifiers.prompt_builder import KeepGoing, OnVote, mixed_fingerprint
from model.verifiers.voting_verifier import Judging, VotingVerifier
from model.voting.grouping import Candidate, Likeness, Scheme, Seating, in_groups
from model.voting.selection import survivors


def _line_up(seats: int) -> Scheme:
    """All in one prompt; who is too long for that is not voted about, nor who would stand there alone."""

    def plans(
        candidates: Sequence[Candidate], seed: int, likeness: Likeness
    ) -> Iterator[tuple[Seating, ...]]:
        together = [one for one in candidates if not one.solo]
        return in_groups(seats).plans(together if len(together) > 1 else [], seed, likeness)

    return Scheme(f"line-up of {seats}", seats, plans)


class MostLikelyVerifier:
    """Shows all candidates at once and has every vote name one; the score is a patch's share of the votes."""

    def __init__(self, engine: Engine, template: Template, judging: Judging | None = None) -> None:
        judging = judging or Judging()
        # Votes that can't turn a verdict can still turn who is first.
        self._judging = replace(judging, sampling=replace(judging.sampling, stop_early=False))
        self._engine = engine
        self._template = template

    @property
    def engine(self) -> EngineInfo:
        """Who will speak."""
        fingerprint = mixed_fingerprint(self._template.fingerprint, "line-up")
        return EngineInfo(self._engine.name, self._engine.model, fingerprint)

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
        """The shares of votes; about fewer than two nobody is asked. Raises like any voting verifier."""
        scheme = _line_up(max(1, len(candidates)))
        voting = VotingVerifier(self._engine, self._template, scheme, self._judging, one_only=True)
        verdict = voting.verify(
            issue,
            candidates,
            votes=votes,
            earlier=earlier,
            on_vote=on_vote,
            keep_going=keep_going,
        )
        return replace(verdict, engine=self.engine)


class TwoRoundsVerifier(HybridVerifier):
    """The verdicts of the first round, and ranks that put the second round's choice before all others."""

    def __init__(self, groups: Verifier, most_likely: Verifier) -> None:
        super().__init__(groups, most_likely)

    def _kept(self, patches: Collection[PatchVerdict]) -> frozenset[PatchId]:
        return survivors(patches)

    def _merged(self, one: PatchVerdict, again: PatchVerdict | None) -> PatchVerdict:
        if again is None or not again.votes.valid:
            return one
        named = f"{again.votes.correct} of {again.votes.valid} votes name it the likeliest"
        return replace(one, reason=f"{named}. {one.reason}")
