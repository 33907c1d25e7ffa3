"""Choose the steps that a failure depends on, from a test, its fixtures and its module (pure)."""

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from copy import deepcopy
from dataclasses import dataclass
from typing import Final

from training.gym.statements.failing_case import FailingCase, Function
from training.gym.statements.fixture_steps import expand_fixtures
from training.gym.statements.step_wording import find_error_check

_TEST_TOOLS: Final = frozenset({"pytest", "unittest", "hypothesis", "mock"})
_DEFINITIONS: Final = (
    ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign | Function | ast.ClassDef
)
_HELPERS: Final = frozenset({"describe_value"})
"""Functions of generated tests that no user calls."""


@dataclass(frozen=True, slots=True)
class ChosenSteps:
    """The steps before a failure that matter to it, in order."""

    definitions: list[ast.stmt]
    """Imports and definitions of the test's module and of those with its fixtures."""
    steps: list[ast.stmt]


def choose_steps(
    case: FailingCase, shown: Sequence[ast.stmt], modules: Sequence[ast.Module], parameter: str
) -> ChosenSteps:
    """Return the steps that matter to `shown`, which are the other steps of a statement.

    `modules` are that of the test and those of its fixtures. `parameter` is the part of the test's id in brackets.
    """
    given = [
        ast.Assign([ast.Name(name, ast.Store())], value) for name, value in case.values.items()
    ]
    prepared = expand_fixtures(case.fixtures, modules, parameter)
    steps = _slice((*given, *prepared, *case.before), shown)
    arguments = {*case.arguments, *case.fixtures}
    return ChosenSteps(list(_list_definitions((*steps, *shown), modules, arguments)), steps)


