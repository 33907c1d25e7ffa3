"""The R4P verifier judges the patches of one issue against each other, by votes over shuffled seats (R4P, section 3)."""

from model.prompts.prompt_template import Template
from model.protocols import Engine
from model.verifiers.voting_verifier import VotingOptions, VotingVerifier
from model.voting.grouping import build_group_scheme

_GROUPS = build_group_scheme()
_ONE_OUT = build_group_scheme(leave_one_out=True)


class R4PVerifier(VotingVerifier):
    """A verifier that shows four patches per prompt. Several of them may be correct, or none."""

    def __init__(
        self, engine: Engine, template: Template, options: VotingOptions | None = None
    ) -> None:
        scheme = _ONE_OUT if options and options.leave_one_out else _GROUPS
        super().__init__(engine, template, scheme, options)
