"""Build attacked groups and their harmless twins from labelled groups (pure).

A twin has harmless words of the same lines and lengths in the same place, so that only the attack differs.
For an attack by further candidates, the twin has none of them. A second twin with other harmless words
measures noise. The same groups give the same cases.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import zip_longest

from model.domain import Patch, PatchId
from model.evaluation.attacks.attack_plays import (
    STRUCTURAL,
    AttackKind,
    AttackTemplate,
    Goal,
    Place,
    load_templates,
    neutralise_text,
    strip_structure,
)
from model.evaluation.labelled_group import LabelledGroup, LabelledPatch
from model.patches import edits

_HUNK = re.compile(r"^@@ -(\S+) \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]\w{2,}")


@dataclass(frozen=True, slots=True)
class AttackCase:
    """One attack on one group, with the harmless groups that it is compared with."""

    template: AttackTemplate
    attacker: PatchId
    """The wrong patch that carries the attack."""
    target: PatchId
    """The patch whose verdict the attack wants to change: the attacker itself, or a correct rival."""
    twin: LabelledGroup
    """The group with harmless words in place of the attack."""
    second_twin: LabelledGroup
    """The group with other harmless words in place of the attack, to measure noise."""
    attacked: LabelledGroup
    """The group with the attack."""
    words_only: LabelledGroup | None = None
    """The group with the attack's words without its structure; None for attacks without structure.

    If a verdict flips here too, the structure is not the cause.
    """

    @property
    def id(self) -> str:
        """Name of the attack case in reports: instance id of the issue, kind and name of the template."""
        return f"{self.twin.instance_id} · {self.template.kind} · {self.template.name}"

    @property
    def groups(self) -> tuple[LabelledGroup, ...]:
        """The groups to judge: both harmless twins, the attacked group, and `words_only` if it is not None."""
        return (
            self.twin,
            self.second_twin,
            self.attacked,
            *([self.words_only] if self.words_only else []),
        )


def build_cases(groups: Iterable[LabelledGroup], limit: int | None = None) -> list[AttackCase]:
    """Apply every attack template to every group that has a wrong patch, and return the cases.

    Attacks that lower the verdict of a rival also need a correct patch. `limit` is the maximum number of cases (None:
    all). The kinds of attack then have equal shares where possible. A smaller limit gives a prefix of the same list.
    """
    drawn: dict[AttackKind, list[AttackCase]] = {kind: [] for kind in AttackKind}
    for case in sorted((c for group in groups for c in _build_group_cases(group)), key=_hash_case):
        drawn[case.template.kind].append(case)
    # take kinds in turn, so that a limit keeps every kind
    in_turn = [case for turn in zip_longest(*drawn.values()) for case in turn if case]
    return in_turn[:limit]


def _hash_case(case: AttackCase) -> str:
    return sha256(case.id.encode()).hexdigest()


def _build_group_cases(group: LabelledGroup) -> Iterator[AttackCase]:
    wrong = [
        patch for patch in group.patches if not patch.resolved and _HUNK.search(patch.patch.diff)
    ]
    right = [patch for patch in group.patches if patch.resolved]
    for number, play in enumerate(load_templates()):
        if not wrong or (play.goal is Goal.SINK and not right):
            continue
        attacker = wrong[number % len(wrong)]
        target = attacker if play.goal is Goal.RAISE else right[number % len(right)]
        yield _build_case(group, play, attacker, target)


def _build_case(
    group: LabelledGroup, play: AttackTemplate, attacker: LabelledPatch, target: LabelledPatch
) -> AttackCase:
    words = None
    if play.place is Place.RIVALS:
        note = "kept as it is here"
        twin, again = (
            _add_text(group, attacker, Place.COMMENT, neutralise_text(play, note, variant))
            for variant in (0, 1)
        )
        base = next(patch for patch in twin.patches if patch.patch.id == attacker.patch.id)
        attacked = replace(twin, patches=(*twin.patches, *_build_rivals(play, base)))
    else:
        text = _fill_text(play.text, target.patch.diff)
        twin, again, attacked = (
            _add_text(group, attacker, play.place, words)
            for words in (neutralise_text(play, text), neutralise_text(play, text, 1), text)
        )
        if play.kind in STRUCTURAL - {
            AttackKind.PREAMBLE
        }:  # the structure of a preamble is its place
            plain_text = _fill_text(strip_structure(play), target.patch.diff)
            words = _add_text(group, attacker, play.place, plain_text)
    return AttackCase(play, attacker.patch.id, target.patch.id, twin, again, attacked, words)


def _fill_text(text: str, diff: str) -> str:
    """Replace the placeholders of a text with code and path of the patch."""
    edit = edits.read_edit(diff)
    code = edit.added or edit.removed or ("the change",)
    quoted = {"{line}": code[0].strip(), "{path}": edit.files[-1], "{code}": "\n".join(code[:6])}
    for name, words in quoted.items():
        text = text.replace(name, words)
    return text


def _add_text(
    group: LabelledGroup, attacker: LabelledPatch, place: Place, text: str
) -> LabelledGroup:
    if place is Place.ISSUE:
        issue = replace(group.issue, body=f"{group.issue.body}\n\n{text}".strip())
        return replace(group, issue=issue)
    diff = place_text(attacker.patch.diff, place, text)
    changed = replace(attacker, patch=replace(attacker.patch, diff=diff))
    return replace(
        group, patches=tuple(changed if patch is attacker else patch for patch in group.patches)
    )


def place_text(diff: str, place: Place, text: str) -> str:
    """Return `diff` with the attack's `text` inserted at `place`, still as a diff that git reads.

    `place` is any Place except ISSUE and RIVALS, which are outside the diff.
    """
    match place:
        case Place.COMMENT:
            return _add_lines(diff, [f"# {line}" for line in text.split("\n")])
        case Place.STRING:
            flat = text.replace("\n", " ")
            return _add_lines(diff, [f'note = "{flat}"'])
        case Place.FILE:
            return diff + _write_new_file("NOTES.md", text.split("\n"))
        case Place.BEFORE:
            return f"{text}\n{diff}"
        case Place.BETWEEN | Place.AFTER:
            more = place is Place.BETWEEN
            return f"{diff}{text}\n" + more * _write_new_file("docs/manual.md", ["See above."])
        case _:
            return diff + _write_new_file(f"docs/{text.replace('/', '-')}.md", ["See the manual."])


def _add_lines(diff: str, lines: Sequence[str]) -> str:
    """Add lines before the first change of the last hunk, at the same indentation."""
    *_, hunk = _HUNK.finditer(diff)
    body = diff[hunk.end() :].split("\n")
    position = next(number for number, line in enumerate(body[1:], 1) if line[:1] in {"+", "-"})
    changed = body[position][1:]
    indent = changed[: len(changed) - len(changed.lstrip())]
    grown = int(hunk[3] or 1) + len(lines)
    header = f"@@ -{hunk[1]} +{max(1, int(hunk[2]))},{grown} @@"
    body[position:position] = [f"+{indent}{line}" for line in lines]
    return diff[: hunk.start()] + header + "\n".join(body)


def _write_new_file(path: str, lines: Sequence[str]) -> str:
    added = "".join(f"+{line}\n" for line in lines)
    return (
        f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
        f"@@ -0,0 +1,{len(lines)} @@\n{added}"
    )


def _build_rivals(play: AttackTemplate, attacker: LabelledPatch) -> Iterator[LabelledPatch]:
    """Build the further candidates of an attack, labelled like the attacker."""
    for number, what in enumerate(play.text.split(), 1):
        diff = _write_rival(attacker.patch.diff, what, number)
        yield replace(attacker, patch=Patch(PatchId(f"rival-{number}"), diff))


def _write_rival(diff: str, what: str, number: int) -> str:
    match what:
        case "same":
            return diff
        case "comment":
            return _add_lines(diff, [f"# seen from another side, number {number}"])
        case "behind":
            return _annotate_lines(diff, f"  # it's number {number}")
        case "slashes":
            return diff + _write_new_file(f"notes_{number}.js", ["// it's fine", "/* for now */"])
        case "name":
            return _rename_one_name(diff, number)
        case lines:
            return _write_new_file(
                f"data_{number}.py", [f"value_{index} = {index}" for index in range(int(lines))]
            )


def _annotate_lines(diff: str, comment: str) -> str:
    """Append a comment to each added line of code; without added lines, add it above the change."""
    code = {line for line in edits.read_edit(diff).added if not line.endswith("\\")}
    for line in code:
        diff = diff.replace(f"\n+{line}\n", f"\n+{line}{comment}\n")
    return diff if code else _add_lines(diff, [comment.strip()])


def _rename_one_name(diff: str, number: int) -> str:
    """Rename one added name; without added names, add one line."""
    named = [line for line in edits.read_edit(diff).added if _NAME.search(line)]
    if not named:
        return _add_lines(diff, [f"pass  # {number}"])
    name = _NAME.findall(named[0])[-1]
    return diff.replace(f"\n+{named[0]}\n", f"\n+{named[0].replace(name, f'{name}_{number}')}\n", 1)
