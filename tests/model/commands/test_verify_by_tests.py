"""`r4p verify` with tests that run: one story on a small repository, and what goes wrong before a run."""

import difflib
import json
from importlib.resources import files

import jsonschema_rs
import pytest
from typer.testing import CliRunner

from app.cli import main

ISSUE = "# slugify keeps a dash at the end\n\n`slugify('Hello!')` gives `hello-`, and it should give `hello`.\n"
CODE = '''"""Slugs for addresses."""
import re

LIMIT = 40


def slugify(title):
    words = re.sub(r"[^a-z0-9]+", "-", title.lower())
    return words[:LIMIT]


def join(*titles):
    return "/".join(slugify(title) for title in titles)
'''
TESTS = """
import sys, unittest
sys.path.insert(0, ".")
import slugs

class Slugs(unittest.TestCase):
    def test_words(self):
        self.assertEqual(slugs.slugify("Hello big World"), "hello-big-world")

    def test_limit(self):
        self.assertEqual(len(slugs.slugify("a" * 99)), 40)

    def test_join(self):
        self.assertEqual(slugs.join("a b", "C"), "a-b/c")
"""
COMMAND = "python -m unittest discover -s tests"
RIGHT = {"words[:LIMIT]": 'words[:LIMIT].strip("-")'}
NO_DASHES = {'"-", title': '"", title'}
NO_DASHES_EITHER = {'"-", title': '"", title', "words[:LIMIT]": "words"}


def write_patch(changes):
    new = CODE
    for old, text in changes.items():
        new = new.replace(old, text)
    lines = (CODE.splitlines(keepends=True), new.splitlines(keepends=True))
    return "".join(difflib.unified_diff(*lines, "a/slugs.py", "b/slugs.py"))


@pytest.fixture
def repository(tmp_path):
    """A source tree whose three tests pass, and an issue."""
    (tree := tmp_path / "tree" / "tests").mkdir(parents=True)
    (tree / "test_slugs.py").write_text(TESTS)
    (tree.parent / "slugs.py").write_text(CODE)
    (tmp_path / "issue.md").write_text(ISSUE)
    return tmp_path


@pytest.fixture
def verify(repository):
    """`verify(*arguments, name=changes, …)`: judge these patches of the repository."""

    def call(*arguments, **patches):
        paths = []
        for name, changes in patches.items():
            (path := repository / f"{name}.diff").write_text(write_patch(changes))
            paths.append(str(path))
        issue = ("--issue", str(repository / "issue.md"))
        return CliRunner().invoke(main, ["verify", *issue, *arguments, *paths])

    return call


@pytest.fixture
def options(bubblewrap, repository):
    return ("--tree", str(repository / "tree"), "--tests", COMMAND)


def list_order(document):
    ranked = sorted(document["patches"], key=lambda patch: patch["rank"], reverse=True)
    return [patch["id"] for patch in ranked]


def test_regression_tests_put_the_right_patch_before_two_wrong_ones_that_agree(verify, options):
    patches = {"alike": NO_DASHES, "right": RIGHT, "again": NO_DASHES_EITHER}
    by_name = ("--verifier", "hybrid:consensus+regression", "--json")
    result = verify(*by_name, *options, **patches)
    document = json.loads(result.stdout)
    schema = json.loads((files("model") / "verdict.schema.json").read_text())
    jsonschema_rs.validator_for(schema).validate(document)
    assert list_order(document)[0] == "right.diff"
    alike, right, again = document["patches"]
    assert (alike["verdict"], again["verdict"]) == ("incorrect", "incorrect")
    assert right["verdict"] in {"unsure", "correct"}
    assert alike["evidence"]["regression"] == {
        "expected": 3,
        "broken": 2,
        "names": ["test_slugs.Slugs.test_join", "test_slugs.Slugs.test_words"],
    }
    assert again["evidence"]["regression"]["broken"] == 3
    assert right["evidence"]["regression"] == {"expected": 3, "broken": 0, "names": []}
    assert right["reason"].startswith("Breaks none of 3 tests that pass on the base. No model read")
    # without the tests, the two that agree come first
    alone = json.loads(verify("--verifier", "consensus", "--json", **patches).stdout)
    scores = {patch["id"]: patch["score"] for patch in alone["patches"]}
    assert min(scores, key=scores.get) == "right.diff"


