"""R4P: the patches of one issue judged against each other, by votes over shuffled seats (R4P, section 3)."""

from model.prompts.prompt_template import Template
from model.protocols import Engine
from model.verifiers.voting_verifier import Judging, VotingVerifier
from model.voting.grouping import in_groups

_GROUPS = in_groups()
_ONE_OUT = in_groups(one_out=True)


class R4PVerifier(VotingVerifier):
    """Four at a time: each sees its rivals, and several may be held correct, or none."""

    def __init__(self, engine: Engine, template: Template, judging: Judging | None = None) -> None:
        scheme = _ONE_OUT if judging and judging.leave_one_out else _GROUPS
        super().__init__(engine, template, scheme, judging)
