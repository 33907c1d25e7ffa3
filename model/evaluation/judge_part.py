"""Parts of a judge: verifiers that depend on the group, because of what they learned from or what was recorded.

Consensus was trained on labelled issues, so a part takes a fit that never saw the issue.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from model import catalog
from model.domain import EngineInfo
from model.evaluation.labelled_group import LabelledGroup
from model.execution.evidence_record import EvidenceFile
from model.protocols import Verifier
from model.verifiers.admission import DEFAULT_RULES, AdmissionRules

COPIES_ARE_ONE = ", copies one opinion"
BLOCKS_HELD_OUT = "blocks of issues held out"
REPOSITORIES_HELD_OUT = "whole repositories held out"


@dataclass(frozen=True, slots=True)
class Part:
    """One verifier of a judge. It may depend on the group that it judges."""

    engine: EngineInfo
    """What run files record in place of the engine."""
    build: Callable[[LabelledGroup], Verifier]


def build_consensus_part(
    *, strict: bool = False, independent: bool = True, rules: AdmissionRules = DEFAULT_RULES
) -> Part:
    """Build consensus as a part of a judge, with a fit that never saw the group's block of issues.

    With `strict`, the fit saw no issue of the group's repository. With `independent`, copies count as agreement of
    independent authors; without it, as one opinion. `rules` limit which patches are judged.
    """
    from model.verifiers import consensus as verifiers

    held_out = REPOSITORIES_HELD_OUT if strict else BLOCKS_HELD_OUT
    held_out += "" if independent else COPIES_ARE_ONE
    return Part(
        replace(verifiers.build_shipped().engine, model=held_out),
        lambda group: verifiers.build_holdout(
            group.repo, group.instance_id, strict=strict, independent=independent, rules=rules
        ),
    )


def build_execution_part(
    name: str, evidence: EvidenceFile, rules: AdmissionRules = DEFAULT_RULES
) -> Part:
    """Build the verifier `name`, which judges by tests, as a part of a judge that reads recorded runs."""

    def build(task: str) -> Verifier:
        return catalog.load_execution(name, evidence.select_task(task), rules.edited_lines)

    return Part(build("").engine, lambda group: build(group.instance_id))