def test_the_table_states_what_a_patch_breaks(verify, options):
    result = verify("--verifier", "regression", *options, wrong=NO_DASHES)
    assert result.exit_code == 3, result.output
    shown = " ".join(result.stdout.split())
    assert "wrong.diff: Breaks 2 of 3 tests that pass on the base: test_slugs" in shown
    assert "no model was asked: tests ran on the base and on each patch" in shown


SCRIPT = """
from slugs import slugify

def main():
    try:
        resolved = slugify("Hello!") == "hello"
    except Exception:
        print("Other issues")
        return
    print("Issue resolved" if resolved else "Issue reproduced")

main()
"""


def test_a_script_written_for_the_issue_decides_between_patches_that_break_nothing(
    verify, options, repository
):
    (repository / "seen.py").write_text(SCRIPT)
    (repository / "useless.py").write_text("print('Issue resolved')\n")
    scripts = [
        word
        for name in ("seen.py", "useless.py")
        for word in ("--reproduction", str(repository / name))
    ]
    patches = {"right": RIGHT, "other": {"LIMIT = 40": "LIMIT = 41 - 1"}}
    result = verify("--verifier", "execution", "--json", *options, *scripts, **patches)
    assert result.exit_code == 0, result.output
    right, other = json.loads(result.stdout)["patches"]
    assert (right["verdict"], right["score"]) == ("correct", 1)
    assert (other["verdict"], other["score"]) == ("incorrect", 0)
    assert right["evidence"]["reproduction"] == {"tests": 1, "passed": 1}
    assert right["reason"].endswith("Passes 1 of 1 test written for the issue.")
    assert "1 reproduction test did not count: resolved on base" in result.stderr


def test_a_model_writes_the_tests_that_decide(verify, options, repository):
    replies = [f"```python\n{SCRIPT}```", "I cannot write it."]
    script = "".join(json.dumps({"when": "slugify", "reply": reply}) + "\n" for reply in replies)
    (repository / "script.jsonl").write_text(script)
    written = ("--write-tests", "2", "--script", str(repository / "script.jsonl"))
    patches = {"right": RIGHT, "other": {"LIMIT = 40": "LIMIT = 41 - 1"}}
    result = verify("--verifier", "execution", "--json", *options, *written, **patches)
    assert result.exit_code == 0, result.output
    right, other = json.loads(result.stdout)["patches"]
    assert (right["verdict"], other["verdict"]) == ("correct", "incorrect")
    assert right["evidence"]["reproduction"] == {"tests": 1, "passed": 1}
    assert "1 reproduction test did not count: no script" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("--verifier", "regression", "--tree", ".", "--write-tests", "2"),
            "--write-tests does nothing for verifier regression",
        ),
        (
            ("--verifier", "execution", "--tree", ".", "--write-tests", "2", "--reproduction", "x"),
            "--write-tests and --reproduction exclude each other",
        ),
        (("--verifier", "regression"), "verifier regression judges by tests"),
        (("--verifier", "hybrid:consensus+execution"), "source tree with --tree DIR"),
        (("--verifier", "consensus", "--tree", "."), "--tree does nothing for verifier consensus"),
        (("--verifier", "regression", "--tree", "/no"), "--tree /no is no directory"),
        (("--verifier", "regression", "--tree", ".", "--tests", "make"), "'make' starts no test"),
        (
            ("--verifier", "regression", "--tree", ".", "--reproduction", __file__),
            "--reproduction does nothing for verifier regression",
        ),
        (
            ("--verifier", "execution", "--tree", ".", "--reproduction", "/no.py"),
            "reproduction test /no.py can't be read",
        ),
        (("--verifier", "consensus", "--shortlist", "2"), "consensus makes no shortlist"),
    ],
)
def test_what_is_missing_is_one_line_with_the_fix(verify, arguments, words):
    result = verify(*arguments, right=RIGHT)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_base_that_passes_no_test_is_an_error_before_any_verdict(verify, options, repository):
    (repository / "tree" / "slugs.py").write_text("raise ImportError\n")
    result = verify("--verifier", "regression", *options, right=RIGHT)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "none of 1 tests passes on the base" in result.stderr
