"""Single steps of a test have the right words."""

import pytest

from tests.training.gym.statements.samples import list_steps, print_failure, write
from training.gym.statements.expression_wording import quote_code


def list_steps_before(steps, head=""):
    """The steps of a test that runs them before its check."""
    body = "".join(f"    {line}\n" for line in steps.splitlines())
    return list_steps(f"{head}def test_it():\n{body}    assert box.status == 200\n")


def test_only_the_outer_brackets_of_a_pair_are_left_out():
    loop = "for i, (a, b) in enumerate(pairs):\n    box.add(i, a, b)"
    assert list_steps_before(loop) == [
        "For each `i, (a, b)` of `enumerate(pairs)`, call `box.add(i, a, b)`.",
    ]
    assert "Set `(a, b), c` to `box.read()`." in list_steps_before(
        "(a, b), c = box.read()\nbox.add(a)"
    )


READ = """
import pytest
from thing import read


def test_it(path):
    with open(path) as file, pytest.raises(ValueError):
        first = 1
        read(file, first)
    done()
"""


@pytest.mark.parametrize(
    "contexts",
    ["open(path) as file, pytest.raises(ValueError)", "pytest.raises(ValueError), open(path) as file"],
)  # fmt: skip
def test_the_contexts_beside_an_error_check_are_told(contexts):
    source = READ.replace("open(path) as file, pytest.raises(ValueError)", contexts)
    context = "nter the context `open(path)` as `file`"
    inside = print_failure(source, 9, ["TypeError: no"])
    text = write(source, {"test_it": inside})
    assert f"E{context}.\n3. Set `first` to `1`.\n4. Call `read(file, first)`.\n" in text
    assert "I expect `ValueError`." in text
    missing = print_failure(source, 7, ["Failed: DID NOT RAISE ValueError"])
    text = write(source, {"test_it": missing})
    assert f"E{context} (set `first` to `1`; call `read(file, first)`).\n" in text
    assert "no error is raised" in text
    steps = source.replace("    done()", "    assert file.status == 200")
    assert list_steps(steps)[-1] == (
        f"E{context} (set `first` to `1`; call `read(file, first)`); this gives `ValueError`."
    )


def test_two_checks_of_one_block_are_both_told():
    contexts = "pytest.raises(ValueError), pytest.warns(UserWarning)"
    assert list_steps_before(f"with {contexts}:\n    box = read()") == [
        "Set `box` to `read()`; this gives the warning `UserWarning`; this gives `ValueError`."
    ]
    source = READ.replace("open(path) as file, ", "pytest.warns(UserWarning), ")
    inside = print_failure(source, 9, ["TypeError: no"])
    assert "1. Import `read` from `thing`.\n2. Set `first`" in write(source, {"test_it": inside})


@pytest.mark.parametrize(
    ("check", "shown"),
    [
        ("pytest.deprecated_call()", "a warning about deprecated use"),
        ("pytest.warns()", "a warning"),
        ("pytest.warns(match='old')", "a warning with a message that matches `'old'`"),
        ("pytest.warns(expected_warning=UserWarning)", "the warning `UserWarning`"),
        ("pytest.raises(expected_exception=ValueError)", "`ValueError`"),
        ("pytest.raises(match='no')", "an error with a message that matches `'no'`"),
        ("pytest.raises(check=is_bad)", "an error"),
    ],
)
def test_the_kind_of_an_expected_error(check, shown):
    steps = list_steps_before(f"with {check}:\n    box = read()")
    assert steps == [f"Set `box` to `read()`; this gives {shown}."]


def test_a_global_name_belongs_to_the_module():
    inner = "def add():\n    global count\n    count = 2\nrun(add)"
    assert list_steps_before(inner)[0] == (
        "Define `add()` (use `count` of the module; set `count` to `2`)."
    )
    outer = f"count = 1\n{inner.replace('global', 'nonlocal')}"
    assert "Define `add()` (use `count` of the outer function; set `count` to `2`)." in (
        list_steps_before(outer)
    )


def test_definitions_of_a_module_with_a_type_or_with_async():
    head = "LIMIT: int = 5\nother: str\n\n\nasync def read(box):\n    return await box.read()\n\n\n"
    assert list_steps_before("box = run(read, LIMIT, other)\nrun(box)", head)[:2] == [
        "Set `LIMIT` to `5`.",
        "Define `read(box)` (return `await box.read()`).",
    ]


@pytest.mark.parametrize(
    ("text", "quoted"),
    [("a", "`a`"), ("'`a`'", "`` '`a`' ``"), ("`", "`` ` ``"), ("a``b```c`", "```` a``b```c` ````")],
)  # fmt: skip
def test_code_with_backticks_has_a_longer_fence(text, quoted):
    assert quote_code(text) == quoted


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("assertGreaterEqual(box.size, 1)", "it to be at least `1`"),
        ("assertLessEqual(box.size, 1)", "it to be at most `1`"),
        ("assertTupleEqual(box.size, (1, 2))", "`(1, 2)`"),
        ("assertSetEqual(box.size, {1, 2})", "`{1, 2}`"),
        ("assertMultiLineEqual(box.size, 'a')", "`'a'`"),
    ],
)
def test_comparisons_of_unittest(method, expected):
    source = f"class TestBox:\n    def test_it(self):\n        self.{method}\n"
    text = write(source, {"TestBox::test_it": print_failure(source, 3, ["TypeError: no"])})
    hope = expected.removeprefix("it to be ")
    assert f"I expect no error: `box.size` should be {hope}." in text
