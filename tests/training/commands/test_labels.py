"""`r4p labels` on a database in which much has happened: why, how many, how sure."""

import json

import pytest
from sqlalchemy import insert, update
from typer.testing import CliRunner

from app.db.session import transaction
from app.db.store.issues import groups
from app.db.store.outcomes.outcomes import rederive_all
from app.db.tables.schema import outcomes, repositories
from model.evaluation.labelled_group import read_groups as groups_read
from tests.builders.history import issue_history
from tests.services import child, wait_for
from training.commands.labels import app

pytestmark = pytest.mark.services
ISSUE = "octo/cat#3"
LEARNT = "version: 1\ntraining: on\n"


@pytest.fixture
def history(database, database_url, monkeypatch):
    monkeypatch.setenv("R4P_DATABASE_URL", database_url)
    with transaction(database) as connection:
        issue_history.live(connection, LEARNT)
    return database


def invoke(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


def print_output(*arguments):
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


EXPLAINED = """\
octo/cat#3 as of 2026-07-01, by version 4 of the rules
Patches as they were submitted first are learnt from.

#12 as submitted first: weakly incorrect, P(correct) 0.30
  A maintainer asked for changes of it, and a changed patch was merged. (sent_back)
  - changes were requested by somebody with maintain on 2026-03-02
  - another patch of the pull request was merged on 2026-03-04
  Known since 2026-03-18; counts 0.5, for our verdict could be read before it was decided.
  r4p said: correct, wrongly by this label

#12 as of 2026-03-03 21:00: correct, P(correct) 0.90
  It was merged as it is; after 30 days or more at least 50% of its lines are left. (survived)
  - merged by somebody with maintain on 2026-03-04
  - 80% of its lines left after 90 days
  Known since 2026-06-02; counts 0.5, for our verdict could be read before it was decided.
  r4p said: correct, rightly by this label

#13 as submitted first: incorrect, P(correct) 0.10
  It was closed unmerged, and a CI that failed on it succeeded on a rival for the same issue. (failed_ci)
  - CI failed on it, and succeeded on a rival on 2026-03-01
  - closed (superseded) by somebody with maintain on 2026-03-04
  Known since 2026-03-18; counts 1.
  r4p said: correct, wrongly by this label

#14 as submitted first: incorrect, P(correct) 0.15
  A maintainer asked for changes of it, did not take that back, and a maintainer closed it unmerged. (rejected)
  - changes were requested by somebody with maintain on 2026-03-02
  - closed (closed by maintainer) by somebody with maintain on 2026-03-21
  Known since 2026-04-04; counts 0.5, for our verdict could be read before it was decided.
  r4p said: incorrect, rightly by this label

#15 as submitted first: unknown
  Its pull request is open. (open)
  r4p said: correct

What happened:
  2026-03-01 09:00  #12     r4p says correct
  2026-03-01 09:00  #13     r4p says correct
  2026-03-01 09:00  #14     r4p says incorrect
  2026-03-01 11:24  #12     ci (success) by ci[bot], app
  2026-03-01 11:24  #13     ci (failure) by ci[bot], app
  2026-03-02 09:00  #12     reviewed (changes requested) by mia, maintain
  2026-03-02 13:48  #14     reviewed (changes requested) by mia, maintain
  2026-03-03 09:00  #12     new commits after verdict by cleo, read
  2026-03-03 21:00  #12     r4p says correct
  2026-03-03 21:00  #14     r4p says incorrect
  2026-03-03 21:00  #15     r4p says correct
  2026-03-04 09:00  #12     merged by mia, maintain
  2026-03-04 11:24  #13     closed (superseded) by mia, maintain
  2026-03-11 09:00  #12     100% of its lines left after 7 days
  2026-03-21 09:00  #14     closed (closed by maintainer) by mia, maintain
  2026-04-03 09:00  #12     90% of its lines left after 30 days
  2026-06-02 09:00  #12     80% of its lines left after 90 days
"""


def test_explain_shows_an_issue_patch_by_patch(history):
    assert print_output("explain", ISSUE, "--as-of", "2026-07-01") == EXPLAINED


def test_explain_shows_what_was_known_on_a_day(history):
    output = print_output("explain", ISSUE, "--as-of", "2026-03-10")
    assert "#12 as of 2026-03-03 21:00: unknown\n" in output
    assert "To be told on 2026-03-18, unless more happens." in output
    assert "survival" not in output
    assert "Nothing has happened." in print_output("explain", ISSUE, "--as-of", "2026-02-01")


def test_explain_prints_json(history):
    document = json.loads(print_output("explain", ISSUE, "--as-of", "2026-07-01", "--json"))
    patches = {(one["pull"], one["is_first"]): one for one in document["patches"]}
    assert (document["schema"], document["issue"]) == ("r4p.labels/1", ISSUE)
    assert patches[12, True] | {"patch": "", "evidence": []} == {
        "pull": 12,
        "patch": "",
        "is_first": True,
        "label": "weakly_incorrect",
        "probability": 0.3,
        "confidence": 0.7,
        "rule": "sent_back",
        "says": "A maintainer asked for changes of it, and a changed patch was merged.",
        "evidence": [],
        "weight": 0.5,
        "is_echo": True,
        "outcome_at": "2026-03-18T09:00:00+00:00",
        "settles_at": None,
        "verdict": {"verifier": "r4p", "says": "correct"},
    }
    assert patches[15, True]["probability"] is None
    assert len(document["events"]) == 11


@pytest.mark.parametrize(
    "name", ["OCTO/cat#3", "octo/cat/issues/3", "https://github.com/octo/cat/issues/3", "3", "#3"]
)
def test_issue_can_be_named_in_many_ways(history, name):
    assert print_output("explain", name).startswith("octo/cat#3 as of ")


def test_unknown_or_ambiguous_issue_is_refused_with_the_fix(history):
    for name, why in {
        "octo": "'octo' names no issue; write owner/name#number, its URL, or its number",
        "octo/cat#4": "octo/cat#4: nothing is known of such an issue",
    }.items():
        result = invoke("explain", name)
        assert (result.exit_code, why in result.stderr) == (2, True)
    with transaction(history) as connection:
        connection.execute(
            insert(repositories).values(id=71, installation_id=7, full_name="octo/dog")
        )
        groups.upsert_group(connection, 71, issue_history.ISSUE, ("Barks", ""), "open")
    result = invoke("explain", "3")
    assert "3 may be any of octo/cat#3, octo/dog#3; say which" in result.stderr
    assert "Nothing has happened." in print_output("explain", "octo/dog#3")
    assert "Nothing is learnt from it" in print_output("explain", "octo/dog#3")


def test_summary_counts_every_rule(history):
    output = print_output("summary")
    assert "5 patches by version 4 of the rules" in output
    counts = json.loads(print_output("summary", "--json"))["rules"]
    assert {rule: count for rule, count in counts.items() if count} == {
        "survived": 1,
        "sent_back": 1,
        "failed_ci": 1,
        "rejected": 1,
        "open": 1,
    }


def test_outcomes_of_an_older_rule_are_reported_with_the_fix(history):
    assert invoke("summary").stderr == ""
    with transaction(history) as connection:
        old = update(outcomes).where(outcomes.c.pull_number == issue_history.MERGED)
        connection.execute(old.values(rule_version=1))
    assert invoke("explain", ISSUE).stderr == (
        "r4p: outcomes of 1 pull requests were derived by an older rule; run r4p outcomes rederive\n"
    )
    rederive_all(history)
    assert invoke("summary").stderr == ""


def test_labels_are_audited_by_hand(history, tmp_path):
    file = tmp_path / "labels.jsonl"
    lines = [json.loads(line) for line in print_output("sample", "--count", 3).splitlines()]
    file.write_text("\n".join(json.dumps(line | {"correct": True}) for line in lines))
    assert print_output("audit", file) == print_output("audit")
    assert invoke("audit", file).stderr == "kept 0 new answers\n"
    assert "Too few were checked to say how often labels flip." in print_output("audit")
    file.write_text(json.dumps(lines[0] | {"correct": False}))
    assert invoke("audit", file).stderr == "kept 1 new answers\n"
    counts = json.loads(print_output("summary", "--json"))["rules"]
    assert (counts["checked_right"], counts["checked_wrong"]) == (2, 1)
    assert len(print_output("sample").splitlines()) == 1
    file.write_text("yes\n")
    result = invoke("audit", file)
    assert (result.exit_code, f"r4p: {file}: line 1 was not printed by" in result.stderr) == (
        2,
        True,
    )


def test_outcomes_are_exported_as_groups_to_evaluate_on(history, tmp_path):
    file = tmp_path / "groups.jsonl"
    result = invoke("export", "--out", file)
    assert result.stderr.splitlines() == [
        "issues: 1; patches: 2",
        "left out: 1 patches whose label is not sure",
        "left out: 1 patches whose label is unknown",
    ]
    (group,) = groups_read(file)
    assert (group.instance_id, group.repo) == (ISSUE, "octo/cat")
    assert group.issue.title == issue_history.TEXT[0]
    assert [(one.patch.diff.strip(), one.resolved) for one in group.patches] == [
        (issue_history.diff(13), False),
        (issue_history.diff(14), False),
    ]
    assert invoke("export", "--out", file).exit_code == 2
    assert (
        json.loads(print_output("export", "--least-confident", 0.6))["patches"][0]["probability"]
        == 0.3
    )


@pytest.mark.parametrize(("config", "issues"), [("training: export", 1), ("training: off", 0)])
def test_export_needs_the_repositorys_consent(history, config, issues):
    with transaction(history) as connection:
        connection.execute(update(repositories).values(config_text=f"version: 1\n{config}\n"))
    assert len(print_output("export").splitlines()) == issues


def test_labels_is_a_command_of_the_bot(history, database_url, tmp_path):
    arguments = ["app.cli", "labels", "explain", ISSUE]
    with child(arguments, {"R4P_DATABASE_URL": database_url}, tmp_path / "log") as run:
        wait_for(lambda: run.popen.poll() is not None, seconds=60)
    assert run.popen.returncode == 0, run.says()
    assert "#14 as submitted first: incorrect" in run.says()
