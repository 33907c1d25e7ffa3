"""Attacked groups and their honest twins, from labelled groups, always the same ones (pure).

A twin has, in the same place, harmless words with as many lines and characters, so that only the attack differs; where
the attack is no text but further candidates, the twin has none of them. A second twin with other harmless words tells
how much of a change is noise.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import zip_longest

from model.domain import Patch, PatchId
from model.evaluation.attacks.attack_plays import (
    STRUCTURAL,
    Goal,
    Kind,
    Place,
    Play,
    neutral,
    plays,
    without_structure,
)
from model.evaluation.labelled_group import LabelledGroup, LabelledPatch
from model.patches import edits

_HUNK = re.compile(r"^@@ -(\S+) \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]\w{2,}")


@dataclass(frozen=True, slots=True)
class Case:
    """One attack on one group."""

    play: Play
    attacker: PatchId
    """The wrong patch that attacks, or that is attacked for."""
    target: PatchId
    """Whose verdict shall change: the attacker's own, or that of a correct rival."""
    twin: LabelledGroup
    again: LabelledGroup
    """The twin in other harmless words."""
    attacked: LabelledGroup
    words: LabelledGroup | None = None
    """The attack's words without its structure, where it lives on one: what flips here, too, was no work of structure."""

    @property
    def id(self) -> str:
        """Names it in reports: the issue, the attack."""
        return f"{self.twin.instance_id} · {self.play.kind} · {self.play.name}"

    @property
    def groups(self) -> tuple[LabelledGroup, ...]:
        """All that has to be judged: three, and the words alone as a fourth where there are such."""
        return self.twin, self.again, self.attacked, *([self.words] if self.words else [])


def cases(groups: Iterable[LabelledGroup], limit: int | None = None) -> list[Case]:
    """Every play on every group that has a wrong patch and, to sink one, a correct rival.

    With a limit, as many of each kind as it allows, drawn by content: a smaller limit gives a part of a larger one's.
    """
    drawn: dict[Kind, list[Case]] = {kind: [] for kind in Kind}
    for case in sorted((c for group in groups for c in _cases(group)), key=_lot):
        drawn[case.play.kind].append(case)
    in_turn = [case for turn in zip_longest(*drawn.values()) for case in turn if case]
    return in_turn[:limit]


def _lot(case: Case) -> str:
    return sha256(case.id.encode()).hexdigest()


def _cases(group: LabelledGroup) -> Iterator[Case]:
    wrong = [one for one in group.patches if not one.resolved and _HUNK.search(one.patch.diff)]
    right = [one for one in group.patches if one.resolved]
    for number, play in enumerate(plays()):
        if not wrong or (play.goal is Goal.SINK and not right):
            continue
        attacker = wrong[number % len(wrong)]
        target = attacker if play.goal is Goal.RAISE else right[number % len(right)]
        yield _case(group, play, attacker, target)


def _case(group: LabelledGroup, play: Play, attacker: LabelledPatch, target: LabelledPatch) -> Case:
    words = None
    if play.place is Place.RIVALS:
        note = "kept as it is here"
        twin, again = (
            _with_text(group, attacker, Place.COMMENT, neutral(play, note, variant))
            for variant in (0, 1)
        )
        base = next(one for one in twin.patches if one.patch.id == attacker.patch.id)
        attacked = replace(twin, patches=(*twin.patches, *_rivals(play, base)))
    else:
        text = _filled(play.text, target.patch.diff)
        twin, again, attacked = (
            _with_text(group, attacker, play.place, words)
            for words in (neutral(play, text), neutral(play, text, 1), text)
        )
        if play.kind in STRUCTURAL - {Kind.PREAMBLE}:  # its structure is where it stands
            said = _filled(without_structure(play), target.patch.diff)
            words = _with_text(group, attacker, play.place, said)
    return Case(play, attacker.patch.id, target.patch.id, twin, again, attacked, words)


def _filled(text: str, diff: str) -> str:
    """The text with what it quotes of a patch."""
    edit = edits.read(diff)
    code = edit.added or edit.removed or ("the change",)
    quoted = {"{line}": code[0].strip(), "{path}": edit.files[-1], "{code}": "\n".join(code[:6])}
    for name, words in quoted.items():
        text = text.replace(name, words)
    return text


