"""Run one reproduction test and report what it says of the issue as signed lines (standard library only).

Start it by `python run_script.py HANDLE SCRIPT` in the tree. HANDLE is the number of the pipe to the parent. A saying
counts only if SCRIPT itself prints it, as a literal of its own: code of the tree that prints or returns the same words
says nothing. The script shares its process with that code, so this is no wall.
"""

import builtins
import os
import sys
import types
import unittest  # noqa: F401 - loaded before the watch begins, which then records it
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from tamper_evidence import MachineryWatch, SignedReport, read_key

_SAYINGS = ("Issue reproduced", "Issue resolved", "Other issues")
"""What a reproduction test may say: the words of Agentless (SWE-RL, appendix B)."""
_PASSED = ("setup passed", "call passed", "teardown passed")
_CHILDREN = frozenset(
    ["subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty"]
)
"""Audit events of a process that starts another one."""
_IMPORTER = "<frozen importlib._bootstrap_external>"
_IMPORT_CALLS = ["get_data", "get_code", "exec_module"]
"""The innermost calls while the import system reads a source file."""


def main() -> int:
    """Run the script in the current folder and return an exit status."""
    report = SignedReport(int(sys.argv[1]), read_key())
    path = sys.argv[2]
    text = Path(path).read_text(encoding="utf-8")
    if "pytest" in text:
        # Now, so that the watch records it, and before a `pytest.py` of the tree can be found.
        with suppress(ImportError):
            __import__("pytest")
    _extend_path()
    watch = MachineryWatch()
    # Bound before the code under test is imported: it cannot replace what the last lines call.
    send, find_change = report.send, watch.find_change
    send("start")
    if error := _run(path, text, send):
        send("test", f"raised {error}", "call failed")
    if change := find_change():
        send("changed", change)
    send("plugins")
    send("end", "0")
    return 0


def _extend_path() -> None:
    """Make the tree importable: after the standard library, and before a copy of it that is installed."""
    rest = sys.path[1:]
    place = next((index for index, entry in enumerate(rest) if "-packages" in entry), len(rest))
    sys.path[:] = [*rest[:place], str(Path.cwd()), str(Path.cwd() / "src"), *rest[place:]]


def _run(path: str, text: str, send: Callable[..., None]) -> str | None:
    """Run the script as `python SCRIPT` does. Return the name of the error that ends it; None without one."""
    try:
        code = compile(text, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return SyntaxError.__name__
    module = types.ModuleType("__main__")
    tell = _build_print(path, list(_list_literals(code)), send)
    vars(module).update(__file__=path, __builtins__=builtins, print=tell)
    sys.modules["__main__"], sys.argv = module, [path]
    sys.addaudithook(_refuse_peeking)
    try:
        exec(code, vars(module))  # noqa: S102 - to run it is what this process is for
    except SystemExit:
        return None
    except BaseException as error:  # noqa: BLE001 - whatever ends the script is its own
        return ImportError.__name__ if isinstance(error, ImportError) else type(error).__name__
    return None


def _list_literals(code: types.CodeType) -> Iterator[str]:
    """Yield the literal texts of the script that begin with a saying."""
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            yield from _list_literals(value)
        elif isinstance(value, str) and value.startswith(_SAYINGS):
            yield value


def _build_print(path: str, literals: list[str], send: Callable[..., None]) -> Callable[..., None]:
    """Return a `print` that also reports a saying, if the script itself calls it with a literal of its own."""
    get_frame, show = sys._getframe, builtins.print  # noqa: SLF001

    def tell(*values: Any, **options: Any) -> None:
        own = get_frame(1).f_code.co_filename == path
        literal = next((text for text in literals if own and values and text is values[0]), "")
        if literal:
            send("test", next(filter(literal.startswith, _SAYINGS)), *_PASSED)
        show(*values, **options)

    return tell


def _refuse_peeking(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse what would tell a script which patch it runs on: a look into source files, and a child process.

    An audit hook cannot be removed. Imports read source files too, and go on.
    """
    if event in _CHILDREN:
        raise PermissionError("a reproduction test must not start a process")
    if event == "open" and not isinstance(arguments[0], int):
        path = os.path.realpath(os.fsdecode(arguments[0]))
        if path.startswith("/proc/") or (path.endswith((".py", ".pyc")) and not _is_importing()):
            raise PermissionError("a reproduction test must not read source files")


def _is_importing() -> bool:
    """Return whether the import system itself opens the file, and not a module that it runs."""
    frame: types.FrameType | None = sys._getframe(2)  # noqa: SLF001 - of the code that opens the file
    for name in _IMPORT_CALLS:
        if frame is None or (frame.f_code.co_filename, frame.f_code.co_name) != (_IMPORTER, name):
            return False
        frame = frame.f_back
    return True


if __name__ == "__main__":
    sys.exit(main())
