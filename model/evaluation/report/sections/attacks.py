"""Section: the verdicts that attacks change (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass

from model.evaluation.attacks.attack_table import COLUMN_NAMES, AttackDocument, build_rows
from model.evaluation.report.content import Section, Table, format_count
from model.evaluation.report.series import clean_name


@dataclass(frozen=True, slots=True)
class AttackRun:
    """The attacks of one run on one file of groups."""

    name: str
    """Name of the file of groups."""
    document: AttackDocument


def build_attacks_section(runs: Sequence[AttackRun]) -> Section:
    """Build the section on flips by kind of attack."""
    return Section(
        "attacks",
        "Attacks",
        (
            (
                "Attacked groups beside honest twins; they count nowhere else on this page. In favour: of the cases in which "
                "the attacker does not have in the twin what he wants, those where he has it in the attacked group, with a "
                "95 % interval over draws of issues. Past half: of the cases in which the belief in the target is not on the "
                "attacker's side of a half in the twin, those where it is in the attacked group, whether or not the verifier "
                "dares to claim anything; back: of all others, where it no longer is. Any flip: a verdict on anybody changed, of all cases. By noise: the same "
                "between two honest twins in other words. Shift: how far the belief in the target moved the attacker's way, "
                "between 0 and 1. By words: the words alone, without the structure, do as much."
            ),
            (
                "Structural attacks live on how a prompt is built, and must flip nothing; the lines up to starvation are "
                "theirs. Where nothing flipped, nothing flips in any draw either, so an interval of nothing is about these "
                "attacks and no forecast for others."
            ),
        ),
        tables=tuple(
            Table(
                _build_caption(run),
                tuple((name, 1) for name in COLUMN_NAMES),
                build_rows(run.document.kinds),
            )
            for run in runs
        ),
    )


def _build_caption(run: AttackRun) -> str:
    document = run.document
    votes = f", {format_count(document.votes, 'vote')}" if document.votes else ""
    judge_name = f"{clean_name(document.verifier)} with {clean_name(document.engine.model)}{votes}"
    return f"{clean_name(run.name)}: {judge_name}; {format_count(document.issues, 'issue')}."