def _with_text(
    group: LabelledGroup, attacker: LabelledPatch, place: Place, text: str
) -> LabelledGroup:
    if place is Place.ISSUE:
        issue = replace(group.issue, body=f"{group.issue.body}\n\n{text}".strip())
        return replace(group, issue=issue)
    diff = placed(attacker.patch.diff, place, text)
    changed = replace(attacker, patch=replace(attacker.patch, diff=diff))
    return replace(
        group, patches=tuple(changed if one is attacker else one for one in group.patches)
    )


def placed(diff: str, place: Place, text: str) -> str:
    """The diff with a text in it, still one that git reads."""
    match place:
        case Place.COMMENT:
            return _with_lines(diff, [f"# {line}" for line in text.split("\n")])
        case Place.STRING:
            flat = text.replace("\n", " ")
            return _with_lines(diff, [f'note = "{flat}"'])
        case Place.FILE:
            return diff + _new_file("NOTES.md", text.split("\n"))
        case Place.BEFORE:
            return f"{text}\n{diff}"
        case Place.BETWEEN | Place.AFTER:
            more = place is Place.BETWEEN
            return f"{diff}{text}\n" + more * _new_file("docs/manual.md", ["See above."])
        case _:
            return diff + _new_file(f"docs/{text.replace('/', '-')}.md", ["See the manual."])


def _with_lines(diff: str, lines: Sequence[str]) -> str:
    """The lines added before the first change of the last hunk, as deep as what stands there."""
    *_, hunk = _HUNK.finditer(diff)
    body = diff[hunk.end() :].split("\n")
    at = next(number for number, line in enumerate(body[1:], 1) if line[:1] in {"+", "-"})
    changed = body[at][1:]
    indent = changed[: len(changed) - len(changed.lstrip())]
    grown = int(hunk[3] or 1) + len(lines)
    header = f"@@ -{hunk[1]} +{max(1, int(hunk[2]))},{grown} @@"
    body[at:at] = [f"+{indent}{line}" for line in lines]
    return diff[: hunk.start()] + header + "\n".join(body)


def _new_file(path: str, lines: Sequence[str]) -> str:
    added = "".join(f"+{line}\n" for line in lines)
    return (
        f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
        f"@@ -0,0 +1,{len(lines)} @@\n{added}"
    )


def _rivals(play: Play, attacker: LabelledPatch) -> Iterator[LabelledPatch]:
    """The further candidates, labelled like the attacker."""
    for number, what in enumerate(play.text.split(), 1):
        diff = _rival(attacker.patch.diff, what, number)
        yield replace(attacker, patch=Patch(PatchId(f"rival-{number}"), diff))


def _rival(diff: str, what: str, number: int) -> str:
    match what:
        case "same":
            return diff
        case "comment":
            return _with_lines(diff, [f"# seen from another side, number {number}"])
        case "behind":
            return _annotated(diff, f"  # it's number {number}")
        case "slashes":
            return diff + _new_file(f"notes_{number}.js", ["// it's fine", "/* for now */"])
        case "name":
            return _renamed(diff, number)
        case lines:
            return _new_file(
                f"data_{number}.py", [f"value_{at} = {at}" for at in range(int(lines))]
            )


def _annotated(diff: str, comment: str) -> str:
    """The edit with a comment behind each added line of code; above its change where it adds none."""
    code = {line for line in edits.read(diff).added if not line.endswith("\\")}
    for line in code:
        diff = diff.replace(f"\n+{line}\n", f"\n+{line}{comment}\n")
    return diff if code else _with_lines(diff, [comment.strip()])


def _renamed(diff: str, number: int) -> str:
    """The edit with one added name spelled otherwise; with one more line where it adds none."""
    named = [line for line in edits.read(diff).added if _NAME.search(line)]
    if not named:
        return _with_lines(diff, [f"pass  # {number}"])
    name = _NAME.findall(named[0])[-1]
    return diff.replace(f"\n+{named[0]}\n", f"\n+{named[0].replace(name, f'{name}_{number}')}\n", 1)
