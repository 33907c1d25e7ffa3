"""This module loads and renders prompt templates, one file each, with a version and a fingerprint.

`model.prompts.untrusted` escapes untrusted text before it comes here. A template of the operator's is checked, and runs
in Jinja2's sandbox like ours.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from model.errors import TemplateError
from model.prompts import template_checks
from model.prompts.special_tokens import SpecialTokens
from model.protocols import Message

MAX_BYTES = 65_536
"""Size of the largest template. A larger file is hardly a prompt."""

_FOLDER = Path(__file__).parent
_VERSION = re.compile(r"r4p-prompt version:\s*([\w.-]+)")
_CODE = re.compile(r"\{\{-?\s*code\s*-?\}\}")
_PROBABILITIES = re.compile(r"r4p-prompt probabilities:\s*yes")
_BLOCKS = ("system", "user")


# Prompts are plain text: HTML escaping would change the code in them.
_ENVIRONMENT = ImmutableSandboxedEnvironment(
    undefined=jinja2.StrictUndefined, keep_trailing_newline=True
)


@dataclass(frozen=True, slots=True)
class Template:
    """A prompt template with a `system` and a `user` block. `version` is from a line of its file, or `unversioned`."""

    name: str
    """Name of a shipped template, or path of a file."""
    version: str
    fingerprint: str
    """The first 12 hex digits of the SHA-256 of the file's bytes."""
    source: str = field(repr=False)
    compiled: jinja2.Template = field(repr=False)
    delimiters: frozenset[str] = frozenset()
    """Tags of an operator's own template. Untrusted text is escaped where it holds one. Ours are always escaped."""

    @property
    def asks_for_probabilities(self) -> bool:
        """Whether a line of the file says that a reply states a probability of each patch, as `Patch 1: 0.35`."""
        return _PROBABILITIES.search(self.source) is not None

    @property
    def shows_code(self) -> bool:
        """Whether the template shows definitions of the base."""
        return _CODE.search(self.source) is not None

    def render(self, **values: str | Sequence[str]) -> tuple[Message, ...]:
        """Return the prompt's messages, filled with `values`, the template's variables.

        An empty `system` block gives no system message. Raises TemplateError for a missing value.
        """
        try:
            context = self.compiled.new_context(values)
            texts = {
                block: "".join(self.compiled.blocks[block](context)).strip() for block in _BLOCKS
            }
        except (ArithmeticError, jinja2.TemplateError, LookupError, TypeError, ValueError) as error:
            line = _find_line(self.compiled, error.__traceback__)
            raise TemplateError(
                f"prompt {self.name}, line {line}: does not render: {error}"
            ) from error
        return tuple(Message(role, text) for role, text in texts.items() if text or role == "user")

    def add_delimiters(self, tokens: SpecialTokens) -> SpecialTokens:
        """Return the texts to escape in untrusted text: a tokenizer's special tokens and this template's delimiters.

        The result is None if neither is known.
        """
        return (tokens or frozenset()) | self.delimiters if self.delimiters else tokens


def load(name: str | Path) -> Template:
    """Load a prompt template by its name in this folder (`r4p_group`) or by the path of a file.

    Raises TemplateError, whose message names the file, the line where there is one, and the fix.
    """
    path = _FOLDER / f"{name}.j2" if is_name(name) else Path(name)
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise TemplateError(f"prompt {path} can't be read: {error}; name a file") from error
    return build(str(name), raw)


def is_name(name: str | Path) -> bool:
    """Return whether `name` can only be the name of a shipped template; any other is the path of a file."""
    return re.fullmatch(r"[a-z0-9_]+", str(name)) is not None


def build(name: str, raw: bytes) -> Template:
    """Build the template `name` from the bytes of its file. Raises TemplateError like `load`."""
    source = _decode(name, raw)
    try:
        template_checks.check_source(name, source)
        compiled = _ENVIRONMENT.from_string(source)
    except jinja2.TemplateSyntaxError as error:
        raise TemplateError(f"prompt {name}, line {error.lineno}: {error.message}") from error
    if missing := [block for block in _BLOCKS if block not in compiled.blocks]:
        raise TemplateError(
            f"prompt {name} has no block `{missing[0]}`: add {{% block {missing[0]} %}}"
        )
    version = _VERSION.search(source)
    template = Template(
        name=name,
        version=version[1] if version else "unversioned",
        fingerprint=hashlib.sha256(raw).hexdigest()[:12],
        source=source,
        compiled=compiled,
    )
    if _is_shipped(raw):
        return template
    return replace(template, delimiters=template_checks.find_delimiters(template.render))


def _decode(name: str, raw: bytes) -> str:
    if len(raw) > MAX_BYTES:
        raise TemplateError(f"prompt {name} has more than {MAX_BYTES:,} bytes; shorten it")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise TemplateError(f"prompt {name}, line {line}: is no UTF-8; save it as UTF-8") from error


def _is_shipped(raw: bytes) -> bool:
    """Return whether these are the bytes of a shipped template, under any name: a copy must render the same."""
    return any(raw == path.read_bytes() for path in _FOLDER.glob("*.j2"))


def _find_line(compiled: jinja2.Template, trace: TracebackType | None) -> int:
    """Return the template's line in which an error was raised; 1 if it is unknown."""
    line = 1
    while trace is not None:
        if trace.tb_frame.f_globals.get("__jinja_template__") is compiled:
            line = compiled.get_corresponding_lineno(trace.tb_lineno)
        trace = trace.tb_next
    return line
