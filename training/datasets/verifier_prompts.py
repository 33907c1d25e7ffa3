"""What a verifier in training is asked: a group as the bot shows it, with the same prompt and the same escapes (pure)."""

from model.patches.diff import bare
from model.prompts.prompt_template import Template
from model.prompts.untrusted import safe_issue, safe_patch
from model.protocols import Message
from training.datasets.groups import TrainingGroup


def of_group(template: Template, group: TrainingGroup) -> tuple[Message, ...]:
    """The question about all patches of a group, in its order. Raises BadDiff for one that the bot would not judge."""
    return of_patches(template, group.problem_statement, group.patches)


def of_patches(template: Template, issue: str, patches: tuple[str, ...]) -> tuple[Message, ...]:
    """The question about some patches, "" for an empty seat. Raises BadDiff."""
    shown = tuple(map(_shown, patches))
    return template.render(issue=safe_issue(issue).text, patches=shown, trajectory="", hint="")


def _shown(patch: str) -> str:
    return safe_patch(bare(patch).text.removesuffix("\n")).text if patch else ""
