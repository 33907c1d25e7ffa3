"""This module is the base of the verifiers that ask for votes: show patches, read boxes, count shares."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
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
from model.prompts.fingerprint import combine_fingerprints, derive_seed
from model.prompts.prompt_template import Template
from model.prompts.untrusted import escape_patch
from model.protocols import Engine, Request
from model.verifiers.admission import AdmissionResult, AdmissionRules, RefusedPatch
from model.verifiers.judge_prompts import build_salt
from model.verifiers.prompt_builder import (
    CandidateGroup,
    KeepGoing,
    OnVote,
    PromptBuilder,
    add_note,
    select_own_votes,
)
from model.verifiers.vote_sampling import Sampling, VoteRequest, VoteSampler
from model.voting import votes as counting
from model.voting.grouping import Scheme, Seating
from model.voting.leave_one_out_effect import explain_dependence, find_decisive_rivals
from model.voting.reply_form import BOX, ReplyForm
from model.voting.thresholds import AGREEMENT, Thresholds

_CODE_CHARACTERS = 3
"""Characters of code for each of its tokens, at least. Rarer names take more tokens, and then fewer patches fit."""


@dataclass(frozen=True, slots=True)
class VotingOptions:
    """Options of voting that do not depend on the engine or the prompt."""

    sampling: Sampling = field(default_factory=Sampling)
    thresholds: Thresholds = AGREEMENT
    edited_lines: int = 0
    """The fewest added and removed lines of a patch that the verifier judges."""
    leave_one_out: bool = False
    """Every vote of a group leaves out one patch. A verdict that depends on one rival becomes unsure."""
    read_code: Callable[[Sequence[str], int], str] | None = None
    """A function of diffs and a number of characters, for templates that show code: the touched definitions of the base."""

    def __post_init__(self) -> None:
        """Refuse early stopping with leave-one-out: a skipped vote could show that a verdict depends on a rival."""
        if self.leave_one_out and self.sampling.stop_early:
            raise ValueError("leave-one-out votes cannot stop early; choose one of the two options")


@dataclass(frozen=True, slots=True)
class _Slot:
    """A seating that may be put to the engine, with its seed."""

    seats: Seating
    seed: int


class VotingVerifier:
    """A verifier that judges the candidates of one issue by boxed votes. It keeps nothing between calls."""

    def __init__(
        self,
        engine: Engine,
        template: Template,
        scheme: Scheme,
        options: VotingOptions | None = None,
        *,
        single_choice: bool = False,
        form: ReplyForm = BOX,
    ) -> None:
        """Create the verifier. `scheme` divides the patches of a group into prompts.

        With `single_choice`, every vote must name exactly one patch. `form` is the form of the replies.
        """
        self._engine = engine
        self._template = template
        self._scheme = scheme
        self._options = options or VotingOptions()
        self._single_choice = single_choice
        self._form = form
        self._read_code = self._options.read_code if template.shows_code else None
        self._salt = build_salt(scheme, shows_code=self._read_code is not None)
        sampling = self._options.sampling
        self._prompts = PromptBuilder(
            engine,
            template,
            sampling.max_tokens + sampling.forced_tokens,
            AdmissionRules(scheme.seats, self._options.edited_lines),
        )

    @property
    def engine(self) -> EngineInfo:
        """The engine and model, with a fingerprint of the prompt and of the way to show patches.

        Votes may be added up if all these values are equal.
        """
        fingerprint = combine_fingerprints(self._template.fingerprint, *self._salt)
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
        """Judge the candidates of one issue with `votes` new votes for each part of the group, and the `earlier` votes.

        Seeds and seats depend only on the issue and the patches. So a run continues the plan of `earlier` runs on the
        same texts, and all their votes count. Votes of other groups or schemes in `earlier` are returned, but not
        counted. A reply without a box is continued once from an opened box. A failed request or an unreadable reply
        counts for no side.

        Raises EngineDown, Cancelled when `keep_going` returns False, and ValueError for two candidates with one id.
        """
        started = time.monotonic()
        group = self._build_group(issue, candidates)
        rounds = list(islice(self._plan_rounds(group), max(1, votes + len(earlier))))
        planned = {(slot.seed, slot.seats) for slots in rounds for slot in slots}
        counted = select_own_votes(earlier, planned)
        # A round with any used seed was asked before, so the run continues with the next round.
        used_seeds = {vote.seed for vote in counted}
        unused = [slots for slots in rounds if used_seeds.isdisjoint(slot.seed for slot in slots)]
        sampler = VoteSampler(self._engine, self._options.sampling, keep_going)
        slots = [slot for slots in unused[:votes] for slot in slots]
        new = self._poll(sampler, group, slots, counted, on_vote)
        cast = (*counted, *new)
        return GroupVerdict(
            patches=tuple(
                add_note(case, self._build_verdict(case, group, cast)) for case in group.cases
            ),
            engine=self.engine,
            votes=(*earlier, *new),
            asked=len(earlier) + len(new),
            partition=tuple(_list_occupants(slot.seats) for slot in rounds[0]),
            tokens=sampler.tokens,
            engine_seconds=sampler.seconds,
            total_seconds=time.monotonic() - started,
            spared=len(slots) - len(new),
        )

    def _build_group(self, issue: Issue, candidates: Sequence[Patch]) -> CandidateGroup:
        """Admit the candidates beside the code that they touch, which takes a quarter of the context at most."""
        if self._read_code is None:
            cases = self._prompts.admit(issue, candidates)
            return CandidateGroup.from_cases(*cases, *self._salt)
        characters = self._engine.context_tokens * _CODE_CHARACTERS // 4
        code = self._read_code([patch.diff for patch in candidates], characters)
        code = escape_patch(code, self._prompts.texts_to_escape).text
        prompts = replace(self._prompts, values={"code": code})
        # votes on other code must not count, so the seeds depend on it
        group = CandidateGroup.from_cases(*prompts.admit(issue, candidates), *self._salt, code)
        return replace(group, code=code)

    def _plan_rounds(self, group: CandidateGroup) -> Iterator[list[_Slot]]:
        plans = self._scheme.plans(group.seated, group.seed, group.build_likeness())
        for vote, plan in enumerate(plans):
            yield [
                _Slot(seats, self._derive_seed(group, vote, part, seats))
                for part, seats in enumerate(plan)
            ]

    def _derive_seed(self, group: CandidateGroup, vote: int, part: int, seats: Seating) -> int:
        """Derive the seed of one part's vote. No rival can change the seed of a patch that is judged alone."""
        # The group's seed depends on its rivals, so a patch that is judged alone has its own seed.
        single = self._scheme.seats == 1
        alone = [
            candidate
            for candidate in group.seated
            if candidate.id == seats[0] and (candidate.sits_alone or single)
        ]
        if alone:
            return derive_seed(*self._salt, group.issue, f"{vote}", alone[0].fingerprint)
        return derive_seed(f"{group.seed} {vote} {part}")

    def _poll(
        self,
        sampler: VoteSampler,
        group: CandidateGroup,
        slots: list[_Slot],
        counted: Sequence[Vote],
        on_vote: OnVote,
    ) -> list[Vote]:
        """Sample the new votes in batches, until all are cast or early stopping finds that nothing can change."""
        new: list[Vote] = []
        wave, waiting = self._plan_wave(slots, counted)
        while waiting:
            batch, waiting = waiting[:wave], waiting[wave:]
            new += sampler.cast([self._build_request(group, slot) for slot in batch])
            wave, waiting = self._plan_wave(waiting, [*counted, *new])
            on_vote(len(new), len(new) + len(waiting))
        return new

    def _plan_wave(self, waiting: list[_Slot], cast: Sequence[Vote]) -> tuple[int, list[_Slot]]:
        """Return the size of the next batch, and the slots that are still worth asking."""
        sampling, thresholds = self._options.sampling, self._options.thresholds
        if not sampling.stop_early:
            return sampling.batch, waiting
        counts = {
            seat: counting.tally(cast, seat) for slot in waiting for seat in slot.seats if seat
        }
        worth = counting.find_open_ballots([slot.seats for slot in waiting], counts, thresholds)
        left = [slot for slot, is_open in zip(waiting, worth, strict=True) if is_open]
        wave = counting.compute_wave_size([slot.seats for slot in left], counts, thresholds)
        return min(wave, sampling.batch), left

    def _build_request(self, group: CandidateGroup, slot: _Slot) -> VoteRequest:
        patches = [group.texts[seat] if seat else "" for seat in slot.seats]
        sampling = self._options.sampling
        request = Request(
            messages=self._template.render(
                issue=group.issue, patches=patches, trajectory="", code=group.code
            ),
            max_tokens=sampling.max_tokens,
            temperature=sampling.temperature
            if self._form.temperature is None
            else self._form.temperature,
            seed=slot.seed,
        )
        return VoteRequest(slot.seats, request, self._single_choice, self._form)

    def _build_verdict(
        self, case: AdmissionResult, group: CandidateGroup, cast: Sequence[Vote]
    ) -> PatchVerdict:
        if isinstance(case, RefusedPatch):
            return build_refused_verdict(case)
        patch = case.candidate.id
        seat = group.representatives[patch]
        count = counting.tally(cast, seat)
        rivals = find_decisive_rivals(cast, seat) if self._scheme.leaves_one_out else ()
        if rivals:
            reason = add_twin_note(patch, seat, explain_dependence(count, rivals))
            return PatchVerdict(
                patch, Verdict.UNSURE, count, reason, case.coverage, depends_on=rivals
            )
        thresholds = self._options.thresholds
        return PatchVerdict(
            patch,
            counting.decide(count, thresholds),
            count,
            add_twin_note(patch, seat, counting.explain(cast, seat, thresholds)),
            case.coverage,
            score=counting.compute_score(cast, seat)
            if self._template.asks_for_probabilities
            else count.share,
        )


def build_refused_verdict(case: RefusedPatch) -> PatchVerdict:
    """Build the verdict *not judged* about a patch that was not admitted to the prompt, with the reason for it."""
    return PatchVerdict(case.id, Verdict.NOT_JUDGED, VoteCount(), case.reason, case.coverage)


def add_twin_note(patch: PatchId, seat: PatchId, reason: str) -> str:
    """Return `reason`, the reason of a verdict on `patch`, after a note if the prompt showed `seat` in its place.

    `seat` is the id of a patch that makes the same edit, or `patch` itself.
    """
    return reason if seat == patch else f"The same edit as {seat}. {reason}"


def _list_occupants(seats: Seating) -> tuple[PatchId, ...]:
    return tuple(seat for seat in seats if seat)
