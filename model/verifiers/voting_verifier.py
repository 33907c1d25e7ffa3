"""Verdicts by votes: patches put before the engine by a scheme, replies read from their boxes, shares counted."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from model.domain import (
    EngineInfo,
    GroupVerdict,
    Issue,
    Patch,
    PatchId,
    PatchVerdict,
    Verdict,
    Vote,
    VoteCount,
)
from model.prompts.prompt_template import Template
from model.protocols import Engine, Request
from model.verifiers.admission import Admitted, Refused, Rules
from model.verifiers.prompt_builder import (
    Desk,
    Group,
    KeepGoing,
    OnVote,
    mixed_fingerprint,
    noted,
    own_votes,
    seed_of,
)
from model.verifiers.vote_sampling import Ballot, Run, Sampling
from model.voting import leave_one_out_effect
from model.voting import votes as counting
from model.voting.grouping import Scheme, Seating
from model.voting.thresholds import AGREEMENT, Thresholds


@dataclass(frozen=True, slots=True)
class Judging:
    """How to judge, whatever the engine and the prompt."""

    sampling: Sampling = field(default_factory=Sampling)
    thresholds: Thresholds = AGREEMENT
    edited_lines: int = 0
    """Patches that edit fewer lines are not judged."""
    leave_one_out: bool = False
    """Where rivals are shown in groups, every vote leaves one out; what then hangs on a rival's presence is unsure."""

    def __post_init__(self) -> None:
        """Refuse to spare votes that still could tell whom a verdict hangs on."""
        if self.leave_one_out and self.sampling.stop_early:
            raise ValueError("votes that leave one out can't stop early; choose one of both")


@dataclass(frozen=True, slots=True)
class _Slot:
    """A ballot that may be cast: who sits where, and the vote's seed."""

    seats: Seating
    seed: int


