"""Recipes: what they may ask for, their one form, and the JSON of many."""

import json
from dataclasses import replace

import pytest

from model.environments.recipe import (
    EnvironmentRecipe,
    format_environments,
    parse_environments,
    parse_lock,
    parse_recipe,
)
from model.errors import BadRecipe

HASH = "--hash=sha256:" + "0" * 64
FULL = EnvironmentRecipe(
    "3.11", ("attrs", "pytest>=8"), "2024-05-31", ("docopt",), (f"attrs==24.1 {HASH}",)
)


def test_a_recipe_has_one_form():
    recipe = EnvironmentRecipe(
        "3.11", ("pytest >= 8", "attrs", "attrs"), source_builds=("Doc_Opt",)
    )
    assert parse_recipe(recipe).requirements == ("attrs", "pytest>=8")
    assert parse_recipe(recipe).source_builds == ("doc-opt",)


@pytest.mark.parametrize(
    ("requirement", "words"),
    [
        ("evil @ https://host/evil.whl", "names an address"),
        ("evil @ git+https://host/evil", "names an address"),
        ("evil @ file:///root/.ssh", "names an address"),
        ("git+https://host/evil", "is no package with a version"),
        ("./evil", "is no package with a version"),
        ("/root/evil", "is no package with a version"),
        ("-e .", "is no package with a version"),
        ("--index-url=https://host", "is no package with a version"),
        ("attrs\n--index-url=https://host", "is no package with a version"),
        ("attrs" + "!=1" * 200, "is no package with a version"),
        ("attrs!=1" + ",!=1.0" * 100, "write it as|has over 300 letters"),
        ("a" * 300 + "b", "has over 300 letters"),
        ("", "is no package with a version"),
    ],
)
def test_a_requirement_names_a_package_and_nothing_else(requirement, words):
    with pytest.raises(BadRecipe, match=words):
        parse_recipe(EnvironmentRecipe("3.11", (requirement,)))


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        (EnvironmentRecipe("/bin/sh", ()), "Python '/bin/sh'"),
        (EnvironmentRecipe("3.11", (), exclude_newer="2024-02-30"), "date '2024-02-30'"),
        (EnvironmentRecipe("3.11", (), exclude_newer="20240229"), "date '20240229'"),
        (EnvironmentRecipe("3.11", (), source_builds=(":all:",)), "source build ':all:'"),
        (EnvironmentRecipe("3.11", ("b",) * 501), "501 requirements; the most are 500"),
        (EnvironmentRecipe("3.11", (), lock=("attrs==24.1",)), "locked package 'attrs==24.1'"),
        (EnvironmentRecipe("3.11", (), lock=(f"a @ https://h {HASH}",)), "locked package"),
        (EnvironmentRecipe("3.11", (), lock=(f"a==1 {HASH}\n-e /",)), "locked package"),
    ],
)
def test_a_wrong_recipe_is_named_with_its_value(recipe, words):
    with pytest.raises(BadRecipe, match=words):
        parse_recipe(recipe)


def test_recipes_are_written_and_read():
    recipes = {"b": FULL, "a": EnvironmentRecipe("3.12", ())}
    text = format_environments(recipes)
    assert parse_environments(text) == recipes
    assert format_environments(parse_environments(text)) == text


def document(environments):
    return json.dumps({"schema": "r4p.environments/1", "environments": environments})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "can't be read"),
        ("[" * 100_000, "can't be read"),
        ("{}", "r4p.environments/1"),
        (document([]), "no object with at most"),
        (document({"a": {"python": 3, "requirements": []}}), "python"),
        (document({"a": {"python": "3.11", "requirements": [], "url": ""}}), "url"),
        (document({"../a": {"python": "3.11", "requirements": []}}), "name '../a'"),
        (document({"a": {"python": "3.11", "requirements": ["-e ."]}}), "requirement '-e .'"),
    ],
)
def test_a_wrong_document_is_named(text, words):
    with pytest.raises(BadRecipe, match=words):
        parse_environments(text)


def test_recipes_that_ask_for_the_same_have_one_fingerprint():
    assert FULL.fingerprint == replace(FULL).fingerprint
    assert FULL.fingerprint != replace(FULL, lock=None).fingerprint


def test_a_lock_holds_pinned_packages_only():
    assert parse_lock(f"# by uv\nb==2 \\\n    {HASH} \\\n    {HASH}\na==1 \\\n    {HASH}\n") == (
        f"a==1 {HASH}",
        f"b==2 {HASH} {HASH}",
    )
    with pytest.raises(BadRecipe, match="locked package '-e /tree'"):
        parse_lock("-e /tree\n")
