"""The two-rounds verifier filters in groups, then asks for the single most likely patch (R4P, section 5.2)."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from model.domain import EngineInfo, GroupVerdict, Issue, Patch, PatchId, PatchVerdict, Vote
from model.prompts.fingerprint import combine_fingerprints
from model.prompts.prompt_template import Template
from model.protocols import Engine, Verifier
from model.verifiers.hybrid import HybridVerifier
from model.verifiers.prompt_builder import KeepGoing, OnVote
from model.verifiers.voting_verifier import VotingOptions, VotingVerifier
from model.voting.grouping import Candidate, Likeness, Scheme, Seating, build_group_scheme
from model.voting.selection import select_survivors


def _build_line_up(seats: int) -> Scheme:
    """Build a scheme that shows all candidates in one prompt, but no patch that is too long or would be alone."""

    def plans(
        candidates: Sequence[Candidate], seed: int, likeness: Likeness
    ) -> Iterator[tuple[Seating, ...]]:
        together = [candidate for candidate in candidates if not candidate.sits_alone]
        return build_group_scheme(seats).plans(
            together if len(together) > 1 else [], seed, likeness
        )

    return Scheme(f"line-up of {seats}", seats, plans)


class MostLikelyVerifier:
    """A verifier that shows all candidates in one prompt. Each vote names the patch that is most likely correct.

    A patch's score is its share of the votes.
    """

    def __init__(
        self, engine: Engine, template: Template, options: VotingOptions | None = None
    ) -> None:
        options = options or VotingOptions()
        # A vote that cannot change a verdict can still change the first rank.
        self._options = replace(options, sampling=replace(options.sampling, stop_early=False))
        self._engine = engine
        self._template = template

    @property
    def engine(self) -> EngineInfo:
        """The engine and model, with a fingerprint of the prompt and of showing all candidates at once."""
        fingerprint = combine_fingerprints(self._template.fingerprint, "line-up")
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
        """Judge the candidates of one issue with `votes` new votes, and with `earlier` votes on the same texts.

        Fewer than two candidates get no votes. Raises EngineDown, Cancelled and ValueError like `VotingVerifier`.
        """
        scheme = _build_line_up(max(1, len(candidates)))
        voting = VotingVerifier(
            self._engine, self._template, scheme, self._options, single_choice=True
        )
        verdict = voting.verify(
            issue, candidates, votes=votes, earlier=earlier, on_vote=on_vote, keep_going=keep_going
        )
        return replace(verdict, engine=self.engine)


class TwoRoundsVerifier(HybridVerifier):
    """A verifier that judges patches in groups, then asks which of the patches that passed is most likely correct.

    The verdicts come from the first round. The second round decides the ranks only.
    """

    def __init__(self, groups: Verifier, most_likely: Verifier) -> None:
        super().__init__(groups, most_likely)

    def _select(self, patches: Collection[PatchVerdict]) -> frozenset[PatchId]:
        return select_survivors(patches)

    def _merge(self, first: PatchVerdict, second: PatchVerdict | None) -> PatchVerdict:
        if second is None or not second.votes.valid:
            return first
        named = f"{second.votes.correct} of {second.votes.valid} votes name it the likeliest"
        return replace(first, reason=f"{named}. {first.reason}")
