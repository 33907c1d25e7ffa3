import pytest

from app.values.text_matching import is_match


@pytest.mark.parametrize(
    ("path", "glob", "meant"),
    [
        ("src/a.py", "src/*.py", True),
        ("src/deep/a.py", "src/*.py", False),
        ("src/deep/a.py", "src/**/*.py", True),
        ("src/a.py", "src/**/*.py", True),
        ("src/deep/er/a.py", "src/**", True),
        ("src", "src/**", True),
        ("docs/a.py", "src/**", False),
        ("a/b/c", "**/c", True),
        ("c", "**/c", True),
        ("a/b", "/a/b", True),
        ("deep/a.py", "*.py", True),
        ("deep/a.md", "*.py", False),
        ("a/b1/c", "a/b?/c", True),
        ("a/b", "a/b/c", False),
        ("A/b", "a/b", False),
        ("a" * 200 + "/c", "*a*" * 60 + "/b", False),
        ("a" * 200, "*a*" * 60 + "b", False),
        ("/".join("a" * 500), "/".join(["**"] * 60 + ["b"]), False),
    ],
)
def test_a_glob_means_what_people_expect(path, glob, meant):
    assert is_match(path, glob) is meant


def test_a_glob_after_a_dead_end_matches_nothing():
    assert not is_match("a/b", "x/**/b")
