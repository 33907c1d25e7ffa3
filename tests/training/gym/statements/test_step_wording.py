"""Single steps of a test have the right words."""

import pytest

from tests.training.gym.statements.samples import list_steps, print_failure, write
from training.gym.statements.expression_wording import quote_code


def list_steps_before(steps, head="", start="def test_it():"):
    """The steps of a test that runs them before its check."""
    body = "".join(f"    {line}\n" for line in steps.splitlines())
    return list_steps(f"{head}{start}\n{body}    assert box.status == 200\n")


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
        ("assertWarns(UserWarning)", "the warning `UserWarning`"),
        ("assertWarnsRegex(UserWarning, 'old')", "the warning `UserWarning` with a message that matches `'old'`"),
        ("assertRaisesRegex(ValueError, expected_regex='no')", "`ValueError` with a message that matches `'no'`"),
    ],
)  # fmt: skip
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
        "Define the async function `read(box)` (return `await box.read()`).",
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


FORMS = [
    ("@dataclass(frozen=True)\nclass P:\n    y: int = 2", "Define the class `P` decorated by `dataclass(frozen=True)` (set `y` to `2`)."),
    ("class P(Box, metaclass=Kind):\n    x: int\n    y: int = 2", "Define the class `P` from `Box` and `metaclass=Kind` (declare `x: int`; set `y` to `2`)."),
    ("try:\n    f()\nexcept ValueError:\n    x = None\n    g()", "Try this (call `f()`); if it raises `ValueError` (set `x` to `None`; call `g()`)."),
    (
        "try:\n    f()\nexcept A as e:\n    g(e)\nexcept:\n    pass\nelse:\n    h()\nfinally:\n    k()\n    m()",
        "Try this (call `f()`); if it raises `A` as `e`, call `g(e)`; if it raises `BaseException`, do nothing; if it raises nothing, call `h()`; in the end (call `k()`; call `m()`).",
    ),
    ("for i in a:\n    f(i)\nelse:\n    g()", "For each `i` of `a`, call `f(i)`; if no step ends the loop, call `g()`."),
    ("while f():\n    g()\nelse:\n    h()", "As long as `f()` is true, call `g()`; if no step ends the loop, call `h()`."),
    ("async with a as b:\n    f(b)", "Enter the async context `a` as `b`, call `f(b)`."),
    ("async for i in a:\n    f(i)", "For each `i` of the async `a`, call `f(i)`."),
    ("async def f(a):\n    pass\nrun(f)", "Define the async function `f(a)` (do nothing)."),
    ("await f(1)", "Call and await `f(1)`."),
    ("try:\n    await f.g\n    h()\nfinally:\n    pass", "Try this (evaluate `await f.g`; call `h()`); in the end, do nothing."),
    ("try:\n    f()\nexcept A:\n    ...", "Try this (call `f()`); if it raises `A`, do nothing."),
    ("for i in a:\n    if i:\n        continue\n    f()", "For each `i` of `a` (if `i` is true, go on with the next one; call `f()`)."),
    ("def f():\n    yield 1\n    yield\nrun(f)", "Define `f()` (yield `1`; yield nothing)."),
]  # fmt: skip


@pytest.mark.parametrize(("form", "shown"), FORMS, ids=[form for form, _ in FORMS])
def test_all_parts_of_a_form_are_told(form, shown):
    steps = list_steps_before(f"{form}\nbox = P()", start="async def test_it():")
    assert steps[0] == shown


LONG = f"c[{' + '.join(['1'] * 200)}]"
"""An expression that is too long to show and has no parts to name."""


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        (f"with {LONG}, open(p):\n    f()", "Enter the context `...` and `open(p)`, call `f()`."),
        (f"with {LONG} as box:\n    f()", "Enter the context `...` as `box`, call `f()`."),
        (f"@{LONG}\n@mark\ndef box():\n    f()", "Define `box()` decorated by `...` and `mark` (call `f()`)."),
        (f"@{LONG}\ndef box():\n    f()", "Define `box()` decorated by `...` (call `f()`)."),
    ],
)  # fmt: skip
def test_a_part_that_is_too_long_is_told_as_dots(form, shown):
    assert list_steps_before(form) == [shown]


@pytest.mark.parametrize(
    ("step", "names"),
    [
        ("match p:\n    case P(x=a):\n        def g():\n            inner = 1", "`a` and `g`"),
        ("match p:\n    case {'a': a, **b}:\n        from shop import c, d as e", "`b`, `a`, `c` and `e`"),
        ("match p:\n    case [a, *b]:\n        c = [i for i in a]", "`a`, `b` and `c`"),
        ("match p:\n    case _:\n        try:\n            f()\n        except A as b:\n            pass", "`b`"),
        ("match p:\n    case 1:\n        class C:\n            d = 2\n        g((e := 3))", "`C` and `e`"),
    ],
)  # fmt: skip
def test_a_step_without_words_is_told_by_the_names_that_it_binds(step, names):
    name = names.split("`")[1]
    assert list_steps_before(f"{step}\nbox = run({name})")[0] == f"Make {names} (I leave out how)."
