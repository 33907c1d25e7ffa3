"""A plan of which nothing could come that judges is refused before anything is computed."""

import pytest
import typer
from typer.testing import CliRunner

from training import run_cli

REFUSED = {
    "r4p-paper": "makes no adapter that judges",
    "mini-se-rl": "makes no adapter that judges",
    "reward-model": "makes no adapter that judges",
    "guided-dpo": "learns from attempts",
}


@pytest.mark.parametrize(("plan", "said"), REFUSED.items())
def test_a_plan_that_cannot_be_served_is_refused_at_once(plan, said, tmp_path):
    run = tmp_path / "run"
    asked = [plan, "--to-serve", "--dataset", str(tmp_path), "--run", str(run)]
    app = typer.Typer()
    app.command()(run_cli.run)
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())
    assert not run.exists()
