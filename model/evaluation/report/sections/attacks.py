"""What attacks change in verdicts (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass

from model.evaluation.attacks.attack_table import HEADS, Found, rows
from model.evaluation.report.content import Section, Table, many
from model.evaluation.report.series import shown


@dataclass(frozen=True, slots=True)
class AttackRun:
    """A run of attacks on one file of groups."""

    name: str
    """Of these groups."""
    found: Found


def attacks(runs: Sequence[AttackRun]) -> Section:
    """Flips by kind of attack."""
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
            Table(_caption(run), tuple((name, 1) for name in HEADS), rows(run.found.kinds))
            for run in runs
        ),
    )


def _caption(run: AttackRun) -> str:
    found = run.found
    votes = f", {many(found.votes, 'vote')}" if found.votes else ""
    by = f"{shown(found.verifier)} with {shown(found.engine.model)}{votes}"
    return f"{shown(run.name)}: {by}; {many(found.issues, 'issue')}."
