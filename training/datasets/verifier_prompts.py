"""Render verifier prompts for training, exactly as the bot renders them (pure).

Training escapes the special tokens of its own tokenizer, as the server of the adapter does: an adapter keeps its base's
tokenizer. If the server does not tell its tokens, texts with a token of an unknown family differ between the two.
"""

from model.patches.diff import extract_bare_diff
from model.prompts.prompt_template import Template
from model.prompts.special_tokens import SpecialTokens
from model.prompts.untrusted import escape_issue, escape_patch
from model.protocols import Message, PromptReader
from model.verifiers import judge_prompts, yes_no
from training.datasets.groups import TrainingGroup


def load_template(name: str, verifier: str) -> Template:
    """Load the template `name` of a plan for a model that will be asked as the verifier `verifier`.

    `name` is a shipped template's name or the path of a file. Raises TemplateError as the verifier does.
    """
    return judge_prompts.load_prompt(verifier, {verifier: name})


def render_group(
    template: Template, group: TrainingGroup, tokens: SpecialTokens = None
) -> tuple[Message, ...]:
    """Return the verifier's prompt about all patches of a group, in its order. Raises BadDiff for a bad patch.

    `tokens` are the special tokens of the model's tokenizer.
    """
    return render_patches(template, group.problem_statement, group.patches, tokens)


def render_patches(
    template: Template, issue: str, patches: tuple[str, ...], tokens: SpecialTokens = None
) -> tuple[Message, ...]:
    """Return the verifier's prompt about patches of an issue. `issue` is its text, and a patch "" is an empty seat.

    `tokens` are the special tokens of the model's tokenizer. Raises BadDiff for a patch that cannot be read.
    """
    escaped = template.add_delimiters(tokens)
    shown = tuple(_render_patch(patch, escaped) for patch in patches)
    text = escape_issue(issue, escaped).text
    unused = {"paths": (), "files": (), "left_out": ""}  # a repair prompt is probed without files
    return template.render(issue=text, patches=shown, trajectory="", code="", hint="", **unused)


def render_patch_with_trajectory(
    template: Template, issue: str, patch: str, trajectory: str | None, reader: PromptReader
) -> tuple[Message, ...]:
    """Return the prompt of `yes-no-trajectory` about one patch, with its trajectory where that is known.

    `issue` is its text. `reader` is the model's tokenizer, with the longest prompt that training shows; longer
    trajectories are shortened, as in judging. Raises BadDiff for a patch that cannot be read.
    """
    escaped = template.add_delimiters(reader.special_tokens)
    text, shown = escape_issue(issue, escaped).text, _render_patch(patch, escaped)
    record = yes_no.fit_trajectory(reader, template, text, shown, trajectory) if trajectory else ""
    return template.render(issue=text, patches=(shown,), trajectory=record, code="", hint="")


def _render_patch(patch: str, tokens: SpecialTokens) -> str:
    if not patch:
        return ""
    return escape_patch(extract_bare_diff(patch).text.removesuffix("\n"), tokens).text
