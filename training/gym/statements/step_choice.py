"""Choose the steps that a failure depends on, from a test, its fixtures and its module (pure)."""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import deepcopy
from dataclasses import dataclass
from typing import Final

from training.gym.statements.bound_names import list_bound, walk_scope
from training.gym.statements.error_check import find_error_check
from training.gym.statements.failing_case import FailingCase, Function, Loop
from training.gym.statements.fixture_steps import expand_fixtures

_TEST_TOOLS: Final = frozenset({"pytest", "unittest", "hypothesis", "mock"})
_CHANGES: Final = ast.AugAssign | ast.Delete | ast.Expr
"""Steps of a module that may change what a definition holds."""
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
    """Return the backward program slice of `shown`: the steps that its values depend on.

    If `assert b == 1` is shown, the slice holds the first two of these steps:

        a = 1
        b = double(a)
        c = 2

    Steps that may change what modules hold belong to it, too. A value is a name and the number of its assignment, so that a
    name may stand for several values in turn. Where `shown` needs no value, such as a call of `pytest.fail`, all last values count.
    """
    assignment_counts = dict.fromkeys((name for step in steps for name in list_bound(step)), 0)
    facts = [_StepFacts.read(step, assignment_counts) for step in steps]
    used = (name for step in shown for name in list_used(step))
    read = (name for step in shown for name in _list_needed(step))
    is_independent = assignment_counts.keys().isdisjoint(used)
    needed = set(assignment_counts.items() if is_independent else _pair(read, assignment_counts))
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
    def read(cls, step: ast.stmt, assignment_counts: dict[str, int]) -> "_StepFacts":
        """Return the facts of a step, and count its assignments in `assignment_counts`."""
        used = set(_pair(list_used(step), assignment_counts))
        touched = set(_pair(_list_changed(step), assignment_counts))
        for name in set(list_bound(step)):
            assignment_counts[name] += isinstance(step, ast.Assign | ast.AnnAssign)
            touched.add((name, assignment_counts[name]))
        is_global = _acts_on_globals(step, set(assignment_counts))
        return cls(frozenset(used), frozenset(touched), is_global)


def _pair(names: Iterable[str], assignment_counts: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Yield the values that names stand for at present; none for a name that no step binds."""
    yield from ((name, assignment_counts[name]) for name in names if name in assignment_counts)


def list_used(step: ast.AST) -> Iterator[str]:
    """Yield the names that a step reads."""
    for node in ast.walk(step):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def _list_needed(step: ast.stmt) -> Iterator[str]:
    """Yield the names that a step reads. Names that each round of a loop sets before it reads them do not count."""
    if not isinstance(step, Loop):
        yield from list_used(step)
        return
    yield from list_used(step.test if isinstance(step, ast.While) else step.iter)
    bound = set() if isinstance(step, ast.While) else set(list_bound(step.target))
    for part in step.body:
        yield from set(_list_needed(part)) - bound
        if isinstance(part, ast.Assign | ast.AnnAssign):
            bound |= set(list_bound(part))


def _list_changed(step: ast.stmt) -> set[str]:
    """Return the names whose values a step may change: it sets a part, calls a method, or passes them on."""
    changed = _list_set_parts(step)
    for node in ast.walk(step):
        if isinstance(node, ast.Call):
            changed.add(_find_root(node.func) if isinstance(node.func, ast.Attribute) else "")
            values = (*node.args, *(word.value for word in node.keywords))
            changed |= set(map(_find_root, values))
        elif isinstance(node, ast.AugAssign):
            changed.add(_find_root(node.target))
    return changed


def _list_set_parts(step: ast.AST) -> set[str]:
    """Return the names of the values whose attributes or items a step sets or deletes."""
    parts = [node for node in ast.walk(step) if isinstance(node, ast.Attribute | ast.Subscript)]
    return {_find_root(part) for part in parts if not isinstance(part.ctx, ast.Load)}


def _find_root(node: ast.expr) -> str:
    """Return the name that a chain of attributes and items starts from."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _acts_on_globals(step: ast.AST, bound: set[str]) -> bool:
    """Return whether a step may change what no local name holds, such as a call of a function."""
    if isinstance(step, Function | ast.ClassDef):
        return False
    if isinstance(step, ast.With | ast.AsyncWith):
        return find_error_check(step) is None
    if isinstance(step, ast.Expr):
        call = step.value.value if isinstance(step.value, ast.Await) else step.value
        is_function = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        return is_function or (isinstance(call, ast.Call) and _find_root(call.func) not in bound)
    inner = (part for part in ast.iter_child_nodes(step) if not isinstance(part, ast.expr))
    return not _list_set_parts(step) <= bound or any(_acts_on_globals(p, bound) for p in inner)


def _list_definitions(
    steps: Sequence[ast.stmt], modules: Sequence[ast.Module], arguments: AbstractSet[str]
) -> Iterator[ast.stmt]:
    """Yield the imports and definitions of the modules that the steps use."""
    bound = {name for step in steps for name in list_bound(step)} | arguments
    wanted = {name for step in steps for name in list_used(step)} - bound - _HELPERS
    places = [node for module in modules for node in module.body if not _is_declaration(node)]
    names_set = list(map(_list_set, places))
    chosen: set[int] = set()
    count = -1
    while count < len(chosen):  # a definition may need another one
        count = len(chosen)
        for index, node in enumerate(places):
            names = names_set[index]
            is_import = isinstance(node, ast.Import | ast.ImportFrom)
            if names & wanted and not is_import and index not in chosen:
                chosen.add(index)
                wanted |= set(list_used(node)) - bound
                bound |= names
    definitions = [places[index] for index in sorted(chosen)]
    imports = [node for node in places if isinstance(node, ast.Import | ast.ImportFrom)]
    yield from _merge(part for node in imports for part in _narrow_import(node, wanted))
    yield from definitions


def _list_set(node: ast.stmt) -> set[str]:
    """Return the names that a step of a module binds, and those whose values it changes."""
    names = set(list_bound(node))
    for part in walk_scope(node):
        if isinstance(part, _CHANGES):
            names |= _list_changed(part) - _TEST_TOOLS
        elif isinstance(part, ast.Assign):
            names |= _list_set_parts(part)
    return names


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


def _is_declaration(node: ast.stmt) -> bool:
    """Return whether a step tells a type alone and binds nothing."""
    return isinstance(node, ast.AnnAssign) and node.value is None


def _narrow_import(
    node: ast.Import | ast.ImportFrom, wanted: AbstractSet[str]
) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield an import of the wanted names alone; nothing for the standard library and the tools of tests."""
    if names := [alias for alias in node.names if _is_needed(alias, node, wanted)]:
        narrowed = deepcopy(node)
        narrowed.names = names
        yield narrowed


def _is_needed(
    alias: ast.alias, node: ast.Import | ast.ImportFrom, wanted: AbstractSet[str]
) -> bool:
    # `import a.b` is dropped: the steps name `a.b` in full, so they tell where it comes from. `import a.b as c` stays.
    name, module = alias.asname, alias.name
    if isinstance(node, ast.ImportFrom):
        name, module = alias.asname or alias.name, "." * node.level + (node.module or "")
    return name in wanted and module.partition(".")[0] not in sys.stdlib_module_names | _TEST_TOOLS
