"""Locating: a tree in few tokens, paths read without guessing, samples told apart, repairs dealt in turns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.agents.agentless.file_localisation import (
    LocatedPaths,
    assign_file_sets,
    build_outline,
    rank_file_sets,
    read_paths,
)


def tokens(text):
    return -(-len(text) // 4)


def drawn(paths, issue="", room=1_000):
    return build_outline(paths, issue, room, tokens)


def test_a_tree_is_a_folder_a_line_and_source_files_only():
    paths = ["setup.py", "shop/tax.py", "shop/cart.py", "shop/ui/cart.tsx", "logo.png", "a b/c.py"]
    seen = drawn([*paths, "docs/index.rst", "new\nline/x.py", "LICENSE"])
    assert seen.text == "./: setup.py\nshop/: cart.py tax.py\nshop/ui/: cart.tsx"
    assert (seen.listed_files, seen.omitted_files) == (4, 0)


def test_a_name_can_not_close_the_trees_tag():
    text = drawn(["a/</patch-tree>.py"]).text
    assert "</patch-tree>" not in text
    name = text.replace("/: ", "/")
    assert read_paths(name, {"a/</patch-tree>.py"}, 1).paths == ("a/</patch-tree>.py",)


def test_folders_that_do_not_fit_are_folded_tests_first_then_what_the_issue_does_not_name():
    paths = [
        *(f"tests/checkout/test_cart_{n}.py" for n in range(5)),
        "shop/checkout/cart.py",
        "shop/a.py",
        "shop/deep/er/b.py",
        "lib/b.py",
    ]
    issue = "CheckoutCart.total is wrong"
    whole = drawn(paths, issue)
    assert whole.omitted_files == 0
    seen = drawn(paths, issue, tokens(whole.text))
    assert seen.listed_files == 9
    less = drawn(paths, issue, tokens(whole.text) - 3)
    assert less.text == (
        "lib/: b.py\nshop/: a.py\nshop/checkout/: cart.py\nshop/deep/er/: b.py\nFiles not listed: tests/ 5"
    )
    least = drawn(paths, issue, 18)
    assert least.text == "shop/checkout/: cart.py\nFiles not listed: tests/ 5, shop/ 2, lib/ 1"
    assert (least.listed_files, least.omitted_files) == (1, 8)


def test_a_word_that_is_everywhere_counts_little():
    paths = [*(f"shop/model_{n}/base_view.py" for n in range(9)), "shop/vat/rate.py"]
    seen = drawn(paths, "The rate in the shop's base view of a model", 18)
    assert "shop/vat/: rate.py" in seen.text


def test_the_files_of_a_large_folder_that_the_issue_names_come_first():
    paths = [f"src/part_{n:03}.py" for n in range(200)]
    seen = drawn([*paths, "src/zebra.py"], "The Zebra is grey", 200)
    assert "zebra.py" in seen.text
    assert seen.listed_files == 40
    assert "Files not listed: src/ 161" in seen.text


def test_many_folders_are_summed_up():
    seen = drawn([f"f{n:02}/a.py" for n in range(30)], room=0)
    assert seen.text.startswith("Files not listed: ")
    assert seen.text.endswith(" 1, elsewhere 10")
    assert seen.listed_files == 0


def test_an_empty_tree_has_an_empty_outline():
    assert drawn([]).text == ""


names = st.text("abT/_", min_size=1, max_size=8).map(lambda name: f"{name.strip('/')}x.py")


@given(st.sets(names), st.text("abT ", max_size=9), st.integers(0, 60))
def test_an_outline_lists_or_folds_every_file_and_lists_no_more_than_fits(paths, issue, room):
    seen = drawn(paths, issue, room)
    assert seen.listed_files + seen.omitted_files == len(paths)
    assert seen.listed_files == 0 or tokens(seen.text) <= room


KNOWN = {"shop/tax.py", "shop/cart.py", "setup.py"}


@pytest.mark.parametrize(
    ("reply", "paths", "unknown"),
    [
        ("So:\n```\nshop/tax.py\nsetup.py\n```\n", ["shop/tax.py", "setup.py"], []),
        ("```python\nshop/cart.py\n```\nNo:\n```text\nshop/tax.py\n```", ["shop/tax.py"], []),
        ("<think>shop/cart.py\n</think>\nIt is this:\n- `shop/tax.py`\n", ["shop/tax.py"], []),
        ("1. shop/tax.py\n2) ./setup.py\n* shop/tax.py", ["shop/tax.py", "setup.py"], []),
        ("```\ntax.py\nshop/taxes.py\n/shop/tax.py\nshop/\n```", [], ["tax.py", "shop/taxes.py", "/shop/tax.py", "shop/"]),
        ("```\nSHOP/TAX.PY\nshop/tax.py:12\nshop/tax.py\n```", ["shop/tax.py"], ["SHOP/TAX.PY", "shop/tax.py:12"]),
        ("Perhaps shop/tax.py is to blame.", [], []),
        ("```\nshop/tax.py", ["shop/tax.py"], []),
        ("", [], []),
    ],
    ids=["fenced", "last block", "thought", "bullets", "near misses", "other spellings", "prose", "cut", "empty"],
)  # fmt: skip
def test_paths_are_read_and_near_misses_are_not_guessed(reply, paths, unknown):
    assert read_paths(reply, KNOWN, 4) == LocatedPaths(tuple(paths), tuple(unknown))


def test_no_more_paths_than_asked_for_count():
    assert read_paths("setup.py\nshop/cart.py\nshop/tax.py", KNOWN, 2).paths == (
        "setup.py",
        "shop/cart.py",
    )


def test_samples_become_different_sets_the_most_frequent_first():
    samples = [("b",), ("a", "b"), (), ("c",), ("b", "a"), ("c",), ("c",)]
    assert rank_file_sets(LocatedPaths(paths) for paths in samples) == (
        ("c",),
        ("a", "b"),
        ("b",),
    )


def test_repairs_take_turns():
    sets = [(name,) for name in "abc"]
    assert assign_file_sets(sets, 5) == (0, 1, 2, 0, 1)
    assert assign_file_sets(sets, 2) == (0, 1)
    assert assign_file_sets([], 5) == ()
