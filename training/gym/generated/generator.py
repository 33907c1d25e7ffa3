"""Write tests for a commit that brings none: calls are evaluated before and after it, and those that differ become tests.

The expected value is what the true patch gives, as in the regression assertions of test generators such as Pynguin. So
these tests say that a behaviour changed, and not that the change was wanted.
"""

import ast
import builtins
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from model.execution.screening.patch_screening import is_test_file
from model.execution.suite_command import SuiteCommand
from model.execution.suite_process import run_tests
from model.execution.tree_changes import TreeChanges, join_changes
from training.gym.commits import test_commands
from training.gym.generated import call_variants, closed_calls, probe

_PROBE: Final = "test_r4p_probe.py"
_MOST_CALLS: Final = (400, 300, 700)
"""Most calls of changed definitions, of the tree's own tests and docstrings, and with exchanged literals."""
_MOST_TESTS: Final = 6
"""Most tests of calls that differ, and as many of calls that do not."""
_MOST_VALUE: Final = 1_000
_CARELESS: Final = frozenset(
    ["AssertionError", "AttributeError", "ImportError", "NameError", "RecursionError", "TypeError", "UnboundLocalError"]
)  # fmt: skip
"""Errors after the commit that no one would ask for."""


@dataclass(frozen=True, slots=True)
class ChangedTree:
    """A base tree with the true patch of a commit, and how its tests run."""

    tree: Path
    patch: TreeChanges
    command: str
    python: Path
    seconds: float

    def select_probe(self) -> SuiteCommand:
        """Return the command that runs the probe alone."""
        return test_commands.select_tests(self.command, [_PROBE], self.python, self.seconds)


def generate_tests(changed: ChangedTree, seed: str) -> TreeChanges | None:
    """Return the file of tests that fail before the patch and pass with it, as one run shows; None without any.

    Raises NoSandbox.
    """
    files = _read_files(changed)
    modules = closed_calls.name_modules(path for path in files if not is_test_file(path))
    edited = (path for path in changed.patch.written if path in changed.patch.before)
    sources = {path: modules[path] for path in edited if path in modules}
    if all(
        call_variants.reduce_to_behaviour(changed.patch.before.get(path, b""))
        == call_variants.reduce_to_behaviour(files[path])
        for path in sources
    ):
        return None
    calls = _list_calls(changed, files, modules, sources, random.Random(seed))
    before, after = (
        _observe(changed, calls, modules, has_patch=has_patch, is_full=False)
        for has_patch in (False, True)
    )
    if before is None or after is None or before == after:
        return None
    again = _observe(changed, calls, modules, has_patch=True, is_full=False) or [""] * len(after)
    kept = [number for number, text in enumerate(after) if text and text == again[number]]
    different = [number for number in kept if before[number] not in {after[number], ""}]
    same = [
        number for number in kept if before[number] == after[number] and after[number][0] in "=~"
    ]
    if not different:
        return None
    chosen = [*_choose(calls, different, 4 * _MOST_TESTS), *_choose(calls, same, _MOST_TESTS)]
    texts = _observe(
        changed, [calls[number] for number in chosen], modules, has_patch=True, is_full=True
    )
    values = dict(zip((calls[number] for number in chosen), texts or (), strict=False))
    return _write_module(changed, values, {calls[number] for number in different}, modules)


def _read_files(changed: ChangedTree) -> dict[str, bytes]:
    """Return the Python files of the tree with the patch, by path."""
    paths = sorted(changed.tree.rglob("*.py"))
    files = {
        path.relative_to(changed.tree).as_posix(): path.read_bytes()
        for path in paths
        if path.is_file() and not path.is_symlink()
    }
    return {
        **files,
        **{path: text for path, text in changed.patch.written.items() if path.endswith(".py")},
    }


def _list_calls(
    changed: ChangedTree,
    files: Mapping[str, bytes],
    modules: Mapping[str, str],
    sources: Mapping[str, str],
    choice: random.Random,
) -> list[str]:
    names = frozenset(modules.values())
    stems = {Path(path).stem for path in sources}
    tests = {path: text for path, text in files.items() if is_test_file(path)}
    near = {path: text for path, text in tests.items() if any(stem in path for stem in stems)}
    mined: dict[str, None] = {}
    for path, module in sources.items():
        mined |= dict.fromkeys(closed_calls.collect_calls({path: files[path]}, names, module))
    mined |= dict.fromkeys(closed_calls.collect_calls({**near, **tests}, names))
    standing = list(mined)
    literals = call_variants.list_literals([*near.values(), *(files[path] for path in sources)])
    definitions = [
        (module, owner, function)
        for path, module in sources.items()
        for owner, function in call_variants.list_definitions(
            changed.patch.before.get(path, b""), files[path]
        )
    ]
    direct = [
        call
        for definition in definitions
        for call in call_variants.call_definition(*definition, (literals, standing), choice)
    ]
    options = {
        function.name: [
            argument.arg for argument in (*function.args.args[1:], *function.args.kwonlyargs)
        ]
        for _, _, function in definitions
    }
    words = [
        word
        for path in sources
        for word in call_variants.list_new_words(changed.patch.before.get(path, b""), files[path])
    ]
    varied = _vary(standing, options, (literals, words), choice)
    groups = zip((direct, standing, varied), _MOST_CALLS, strict=True)
    return list(
        dict.fromkeys(call for group, most in groups for call in list(dict.fromkeys(group))[:most])
    )


