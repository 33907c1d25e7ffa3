"""From labelled groups to a judge: train a tiny reward model, and judge by it, on this CPU and on a vLLM."""

import json
from contextlib import closing

import httpx
import pytest
from typer import Typer
from typer.testing import CliRunner

from model import catalog
from model.catalog import EngineChoice
from model.commands.exit_codes import Exit
from model.commands.verify import verify
from model.domain import Issue, Patch, PatchId, Verdict
from model.engines import chat_api
from model.engines.local_reward_model import LocalRewardModel
from model.engines.server_check import check_scores
from model.prompts import prompt_template
from tests import vllm_server
from tests.model.chat_server import build_classification
from tests.training.trl.test_reward_model import build_groups, build_plan
from training.commands import cli
from training.plans import plan_file
from training.trl import model_loading, reward_model, trained_weights

pytestmark = [
    pytest.mark.model,
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

(GROUP,) = build_groups(50, seed=5)[-1:]
ISSUE = Issue(*GROUP.problem_statement.split("\n\n", 1))
PATCHES = [Patch(PatchId(f"p{number}"), diff) for number, diff in enumerate(GROUP.patches)]
"""An issue that the training did not see, with two correct patches and then two incorrect ones."""


@pytest.fixture(scope="module")
def adapter(base, tmp_path_factory):
    """The adapter of a run, as a run leaves it."""
    folder = tmp_path_factory.mktemp("run")
    plan = build_plan(base, optimiser={"max_steps": 16}, adapter={"rank": 8, "alpha": 16})
    trainer = reward_model.build_trainer(plan, build_groups(24), folder)
    trainer.train()
    trained_weights.save_weights(trainer, folder / "adapter")
    return folder / "adapter"


@pytest.fixture(scope="module")
def whole_model(adapter, tmp_path_factory):
    """The folder that `r4p train merge` writes."""
    folder = tmp_path_factory.mktemp("merged") / "model"
    written = CliRunner().invoke(cli.main, ["merge", str(adapter), "--out", str(folder)])
    assert written.exit_code == 0, written.output
    again = CliRunner().invoke(cli.main, ["merge", str(adapter), "--out", str(folder)])
    assert (again.exit_code, "exists already" in again.output) == (Exit.USAGE, True)
    return folder


def judge(choice):
    with closing(catalog.load_engine(choice)) as engine:
        return catalog.load_verifier("reward-model", engine).verify(ISSUE, PATCHES, votes=1)


def judge_here(directory):
    return judge(EngineChoice("local_transformers", model=str(directory)))


def test_trained_adapter_ranks_the_patches_of_an_unseen_issue(adapter):
    verdict = judge_here(adapter)
    *correct, third, fourth = (patch.score for patch in verdict.patches)
    assert min(correct) > max(third, fourth)
    assert {patch.verdict for patch in verdict.patches} == {Verdict.UNSURE}


def test_merged_model_gives_the_scores_of_its_adapter(adapter, whole_model):
    here, there = (
        [patch.score for patch in judge_here(folder).patches] for folder in (adapter, whole_model)
    )
    assert here == pytest.approx(there, abs=1e-5)


def test_asked_prompt_is_the_trained_prompt_to_the_last_token(base, adapter):
    """With a control token in the issue and text around the diff, which training and judging treat alike."""
    asked = []

    class RecordingModel(LocalRewardModel):
        def encode(self, prompt):
            asked.append(super().encode(prompt))
            return asked[-1]

    hostile = f"{ISSUE.body} <|im_end|> <patch-1> é"
    diff = f"Look at this\n\n{PATCHES[0].diff}"
    with closing(RecordingModel(adapter, model="tiny")) as engine:
        catalog.load_verifier("reward-model", engine).verify(
            Issue(ISSUE.title, hostile), [Patch(PatchId("a"), diff)], votes=1
        )
    plan = build_plan(base)
    trained = reward_model.tokenize_scored_patch(
        plan, model_loading.load_tokenizer(plan), f"{ISSUE.title}\n\n{hostile}", diff
    )
    assert asked == [trained]


def test_shipped_plan_trains_the_verifiers_own_prompt(adapter):
    with closing(LocalRewardModel(adapter, model="tiny")) as engine:
        own, planned = (
            catalog.load_verifier("reward-model", engine, prompt=name).engine.prompt_fingerprint
            for name in (None, plan_file.load_plan("reward-model").prompt.template)
        )
    assert own == planned


def test_command_ranks_by_the_adapter(adapter, tmp_path):
    (tmp_path / "issue.md").write_text(f"# {ISSUE.title}\n\n{ISSUE.body}\n")
    for patch in PATCHES:
        (tmp_path / f"{patch.id}.diff").write_text(patch.diff)
    app = Typer()
    app.command()(verify)
    words = ["--issue", tmp_path / "issue.md", "--verifier", "reward-model", "--model", adapter]
    files = [tmp_path / f"{patch.id}.diff" for patch in PATCHES]
    done = CliRunner().invoke(app, [str(word) for word in (*words, "--json", *files)])
    assert done.exit_code == Exit.UNSURE, done.output
    document = json.loads(done.stdout)
    scores = [patch["score"] for patch in document["patches"]]
    assert min(scores[:2]) > max(scores[2:])
    assert document["votes"] == {"asked": 0, "valid": 0}
    assert document["engine"]["model"] == str(adapter)


def list_keys(document):
    """The document with the type of each value in its place."""
    if isinstance(document, dict):
        return {key: list_keys(value) for key, value in document.items()}
    return [list_keys(part) for part in document] if isinstance(document, list) else type(document)


@pytest.mark.vllm
@pytest.mark.proof
@pytest.mark.timeout(600)
def test_vllm_gives_the_scores_of_this_cpu_and_reads_the_trained_tokens(base, whole_model):
    here = judge_here(whole_model)
    plan = build_plan(base)
    trained = reward_model.tokenize_scored_patch(
        plan, model_loading.load_tokenizer(plan), GROUP.problem_statement, PATCHES[0].diff
    )
    shown = prompt_template.load("yes_no").render(
        issue=GROUP.problem_statement, patches=(PATCHES[0].diff.strip("\n"),), trajectory=""
    )
    body = chat_api.build_scored_body("reward", shown)
    with (
        vllm_server.running("reward", directory=whole_model, adapters=False) as server,
        httpx.Client(base_url=server.root, trust_env=False) as client,
    ):
        there = judge(EngineChoice("openai_compatible", url=server.url))
        assert check_scores(server.url).name == "reward"
        read = client.post("/tokenize", json={key: body[key] for key in ("model", "messages")})
        scored = client.post("/classify", json=body)
    assert [patch.score for patch in there.patches] == pytest.approx(
        [patch.score for patch in here.patches], abs=2e-4
    )
    assert there.tokens.prompt == here.tokens.prompt
    assert read.json()["tokens"] == trained
    assert list_keys(scored.json()) == list_keys(build_classification(0.5).body)
