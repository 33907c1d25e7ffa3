import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import app.settings.repo_config
from app.settings.repo_config import (
    WITHOUT_FILE,
    Alternatives,
    AlternativesBudget,
    Comments,
    ConfigError,
    Mode,
    RepoConfig,
    RepositoryTests,
    TrainingConsent,
    TriggerKind,
    build_json_schema,
    parse,
)

FULL = """\
# R4P bot
version: 1
mode: enforce
triggers: [command]
min_candidates: 3
quiet_minutes: 0
votes: 8
comments: all
paths:
  - src/**
  - "*.py"
ignore_authors: [renovate[bot]]
alternatives: 2
alternatives_budget:
  tokens: 50000
tests:
  command: pytest -q tests
  environment: py311
training: on
"""


def problems(text):
    error = parse(text)
    assert isinstance(error, ConfigError)
    return [str(problem) for problem in error.problems]


def test_a_file_may_say_nothing_but_its_version():
    assert parse("version: 1") == WITHOUT_FILE == RepoConfig(version=1)


def test_the_default_settings_are_careful():
    assert WITHOUT_FILE.mode is Mode.SHADOW
    assert WITHOUT_FILE.triggers == (TriggerKind.PULL_REQUEST, TriggerKind.COMMAND)
    assert WITHOUT_FILE.min_candidates == 2
    assert WITHOUT_FILE.quiet_minutes == 10
    assert WITHOUT_FILE.votes == 4
    assert WITHOUT_FILE.comments is Comments.OUTCOMES
    assert WITHOUT_FILE.paths == WITHOUT_FILE.ignore_authors == ()
    assert WITHOUT_FILE.alternatives is Alternatives.OFF
    assert WITHOUT_FILE.training is TrainingConsent.OFF
    assert WITHOUT_FILE.alternatives_budget == AlternativesBudget(tokens=200_000, seconds=3_600)


@pytest.mark.parametrize(("word", "means"), [("off", "off"), ("fill", "fill"), ("3", 3)])
def test_alternatives_are_a_word_or_a_number(word, means):
    assert parse(f"version: 1\nalternatives: {word}").alternatives == means


@pytest.mark.parametrize(("word", "means"), [("true", True), ("false", False)])
def test_draft_pull_requests_are_wanted_or_not(word, means):
    assert parse(f"version: 1\ndraft_pull_requests: {word}").draft_pull_requests is means


@pytest.mark.parametrize("word", ["off", "calibrate", "export", "on"])
def test_training_is_a_word_that_yaml_reads_as_a_truth(word):
    assert parse(f"version: 1\ntraining: {word}").training == word


def test_every_key_is_read():
    assert parse(FULL.replace("renovate[bot]", "'renovate[bot]'")) == RepoConfig(
        version=1,
        mode=Mode.ENFORCE,
        triggers=(TriggerKind.COMMAND,),
        min_candidates=3,
        quiet_minutes=0,
        votes=8,
        comments=Comments.ALL,
        paths=("src/**", "*.py"),
        ignore_authors=("renovate[bot]",),
        alternatives=2,
        alternatives_budget=AlternativesBudget(tokens=50_000, seconds=3_600),
        tests=RepositoryTests(command="pytest -q tests", environment="py311", seconds=300),
        training=TrainingConsent.ON,
    )


NAME = "give a name of letters, digits, `.`, `_` and `-`, of up to 64 characters"


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        (
            "3",
            "`tests` can't be `3`: give a mapping of `command`, `environment`, `seconds` and `reproduction`",
        ),
        ("{command: pytest}", f"`tests.environment` is missing: {NAME}"),
        (
            "{command: pytest, environment: ../host}",
            f"`tests.environment` can't be `../host`: {NAME}",
        ),
        (
            "{command: 3, environment: py}",
            "`tests.command` can't be `3`: give a text of up to 500 characters",
        ),
        (
            "{command: make test, environment: py}",
            (
                "`tests.command`: test command 'make test' starts no test runner that is known here; write `pytest …`, "
                "`python -m unittest …`, or `python SCRIPT.py …` for a script that uses unittest; only `r4p test --junit FILE` runs other programs"
            ),
        ),
        (
            "{command: pytest, environment: py, seconds: 9999}",
            "`tests.seconds` can't be `9999`: give a whole number from 1 to 1800",
        ),
        (
            "{command: pytest, environment: py, second: 9}",
            "unknown key `second`: did you mean `seconds`?",
        ),
    ],
)
def test_wrong_tests_get_one_clear_line(tests, expected):
    assert problems(f"version: 1\ntests: {tests}") == [f"line 2: {expected}"]


def test_a_repository_has_no_tests_unless_it_says_so():
    assert parse("version: 1\ntests:").tests is WITHOUT_FILE.tests is None


