"""Write the text of an issue from the failing tests of a task: deterministic, without a model, and without the solution (pure).

R2E-Gym (section 2) found that issues back-translated from failing tests and their traces are precise, and that those from
the patch alone are generic. So the statement holds what was called, what happened and what was expected, and not the patch.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from training.gym.leak_check import remove_leaks

_MOST_TESTS: Final = 3
_MOST_LINES: Final = 12
_MOST_LETTERS: Final = 300
"""Letters of one line."""
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{6,}")
_HOST_PATH: Final = re.compile(r"(?<![\w.])/(?:[\w.+-]+/){2,}")
"""Folders of the machine, such as that of the test environment."""
_MISSING: Final = re.compile(
    r"(?:cannot import name|module '[\w.]+' has no attribute|No module named|unexpected keyword argument) '([\w.]+)'"
)
_HELPERS: Final = frozenset({"describe_value", "pytest.raises"})
"""Calls of tests that no user makes."""
_COMPARED: Final = re.compile(r"assert .* (==|!=|in|is|<|>|<=|>=) ")


def write_statement(
    repository: str,
    fail_to_pass: Sequence[str],
    errors: Mapping[str, str],
    patch: str,
    test_patch: str,
) -> str:
    """Return the statement of a task. `errors` holds the texts of the failures before the patch, by test or module.

    Lines that would give away a part of the diffs are left out.
    """
    failures: dict[str, list[str]] = {}
    for test in fail_to_pass:
        text = errors.get(test) or errors.get(test.partition("::")[0], "")
        failures.setdefault(text, []).append(test)
    diffs = patch, test_patch
    blocks: dict[tuple[str, ...], list[str]] = {}
    for text, tests in failures.items():
        blocks.setdefault(tuple(_describe_error(text, *diffs)), []).extend(tests)
    shown = list(blocks.items())[:_MOST_TESTS]
    title = describe_behaviour(shown[0][1][0])
    parts = [f"{title[:1].upper()}{title[1:]} ({repository.rpartition('/')[2]})"]
    for lines, tests in shown:
        parts.append("\n".join(remove_leaks([_name_cases(tests), "", *lines], *diffs)))
    more = len(fail_to_pass) - sum(len(tests) for _, tests in shown)
    if more:
        parts.append(f"{more} more cases of this kind fail.")
    return re.sub(r"\n{3,}", "\n\n", "\n\n".join(parts)).strip() + "\n"


def describe_behaviour(test: str) -> str:
    """Return the behaviour that a test is named for, in words."""
    name = test.rpartition("::")[2].partition("[")[0]
    words = [word if word.isupper() else word.lower() for word in _WORDS.findall(name)]
    return " ".join(words[1:] if words[:1] == ["test"] else words) or name


def _name_cases(tests: Sequence[str]) -> str:
    names = [f'"{name}"' for name in dict.fromkeys(map(describe_behaviour, tests))]
    shown = ", ".join(names[:_MOST_TESTS]) + (" and others" if len(names) > _MOST_TESTS else "")
    return f"{'This case fails' if len(names) == 1 else 'These cases fail'}: {shown}."


def _describe_error(error: str, patch: str, test_patch: str) -> Iterator[str]:
    """Yield the lines about a failure: what was called, what happened and what was expected, without leaks."""
    happened = [line[1:].strip() for line in error.splitlines() if re.match(r"E\s", line)]
    calls = [f"    {_shorten(call)}"] if (call := find_call(error)) else []
    lines = [f"    {_shorten(line)}" for line in happened[:_MOST_LINES]]
    for title, block in (("What I run:", calls), ("What happens:", lines)):
        if harmless := remove_leaks(block, patch, test_patch):
            yield from (title, "", *harmless, "")
    yield _describe_expectation("\n".join(happened))


def _describe_expectation(happened: str) -> str:
    """Return what should happen instead, as far as the error tells."""
    if missing := _MISSING.search(happened):
        return f"I expect `{missing[1]}` to be there and to work."
    if "DID NOT RAISE" in happened:
        return "I expect the error that is named above."
    if _COMPARED.search(happened):
        return "The first value is the result, and the comparison says what I expect of it."
    return "I expect it to work without this error."


def find_call(error: str) -> str | None:
    """Return the call that fails, from the lines that pytest marks with `>`; None if none can be read."""
    marked = [line[1:].strip() for line in error.splitlines() if line.startswith(">")]
    for line in marked:
        for text in (line, f"{line}\n    pass"):
            try:
                tree = ast.parse(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            calls = [
                node
                for node in ast.walk(tree)
                if isinstance(node, ast.Call) and ast.unparse(node.func) not in _HELPERS
            ]
            if calls:
                return ast.unparse(calls[0])
    return None


def _shorten(line: str) -> str:
    plain = _HOST_PATH.sub("…/", _ADDRESS.sub("0x…", line))
    return plain if len(plain) <= _MOST_LETTERS else f"{plain[:_MOST_LETTERS]}…"
