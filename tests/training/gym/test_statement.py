"""A statement tells what fails and what is expected, and nothing of the solution."""

from training.gym.leak_check import find_leaks
from training.gym.statement import describe_behaviour, write_statement

PATCH = """--- a/x.py
+++ b/x.py
@@ -1 +1,2 @@
-a
+    return number * 2 if number else 0
+b
"""
TEST_PATCH = """--- a/tests/test_double.py
+++ b/tests/test_double.py
@@ -1 +1,2 @@
-a
+    assert double(number=3, twice=False) == 6
+b
"""
ERROR = """
    def test_double_of_three():
>       assert double(number=3, twice=False) == 6
E       assert 7 == 6
E        +  where 7 = double(number=3, twice=False)
E        +    where double = <function double at 0x7f0011223344>

tests/test_double.py:4: AssertionError
"""


def test_the_statement_names_the_behaviour_the_call_and_the_result():
    text = write_statement("a/doubling", ["tests/test_double.py::test_double_of_three"], {
        "tests/test_double.py::test_double_of_three": ERROR
    }, PATCH, TEST_PATCH)  # fmt: skip
    assert text.startswith("Double of three (doubling)\n")
    assert "1. Call `double(number=3, twice=False)`.\n" in text
    assert "    assert 7 == 6\n" in text
    assert "0x7f" not in text
    assert find_leaks(text, PATCH, TEST_PATCH) == ()


def test_tests_that_fail_alike_are_told_once():
    tests = [f"tests/test_double.py::test_{name}" for name in ("one", "two", "three", "four")]
    error = {"tests/test_double.py": "E   ImportError: cannot import name 'double' from 'x'"}
    text = write_statement("doubling", tests, error, PATCH, TEST_PATCH)
    assert 'This case fails: "one".' in text
    assert 'These cases also fail: "two", "three", "four".' in text
    assert "I expect `double` to be there" in text
    assert text.count("ImportError") == 1


def test_failures_beyond_the_third_are_named():
    tests = [f"t.py::test_{number}" for number in range(5)]
    text = write_statement(
        "d", tests, {test: f"E  Failed: DID NOT RAISE {test}" for test in tests}, PATCH, TEST_PATCH
    )
    assert 'These cases also fail: "3", "4".' in text
    assert "I expect the error" in text


def test_a_test_without_an_error_text_has_a_statement():
    text = write_statement("d", ["t.py::TestX::testCamelCase[1-2]"], {}, PATCH, TEST_PATCH)
    assert "Camel case (d)" in text
    assert "I expect this to work" in text


def test_leaks_are_found():
    assert find_leaks("see tests/test_double.py", PATCH, TEST_PATCH) == (
        "tests/test_double.py", "test_double.py", "test_double",
    )  # fmt: skip
    assert len(find_leaks("x\nreturn number * 2 if\n number else 0", PATCH, TEST_PATCH)) == 1
    assert len(find_leaks("assert double(number=3,  twice=False) == 6", PATCH, TEST_PATCH)) == 1
    assert len(find_leaks("assert double(number=3,twice=False)==6", PATCH, TEST_PATCH)) == 1
    assert find_leaks("run `tests.test_double`", PATCH, TEST_PATCH) == ("test_double",)
    assert find_leaks("b and double, test_doubles", PATCH, TEST_PATCH) == ()


def test_a_line_that_leaks_is_left_out():
    error = "E   assert double(number=3, twice=False) == 6\nE   see tests/test_double.py\nE   fine"
    text = write_statement("d", ["t.py::test_a"], {"t.py::test_a": error}, PATCH, TEST_PATCH)
    assert "fine" in text
    assert find_leaks(text, PATCH, TEST_PATCH) == ()


def test_without_a_source_the_call_is_read_from_the_marked_line():
    errors = {
        "t.py::test_a": "> with raises(X):\n>   f(1)\nE  y",
        "t.py::test_b": "> x = 1\n> else:\n",
    }
    text = write_statement("d", list(errors), errors, PATCH, TEST_PATCH)
    assert "1. Call `raises(X)`." in text
    assert text.count("What I run:") == 1


def test_a_behaviour_is_the_name_of_its_test_in_words():
    assert describe_behaviour("a.py::TestIO::test_readHTTPFile_2[x]") == "read HTTP file 2"
    assert describe_behaviour("a.py::test_") == "test_"


def test_addresses_and_folders_of_the_machine_are_left_out():
    error = "E   assert <A at 0x7FA658A99EA0> == 1\nE   from /home/me/.cache/env/lib/x.py:3\nE   and /etc"
    text = write_statement("a/b", ["t.py::test_it"], {"t.py::test_it": error}, PATCH, TEST_PATCH)
    assert "7FA658" not in text
    assert "/home/me" not in text
    assert "…/x.py:3" in text
    assert "and /etc" in text


def test_a_title_without_lines_is_left_out_and_equal_cases_are_told_once():
    leak = next(line[1:].strip() for line in TEST_PATCH.splitlines() if line.startswith("+    "))
    errors = {f"t.py::test_it[{n}]": f"> {leak}\n{n}\nE   ValueError: no" for n in range(3)}
    text = write_statement("a/b", list(errors), errors, PATCH, TEST_PATCH)
    assert text.count("ValueError: no") == 1
