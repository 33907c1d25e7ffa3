"""Parts, minimal patches and mutants of a patch are valid and smaller or different."""

import ast

import pytest

from model.execution.tree_changes import TreeChanges
from training.gym.candidates.mutants import list_mutants
from training.gym.candidates.patch_blocks import (
    is_unchanged,
    is_valid,
    join_blocks,
    list_parts,
    minimise,
    shuffle,
    split_patch,
)

OLD = b"".join(b"x%d = %d\n" % (number, number) for number in range(20))
NEW = (
    OLD.replace(b"x2 = 2", b"x2 = 'a'")
    .replace(b"x9 = 9\n", b"")
    .replace(b"x15 = 15\n", b"x15 = 15\ny = 1\nz = 2\n")
)
CHANGES = TreeChanges(
    {"a.py": NEW, "new.py": b"n = 1\n"}, ("old.py",), {"a.py": OLD, "old.py": b"o\n"}
)


def test_all_blocks_together_are_the_patch():
    blocks = split_patch(CHANGES)
    assert [(block.path, block.start) for block in blocks] == [
        ("a.py", 2), ("a.py", 9), ("a.py", 16), ("new.py", 0), ("old.py", 0),
    ]  # fmt: skip
    assert join_blocks(CHANGES, blocks) == CHANGES


def test_no_block_changes_nothing():
    assert is_unchanged(join_blocks(CHANGES, []))
    assert not is_unchanged(CHANGES)


@pytest.mark.parametrize("needed", [b"z = 2", b"x2 = 'a'", b"n = 1"])
def test_the_minimal_patch_keeps_what_is_needed(needed):
    def passes(part):
        return any(needed in content for content in part.written.values())

    smallest = minimise(CHANGES, passes, 50)
    assert len(split_patch(smallest)) == 1
    assert passes(smallest)


def test_two_needed_blocks_stay_and_the_number_of_runs_is_limited():
    calls = []

    def passes(part):
        calls.append(part)
        return b"z = 2" in part.written.get("a.py", b"") and "new.py" in part.written

    assert len(split_patch(minimise(CHANGES, passes, 50))) == 2
    calls.clear()
    minimise(CHANGES, calls.append, 3)
    assert len(calls) == 3


def test_parts_are_proper_and_have_valid_syntax():
    parts = list(list_parts(CHANGES))
    assert CHANGES not in parts
    assert len(parts) >= 5
    assert all(is_valid(part) and not is_unchanged(part) for part in parts)
    body = TreeChanges({"a.py": b"if x:\n    y()\n"}, (), {"a.py": b"\n"})
    assert not any(part.written["a.py"] == b"if x:\n" for part in list_parts(body))


@pytest.mark.parametrize(
    ("line", "mutants"),
    [
        ("a = b == c", {"a = (b != c)", "pass"}),
        ("a = b and c", {"a = (b or c)", "pass"}),
        ("a = not b", {"a = (b)", "pass"}),
        ("a = b + 1", {"a = (b - 1)", "a = b + 2", "pass"}),
        ("a = True", {"a = False", "pass"}),
        ("a = 'ä' if b else c", {"a = ('ä' if not b else c)", "pass"}),
    ],
)
def test_a_mutant_changes_one_new_line(line, mutants):
    changes = TreeChanges({"a.py": f"{line}\nold = 1\n".encode()}, (), {"a.py": b"old = 1\n"})
    found = {mutant.written["a.py"].decode() for mutant in list_mutants(changes)}
    assert found == {f"{mutant}\nold = 1\n" for mutant in mutants}


def test_statements_that_end_a_block_are_mutated():
    text = (
        b"def f():\n    for x in y:\n        break\n    while x:\n        continue\n    return x\n"
    )
    found = [m.written["a.py"] for m in list_mutants(TreeChanges({"a.py": text}))]
    assert {b"return None" in mutant for mutant in found} == {True, False}
    assert len(found) == 3
    assert all(ast.parse(mutant) for mutant in found)


def test_a_file_that_is_no_python_has_no_mutant():
    assert list(list_mutants(TreeChanges({"a.txt": b"a == b\n", "b.py": b"a ==\n"}))) == []


def test_the_seed_decides_the_order():
    parts = [shuffle(list_parts(CHANGES), seed) for seed in ("a", "a", "b")]
    assert parts[0] == parts[1] != parts[2]
