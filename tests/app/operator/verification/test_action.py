"""`action.yml`: its own scripts run with the environment that GitHub gives, against the stand-in."""

import json
import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
import yaml

from app.settings import build_plain_environment
from tests.builders.checkout import copy_checkout

ROOT = Path(__file__).parents[4]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = ACTION["runs"]["steps"]
INSTALL = next(step for step in STEPS if step.get("name") == "Install")
JUDGE = next(step for step in STEPS if step.get("id") == "judge")
BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
"""How GitHub runs the script of a step with `shell: bash`."""
CONTEXT = re.compile(r"\$\{\{\s*([^}]+?)\s*\}\}")


def read_outputs(path):
    return dict(line.split("=", 1) for line in path.read_text().splitlines())


@pytest.fixture
def judge(runner, tmp_path):
    """The last step alone, with the programs of the tests in place of what the action installs."""
    (tmp_path / "r4p-action").mkdir()
    (tmp_path / "r4p-action" / "bin").symlink_to(sysconfig.get_path("scripts"))
    return runner


@pytest.fixture
def runner(rivalry, tmp_path):
    """Run the last step as a runner does: its script by bash, with the inputs in its environment."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "step.sh").write_text(JUDGE["run"])

    def run(event=None, **inputs):
        (tmp_path / "event.json").write_text(json.dumps(event or {}))
        for name in ("summary.md", "outputs"):
            (tmp_path / name).write_text("")
        given = {name: spec.get("default", "") for name, spec in ACTION["inputs"].items()}
        given |= {"token": rivalry.token()} | inputs
        values = {f"inputs.{name}": value for name, value in given.items()}
        values["github.server_url"] = rivalry.scene.github.url
        step = {
            name: CONTEXT.sub(lambda match: values[match[1]], text)
            for name, text in JUDGE["env"].items()
        }
        runner = {
            "RUNNER_TEMP": str(tmp_path),
            "GITHUB_REPOSITORY": rivalry.name,
            "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
            "GITHUB_OUTPUT": str(tmp_path / "outputs"),
        }
        return subprocess.run(
            [*BASH, str(tmp_path / "step.sh")],
            env=build_plain_environment() | runner | step,
            cwd=workspace,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )

    return run


def test_the_event_of_a_pull_request_gives_summary_and_outputs(judge, rivalry, tmp_path):
    done = judge({"pull_request": {"number": rivalry.pulls[0]}})
    assert done.returncode == 0, done.stderr
    summary = (tmp_path / "summary.md").read_text()
    url = f"{rivalry.scene.github.url}/{rivalry.name}"
    assert summary.startswith(
        f"### R4P: [#{rivalry.issue}]({url}/issues/{rivalry.issue}) Size is off \\| by one\n"
    )
    for pull in rivalry.pulls:
        assert f"\n| [#{pull}]({url}/pull/{pull}) | unsure |" in summary
    outputs = read_outputs(tmp_path / "outputs")
    assert (outputs["winners"], outputs["result"]) == ("[]", "unsure")
    document = json.loads(outputs["verdict"])
    assert [patch["id"] for patch in document["patches"]] == [f"#{n}" for n in rivalry.pulls]


def test_nothing_to_compare_is_no_failure(judge, rivalry, tmp_path):
    lone = rivalry.scene.repo.open_issue("Lone")
    done = judge(issue=str(lone))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "summary.md").read_text().startswith("### R4P: nothing judged\n")
    assert read_outputs(tmp_path / "outputs") == {
        "verdict": "",
        "winners": "[]",
        "result": "nothing_judged",
    }


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"issue": "$(touch owned)"}, "--issue $(touch owned) is no number of an issue"),
        ({"issue": "1; touch owned"}, "is no number of an issue"),
        ({"issue": "--help"}, "--issue --help is no number of an issue"),
        ({"issue": "1", "verifier": "`touch owned`"}, "unknown verifier"),
        ({"issue": "1", "verifier": "regression"}, "--tree"),
        ({"issue": "1", "token": ""}, "there is no GitHub token"),
        ({}, "names no issue and no pull request"),
    ],
    ids=lambda value: None if isinstance(value, str) else json.dumps(value),
)
def test_bad_inputs_fail_in_one_line_and_run_nothing(judge, tmp_path, inputs, message):
    done = judge(**inputs)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.rglob("owned"))
    assert (tmp_path / "outputs").read_text() == ""


def test_text_of_strangers_is_no_workflow_command(judge, rivalry, tmp_path):
    repo = rivalry.scene.repo
    evil = "::error::pwned\n::set-output name=winners::[1]\n<img src=x> @everyone"
    issue = repo.open_issue(evil, evil)
    for n in range(2):
        repo.open_pr(evil, f"{evil}\nFixes #{issue}", files={f"::error::{n}.py": f"x = {n}\n"})
    done = judge(issue=str(issue))
    assert done.returncode == 0, done.stderr
    pause, *_, resume = done.stdout.splitlines()
    token = pause.removeprefix("::stop-commands::")
    assert len(done.stdout.splitlines()) == 2
    assert resume == f"::{token}::"
    assert all(line.startswith("r4p verify: ") for line in done.stderr.splitlines())
    summary = (tmp_path / "summary.md").read_text()
    assert re.search(r"(?<!\\)<img", summary) is None
    assert "@everyone" not in summary
    assert list(read_outputs(tmp_path / "outputs")) == ["verdict", "winners", "result"]


def test_the_engine_key_reaches_the_engine_by_a_file_that_is_deleted(judge, rivalry, tmp_path):
    inputs = {"engine-url": "http://127.0.0.1:9", "model": "m", "engine-key": "sk-0123456789"}
    done = judge(issue=str(rivalry.issue), verifier="r4p", **inputs)
    assert done.returncode == 5, done.stderr
    assert "sk-0123456789" not in done.stdout + done.stderr
    assert not list(tmp_path.glob("r4p-key.*"))


@pytest.mark.proof
@pytest.mark.timeout(1200)
def test_what_the_action_installs_judges(runner, rivalry, tmp_path):
    """The step runs in a workspace with a pull request's modules, which Python must not import."""
    for name in ("venv", "pip", "ensurepip", "app"):
        (tmp_path / "workspace" / f"{name}.py").write_text("raise SystemExit('owned')\n")
    (tmp_path / "install.sh").write_text(INSTALL["run"])
    assert INSTALL["env"] == {"PYTHON": "${{ steps.python.outputs.python-path }}"}
    names = {
        "PYTHON": sys.executable,
        "RUNNER_TEMP": tmp_path,
        "GITHUB_ACTION_PATH": copy_checkout(tmp_path / "action"),
    }
    # `env` adds to this environment, which tells pip where its index and its cache are.
    done = subprocess.run(
        ["env", *(f"{name}={value}" for name, value in names.items()), *BASH, "../install.sh"],
        cwd=tmp_path / "workspace",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    r4p = [tmp_path / "r4p-action" / "bin" / "r4p", "--version"]
    said = subprocess.run(r4p, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert said == f"r4p {project['version']}\n"
    judged = runner(issue=str(rivalry.issue))
    assert judged.returncode == 0, judged.stderr
    assert read_outputs(tmp_path / "outputs")["result"] == "unsure"


def test_no_script_holds_an_expression():
    scripts = [step["run"] for step in STEPS if "run" in step]
    assert len(scripts) == 2
    assert [text for text in scripts if "${{" in text] == []
    assert all(step["shell"] == "bash" for step in STEPS if "run" in step)


def test_the_action_has_the_form_that_github_reads():
    assert set(ACTION) == {"name", "description", "branding", "inputs", "outputs", "runs"}
    assert ACTION["runs"]["using"] == "composite"
    assert all(set(spec) == {"description", "default"} for spec in ACTION["inputs"].values())
    assert all(set(spec) == {"description", "value"} for spec in ACTION["outputs"].values())
    used = [step["uses"] for step in STEPS if "uses" in step]
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", name) for name in used)


def test_the_action_uses_every_input_and_writes_every_output(judge, rivalry, tmp_path):
    named = set(CONTEXT.findall(json.dumps(JUDGE["env"])))
    assert named == {f"inputs.{name}" for name in ACTION["inputs"]} | {"github.server_url"}
    judge(issue=str(rivalry.issue))
    written = set(read_outputs(tmp_path / "outputs"))
    outputs = {spec["value"] for spec in ACTION["outputs"].values()}
    assert outputs == {f"${{{{ steps.judge.outputs.{name} }}}}" for name in written}


def test_the_workflow_of_the_documentation_fits_the_action():
    page = (ROOT / "docs/action.md").read_text()
    (block,) = re.findall(r"```yml\n(.*?)```", page, re.DOTALL)
    workflow = yaml.safe_load(block)
    assert set(workflow["permissions"].values()) == {"read"}
    (step,) = workflow["jobs"]["verify"]["steps"]
    assert set(step["with"]) <= set(ACTION["inputs"])
    tables = set(re.findall(r"`([a-z-]+)`", "".join(re.findall(r"^\| `.*?\|", page, re.MULTILINE))))
    assert tables == set(ACTION["inputs"]) | set(ACTION["outputs"])
