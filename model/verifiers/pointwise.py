"""Pointwise: the same prompt with one patch in it, the paper's ablation of comparing (R4P, section 5.3)."""

from model.prompts.prompt_template import Template
from model.protocols import Engine
from model.verifiers.voting_verifier import Judging, VotingVerifier
from model.voting.grouping import SINGLY


class PointwiseVerifier(VotingVerifier):
    """One at a time, blind to the rivals; the paper finds it to let too many wrong patches pass."""

    def __init__(self, engine: Engine, template: Template, judging: Judging | None = None) -> None:
        super().__init__(engine, template, SINGLY, judging)
