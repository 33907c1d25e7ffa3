"""Take an issue's tests out of a later release whose test files have changed since (pure, but for reading files)."""

import ast
from collections.abc import Iterable, Sequence
from difflib import unified_diff
from pathlib import Path

from model.execution.tree_changes import TreeChanges
from model.patches.diff import list_touched_files
from training.gym.swebench.named_tests import is_named, list_methods


def build_removed_tests(
    tree: Path, test_patch: str, names: Sequence[str]
) -> tuple[TreeChanges, str] | None:
    """Return the test files without the methods that the benchmark names, and the diff that adds these again.

    None when the files that `test_patch` touches hold no such method.
    """
    written, before, diffs = {}, {}, []
    for path in sorted(list_touched_files(test_patch)):
        file = tree / path
        if not path.endswith(".py") or not file.is_file() or file.is_symlink():
            continue
        whole = file.read_text(encoding="utf-8")
        short = _remove_methods(whole, names)
        if short != whole:
            before[path], written[path] = whole.encode(), short.encode()
            diffs.append(_build_diff(path, short, whole))
    return (TreeChanges(written, before=before), "".join(diffs)) if written else None


def _remove_methods(source: str, names: Iterable[str]) -> str:
    methods = [method for method in list_methods(source) if is_named(method, names)]
    lines = source.splitlines(keepends=True)
    for method in sorted(methods, key=lambda method: method.lineno, reverse=True):
        begin = min([method.lineno, *(item.lineno for item in method.decorator_list)])
        lines[begin - 1 : method.end_lineno] = [f"{' ' * method.col_offset}pass\n"]
    short = "".join(lines)
    try:
        ast.parse(short)
    except SyntaxError:
        return source
    return short


def _build_diff(path: str, old: str, new: str) -> str:
    lines = unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{path}", f"b/{path}"
    )
    return f"diff --git a/{path} b/{path}\n" + "".join(lines)
