"""The verifier `swiss` ranks patches by a tournament of pairwise comparisons, after V1 (arXiv 2603.04304).

It asks the same question as `pairwise`, and spends its requests on the pairs that decide the first place.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Final

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
from model.protocols import Engine, Request
from model.verifiers.admission import AdmissionResult, AdmissionRules, RefusedPatch
from model.verifiers.prompt_builder import (
    CandidateGroup,
    KeepGoing,
    OnVote,
    PromptBuilder,
    add_note,
)
from model.verifiers.vote_sampling import VoteRequest, VoteSampler
from model.verifiers.voting_verifier import VotingOptions, add_twin_note, build_refused_verdict
from model.voting.reply_form import CHOICE
from model.voting.swiss import Comparison, fit_strengths, pair_round
from model.voting.votes import tally

_NAME: Final = "swiss"
_NO_RIVAL: Final = "No opinion: no rival fits into a prompt with it"


class SwissVerifier:
    """A verifier that compares two patches a prompt, and chooses the next pairs by the replies so far.

    A vote is as many comparisons as there are patches, which is V1's unit of budget. Equal edits are one player. Like
    `pairwise` it ranks patches and claims nothing until a calibrator has learnt what its scores are worth.
    """

    def __init__(
        self, engine: Engine, template: Template, options: VotingOptions | None = None
    ) -> None:
        """Create the verifier. `template` is the prompt of `pairwise`."""
        self._engine = engine
        self._template = template
        self._options = options or VotingOptions()
        sampling = self._options.sampling
        rules = AdmissionRules(2, self._options.edited_lines)
        tokens = sampling.max_tokens + sampling.forced_tokens
        self._prompts = PromptBuilder(engine, template, tokens, rules)

    @property
    def engine(self) -> EngineInfo:
        """The engine and model, with a fingerprint of the prompt and of this way to choose pairs."""
        fingerprint = combine_fingerprints(self._template.fingerprint, _NAME)
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
        """Ask for `votes` comparisons more per patch. `earlier` votes on the same texts are replayed, and not asked again.

        Pairs and seeds depend only on the texts and the replies. A failed or unreadable reply is a comparison without
        points. Raises EngineDown, Cancelled when `keep_going` returns False, and ValueError for two candidates with one
        id.
        """
        started = time.monotonic()
        group = CandidateGroup.from_cases(*self._prompts.admit(issue, candidates), _NAME)
        sampler = VoteSampler(self._engine, self._options.sampling, keep_going)
        players = [patch.id for patch in group.seated if not patch.sits_alone]
        cast = {(vote.seed, vote.seats): vote for vote in earlier}
        counted: list[Vote] = []
        new: list[Vote] = []
        left = votes * len(players)
        while wanted := self._plan_round(group, players, counted):
            missing = [ask for ask in wanted if (ask.request.seed, ask.seats) not in cast]
            if left < len(missing):
                break
            left -= len(missing)
            asked = sampler.cast(missing) if missing else []
            cast |= {(vote.seed, vote.seats): vote for vote in asked}
            new += asked
            counted += [cast[ask.request.seed, ask.seats] for ask in wanted]
            on_vote(len(new), len(new) + left)
        strengths = fit_strengths(players, _read_comparisons(counted))
        return GroupVerdict(
            patches=tuple(
                add_note(case, _build_verdict(case, group, strengths, counted))
                for case in group.cases
            ),
            engine=self.engine,
            votes=(*earlier, *new),
            asked=len(earlier) + len(new),
            partition=pair_round(players, (), group.seed),
            tokens=sampler.tokens,
            engine_seconds=sampler.seconds,
            total_seconds=time.monotonic() - started,
        )

    def _plan_round(
        self, group: CandidateGroup, players: Sequence[PatchId], counted: Sequence[Vote]
    ) -> list[VoteRequest]:
        """Return the requests of the next round; empty if there is nobody to compare."""
        pairs = pair_round(players, _read_comparisons(counted), group.seed)
        sampling = self._options.sampling
        return [
            VoteRequest(
                pair,
                Request(
                    messages=self._template.render(
                        issue=group.issue,
                        patches=[group.texts[seat] for seat in pair],
                        trajectory="",
                        code="",
                    ),
                    max_tokens=sampling.max_tokens,
                    temperature=sampling.temperature,
                    seed=derive_seed(f"{group.seed} {len(counted)} {place}"),
                ),
                form=CHOICE,
            )
            for place, pair in enumerate(pairs)
        ]


def _read_comparisons(votes: Sequence[Vote]) -> list[Comparison]:
    """Return the votes as comparisons. A box with both patches, or with none, is a draw."""
    return [_read_comparison(vote) for vote in votes]


def _read_comparison(vote: Vote) -> Comparison:
    first, second = vote.seats
    if first is None or second is None:
        raise ValueError(f"the vote with seed {vote.seed} does not compare two patches")
    if vote.correct is None:
        return Comparison((first, second), None)
    return Comparison((first, second), (1 + (first in vote.correct) - (second in vote.correct)) / 2)


def _build_verdict(
    case: AdmissionResult,
    group: CandidateGroup,
    strengths: Mapping[PatchId, float],
    counted: Sequence[Vote],
) -> PatchVerdict:
    if isinstance(case, RefusedPatch):
        return build_refused_verdict(case)
    patch = case.candidate.id
    seat = group.representatives[patch]
    count = tally(counted, seat)
    score = strengths[seat] if count.valid else None
    reason = add_twin_note(patch, seat, _explain(seat, strengths, count))
    return PatchVerdict(patch, Verdict.UNSURE, count, reason, case.coverage, score=score)


def _explain(seat: PatchId, strengths: Mapping[PatchId, float], count: VoteCount) -> str:
    if not count.valid:
        return "No opinion: no comparison with a rival could be read" if count.none else _NO_RIVAL
    place = 1 + sum(strength > strengths[seat] for strength in strengths.values())
    return (
        f"Place {place} of {len(strengths)} after {count.valid} comparisons with rivals. "
        "That ranks it, and does not say whether it is correct"
    )