def _vary(
    calls: Sequence[str],
    options: dict[str, list[str]],
    values: tuple[Sequence[str], Sequence[str]],
    choice: random.Random,
) -> list[str]:
    varied = []
    for _ in range(_MOST_CALLS[2] if calls else 0):
        call = choice.choice(calls)
        longer = call_variants.add_option(call, options, values[0], choice)
        if text := longer or call_variants.vary_call(call, *values, choice):
            varied.append(text)
    return varied


def _observe(
    changed: ChangedTree,
    calls: Sequence[str],
    modules: Mapping[str, str],
    *,
    has_patch: bool,
    is_full: bool,
) -> list[str] | None:
    needed = _list_modules(calls, modules)
    text = probe.write_probe(calls, needed, is_full=is_full)
    changes = TreeChanges({_PROBE: text.encode(errors="surrogateescape")})
    everything = join_changes(changed.patch, changes) if has_patch else changes
    run = run_tests(changed.tree, everything, changed.select_probe())
    return probe.read_report(run, len(calls))


def _list_modules(calls: Sequence[str], modules: Mapping[str, str]) -> list[str]:
    """Return the modules that calls use, by the longest name that fits, and the standard ones."""
    names = frozenset(modules.values()) | closed_calls.STANDARD
    needed = set()
    for call in calls:
        for path in re.findall(r"[A-Za-z_][\w.]*", call):
            steps = path.split(".")
            needed |= {".".join(steps[:end]) for end in range(1, len(steps) + 1)} & names
    return sorted(needed)


def _choose(calls: Sequence[str], numbers: Sequence[int], most: int) -> list[int]:
    """Return the calls to test: short ones first, and those of each function in turn."""
    seen: dict[str, int] = {}
    ranked = []
    for number in sorted(numbers, key=lambda number: (len(calls[number]), number)):
        name = _name_call(calls[number])
        seen[name] = seen.get(name, 0) + 1
        ranked.append((seen[name], number))
    return [number for _, number in sorted(ranked, key=lambda pair: pair[0])][:most]


def _name_call(call: str) -> str:
    node = ast.parse(call, mode="eval").body
    function = node.func if isinstance(node, ast.Call) else node
    return function.attr if isinstance(function, ast.Attribute) else "value"


def _write_module(
    changed: ChangedTree, values: Mapping[str, str], different: set[str], modules: Mapping[str, str]
) -> TreeChanges | None:
    tests: list[str] = []
    counts = {True: 0, False: 0}
    for call, value in values.items():
        body = _write_body(call, value)
        if body and counts[call in different] < _MOST_TESTS:
            counts[call in different] += 1
            tests.append(f"def test_{_name_call(call).strip('_')}_{len(tests) + 1}():\n{body}")
    if not counts[True]:
        return None
    imports = "import itertools\nimport re\n\nimport pytest\n" + probe.write_imports(
        _list_modules(list(values), modules)
    )
    text = "\n\n\n".join((imports, probe.HELPER.rstrip(), *tests)) + "\n"
    folder = next((name for name in ("tests/", "test/") if (changed.tree / name).is_dir()), "")
    return TreeChanges({f"{folder}test_generated.py": text.encode(errors="surrogateescape")})


def _write_body(call: str, value: str) -> str | None:
    """Return the body of a test; None for a value that no test can hold."""
    kind, _, text = value.partition(" ")
    if kind == "!" and text not in _CARELESS:
        name = text if hasattr(builtins, text) else "Exception"
        return f"    with pytest.raises({name}):\n        {call}"
    if kind not in {"=", "~"} or len(text) > _MOST_VALUE:
        return None
    try:
        if repr(ast.literal_eval(text)) != text:
            return None
    except (SyntaxError, ValueError):  # such as a number that is none
        return None
    shown = call if kind == "=" else f"describe_value({call})"
    return f"    assert {shown} == {text}"
