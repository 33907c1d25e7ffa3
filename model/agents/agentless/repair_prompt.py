"""Choose the prompt of the repairs, a shipped one or the operator's, and the reader of its replies."""

from collections.abc import Callable
from pathlib import Path

from model.agents.agentless.search_replace import PARSERS, SearchReplaceEdit, parse, parse_solution
from model.errors import TemplateError
from model.prompts import prompt_template, template_checks
from model.prompts.prompt_template import Template

_SAMPLES = {
    "issue": "The issue:\n    a < b & c",
    "hint": "The hint:\n    d < e & f",
    "paths": ("folder/first.py", "folder/third.py"),
    "files": ("first = 1 < 2\n\tsecond = [&]", "def third():\n    return 'x' > 'y'"),
    "left_out": "a/long_file.py",
}


def load_repair_prompt(name: str | Path) -> Template:
    """Load a repair prompt by its name in PARSERS or by the path of the operator's file.

    Raises TemplateError, with file, line and fix, for an unknown name and for a template that leaves something out.
    """
    if prompt_template.is_name(name) and name not in PARSERS:
        raise TemplateError(
            f"no repair prompt is called {name!r}; there are {', '.join(PARSERS)}, or the path of a file"
        )
    template = prompt_template.load(name)
    if template.name not in PARSERS:
        template_checks.check_values_are_shown(
            template.name,
            template.source,
            template.render,
            _SAMPLES,
        )
    return template


def get_parser(template: Template) -> Callable[[str], tuple[SearchReplaceEdit, ...]]:
    """Return the parser of the replies to a repair prompt.

    A prompt of the operator's that mentions `<solution>` has SWE-RL's form of reply; any other has bare edits.
    """
    own = parse_solution if "<solution>" in template.source else parse
    return PARSERS.get(template.name, own)
