"""The pointwise verifier shows one patch per prompt, the paper's ablation of comparison (R4P, section 5.3)."""

from model.prompts.prompt_template import Template
from model.protocols import Engine
from model.verifiers.voting_verifier import VotingOptions, VotingVerifier
from model.voting.grouping import SINGLY


class PointwiseVerifier(VotingVerifier):
    """A verifier that shows one patch per prompt, without its rivals. The paper finds that it accepts too many wrong
    patches.
    """

    def __init__(
        self, engine: Engine, template: Template, options: VotingOptions | None = None
    ) -> None:
        super().__init__(engine, template, SINGLY, options)
