"""Runs Mini-SE on a script, and checks each time that the record can be carried out once more."""

import pytest

from model.agents.mini_se import MiniSE
from model.agents.replay import replayed
from model.agents.trajectory_json import dumped, loaded
from tests.model.agents.builders import ISSUE, TREE, desk_on
from tests.model.fakes import Recording


@pytest.fixture
def attempt(tmp_path):
    """Runs a script on the tree and checks that the record, stored and read, can be carried out to the same bytes."""

    def run(*lines, tree=TREE, limits=None, context=32_768, **options):
        engine = Recording(*lines, context_tokens=context)
        with desk_on(tmp_path / "tree", tree) as desk:
            done = MiniSE(engine, limits=limits).propose(ISSUE, desk, seed=3, **options)
        raw = dumped(done.trajectory)
        with desk_on(tmp_path / "again", tree) as desk:
            assert dumped(replayed(loaded(raw), desk)) == raw
        return done, engine

    return run
