"""Every child Python is started without the current folder among the places that it imports from."""

import ast

import pytest

from tests.architecture.source import MODULES, relative

AGENT = "-I, in a sandbox"
READER = "-I, beside an empty environment"
ITSELF = "builds the command, with -P"
PARSER = "reads the operator's command and starts nothing"
BARE = (
    "runs alone on a machine where nothing of ours is installed yet; what it starts of ours has -P"
)
LAUNCHER = "the operator's own command starts Python: PYTHONSAFEPATH tells it"
RUNS_MODULES = {
    "app/operator/processes.py": LAUNCHER,
    "app/sandbox.py": AGENT,
    "model/codegraph/reader_pool.py": READER,
    "model/environments/uv_process.py": READER,
    "model/execution/suite_command.py": PARSER,
    "model/interpreter.py": ITSELF,
    "training/gpu_proof/bundle.py": BARE,
    "training/gym/commits/test_commands.py": PARSER,
}
"""Files that write `-m` themselves, and how each keeps the folder out."""
NAMES_PYTHON = {
    "app/settings/environment.py": "get_interpreter(), which the next table counts",
    "model/codegraph/reader_pool.py": READER,
    "model/execution/suite_process.py": AGENT,
    "model/interpreter.py": ITSELF,
    "training/gpu_proof/bundle.py": BARE,
}
ASKS_FOR_PYTHON = {"app/operator/processes.py": 2, "app/sandbox.py": 3}
"""Files that call `get_interpreter()`, and how often: for the interpreter's path, or with -I."""


def uses(path):
    return list(ast.walk(ast.parse(path.read_text())))


def is_python_named(node):
    return isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.executable"


def is_python_asked_for(node):
    return isinstance(node, ast.Call) and ast.unparse(node) == "get_interpreter()"


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_a_module_is_run_by_one_function(path):
    nodes = uses(path)
    writes = any(isinstance(node, ast.Constant) and node.value == "-m" for node in nodes)
    assert writes == (relative(path) in RUNS_MODULES), "use model.interpreter.module_command"
    names = any(map(is_python_named, nodes))
    assert names == (relative(path) in NAMES_PYTHON), "use model.interpreter.module_command"
    calls = sum(map(is_python_asked_for, nodes))
    assert calls == ASKS_FOR_PYTHON.get(relative(path), 0), "use model.interpreter.module_command"
