"""Pairwise: two patches, which is the better one? The score is the share of comparisons that a patch comes out of well.

For comparison with reward models, which know better and worse, not right and wrong: the best of a group of wrong
patches looks right here. Each pair is shown in both orders, so that who always names the first patch says nothing:
both get one of two.
"""

from model.grouping import PAIRS
from model.prompts import Template
from model.protocols import Engine
from model.verifiers.voting import Judging, VotingVerifier


class PairwiseVerifier(VotingVerifier):
    """Two at a time, every pair of a part of four in both orders: twelve ballots a vote for four patches."""

    def __init__(self, engine: Engine, template: Template, judging: Judging | None = None) -> None:
        super().__init__(engine, template, PAIRS, judging)
