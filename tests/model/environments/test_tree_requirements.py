"""What requirement files, pyproject.toml and setup.cfg ask for, read without running any code of the tree."""

import pytest

from model.environments.tree_requirements import (
    read_project_requirements,
    read_requirement_file,
)
from model.errors import BadRecipe

PYPROJECT = """
[project]
name = "Own.Name"
dependencies = ["attrs>=20"]
[project.optional-dependencies]
test = ["pytest", "own-name[speed, docs]"]
speed = ["numpy"]
docs = ["own_name[test]", "sphinx"]
[dependency-groups]
dev = [{include-group = "lint"}, "tox"]
lint = ["ruff"]
"""


def write(folder, **texts):
    for name, text in texts.items():
        (folder / name.replace("__", "/").replace("_txt", ".txt")).write_text(text)


def test_a_requirement_file_with_all_that_pip_allows_in_it(tmp_path):
    (tmp_path / "more").mkdir()
    write(
        tmp_path,
        dev_txt="# tools\n-e .[test]\n.\npytest>=8  # runs them\n-r more/base.txt\n\n",
        more__base_txt="attrs==24.1 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\n-r ../dev.txt\n",
    )
    assert read_requirement_file(tmp_path / "dev.txt") == ("pytest>=8", "attrs==24.1")


def test_a_file_outside_the_folder_is_not_read(tmp_path):
    (tmp_path / "tree").mkdir()
    write(tmp_path, secret_txt="password\n", tree__a_txt="-r ../secret.txt\n")
    with pytest.raises(BadRecipe, match="no plain text file"):
        read_requirement_file(tmp_path / "tree" / "a.txt")
    (tmp_path / "tree" / "b.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(BadRecipe, match="no plain text file"):
        read_requirement_file(tmp_path / "tree" / "b.txt")


def test_requirement_files_are_limited_in_size_and_number(tmp_path):
    write(tmp_path, large_txt="#" * 1024**2 + "\n")
    with pytest.raises(BadRecipe, match="is larger than 1,048,576 bytes"):
        read_requirement_file(tmp_path / "large.txt")
    for number in range(21):
        write(tmp_path, **{f"n{number}_txt": f"-r n{number + 1}.txt\n"})
    with pytest.raises(BadRecipe, match="the 21th requirement file"):
        read_requirement_file(tmp_path / "n0.txt")
    with pytest.raises(BadRecipe, match="does not exist"):
        read_requirement_file(tmp_path / "missing.txt")


def test_a_project_with_extras_that_name_extras(tmp_path):
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    assert read_project_requirements(tmp_path) == ("attrs>=20",)
    assert set(read_project_requirements(tmp_path, ["test"])) == {
        "attrs>=20",
        "pytest",
        "numpy",
        "sphinx",
    }
    assert read_project_requirements(tmp_path, ["dev"]) == ("attrs>=20", "tox", "ruff")
    with pytest.raises(
        BadRecipe, match="no extra 'tests'; there are: dev, docs, lint, speed, test"
    ):
        read_project_requirements(tmp_path, ["tests"])


def test_a_project_with_setup_cfg(tmp_path):
    (tmp_path / "setup.cfg").write_text(
        "[metadata]\nname = own\n[options]\ninstall_requires =\n    attrs\n    six # old\n"
        "[options.extras_require]\ntest = pytest\n"
    )
    assert read_project_requirements(tmp_path, ["test"]) == ("attrs", "six", "pytest")
    (tmp_path / "setup.cfg").write_text("no section")
    with pytest.raises(BadRecipe, match=r"setup.cfg can't be read"):
        read_project_requirements(tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[project", "can't be read"),
        ("project = 1", "can't be read"),
        ("[project]\ndependencies = [1]", "can't be read"),
        ('[project]\ndynamic = ["dependencies"]', "computes its dependencies by code"),
    ],
)
def test_a_project_that_cannot_be_read_is_named(tmp_path, text, words):
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(BadRecipe, match=words):
        read_project_requirements(tmp_path)


def test_a_project_that_names_no_packages_is_told_from_one_that_needs_none(tmp_path):
    with pytest.raises(BadRecipe, match="is no folder"):
        read_project_requirements(tmp_path / "nowhere")
    (tmp_path / "setup.cfg").write_text("[flake8]\nmax-line-length = 100\n")
    with pytest.raises(BadRecipe, match="names no packages"):
        read_project_requirements(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "own"\n')
    assert read_project_requirements(tmp_path) == ()
