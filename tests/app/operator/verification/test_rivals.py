"""The group of an issue by a plain token: from an event, and while somebody pushes."""

import json
from dataclasses import dataclass

import pytest
import typer
from pydantic import SecretStr

from app.github.api.token_reader import TokenReader, find_repository
from app.github.api_call import Call, Method
from app.github.endpoints import build_endpoints
from app.operator.verification.rivals import GroupReader


@dataclass(frozen=True, slots=True)
class PushingReader(TokenReader):
    """Reads like GitHub's users do; a contributor pushes right after each diff."""

    rivalry: object

    def ask(self, call):
        answer = super(PushingReader, self).ask(call)
        if call.accept.endswith("diff"):
            self.rivalry.scene.repo.push(self.rivalry.pulls[0], files={"late.txt": "x\n"})
        return answer


def test_push_between_head_and_diff_ends_the_command(rivalry, capsys):
    endpoints = build_endpoints(rivalry.scene.github.url)
    token = SecretStr(rivalry.token())
    github = PushingReader(TokenReader.open(endpoints, token).transport, token, rivalry)
    ref = find_repository(github, rivalry.name)
    with pytest.raises(typer.Exit) as ended:
        GroupReader(github, ref, "127.0.0.1", endpoints).read(rivalry.issue)
    github.close()
    assert ended.value.exit_code == 5
    said = capsys.readouterr().err
    assert f"#{rivalry.pulls[0]} changed while its diff was read; run the command again" in said


def test_reader_with_a_token_refuses_to_write(rivalry):
    reader = TokenReader.open(
        build_endpoints(rivalry.scene.github.url), SecretStr("ghs_0123456789")
    )
    with pytest.raises(ValueError, match="only reads"):
        reader.ask(Call(Method.POST, "/repos/a/b/issues/1/comments", body={"body": "x"}))
    reader.close()


@pytest.mark.parametrize("kind", ["issue", "pull request", "comment on the pull request"])
def test_event_names_the_issue_or_its_pull_request(run, rivalry, tmp_path, kind):
    events = {
        "issue": {"issue": {"number": rivalry.issue}},
        "pull request": {"pull_request": {"number": rivalry.pulls[1]}},
        "comment on the pull request": {
            "issue": {"number": rivalry.pulls[1], "pull_request": {"url": "https://x"}}
        },
    }
    (tmp_path / "event.json").write_text(json.dumps(events[kind]))
    result = run("--event", "event.json", "--json", issue=None)
    assert json.loads(result.stdout)["issue"]["number"] == rivalry.issue


@pytest.mark.parametrize("place", ["own", "organisation"])
def test_an_event_judges_nobody_who_waits_for_approval_and_a_person_does(
    run, rivalry, tmp_path, place
):
    settings = {".github/r4p.yml": "version: 1\njudge_from: approved\n"}
    if place == "own":
        rivalry.scene.repo.commit(settings)
    else:
        owner = rivalry.name.partition("/")[0]
        rivalry.scene.github.create_repository(f"{owner}/.github", settings)
    (tmp_path / "event.json").write_text(json.dumps({"issue": {"number": rivalry.issue}}))
    started = run("--event", "event.json", issue=None)
    assert started.exit_code == 6
    assert started.stderr.count("it waits for `/r4p ok`") == 2
    assert run("--json").exit_code in {0, 3, 4}


def test_an_event_waits_for_as_many_candidates_as_the_repository_wants(run, rivalry, tmp_path):
    rivalry.scene.repo.commit({".github/r4p.yml": "version: 1\nmin_candidates: 3\n"})
    (tmp_path / "event.json").write_text(json.dumps({"issue": {"number": rivalry.issue}}))
    started = run("--event", "event.json", issue=None)
    assert started.exit_code == 6
    assert "the bot can judge 2" in started.stderr
    assert run("--json").exit_code in {0, 3, 4}


@pytest.mark.parametrize("number", ["0", "12345678901", "000000000012", "9" * 5000, "1.0"])
def test_a_number_that_no_issue_has_is_a_usage_error(run, number):
    result = run(issue=number)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is no number of an issue" in result.stderr


@pytest.mark.parametrize("token", ["opaque\nsecret", "tökens3cret", "two words"])
def test_a_token_that_no_header_can_carry_is_refused_and_never_shown(run, monkeypatch, token):
    monkeypatch.setenv("GH_TOKEN", token)
    result = run()
    assert result.exit_code == 2
    assert "variable GH_TOKEN holds no token" in result.stderr
    assert "secret" not in result.stderr + result.stdout


@pytest.mark.parametrize(
    ("body", "base", "message"),
    [
        ("no issue", None, "closes no issue"),
        ("Fixes #{issue}, fixes #{second}", None, "closes several issues"),
        ("Fixes #{issue}, fixes #{second}", "next", "closes several issues"),
    ],
    ids=["none", "several", "several by keyword"],
)
def test_pull_request_without_a_single_issue_exits_with_6(
    run, rivalry, tmp_path, body, base, message
):
    repo = rivalry.scene.repo
    second = repo.open_issue("Second")
    if base:
        repo.commit({"n.txt": "n\n"}, branch=base)
    text = body.format(issue=rivalry.issue, second=second)
    pull = repo.open_pr("Fix", text, files={"z.txt": "z\n"}, base=base)
    (tmp_path / "event.json").write_text(json.dumps({"pull_request": {"number": pull.number}}))
    result = run("--event", "event.json", issue=None)
    assert result.exit_code == 6
    assert message in result.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"garbage", "is no event of GitHub; give $GITHUB_EVENT_PATH"),
        (b"\xff\xfe\0", "is no event of GitHub"),
        (b'{"schedule": "0 0 * * *"}', "names no issue and no pull request; give --issue N"),
        (b'{"issue": {"number": "1; rm -rf /"}}', "is no event of GitHub"),
        (b'{"issue": {"number": -4}}', "is no event of GitHub"),
        (None, "can't be read: No such file"),
    ],
    ids=["no json", "utf-16", "schedule", "text as number", "negative", "no file"],
)
def test_unusable_event_is_a_usage_error_of_one_line(run, tmp_path, content, message):
    if content is not None:
        (tmp_path / "event.json").write_bytes(content)
    result = run("--event", "event.json", issue=None)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