def test_a_configuration_does_not_change():
    with pytest.raises(ValidationError):
        WITHOUT_FILE.votes = 5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("version: 1\ntrigers: [command]", "line 2: unknown key `trigers`: did you mean `triggers`?"),
        (
            "version: 1\nzzz: 1",
            "line 2: unknown key `zzz`: the keys are " + ", ".join(RepoConfig.model_fields),
        ),
        ("mode: shadow", "`version` is missing: add `version: 1`"),
        ("version: 2", "line 1: `version` can't be `2`: give 1"),
        ("version: '1'", "line 1: `version` can't be `1`: give 1"),
        (
            "version: 1\n\nmode: loud",
            "line 3: `mode` can't be `loud`: choose `shadow`, `advisory` or `enforce`",
        ),
        ("version: 1\nmode: off", "line 2: `mode` can't be `off`: choose `shadow`, `advisory` or `enforce`"),
        ("version: 1\nvotes: 99", "line 2: `votes` can't be `99`: give a whole number from 1 to 32"),
        ("version: 1\nvotes: four", "line 2: `votes` can't be `four`: give a whole number from 1 to 32"),
        ("version: 1\nvotes: 1.5", "line 2: `votes` can't be `1.5`: give a whole number from 1 to 32"),
        ("version: 1\nvotes:", "line 2: `votes` can't be empty: give a whole number from 1 to 32"),
        (
            "version: 1\ndraft_pull_requests: 1",
            "line 2: `draft_pull_requests` can't be `1`: choose `true` or `false`",
        ),
        (
            "version: 1\ndraft_pull_requests: [true]",
            "line 2: `draft_pull_requests` can't be a list of 1: choose `true` or `false`",
        ),
        ("version: 1\nvotes: {a: 1}", "line 2: `votes` can't be a mapping: give a whole number from 1 to 32"),
        (
            "version: 1\ntriggers:\n  - command\n  - push",
            "line 4: `triggers` can't be `push`: give a list of `pull_request` or `command`",
        ),
        (
            "version: 1\ntriggers: []",
            "line 2: `triggers` can't be a list of 0: give a list of `pull_request` or `command`",
        ),
        (
            "version: 1\npaths: src",
            "line 2: `paths` can't be `src`: give a list of at most 100 texts, each up to 200 characters",
        ),
        (
            "version: 1\nignore_authors: [" + "x" * 101 + "]",
            "line 2: `ignore_authors` can't be `" + "x" * 40 + "…`: "
            "give a list of at most 100 texts, each up to 100 characters",
        ),
        (
            "version: 1\nalternatives: 4",
            "line 2: `alternatives` can't be `4`: choose `off` or `fill` or give a whole number from 1 to 3",
        ),
        (
            "version: 1\nalternatives: {off: 1}",
            "line 2: `alternatives` can't be a mapping: choose `off` or `fill` or give a whole number from 1 to 3",
        ),
        (
            "version: 1\nalternatives_budget: 5",
            "line 2: `alternatives_budget` can't be `5`: give a mapping of `tokens` and `seconds`",
        ),
        (
            "version: 1\nalternatives_budget:\n  tokens: 5\n  seconds: -1",
            "line 4: `alternatives_budget.seconds` can't be `-1`: give a whole number from 0 to 86400",
        ),
        (
            "version: 1\nalternatives_budget: {\n  token: 1}",
            "line 3: unknown key `token`: did you mean `tokens`?",
        ),
        (
            "version: 1\nalternatives_budget: {zzz: 1}",
            "line 2: unknown key `zzz`: the keys are tokens, seconds",
        ),
        ("version: 1\nversion: 1", "line 2: `version` is set twice"),
        ("", "the file holds no settings: begin with `version: 1`"),
        ("- a", "the file holds no settings: begin with `version: 1`"),
        ("a: [", "line 1: not YAML: expected the node content, but found '<stream end>'"),
        ("a: \x07", "not YAML: a character that YAML does not allow"),
        ("a: 1\n---\nb: 1", "line 2: not YAML: but found another document"),
        ("a: &x 1\nb: *x", "line 2: aliases (`*name`) are not allowed: write the value out"),
        ("a: " + "[" * 20 + "]" * 20, "line 1: nested more than 8 levels deep"),
        ("a:\n" + " - b\n" * 6000, "line 4998: too many entries"),
        ("a: " + "x" * 70_000, "the file is longer than 65536 characters"),
        ("? [a]\n: b", "line 1: a key must be a word"),
        ("a: !!python/name:os.system", "line 1: the tag `python/name:os.system` is not allowed"),
        ("a: !x b", "line 1: the tag `!x` is not allowed"),
        ("a: !x {b: c}", "line 1: the tag `!x` is not allowed"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)  # fmt: skip
def test_a_problem_names_the_line_and_the_way_out(text, expected):
    assert problems(text) == [expected]


def test_all_problems_are_told_at_once():
    assert problems("mode: loud\nvots: 3") == [
        "`version` is missing: add `version: 1`",
        "line 1: `mode` can't be `loud`: choose `shadow`, `advisory` or `enforce`",
        "line 2: unknown key `vots`: did you mean `votes`?",
    ]


@pytest.mark.parametrize("name", ["no", "2026-03-01", "1:30", "0x1f", "1e3", "~x", "y", "~"])
def test_names_that_yaml_would_bend_stay_as_written_or_are_refused(name):
    config = parse(f"version: 1\nignore_authors: [{name}]")
    assert isinstance(config, ConfigError) == (name == "~")
    assert name == "~" or config.ignore_authors == (name,)


def test_a_number_is_no_login():
    assert problems("version: 1\nignore_authors: [123]")[0].startswith("line 2: `ignore_authors`")


FRAGMENTS = ["version", "votes", ": ", "1", "\n", "- ", "[", "]", "{", "}", "*a", "&a", "'", "x"]
FRAGMENTS += ["!!bool ", "!!timestamp ", "!!int ", "!!map ", "? ", '"', "|", "\t", "<<"]


@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=80)
    | st.lists(
        st.sampled_from(FRAGMENTS),
        max_size=14,
    ).map("".join)
)  # fmt: skip
def test_any_text_gives_a_configuration_or_a_reason(text):
    answer = parse(text)
    assert isinstance(answer, RepoConfig) or answer.problems


def test_the_published_schema_is_this_one():
    published = Path(app.settings.repo_config.__file__).with_suffix(".schema.json")
    assert json.loads(published.read_text()) == build_json_schema()


def test_the_schema_explains_every_key():
    assert all("description" in field for field in build_json_schema()["properties"].values())
