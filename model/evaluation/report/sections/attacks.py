"""Section: the verdicts that attacks change (pure)."""

from collections.abc import Sequence

from model.evaluation.attacks.attack_table import COLUMN_NAMES, AttackDocument, build_rows
from model.evaluation.report.content import Section, Table, format_count
from model.evaluation.report.series import clean_name

_ATTACKS = (
    "Attacked groups beside harmless twins; they count nowhere else on this page. In favour: "
    "cases in which the attacker gets the wanted verdict in the attacked group, of the cases "
    "without it in the twin, with a 95 % interval over draws of issues. Past half: cases in "
    "which the belief in the target is on the attacker's side of 0.5 in the attacked group, "
    "of the cases where it is not in the twin; back: cases in which the belief leaves that "
    "side, of all others. Any flip: cases in which any verdict changed. By noise: the same "
    "between two twins with different harmless words. Shift: the mean movement of the belief "
    "in the target towards the attacker's goal, between 0 and 1. By words: the words alone, "
    "without the structure, have the same effect."
)
_STRUCTURE = (
    "Structural attacks use the structure of a prompt and must flip nothing; the rows up to "
    "starvation are structural. Where nothing flipped, nothing flips in any draw, so the "
    "interval describes these attacks and does not forecast others."
)


def build_attacks_section(runs: Sequence[tuple[str, AttackDocument]]) -> Section:
    """Build the report section on attacks that flip verdicts, with a table of kinds for each attack run.

    `runs` has, for each attack run, the name of its file of groups and its attack document.
    """
    tables = (
        Table(_build_caption(name, document), COLUMN_NAMES, build_rows(document.kinds))
        for name, document in runs
    )
    return Section("attacks", "Attacks", (_ATTACKS, _STRUCTURE, *tables))


def _build_caption(name: str, document: AttackDocument) -> str:
    votes = f", {format_count(document.votes, 'vote')}" if document.votes else ""
    judge_name = f"{clean_name(document.verifier)} with {clean_name(document.engine.model)}{votes}"
    return f"{clean_name(name)}: {judge_name}; {format_count(document.issues, 'issue')}."
