"""Ask a language model for reproduction tests of an issue."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from model.domain import Issue
from model.errors import EngineError
from model.prompts import prompt_template
from model.prompts.prompt_template import Template
from model.prompts.untrusted import escape_issue, escape_patch, restore_escapes
from model.protocols import Engine, Message, PromptReader, Request
from model.reproduction.example_search import ExampleFile, find_example
from model.reproduction.reproduction_test import (
    MOST_CHARACTERS,
    DropReason,
    KeptTests,
    collect_tests,
)
from model.workspace import Workspace

PROMPT: Final = "reproduction_test"
_EXAMPLE_TOKENS: Final = 6_000
"""Most tokens of the test file that is shown. A longer one ends early."""
_SPARE_TOKENS: Final = 128
"""Reserve for the chat template's own tokens, and for texts whose counts do not add up exactly."""
_LONGEST_TOKEN: Final = 10
"""Upper bound of characters per token of source code."""
_MOST_PATHS: Final = 100_000
_FENCED: Final = re.compile(
    r"^[ \t]*```(?:python|py)?[ \t]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class WritingLimits:
    """How many tests an engine writes for one issue, and how long it may take."""

    tests: int = 8
    reply_tokens: int = 4_096
    temperature: float = 1.0
    seconds: float | None = None
    """Time limit of the replies together; None leaves it to the engine."""


_LIMITS: Final = WritingLimits()


@dataclass(frozen=True, slots=True)
class WrittenTests:
    """What an engine wrote when it was asked for tests of an issue. Nothing in it was run."""

    texts: tuple[str, ...]
    """The scripts. Equal ones are votes for one test."""
    dropped: Mapping[DropReason, int] = field(default_factory=dict)
    """How many replies hold no script, by reason."""
    tokens: int = 0
    """Tokens that the engine read and wrote, without cached ones."""


def write_tests(
    engine: Engine, issue: Issue, tree: Path, *, seed: int = 0, limits: WritingLimits = _LIMITS
) -> KeptTests:
    """Let the engine write tests of an issue, and return those that may be run.

    Reads the folder `tree` and runs nothing. A request that fails is counted as dropped. Raises EngineDown.
    """
    example = find_tree_example(tree, issue)
    written = ask_for_tests(engine, issue, example, seed=seed, limits=limits)
    collected = collect_tests(written.texts)
    return replace(collected, dropped=Counter(written.dropped) + Counter(collected.dropped))


def find_tree_example(tree: Path, issue: Issue) -> ExampleFile | None:
    """Return the test file of the folder `tree` that is nearest to an issue; None where none is near."""
    with Workspace.open(tree) as workspace:
        return find_example(_list_files(tree), issue.text, workspace.read_original)


def ask_for_tests(
    engine: Engine,
    issue: Issue,
    example: ExampleFile | None,
    *,
    seed: int = 0,
    limits: WritingLimits = _LIMITS,
) -> WrittenTests:
    """Ask the engine for tests of an issue. A request that fails is counted as dropped. Raises EngineDown."""
    template = prompt_template.load(PROMPT)
    prompt = build_prompt(
        template, issue, example, engine, engine.count_tokens, limits.reply_tokens
    )
    request = Request(prompt, limits.reply_tokens, limits.temperature, seed, seconds=limits.seconds)
    answers = engine.complete(
        [replace(request, seed=seed * 1_000 + number) for number in range(limits.tests)]
    )
    texts, dropped, tokens = [], Counter[DropReason](), 0
    for answer in answers:
        if not isinstance(answer, EngineError):
            tokens += answer.prompt_tokens - answer.cached_tokens + answer.completion_tokens
        if isinstance(answer, EngineError) or not answer.finished:
            dropped[DropReason.NO_REPLY] += 1
        elif script := read_script(answer.text):
            texts.append(script)
        else:
            dropped[DropReason.NO_SCRIPT] += 1
    return WrittenTests(tuple(texts), dropped, tokens)


def build_prompt(
    template: Template,
    issue: Issue,
    example: ExampleFile | None,
    reader: PromptReader,
    count_tokens: Callable[[str], int],
    reply_tokens: int,
) -> tuple[Message, ...]:
    """Build the prompt for one test, with as many lines of the example as fit beside the issue.

    `count_tokens` counts like that of `reader`, and may also record the counts.
    """
    special = reader.special_tokens
    shown = escape_issue(issue.text, special).text
    bare = template.render(issue=shown, test_path="", test_file="")
    if example is None:
        return bare
    used = sum(count_tokens(message.content) for message in bare) + reply_tokens + _SPARE_TOKENS
    text = escape_patch(example.text, special).text
    cut = _cut_lines(text, min(_EXAMPLE_TOKENS, reader.context_tokens - used), count_tokens)
    path = escape_patch(example.path, special).text
    return template.render(issue=shown, test_path=path, test_file=cut) if cut else bare


def read_script(reply: str) -> str | None:
    """Return the script of a reply: its last fenced block of Python. None without one, or for one that is too long."""
    blocks = _FENCED.findall(reply.replace("\r\n", "\n"))
    script = restore_escapes(blocks[-1]) if blocks else ""
    return script if script.strip() and len(script) <= MOST_CHARACTERS else None


def _cut_lines(text: str, tokens: int, count_tokens: Callable[[str], int]) -> str:
    """Return the first whole lines of a text that fit into a number of tokens."""
    lines = text[: max(tokens, 0) * _LONGEST_TOKEN].split("\n")
    fits, too_many = 0, len(lines)
    while fits < too_many:
        middle = (fits + too_many + 1) // 2
        if count_tokens("\n".join(lines[:middle])) <= tokens:
            fits = middle
        else:
            too_many = middle - 1
    return "\n".join(lines[:fits]).rstrip()


def _list_files(tree: Path) -> Iterator[str]:
    """Yield the paths of a folder's files, without hidden folders and links."""
    listed = 0
    for folder, folders, names in os.walk(tree):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            listed += 1
            if listed > _MOST_PATHS:
                return
            yield (Path(folder) / name).relative_to(tree).as_posix()
