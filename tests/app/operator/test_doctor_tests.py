"""`r4p doctor` on the tests of repositories."""

from tests.app.operator.test_doctor import doctor, github  # noqa: F401 - fixtures
from tests.builders.plain_environments import build_plain_environment


def test_tests_of_repositories_are_off_without_an_environment_or_on(
    bubblewrap,
    doctor,  # noqa: F811
    tmp_path,
):
    off = "ok: off: R4P_TESTS names no folder of test environments"
    assert doctor(verifier="consensus")[1]["tests"] == off
    code, found = doctor(tests=str(tmp_path))
    assert (code, found["tests"]) == (
        0,
        f"less: R4P_TESTS {tmp_path} holds no test environment: build one by `r4p environments build`",
    )
    build_plain_environment(tmp_path)
    ready = f"ok: environments in {tmp_path}: plain"
    assert doctor()[1]["tests"] == ready
    written = f"{ready}; the model writes 4 tests for an issue"
    assert doctor(reproduction_tests="4")[1]["tests"] == written
