"""Pairwise: two patches, which is the better one? The score is the share of comparisons that a patch comes out of well.

For comparison with reward models, which know better and worse, not right and wrong: the best of a group of wrong patches
wins here. So it ranks and claims nothing: its verdict is unsure, until a calibrator has learnt what a share of wins is
worth. Each pair is shown in both orders, so that who always names the first patch says nothing: both get one of two.
"""

from collections.abc import Sequence
from dataclasses import replace

from model.domain import PatchVerdict, Vote, VoteCount
from model.prompts.prompt_template import Template
from model.protocols import Engine
from model.verifiers.admission import Admitted, Refused
from model.verifiers.prompt_builder import Group
from model.verifiers.voting_verifier import Judging, VotingVerifier, for_twin
from model.voting.grouping import PAIRS
from model.voting.thresholds import Thresholds

_NO_CLAIM = Thresholds(None, None)


class PairwiseVerifier(VotingVerifier):
    """Two at a time, every pair of a part of four in both orders: twelve ballots a vote for four patches.

    It never stops early: without a claim there is nothing that further comparisons could not change.
    """

    def __init__(self, engine: Engine, template: Template, judging: Judging | None = None) -> None:
        judging = judging or Judging()
        sampling = replace(judging.sampling, stop_early=False)
        ranking = replace(judging, sampling=sampling, thresholds=_NO_CLAIM)
        super().__init__(engine, template, PAIRS, ranking)

    def _verdict(
        self, case: Admitted | Refused, group: Group, cast: Sequence[Vote]
    ) -> PatchVerdict:
        verdict = super()._verdict(case, group, cast)
        if isinstance(case, Refused) or not verdict.votes.valid:
            return verdict
        seat = group.shared[case.candidate.id]
        return replace(verdict, reason=for_twin(verdict.id, seat, _explain(verdict.votes)))


def _explain(count: VoteCount) -> str:
    unread = f"; {count.none} more failed or could not be read" if count.none else ""
    return (
        f"Preferred {count.correct} of {count.valid} times over rivals{unread}. "
        "That ranks it, and does not say whether it is correct"
    )
