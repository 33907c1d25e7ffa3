"""Render verifier prompts for training, exactly as the bot renders them (pure)."""

from model.patches.diff import extract_bare_diff
from model.prompts.prompt_template import Template
from model.prompts.untrusted import escape_issue, escape_patch
from model.protocols import Message
from training.datasets.groups import TrainingGroup


def render_group(template: Template, group: TrainingGroup) -> tuple[Message, ...]:
    """Return the verifier's prompt about all patches of a group, in its order. Raises BadDiff for a bad patch."""
    return render_patches(template, group.problem_statement, group.patches)


def render_patches(template: Template, issue: str, patches: tuple[str, ...]) -> tuple[Message, ...]:
    """Return the verifier's prompt about patches of an issue. `issue` is its text, and a patch "" is an empty seat.

    Raises BadDiff for a patch that cannot be read.
    """
    shown = tuple(map(_render_patch, patches))
    return template.render(issue=escape_issue(issue).text, patches=shown, trajectory="", hint="")


def _render_patch(patch: str) -> str:
    return escape_patch(extract_bare_diff(patch).text.removesuffix("\n")).text if patch else ""
