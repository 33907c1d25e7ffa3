"""The operator's answers: what follows from them, and one clear line for each mistake."""

import json
from pathlib import Path

import pytest

from app.github import app_manifest
from app.operator.setup.answers import LONGEST_NAME, BadAnswer, parse_answers, suggest_name

GIVEN = {"name": "r4p-bot-1", "public_url": "https://r4p.example.com/"}
SERVER = {"model_kind": "server", "engine_url": "http://gpu:8000/v1", "model": "m"}
BY_HAND = Path(__file__).parents[4] / "deploy" / "app-manifest.json"


def test_a_bot_with_a_public_address_gets_webhooks():
    answers = parse_answers(GIVEN)
    manifest = answers.build_manifest("http://127.0.0.1:8000/setup/callback")
    assert manifest["hook_attributes"] == {
        "url": "https://r4p.example.com/api/github/webhooks",
        "active": True,
    }
    assert answers.list_settings() == {
        "R4P_GITHUB_URL": "https://github.com",
        "R4P_INGRESS": "webhook",
        "R4P_PUBLIC_URL": "https://r4p.example.com",
    }


def test_a_bot_without_one_polls_and_its_webhooks_go_nowhere():
    answers = parse_answers({"name": "r4p-bot-1"})
    hook = answers.build_manifest("http://x/")["hook_attributes"]
    assert hook == {"url": "https://r4p-polls.invalid/api/github/webhooks", "active": True}
    assert answers.list_settings()["R4P_INGRESS"] == "polling"


def test_the_manifest_is_the_one_for_people_who_register_by_hand():
    by_hand = json.loads(BY_HAND.read_text())
    made = parse_answers(GIVEN).build_manifest("http://x/")
    same = ("default_permissions", "default_events", "description", "public")
    assert {name: made[name] for name in same} == {name: by_hand[name] for name in same}


@pytest.mark.parametrize(
    ("more", "address"),
    [
        ({}, "https://github.com/settings/apps/new"),
        ({"organisation": "octo"}, "https://github.com/organizations/octo/settings/apps/new"),
        (
            {"github_url": "https://git.example.com/", "organisation": "octo"},
            "https://git.example.com/organizations/octo/settings/apps/new",
        ),
    ],
)
def test_github_and_its_enterprise_server_have_their_own_page(more, address):
    assert parse_answers(GIVEN | more).registration_url == address


def test_a_model_server_is_kept_without_its_key():
    answers = parse_answers(GIVEN | SERVER | {"api_key": "sk-never-shown"})
    settings = answers.list_settings()
    assert (settings["R4P_ENGINE_URL"], settings["R4P_MODEL"]) == ("http://gpu:8000/v1", "m")
    assert "never-shown" not in f"{settings}{answers}"
    unused = parse_answers(GIVEN | SERVER | {"model_kind": "none"})
    assert "R4P_ENGINE_URL" not in unused.list_settings()


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"name": ""}, "App name '': give 1 to 34 characters"),
        ({"name": "x" * 35}, "give 1 to 34 characters"),
        ({"name": "a\nb"}, "give 1 to 34 characters"),
        ({"organisation": "../octo"}, "organisation '../octo': give its login"),
        ({"github_url": "git.example.com"}, "GitHub server 'git.example.com': give an address"),
        ({"github_url": "https://me@git"}, "GitHub server 'https://me@git': give an address"),
        ({"github_url": "https://[git"}, "GitHub server 'https://[git': give an address"),
        ({"github_url": "https://g;script-src *"}, "GitHub server 'https://g;script-src *': give"),
        (
            {"github_url": "https://git.example.com?x"},
            "as in https://host, without spaces, ? and #",
        ),
        ({"github_url": "https://git.example.com/a b"}, "without spaces, ? and #"),
        ({"github_url": "https://h:99999"}, "'https://h:99999': give a port from 1 to 65535"),
        ({"github_url": "https://h:0"}, "give a port from 1 to 65535, or none"),
        ({"github_url": "https://h:"}, "give a port from 1 to 65535, or none"),
        ({"public_url": "https://.."}, "public address 'https://..': give an address"),
        ({"github_url": f"https://{'a' * 64}.com"}, "give an address, as in https://host"),
        (SERVER | {"engine_url": "http://..:1/v1"}, "model server 'http://..:1/v1': give"),
        ({"public_url": "https://r4p.example.com#x"}, "public address 'https://r4p.example.com#x'"),
        (
            {"public_url": "https://127.0.0.1"},
            "'https://127.0.0.1' is this machine's own: give one",
        ),
        ({"public_url": "http://[::1]:9"}, "'http://[::1]:9' is this machine's own: give one"),
        ({"public_url": "http://r4p.example.com"}, "give one with https, or none to poll GitHub"),
        ({"model_kind": "gpt"}, "model: choose one of none, embedded, server"),
        ({"model_kind": "server"}, "model server '': give an address"),
        ({"model": "x" * 2_001}, "model is longer than 2000 characters: shorten it"),
    ],
)
def test_a_wrong_answer_is_named_with_its_fix(wrong, line):
    with pytest.raises(BadAnswer) as error:
        parse_answers(GIVEN | wrong)
    assert line in str(error.value)


@pytest.mark.parametrize("key", ["sk-nev\u00e9r", "sk never", "sk-nev\ner"], ids=ascii)
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(key):
    with pytest.raises(BadAnswer, match="character outside ASCII: copy it again") as error:
        parse_answers(GIVEN | SERVER | {"api_key": key})
    assert "sk" not in str(error.value)


@pytest.mark.parametrize(
    "address",
    ["https://my_host.", "http://[::1]:8000", "http://127.0.0.1:65535", "https://a-b.c1:1/ghe"],
)
def test_hosts_of_all_kinds_are_accepted(address):
    assert parse_answers(GIVEN | {"github_url": address}).github_url == address


def test_a_suggested_name_fits_and_is_new():
    assert len({suggest_name() for _ in range(20)}) == 20
    assert len(suggest_name()) <= LONGEST_NAME


def test_missing_permissions_count_higher_levels_as_enough():
    granted = dict.fromkeys(app_manifest.PERMISSIONS, "admin") | {"issues": "read"}
    assert app_manifest.list_missing_permissions(granted) == {"issues": "write"}
