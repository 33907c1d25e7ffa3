"""This module chooses the prompt template of each verifier, the shipped one or the operator's, and checks it.

Training loads its templates here too, so that a model is asked with the bytes that it learnt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Final

from model.errors import TemplateError
from model.prompts import prompt_template, template_checks
from model.prompts.fingerprint import combine_fingerprints
from model.prompts.prompt_template import Template
from model.protocols import Message
from model.voting.grouping import SEATS, SINGLY, Scheme, build_group_scheme


@dataclass(frozen=True, slots=True)
class PromptForm:
    """What a verifier shows with its prompt, and its shipped template."""

    template: str
    seats: int
    reads_trajectory: bool = False
    reads_rubric: bool = False


FORMS: Final[Mapping[str, PromptForm]] = {
    "r4p": PromptForm("r4p_group", SEATS),
    "r4p-two-rounds": PromptForm("most_likely", SEATS + 1),  # all candidates: any number of seats
    "pointwise": PromptForm("r4p_group", 1),
    "pairwise": PromptForm("pairwise", 2),
    "swiss": PromptForm("pairwise", 2),
    "yes-no": PromptForm("yes_no", 1),
    "yes-no-trajectory": PromptForm("yes_no", 1, reads_trajectory=True),
    "reward-model": PromptForm("yes_no", 1),
    "review": PromptForm("review", 1),
    "test-report": PromptForm("test_report", 1),
    "rubric": PromptForm("rubric_grade", 1, reads_rubric=True),
}
"""The form of each verifier that has a prompt. `r4p-two-rounds` is its second round; the first one is `r4p`'s."""

SHOWING_VERIFIERS: Final = frozenset({"r4p", "pointwise"})
"""Verifiers whose template may show code."""
_GROUP_PROMPTS: Final = ("r4p_group", "r4p_group_v2", "r4p_appendix_b")
"""Shipped templates among which an operator chooses for these verifiers."""
COPY = "prompt.j2"
"""Name of the copy of its template in the folder of a training."""
_SAMPLE = 'if a < b and b > "{}":\n    # ' + "a long line of it & more " * 20 + "\n\treturn '{}';"
"""A text that a filter would change: escaping, wrapping, indenting, stripping, lower case, cutting."""


def parse_prompts(
    text: str | Path | Mapping[str, str] | None, parts: Sequence[str]
) -> Mapping[str, str]:
    """Return the operator's templates by verifier, from `FILE` or `VERIFIER=FILE,VERIFIER=FILE`.

    `parts` are the verifiers that are asked, as `parse_verifier_name` gives them. A single FILE belongs to the last one.
    A FILE can also be the name of a shipped template. A mapping stays as it is. Raises TemplateError for a verifier without a prompt or
    outside `parts`.
    """
    if text is None or isinstance(text, Mapping):
        return text or {}
    pairs = [pair.partition("=") for pair in str(text).split(",")]
    unknown = [name.strip() for name, mark, _ in pairs if not mark or name.strip() not in FORMS]
    if unknown and len(unknown) < len(pairs):
        raise TemplateError(
            f"prompt {text} names {unknown[0]!r}, which is no verifier with a prompt; there are {', '.join(FORMS)}"
        )
    if unknown:
        pairs = [(parts[-1], "=", str(text))]
    rounds = {"r4p"} if "r4p-two-rounds" in parts else set()
    having = [name for name in FORMS if name in {*parts, *rounds}]
    chosen = {name.strip(): file.strip() for name, _, file in pairs}
    if idle := [name for name in chosen if name not in having]:
        fix = f"write VERIFIER=FILE for {' or '.join(having)}" if having else "leave it out"
        raise TemplateError(
            f"a prompt does nothing for verifier {idle[0]} here, which settles without a prompt or is not asked; {fix}"
        )
    return chosen


def choose_trained_prompt(run: Path, otherwise: str | None = None) -> str | None:
    """Return the template with which to ask a trained model, so that asking and training agree; None for the shipped one.

    `run` is the folder of its training, which holds a copy of the template. Without a copy, `otherwise` is returned.
    """
    copy = run / COPY
    if not copy.is_file():
        return otherwise
    shipped = {prompt_template.load(form.template).fingerprint for form in FORMS.values()}
    return None if prompt_template.load(copy).fingerprint in shipped else str(copy)


def load_prompt(verifier: str, prompts: Mapping[str, str]) -> Template:
    """Load the template of the verifier `verifier`: the one that `prompts` names for it, else the shipped one.

    Raises TemplateError, with file, line and fix, for a template that `verifier` cannot ask with.
    """
    form = FORMS[verifier]
    template = prompt_template.load(prompts.get(verifier, form.template))
    if template.name != form.template:
        _check_form(template, form)
    return template


def shows_code(parts: Sequence[str], prompt: str | Path | Mapping[str, str] | None) -> bool:
    """Return whether the prompt of one of the verifiers `parts` shows code of the base. Raises TemplateError.

    `prompt` is the `text` of `parse_prompts`.
    """
    prompts = parse_prompts(prompt, parts)
    asked = SHOWING_VERIFIERS.intersection(parts)
    return any(load_prompt(name, prompts).shows_code for name in asked)


def build_salt(scheme: Scheme, *, shows_code: bool) -> list[str]:
    """Return what a voting verifier adds to the fingerprint of its prompt, because other votes must not be added to its own.

    The paper's scheme without code adds nothing.
    """
    salt = [] if scheme.name == "groups" else [scheme.name]
    return [*salt, *(["code of the base"] if shows_code else [])]


def find_prompt_name(fingerprint: str) -> str | None:
    """Return the shipped template behind the prompt fingerprint of a voting verifier.

    The result is None for an operator's own template, and for a verifier that has one shipped template only.
    """
    return _list_fingerprints().get(fingerprint)


@cache
def _list_fingerprints() -> Mapping[str, str]:
    schemes = build_group_scheme(), build_group_scheme(leave_one_out=True), SINGLY
    ways = product(_GROUP_PROMPTS, schemes, (False, True))
    return {
        combine_fingerprints(
            prompt_template.load(name).fingerprint, *build_salt(scheme, shows_code=shows_code)
        ): name
        for name, scheme, shows_code in ways
    }


def _check_form(template: Template, form: PromptForm) -> None:
    """Check that a template shows the issue, each patch and, where the form has one, the trajectory."""
    values: dict[str, str | tuple[str, ...]] = {
        "issue": _SAMPLE.format("Issue", 0),
        "patches": tuple(_SAMPLE.format("Patch", seat) for seat in range(1, form.seats + 1)),
    }
    if form.reads_trajectory:
        values["trajectory"] = _SAMPLE.format("Trajectory", 0)
    if form.reads_rubric:
        values["rubric"] = _SAMPLE.format("Rubric", 0)

    def render(**shown: str | Sequence[str]) -> tuple[Message, ...]:
        # every judge passes these variables; a patch without a trajectory has an empty one
        return template.render(**{"trajectory": "", "code": "", **shown})

    template_checks.check_values_are_shown(template.name, template.source, render, values)
    render(**values | {"trajectory": ""})
