"""Builds of test environments by the real uv: what is in them, what is kept, and what is refused."""

import subprocess

import pytest

from model.environments.environment_cache import EnvironmentCache
from model.errors import BadRecipe, NoEnvironment
from tests.model.environments.conftest import write_source, write_wheel


def ask(environment, code):
    """What the environment's Python prints."""
    words = [environment.python, "-I", "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd="/")
    return done.stdout.strip()


def test_an_environment_holds_the_packages_and_its_lock_has_their_hashes(build):
    environment = build("alpha<2")
    assert ask(environment, "import alpha; print(alpha.VALUE)") == "1"
    (line,) = environment.recipe.lock
    assert line.startswith("alpha==1.0 --hash=sha256:")
    assert environment.bytes > 0


def test_modules_are_compiled_before_the_folder_becomes_read_only(build):
    assert list(build("alpha").folder.rglob("__pycache__/alpha.cpython-*.pyc"))


def test_two_recipes_with_equal_packages_share_a_folder(build, cache):
    first, second = build("alpha<2"), build("alpha==1.0")
    assert first.folder == second.folder
    store = EnvironmentCache(cache)
    store.assign("first", first)
    store.assign("second", second)
    assert store.list_names() == ["first", "second"]
    store.remove("first")
    assert ask(store.open("second"), "import alpha") == ""
    store.remove("second")
    assert not second.folder.exists()
    assert ask(build("alpha<2"), "import alpha") == ""


def test_a_second_build_installs_nothing(build, packages):
    steps = []
    first = build("alpha", on_step=steps.append)
    assert steps == ["choosing versions", "installing packages", "compiling modules"]
    write_wheel(packages, "alpha", "3.0")
    assert build("alpha", on_step=steps.append) == first
    assert len(steps) == 3


def test_a_lock_rebuilds_the_same_environment_when_newer_releases_exist(build, packages):
    first = build("alpha")
    write_wheel(packages, "alpha", "3.0")
    again = build("alpha", lock=first.recipe.lock)
    assert again.digest == first.digest


def test_a_changed_package_does_not_fit_the_hash_of_a_lock(build, packages):
    lock = build("alpha").recipe.lock
    write_wheel(packages, "alpha", "2.0", alpha="VALUE = 'changed'\n")
    (packages / "alpha-1.0-py3-none-any.whl").unlink()
    with pytest.raises(NoEnvironment, match=r"(?i)hash"):
        build("alpha", sources=("beta",), lock=lock, allow_source_builds=True)


def test_a_refusal_is_one_line_and_is_not_tried_again(build, packages):
    with pytest.raises(NoEnvironment, match="beta was not found") as caught:
        build("beta")
    assert "\n" not in str(caught.value)
    write_wheel(packages, "beta")
    with pytest.raises(NoEnvironment, match=r"could not be built before: .*beta was not found"):
        build("beta")
    assert ask(build("beta", retry=True), "import beta") == ""


def test_source_builds_need_the_operators_word(build, packages):
    write_source(packages, "beta")
    with pytest.raises(NoEnvironment, match=r"no usable wheels"):
        build("beta")
    with pytest.raises(BadRecipe, match=r"beta from source.*--allow-source-builds"):
        build("beta", sources=("beta",))
    environment = build("beta", sources=("beta",), allow_source_builds=True)
    assert ask(environment, "import beta; print(beta.VALUE)") == "1"


def test_a_python_that_is_not_there_is_named(build, tmp_path):
    with pytest.raises(NoEnvironment, match="no-python is no Python that starts"):
        build("alpha", interpreter=tmp_path / "no-python")
