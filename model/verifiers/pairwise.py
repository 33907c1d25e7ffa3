"""The pairwise verifier asks which of two patches is better; the score is the share of won comparisons.

It exists for comparison with reward models, which know better and worse but not right and wrong: the best of several
wrong patches wins. So it ranks patches and claims nothing until a calibrator has learnt what a share of wins is worth.
Each pair is shown in both orders, so an engine that always prefers the first patch gives both patches one win of two.
"""

from collections.abc import Sequence
from dataclasses import replace

from model.domain import PatchVerdict, Vote, VoteCount
from model.prompts.prompt_template import Template
from model.protocols import Engine
from model.verifiers.admission import AdmittedPatch, RefusedPatch
from model.verifiers.prompt_builder import CandidateGroup
from model.verifiers.voting_verifier import VotingOptions, VotingVerifier, add_twin_note
from model.voting.grouping import PAIRS
from model.voting.thresholds import Thresholds

_NO_CLAIM = Thresholds(None, None)


class PairwiseVerifier(VotingVerifier):
    """A verifier that compares every pair of a part of four in both orders: twelve requests per vote for four patches.

    It never stops early. Without a claim, no comparison is superfluous.
    """

    def __init__(
        self, engine: Engine, template: Template, options: VotingOptions | None = None
    ) -> None:
        options = options or VotingOptions()
        sampling = replace(options.sampling, stop_early=False)
        ranking = replace(options, sampling=sampling, thresholds=_NO_CLAIM)
        super().__init__(engine, template, PAIRS, ranking)

    def _verdict(
        self, case: AdmittedPatch | RefusedPatch, group: CandidateGroup, cast: Sequence[Vote]
    ) -> PatchVerdict:
        verdict = super()._verdict(case, group, cast)
        if isinstance(case, RefusedPatch) or not verdict.votes.valid:
            return verdict
        seat = group.representatives[case.candidate.id]
        return replace(verdict, reason=add_twin_note(verdict.id, seat, _explain(verdict.votes)))


def _explain(count: VoteCount) -> str:
    unread = f"; {count.none} more failed or could not be read" if count.none else ""
    return (
        f"Preferred {count.correct} of {count.valid} times over rivals{unread}. "
        "That ranks it, and does not say whether it is correct"
    )
