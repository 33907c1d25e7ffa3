"""This module loads and renders prompt templates, one file each, with a version and a fingerprint.

`model.prompts.untrusted` escapes untrusted text before it comes here.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2

from model.errors import TemplateError
from model.protocols import Message

_FOLDER = Path(__file__).parent
_VERSION = re.compile(r"r4p-prompt version:\s*([\w.-]+)")
_BLOCKS = ("system", "user")


@dataclass(frozen=True, slots=True)
class Template:
    """A prompt template with a `system` and a `user` block. `version` is from a line of its file, or `unversioned`."""

    name: str
    version: str
    fingerprint: str
    """The first 12 hex digits of the SHA-256 of the file's bytes."""
    compiled: jinja2.Template

    def render(self, **values: str | Sequence[str]) -> tuple[Message, ...]:
        """Return the prompt's system message and user message, filled with `values`, the template's variables.

        Raises TemplateError for a missing value.
        """
        try:
            context = self.compiled.new_context(values)
            return tuple(
                Message(block, "".join(self.compiled.blocks[block](context)).strip())
                for block in _BLOCKS
            )
        except (jinja2.TemplateError, TypeError, ValueError) as error:
            raise TemplateError(f"prompt {self.name} does not render: {error}") from error


def load(name: str | Path) -> Template:
    """Load a prompt template by its name in this folder (`r4p_group`) or by the path of a file.

    Raises TemplateError, whose message names the file and, for a syntax error, the line.
    """
    path = _FOLDER / f"{name}.j2" if re.fullmatch(r"[a-z0-9_]+", str(name)) else Path(name)
    try:
        raw = path.read_bytes()
        source = raw.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError(f"prompt {path} can't be read: {error}") from error
    # Prompts are plain text: HTML escaping would change the code in them.
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)  # noqa: S701
    try:
        compiled = environment.from_string(source)
    except jinja2.TemplateSyntaxError as error:
        raise TemplateError(f"prompt {path}, line {error.lineno}: {error.message}") from error
    if missing := [block for block in _BLOCKS if block not in compiled.blocks]:
        raise TemplateError(
            f"prompt {path} has no block `{missing[0]}`: add {{% block {missing[0]} %}}"
        )
    version = _VERSION.search(source)
    return Template(
        name=path.stem,
        version=version[1] if version else "unversioned",
        fingerprint=hashlib.sha256(raw).hexdigest()[:12],
        compiled=compiled,
    )