def _slice(steps: Sequence[ast.stmt], shown: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the steps that bind or change a value that `shown` needs, and those that may change what modules hold.

    A value is a name and the number of its assignment, so that a name may stand for several values in turn. Where `shown`
    needs no value, such as a call of `pytest.fail`, all last values count.
    """
    numbers = dict.fromkeys((name for step in steps for name in _list_bound(step)), 0)
    facts = [_StepFacts.read(step, numbers) for step in steps]
    bound = {name for step in shown for name in list_used(step) if name in numbers}
    needed = {(name, numbers[name]) for name in bound or numbers}
    chosen: set[int] = set()
    while True:
        added = {
            index
            for index, fact in enumerate(facts)
            if index not in chosen and (fact.is_global or fact.touched & needed)
        }
        if not added:
            return [step for index, step in enumerate(steps) if index in chosen]
        chosen |= added
        needed |= {value for index in added for value in facts[index].used | facts[index].touched}


@dataclass(frozen=True, slots=True)
class _StepFacts:
    """The values that a step reads, and those that it binds or may change."""

    used: frozenset[tuple[str, int]]
    touched: frozenset[tuple[str, int]]
    is_global: bool

    @classmethod
    def read(cls, step: ast.stmt, numbers: dict[str, int]) -> "_StepFacts":
        """Return the facts of a step, and count its assignments in `numbers`."""
        used = {(name, numbers[name]) for name in list_used(step) if name in numbers}
        touched = {(name, numbers[name]) for name in _list_changed(step) if name in numbers}
        is_assignment = isinstance(step, ast.Assign | ast.AnnAssign)
        for name in set(_list_bound(step)):
            numbers[name] += is_assignment
            touched.add((name, numbers[name]))
        return cls(frozenset(used), frozenset(touched), _acts_on_globals(step, set(numbers)))


def _list_bound(step: ast.stmt) -> Iterator[str]:
    """Yield the names that a step binds in its own scope."""
    if isinstance(step, Function | ast.ClassDef):
        yield step.name
    elif isinstance(step, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name).partition(".")[0] for alias in step.names)
    else:
        for node in ast.walk(step):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def list_used(step: ast.AST) -> Iterator[str]:
    """Yield the names that a step reads."""
    for node in ast.walk(step):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            yield node.id


def _list_changed(step: ast.stmt) -> set[str]:
    """Return the names whose values a step may change: it sets a part, calls a method, or passes them on."""
    changed = set()
    for node in ast.walk(step):
        if isinstance(node, ast.Subscript | ast.Attribute):
            if not isinstance(node.ctx, ast.Load):
                changed.add(_find_root(node))
        elif isinstance(node, ast.Call):
            changed.add(_find_root(node.func) if isinstance(node.func, ast.Attribute) else "")
            changed |= {_find_root(argument) for argument in node.args}
        elif isinstance(node, ast.AugAssign):
            changed.add(_find_root(node.target))
    return changed


def _find_root(node: ast.expr) -> str:
    """Return the name that a chain of attributes and items starts from."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _acts_on_globals(step: ast.stmt, bound: set[str]) -> bool:
    """Return whether a step may change what no local name holds, such as a call of a function."""
    if isinstance(step, ast.Assign):
        return any(
            isinstance(target, ast.Attribute | ast.Subscript) and _find_root(target) not in bound
            for target in step.targets
        )
    if isinstance(step, ast.With | ast.AsyncWith):
        return find_error_check(step) is None
    if isinstance(step, ast.For | ast.If | ast.Try | ast.While):
        return any(_acts_on_globals(part, bound) for part in step.body)
    call = step.value if isinstance(step, ast.Expr) else None
    is_function = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    return is_function or (isinstance(call, ast.Call) and _find_root(call.func) not in bound)


def _list_definitions(
    steps: Sequence[ast.stmt], modules: Sequence[ast.Module], arguments: AbstractSet[str]
) -> Iterator[ast.stmt]:
    """Yield the imports and definitions of the modules that the steps use."""
    bound = {name for step in steps for name in _list_bound(step)} | arguments
    wanted = {name for step in steps for name in list_used(step)} - bound - _HELPERS
    places = [node for module in modules for node in _list_top_level(module.body)]
    chosen: set[int] = set()
    count = -1
    while count < len(chosen):  # a definition may need another one
        count = len(chosen)
        for index, node in enumerate(places):
            names = set(_list_bound(node))
            is_import = isinstance(node, ast.Import | ast.ImportFrom)
            if names & wanted and not is_import and index not in chosen:
                chosen.add(index)
                wanted |= set(list_used(node)) - bound
                bound |= names
    definitions = [places[index] for index in sorted(chosen)]
    imports = [node for node in places if isinstance(node, ast.Import | ast.ImportFrom)]
    yield from _merge(part for node in imports for part in _narrow_import(node, wanted))
    yield from definitions


def _merge(imports: Iterable[ast.Import | ast.ImportFrom]) -> Iterator[ast.stmt]:
    """Yield imports with all names of one module together."""
    merged: dict[str, ast.Import | ast.ImportFrom] = {}
    for node in imports:
        key = ast.unparse(node)
        if isinstance(node, ast.ImportFrom):
            key = f"{node.level} {node.module}"
        first = merged.setdefault(key, node)
        names = {alias.asname or alias.name for alias in first.names}
        first.names += [a for a in node.names if (a.asname or a.name) not in names]
    yield from merged.values()


def _list_top_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.Try | ast.If):
            yield from _list_top_level(node.body)
        elif isinstance(node, _DEFINITIONS) and not _is_declaration(node):
            yield node


def _is_declaration(node: ast.stmt) -> bool:
    """Return whether a step tells a type alone and binds nothing."""
    return isinstance(node, ast.AnnAssign) and node.value is None


def _narrow_import(
    node: ast.Import | ast.ImportFrom, wanted: AbstractSet[str]
) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield an import of the wanted names alone; nothing for the standard library and the tools of tests."""
    is_plain = isinstance(node, ast.Import)
    # `import a.b` is dropped: the steps name `a.b` in full, so they tell where it comes from. `import a.b as c` stays.
    names = [
        alias
        for alias in node.names
        if (alias.asname if is_plain else alias.asname or alias.name) in wanted
    ]
    module = names[0].name if is_plain and names else getattr(node, "module", None) or ""
    root = module.partition(".")[0]
    if names and root not in sys.stdlib_module_names | _TEST_TOOLS:
        narrowed = deepcopy(node)
        narrowed.names = names
        yield narrowed
