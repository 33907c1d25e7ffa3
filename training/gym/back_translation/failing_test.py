"""Choose the failing tests of a commit that a prompt shows, with their functions and what they print.

R2E-Gym (appendix A) gives the model the test functions that demonstrate the bug, and the failures of the run before the commit.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from model.codegraph.reader_pool import ReadRequest, read_all
from model.prompts.untrusted import cut_middle

MOST_TESTS: Final = 3
_SOURCE_ENDS: Final = (2_000, 500)
"""Characters of a function that are shown of its beginning and of its end."""
_OUTPUT_ENDS: Final = (500, 2_000)
_READ_SECONDS: Final = 60.0
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{6,}")
_HOST_PATH: Final = re.compile(r"(?<![\w.:/])/(?:[\w.+-]+/){2,}")
"""Folders of the machine. A user of the project has others."""


@dataclass(frozen=True, slots=True)
class FailingTest:
    """A fail-to-pass test as a prompt shows it."""

    source: str
    """The text of its function; its id if the function cannot be found."""
    output: str
    """What it prints before the commit."""


def choose_failing_tests(
    fail_to_pass: Sequence[str], errors: Mapping[str, str], modules: Mapping[str, bytes]
) -> tuple[FailingTest, ...]:
    """Return at most three tests of different functions, those with different errors first.

    `errors` holds the texts of the failures before the commit by test or module, `modules` the test files by path. Raises NoReader.
    """
    chosen = list(_order(fail_to_pass, errors))[:MOST_TESTS]
    sources = _read_functions({test.partition("::")[0] for test in chosen}, modules)
    return tuple(
        FailingTest(
            cut_middle(sources.get(_name_function(test), test), *_SOURCE_ENDS),
            cut_middle(_hide_machine(_find_error(errors, test)), *_OUTPUT_ENDS),
        )
        for test in chosen
    )


def _order(tests: Sequence[str], errors: Mapping[str, str]) -> Iterator[str]:
    """Yield the first test of each function: those with an error that no earlier one has, then the others."""
    firsts: dict[str, str] = {}
    for test in tests:
        firsts.setdefault(_name_function(test), test)
    distinct: dict[str, str] = {}
    for test in firsts.values():
        distinct.setdefault(_find_error(errors, test), test)
    yield from distinct.values()
    yield from (test for test in firsts.values() if test not in distinct.values())


def _read_functions(paths: set[str], modules: Mapping[str, bytes]) -> dict[str, str]:
    """Return the text of each function and method of some modules, by the id of its test."""
    wanted = [ReadRequest("python", path) for path in sorted(paths & modules.keys())]
    return {
        "::".join((path, *filter(None, row.scope.split(".")), row.name)): _cut_out(
            modules[path], row.start_byte, row.end_byte
        )
        for (_, path), reading in read_all(wanted, lambda path: modules[path], _READ_SECONDS)
        for row in reading.rows
    }


def _cut_out(content: bytes, start: int, end: int) -> str:
    return content[start:end].decode(errors="surrogateescape")


def _name_function(test: str) -> str:
    """Return the id of a test without its parameters."""
    return test.partition("[")[0]


def _find_error(errors: Mapping[str, str], test: str) -> str:
    return errors.get(test) or errors.get(test.partition("::")[0], "")


def _hide_machine(text: str) -> str:
    return _HOST_PATH.sub("…/", _ADDRESS.sub("0x…", text)).strip()
