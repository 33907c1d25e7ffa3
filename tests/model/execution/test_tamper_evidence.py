"""Which changes of a test runner are evidence of tampering?"""

import unittest

import pytest

from model.execution.inside.tamper_evidence import MachineryWatch


def do_nothing():
    pass


@pytest.mark.parametrize("fixture", ["class_setup", "method_setup"])
def test_fixtures_that_pytest_7_hangs_on_an_imported_test_case_are_no_evidence(
    monkeypatch, fixture
):
    watch = MachineryWatch()
    for function in (do_nothing, lambda: None):  # pytest sets it anew for each module
        monkeypatch.setattr(
            unittest.TestCase, f"_UnitTestCase__pytest_{fixture}", function, raising=False
        )
        assert watch.find_change() is None
        assert watch.record_again() == []


@pytest.mark.parametrize("name", ["run", "shortDescription", "_UnitTestCase__pytest_other_setup"])
def test_any_other_function_on_a_test_case_is_evidence(monkeypatch, name):
    watch = MachineryWatch()
    monkeypatch.setattr(unittest.TestCase, name, do_nothing, raising=False)
    assert watch.find_change() == f"unittest.case.{name}"
