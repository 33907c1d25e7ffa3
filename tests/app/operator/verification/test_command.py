"""`r4p verify --repo`: the rivals of an issue, judged with a token that may only read."""

import json
from importlib.resources import files

import jsonschema_rs
import pytest

from tests.app.operator.verification.conftest import RIGHTS
from tests.github.world.faults import Kind
from tests.model.commands.printed_table import read_table


def write_script(folder, correct):
    """Write a script whose votes name the patch that holds the text `correct`."""
    path = folder / "script.jsonl"
    path.write_text(json.dumps({"reply": "Seen.", "box_containing": [correct], "repeat": True}))
    return ["--verifier", "r4p", "--script", str(path)]


def test_pull_requests_are_judged_by_number(run, rivalry, tmp_path):
    result = run("--json", *write_script(tmp_path, "if items else 0"))
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    schema = json.loads((files("model") / "verdict.schema.json").read_text())
    jsonschema_rs.validator_for(schema).validate(document)
    assert document["issue"] == {
        "repository": rivalry.name,
        "number": rivalry.issue,
        "title": "Size is off | by one",
    }
    first, second = rivalry.pulls
    shown = {patch["id"]: (patch["verdict"], patch["head_sha"]) for patch in document["patches"]}
    head = rivalry.scene.repo.head
    assert shown == {
        f"#{first}": ("incorrect", head(first)),
        f"#{second}": ("correct", head(second)),
    }


def test_consensus_judges_by_default_and_prints_a_table(run, rivalry):
    result = run()
    assert result.exit_code == 4, result.output
    assert "no model was asked: consensus compared the patches" in result.stdout
    shown = {row[0] for row in read_table(result.stdout)[1]}
    assert shown == {f"#{pull}" for pull in rivalry.pulls}


def test_a_mention_a_draft_a_closed_one_and_a_big_one_are_left_out(run, rivalry):
    repo = rivalry.scene.repo
    mention = repo.open_pr("See", f"See #{rivalry.issue}", files={"a.txt": "a\n"})
    draft = rivalry.add(files={"b.txt": "b\n"}, draft=True)
    closed = rivalry.add(files={"c.txt": "c\n"})
    repo.close(closed)
    big = rivalry.add(files={"d.txt": "d\n" * 20_001})
    result = run("--json")
    assert [patch["id"] for patch in json.loads(result.stdout)["patches"]] == [
        f"#{pull}" for pull in rivalry.pulls[:2]
    ]
    assert f"#{draft}: it is a draft" in result.stderr
    assert f"#{closed}: it is not open" in result.stderr
    assert f"#{big}: its diff exceeds GitHub's limit of 300 files or 20,000 lines" in result.stderr
    assert f"#{mention.number}" not in result.stderr


def test_settings_of_the_repository_choose_the_rivals(run, rivalry):
    rivalry.scene.repo.commit({".github/r4p.yml": "version: 1\nignore_authors: [copycat]\n"})
    copy = rivalry.add(files={"tool/core.py": "x = 1\n"}, author="copycat")
    result = run()
    assert f"#{copy}: its author is listed in `ignore_authors`" in result.stderr


def test_binary_change_is_named_and_not_judged(run, rivalry):
    binary = rivalry.add(files={"image.bin": "\0\1\2"})
    result = run("--json")
    assert f"#{binary} can't be judged: it changes no line of text" in result.stderr
    verdicts = {patch["id"]: patch["verdict"] for patch in json.loads(result.stdout)["patches"]}
    assert verdicts[f"#{binary}"] == "not_judged"


@pytest.mark.parametrize(
    ("pulls", "message"),
    [
        ([], "no pull request claims to resolve it"),
        ([{"tool/core.py": "x = 1\n"}], "can be judged, and a comparison needs two"),
        ([{"a.bin": "\0"}, {"b.bin": "\0"}], "can't be judged: it changes no line of text"),
    ],
    ids=["none", "one", "only binary"],
)
def test_fewer_than_two_rivals_exit_with_6(run, rivalry, pulls, message):
    issue = rivalry.scene.repo.open_issue("Another")
    for change in pulls:
        rivalry.scene.repo.open_pr("Fix", f"Fixes #{issue}", files=change)
    result = run(issue=issue)
    assert (result.exit_code, result.stdout) == (6, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("issue", [999, "pull"])
def test_number_of_no_issue_is_refused(run, rivalry, issue):
    number = rivalry.pulls[0] if issue == "pull" else issue
    result = run(issue=number)
    message = f"r4p verify: {rivalry.name} has no issue #{number}; a pull request is no issue\n"
    assert (result.exit_code, result.stderr) == (2, message)


def test_unknown_repository_and_foreign_token_are_told_in_one_line(run, rivalry, monkeypatch):
    refused = run("--repo", "acme/none")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("r4p verify: acme/none does not exist, or the token needs")
    monkeypatch.setenv("GH_TOKEN", "ghs_wrong")
    message = "r4p verify: GitHub refuses the token; it is wrong or expired\n"
    assert (run().exit_code, run().stderr) == (2, message)


@pytest.mark.parametrize("lacking", ["contents", "pull_requests"])
def test_missing_right_of_the_token_is_named(run, rivalry, monkeypatch, lacking):
    rights = {name: level for name, level in RIGHTS.items() if name != lacking}
    monkeypatch.setenv("GH_TOKEN", rivalry.token(**rights))
    result = run()
    assert result.exit_code == 2
    assert "needs read access to contents, issues and pull requests of acme" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Kind.PRIMARY_LIMIT, "API rate limit exceeded"),
        (Kind.SECONDARY_LIMIT, "(again at 20"),
        (Kind.HTML, "502"),
    ],
    ids=["primary limit", "secondary limit", "broken gateway"],
)
def test_limits_and_faults_of_github_exit_with_5(run, rivalry, kind, message):
    pull = f"GET /repos/{rivalry.name}/pulls/{rivalry.pulls[1]}"
    rivalry.scene.github.fault(pull, kind, times=5)
    result = run()
    assert result.exit_code == 5
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_token_comes_from_a_file_and_no_message_shows_it(run, rivalry, monkeypatch, tmp_path):
    token = rivalry.token()
    (tmp_path / "token").write_text(f"{token}\n")
    monkeypatch.delenv("GH_TOKEN")
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    result = run("--token-file", "token")
    assert result.exit_code == 4
    assert token not in result.output
    assert "there is no GitHub token; set GH_TOKEN" in run().stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--repo", "acme"], "--repo 'acme' is no OWNER/NAME"),
        (["--repo", "../a/b"], "is no OWNER/NAME"),
        (["x.diff"], "--repo reads the patches from GitHub; leave out x.diff"),
        (["--issue", "x"], "--issue x is no number of an issue"),
        (["--issue", "-1"], "--issue -1 is no number of an issue"),
        (["--event", "e.json"], "name the issue: --issue N, or --event FILE"),
        (["--verifier", "yes-no-trajectory"], "needs trajectories, which GitHub lacks"),
        (["--verifier", "regression"], "--tree"),
        (["--summary", "no/file"], "--summary no/file can't be written: No such file"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_wrong_options_are_refused_before_any_call(run, rivalry, arguments, message):
    calls = len(rivalry.scene.github.history())
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert len(rivalry.scene.github.history()) == calls
