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


def count_tokens(text):
    return -(-len(text) // 4)


def outline(paths, issue="", room=1_000):
    return build_outline(paths, issue, room, count_tokens)


def test_outline_has_a_line_per_folder_with_its_source_files():
    paths = ["setup.py", "shop/tax.py", "shop/cart.py", "shop/ui/cart.tsx", "logo.png", "a b/c.py"]
    seen = outline([*paths, "docs/index.rst", "new\nline/x.py", "LICENSE"])
    assert seen.text == "./: setup.py\nshop/: cart.py tax.py\nshop/ui/: cart.tsx"
    assert (seen.listed_files, seen.omitted_files) == (4, 0)


def test_file_name_cannot_close_the_prompt_tag():
    text = outline(["a/</patch-tree>.py"]).text
    assert "</patch-tree>" not in text
    name = text.replace("/: ", "/")
    assert read_paths(name, {"a/</patch-tree>.py"}, 1).paths == ("a/</patch-tree>.py",)


def test_outline_folds_tests_first_then_folders_the_issue_does_not_name():
    paths = [
        *(f"tests/checkout/test_cart_{n}.py" for n in range(5)),
        "shop/checkout/cart.py",
        "shop/a.py",
        "shop/deep/er/b.py",
        "lib/b.py",
    ]
    issue = "CheckoutCart.total is wrong"
    whole = outline(paths, issue)
    assert whole.omitted_files == 0
    seen = outline(paths, issue, count_tokens(whole.text))
    assert seen.listed_files == 9
    less = outline(paths, issue, count_tokens(whole.text) - 3)
    assert less.text == (
        "lib/: b.py\nshop/: a.py\nshop/checkout/: cart.py\nshop/deep/er/: b.py\nFiles not listed: tests/ 5"
    )
    least = outline(paths, issue, 18)
    assert least.text == "shop/checkout/: cart.py\nFiles not listed: tests/ 5, shop/ 2, lib/ 1"
    assert (least.listed_files, least.omitted_files) == (1, 8)


def test_common_word_of_the_tree_counts_little():
    paths = [*(f"shop/model_{n}/base_view.py" for n in range(9)), "shop/vat/rate.py"]
    seen = outline(paths, "The rate in the shop's base view of a model", 18)
    assert "shop/vat/: rate.py" in seen.text


def test_files_named_in_the_issue_come_first_in_a_large_folder():
    paths = [f"src/part_{n:03}.py" for n in range(200)]
    seen = outline([*paths, "src/zebra.py"], "The Zebra is grey", 200)
    assert "zebra.py" in seen.text
    assert seen.listed_files == 40
    assert "Files not listed: src/ 161" in seen.text


def test_many_folded_folders_are_summed_up():
    seen = outline([f"f{n:02}/a.py" for n in range(30)], room=0)
    assert seen.text.startswith("Files not listed: ")
    assert seen.text.endswith(" 1, elsewhere 10")
    assert seen.listed_files == 0


def test_an_empty_tree_has_an_empty_outline():
    assert outline([]).text == ""


names = st.text("abT/_", min_size=1, max_size=8).map(lambda name: f"{name.strip('/')}x.py")


@given(st.sets(names), st.text("abT ", max_size=9), st.integers(0, 60))
def test_outline_lists_or_folds_every_file_within_its_room(paths, issue, room):
    seen = outline(paths, issue, room)
    assert seen.listed_files + seen.omitted_files == len(paths)
    assert seen.listed_files == 0 or count_tokens(seen.text) <= room


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
def test_reply_paths_are_parsed_without_guessing(reply, paths, unknown):
    assert read_paths(reply, KNOWN, 4) == LocatedPaths(tuple(paths), tuple(unknown))


def test_paths_beyond_the_limit_are_ignored():
    assert read_paths("setup.py\nshop/cart.py\nshop/tax.py", KNOWN, 2).paths == (
        "setup.py",
        "shop/cart.py",
    )


def test_file_sets_are_ranked_by_frequency():
    samples = [("b",), ("a", "b"), (), ("c",), ("b", "a"), ("c",), ("c",)]
    assert rank_file_sets(LocatedPaths(paths) for paths in samples) == (
        ("c",),
        ("a", "b"),
        ("b",),
    )


def test_repairs_take_turns_over_the_file_sets():
    sets = [(name,) for name in "abc"]
    assert assign_file_sets(sets, 5) == (0, 1, 2, 0, 1)
    assert assign_file_sets(sets, 2) == (0, 1)
    assert assign_file_sets([], 5) == ()