class VotingVerifier:
    """Judges the candidates of one issue by boxed votes through an engine; keeps nothing between calls."""

    def __init__(
        self,
        engine: Engine,
        template: Template,
        scheme: Scheme,
        judging: Judging | None = None,
        *,
        one_only: bool = False,
    ) -> None:
        """`one_only`: every vote has to name exactly one patch."""
        self._engine = engine
        self._template = template
        self._scheme = scheme
        self._judging = judging or Judging()
        self._one_only = one_only
        # The paper's own way keeps the prompt's name; another way with the same prompt must not share its votes.
        self._salt = [] if scheme.name == "groups" else [scheme.name]
        sampling = self._judging.sampling
        self._desk = Desk(
            engine,
            template,
            sampling.max_tokens + sampling.forced_tokens,
            Rules(scheme.seats, self._judging.edited_lines),
        )

    @property
    def engine(self) -> EngineInfo:
        """Who will speak: votes of one engine, one model, one wording and one scheme may be counted together."""
        fingerprint = mixed_fingerprint(self._template.fingerprint, *self._salt)
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
        """The verdict of `votes` more votes, each over every part of the group, and of the `earlier` ones.

        Seeds and seats follow from the issue and the patches alone: with the votes of `earlier` runs on the same
        texts, those that come next are asked for, and all of them count; votes of other groups or schemes among
        them are passed on and not counted. A reply without a box is continued once from an opened one; a failed
        request or an unreadable reply is no vote. Raises EngineDown, Superseded when `keep_going` says no, and
        ValueError for two candidates with one id.
        """
        started = time.monotonic()
        group = Group.of(*self._desk.cases(issue, candidates), *self._salt)
        rounds = list(islice(self._rounds(group), max(1, votes + len(earlier))))
        plan = {(slot.seed, slot.seats) for slots in rounds for slot in slots}
        own = own_votes(earlier, plan)
        taken = {vote.seed for vote in own}
        fresh = [slots for slots in rounds if taken.isdisjoint(slot.seed for slot in slots)]
        run = Run(self._engine, self._judging.sampling, keep_going)
        waiting = [slot for slots in fresh[:votes] for slot in slots]
        new = self._poll(run, group, waiting, own, on_vote)
        cast = (*own, *new)
        return GroupVerdict(
            patches=tuple(noted(case, self._verdict(case, group, cast)) for case in group.cases),
            engine=self.engine,
            votes=(*earlier, *new),
            asked=len(earlier) + len(new),
            partition=tuple(_occupants(slot.seats) for slot in rounds[0]),
            tokens=run.tokens,
            engine_seconds=run.seconds,
            total_seconds=time.monotonic() - started,
            spared=len(waiting) - len(new),
        )

    def _rounds(self, group: Group) -> Iterator[list[_Slot]]:
        plans = self._scheme.plans(group.sitting, group.seed, group.likeness())
        for vote, plan in enumerate(plans):
            yield [
                _Slot(seats, self._seed(group, vote, part, seats))
                for part, seats in enumerate(plan)
            ]

    def _seed(self, group: Group, vote: int, part: int, seats: Seating) -> int:
        """Of one part's vote; who is judged alone has a seed that no rival can change."""
        single = self._scheme.seats == 1
        alone = [one for one in group.sitting if one.id == seats[0] and (one.solo or single)]
        if alone:
            return seed_of(*self._salt, group.issue, f"{vote}", alone[0].fingerprint)
        return seed_of(f"{group.seed} {vote} {part}")

    def _poll(
        self, run: Run, group: Group, slots: list[_Slot], own: Sequence[Vote], on_vote: OnVote
    ) -> list[Vote]:
        """The new votes, batch after batch, until all are cast or, when stopping early, nothing can change."""
        new: list[Vote] = []
        wave, waiting = self._ahead(slots, own)
        while waiting:
            batch, waiting = waiting[:wave], waiting[wave:]
            new += run.cast([self._ballot(group, slot) for slot in batch])
            wave, waiting = self._ahead(waiting, [*own, *new])
            on_vote(len(new), len(new) + len(waiting))
        return new

    def _ahead(self, waiting: list[_Slot], cast: Sequence[Vote]) -> tuple[int, list[_Slot]]:
        """How many ballots to cast next, and all that are still worth casting."""
        sampling, thresholds = self._judging.sampling, self._judging.thresholds
        if not sampling.stop_early:
            return sampling.batch, waiting
        counts = {
            seat: counting.tally(cast, seat) for slot in waiting for seat in slot.seats if seat
        }
        worth = counting.still_open([slot.seats for slot in waiting], counts, thresholds)
        left = [slot for slot, is_open in zip(waiting, worth, strict=True) if is_open]
        wave = counting.next_wave([slot.seats for slot in left], counts, thresholds)
        return min(wave, sampling.batch), left

    def _ballot(self, group: Group, slot: _Slot) -> Ballot:
        patches = [group.texts[seat] if seat else "" for seat in slot.seats]
        sampling = self._judging.sampling
        request = Request(
            messages=self._template.render(issue=group.issue, patches=patches),
            max_tokens=sampling.max_tokens,
            temperature=sampling.temperature,
            seed=slot.seed,
        )
        return Ballot(slot.seats, request, self._one_only)

    def _verdict(
        self, case: Admitted | Refused, group: Group, cast: Sequence[Vote]
    ) -> PatchVerdict:
        if isinstance(case, Refused):
            return refused(case)
        patch = case.candidate.id
        seat = group.shared[patch]
        count = counting.tally(cast, seat)
        if self._scheme.one_out and (rivals := leave_one_out_effect.swayed_by(cast, seat)):
            reason = for_twin(patch, seat, leave_one_out_effect.explain(count, rivals))
            return PatchVerdict(
                patch, Verdict.UNSURE, count, reason, case.coverage, swayed_by=rivals
            )
        thresholds = self._judging.thresholds
        return PatchVerdict(
            patch,
            counting.decide(count, thresholds),
            count,
            for_twin(patch, seat, counting.explain(cast, seat, thresholds)),
            case.coverage,
            score=count.share,
        )


def refused(case: Refused) -> PatchVerdict:
    """What is said of a patch that was not let in."""
    return PatchVerdict(case.id, Verdict.NOT_JUDGED, VoteCount(), case.reason, case.coverage)


def for_twin(patch: PatchId, seat: PatchId, reason: str) -> str:
    """The reason, which of a patch that has no seat of its own says whose it shares."""
    return reason if seat == patch else f"The same edit as {seat}. {reason}"


def _occupants(seats: Seating) -> tuple[PatchId, ...]:
    return tuple(seat for seat in seats if seat)
