"""Write the text of an issue from the failing tests of a task: deterministic, without a model, and without the solution (pure).

R2E-Gym (section 2) found that issues back-translated from failing tests and their traces are precise, and that those from
the patch alone are generic. So the statement holds what was called, what happened and what was expected, and not the patch.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Final

from training.gym.leak_check import LeakGuard
from training.gym.statements.case_wording import FailedTest, describe_test
from training.gym.statements.expression_wording import quote_code, write_code
from training.gym.statements.failing_case import FailingCase, find_case, list_names, parse_module
from training.gym.statements.failure_text import Failure, read_failure
from training.gym.statements.outcome_wording import find_missing

_MOST_BLOCKS: Final = 3
_MOST_NAMES: Final = 3
_MOST_VALUES: Final = 5
"""Other arguments of one test that are named."""
_MOST_LETTERS: Final = 200
"""Letters of them for one case."""
_MOST_BYTES: Final = 2_000_000
"""A larger module is data, not a test that a statement could tell."""
_TOO_LARGE: Final = (RecursionError, ValueError)
"""Python raises these for a syntax tree that is nested too deeply, and for a number of too many digits."""
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def write_statement(
    repository: str,
    fail_to_pass: Sequence[str],
    errors: Mapping[str, str],
    patch: str,
    test_patch: str,
    sources: Mapping[str, str] | None = None,
) -> str:
    """Return the statement of a task.

    `errors` holds the texts of the failures before the patch, by test or module. `sources` holds the test modules and the
    `conftest.py` files with the test patch, by path. Sentences that would give away a part of the diffs are left out.
    Raises BadDiff.
    """
    guard = LeakGuard(patch, test_patch)
    groups = _group(list(_read_tests(fail_to_pass, errors, sources or {})))
    blocks: dict[str, list[FailedTest]] = {}
    for tests in _order(groups):
        if len(blocks) < _MOST_BLOCKS:
            blocks.setdefault(_write_block(tests, guard), []).extend(tests)
    title = describe_behaviour(next(iter(blocks.values()))[0].id)
    parts = [f"{title[:1].upper()}{title[1:]} ({repository.rpartition('/')[2]})", *blocks]
    named = {test.id for tests in blocks.values() for test in tests}
    if rest := [test for group in groups for test in group if test.id not in named]:
        parts.append(_name_cases(rest, "also "))
    return re.sub(r"\n{3,}", "\n\n", "\n\n".join(parts)).strip() + "\n"


def _write_block(tests: Sequence[FailedTest], guard: LeakGuard) -> str:
    """Return the lines about one function. `tests` differ in their arguments only."""
    lines = [
        _name_cases(tests[:1]),
        "",
        *_describe(tests[0], guard),
        *_name_values(tests, guard),
    ]
    return "\n".join(line for line in lines if guard.is_safe(line))


def _describe(test: FailedTest, guard: LeakGuard) -> list[str]:
    """Return the lines about a test; those about its error alone if its source is too large to handle."""
    try:
        return list(describe_test(test, guard))
    except _TOO_LARGE:
        failure = replace(test.failure, marked=())
        return list(describe_test(replace(test, case=None, failure=failure), guard))


def read_sources(
    tests: Iterable[str], written: Mapping[str, bytes], read: Callable[[str], bytes | None]
) -> dict[str, str]:
    """Return the texts of these files with the test patch, by path.

    `tests` are the ids of tests. `written` are the files of the test patch. `read` returns another file, and None for one that
    is not there.
    """
    sources = {}
    for path in sorted({path for test in tests for path in _list_source_paths(test)}):
        content = written[path] if path in written else read(path)
        if content is not None and len(content) <= _MOST_BYTES:
            sources[path] = content.decode(errors="replace")
    return sources


def describe_behaviour(test: str) -> str:
    """Return the behaviour that a test is named for, in words."""
    name = test.partition("[")[0].rpartition("::")[2]
    words = [word if word.isupper() else word.lower() for word in _WORDS.findall(name)]
    return " ".join(words[1:] if words[:1] == ["test"] else words) or name


def _read_tests(
    fail_to_pass: Sequence[str], errors: Mapping[str, str], sources: Mapping[str, str]
) -> Iterator[FailedTest]:
    modules = {path: parse_module(text) for path, text in sorted(sources.items())}
    for test in fail_to_pass:
        path = test.partition("::")[0]
        failure = read_failure(errors.get(test) or errors.get(path, ""))
        module = modules.get(path)
        near = [modules.get(place) for place in _list_source_paths(test)]
        case = _find_case(test, failure, module) if module else None
        yield FailedTest(test, failure, case, tuple(filter(None, near)))


def _find_case(test: str, failure: Failure, module: ast.Module) -> FailingCase | None:
    """Return the case of a test; None also if its source is too large to handle."""
    try:
        return find_case(test, failure, module)
    except _TOO_LARGE:
        return None


def _group(tests: Sequence[FailedTest]) -> list[list[FailedTest]]:
    """Return the tests by error, or by function and failing line where a comparison fails.

    The first test of a group is one that uses the missing name, if the error tells one.
    """
    places: dict[tuple[str, ...], str] = {}
    groups: dict[str, list[FailedTest]] = {}
    for test in tests:
        headline = test.failure.headline
        kind = headline.partition(":")[0]
        line = str(test.case.failing.lineno) if test.case and test.case.failing else ""
        is_comparison = headline.startswith(("assert", "AssertionError", "Failed"))
        place = _name_function(test), line, "" if is_comparison else kind
        name = places.setdefault(place, "\n".join(place) if is_comparison else headline)
        groups.setdefault(name, []).append(test)
    return [sorted(group, key=lambda test: not _uses_missing(test)) for group in groups.values()]


def _order(groups: Sequence[list[FailedTest]]) -> list[list[FailedTest]]:
    """Return functions with their failures: the first of each group, then others. Those without an error come last."""
    functions: list[list[list[FailedTest]]] = []
    for group in groups:
        by_function: dict[str, list[FailedTest]] = {}
        for test in group:
            by_function.setdefault(_name_function(test), []).append(test)
        functions.append(list(by_function.values()))
    firsts = [of_group[0] for of_group in functions]
    others = [
        tests
        for of_group in functions
        for tests in of_group[1:]
        if find_missing(tests[0].failure) is None or _uses_missing(tests[0])
    ]
    return sorted([*firsts, *others], key=lambda tests: not tests[0].failure.headline)


def _name_function(test: FailedTest) -> str:
    return test.id.partition("[")[0]


def _uses_missing(test: FailedTest) -> bool:
    missing = find_missing(test.failure)
    return missing is not None and any(missing in list_names(test.id, m) for m in test.modules[:1])


def _name_cases(tests: Sequence[FailedTest], also: str = "") -> str:
    names = [f'"{name}"' for name in dict.fromkeys(describe_behaviour(test.id) for test in tests)]
    shown = ", ".join(names[:_MOST_NAMES]) + (" and others" if len(names) > _MOST_NAMES else "")
    return f"{f'This case {also}fails' if len(names) == 1 else f'These cases {also}fail'}: {shown}."


def _name_values(tests: Sequence[FailedTest], guard: LeakGuard) -> Iterator[str]:
    """Yield the arguments with which the first test fails as well."""
    texts = [
        ", ".join(
            f"{quote_code(key)} as {quote_code(write_code(value))}" for key, value in values.items()
        )
        for values in (test.case.values for test in tests[1:] if test.case)
    ]
    shown = [
        text
        for text in dict.fromkeys(texts)
        if text and len(text) <= _MOST_LETTERS and guard.is_safe(text)
    ][:_MOST_VALUES]
    if shown:
        yield from ("", "It fails in the same way with:", "", *(f"- {text}" for text in shown))


def _list_source_paths(test: str) -> Iterator[str]:
    """Yield the path of a test's module, and those that its `conftest.py` files may have, the nearest first."""
    module = test.partition("::")[0]
    yield module
    for folder in PurePosixPath(module).parents:
        yield (folder / "conftest.py").as_posix()
