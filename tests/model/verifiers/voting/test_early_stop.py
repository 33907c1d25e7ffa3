"""Early stopping gives the verdicts of all votes, for any replies and failures."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from model.domain import Issue
from model.engines.scripted import ScriptedEngine
from model.errors import EngineError
from model.prompts import prompt_template
from model.protocols import Completion
from model.verifiers.vote_sampling import Sampling
from model.verifiers.vote_schemes import PairwiseVerifier, PointwiseVerifier, R4PVerifier
from model.verifiers.voting_verifier import VotingOptions
from tests.model.builders import build_patch

ISSUE = Issue("It breaks", "when the list is empty")
TEMPLATE = prompt_template.load("r4p_group")


class SeededEngine(ScriptedEngine):
    """Answers by the seed of a request: boxes some seats, forgets the box, or fails."""

    def __init__(self, mood, agreeing):
        super().__init__([])
        self.asked = 0
        self._mood = mood
        self._agreeing = agreeing

    def _answer(self, request):
        self.asked += 1
        dice = random.Random(f"{self._mood} {request.seed}")
        if dice.random() < 0.15:
            return EngineError("boom")
        if dice.random() < 0.1:
            return Completion("no box", True, 1, 0, 1)
        seats = [n for n in (1, 2, 3, 4) if f"<patch-{n}>\ndiff" in request.messages[1].content]
        boxed = [n for n in seats if dice.random() < self._agreeing]
        return Completion(f"\\boxed{{{', '.join(map(str, boxed))}}}", True, 1, 0, 1)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([R4PVerifier, PointwiseVerifier, PairwiseVerifier]),
    st.integers(1, 6),
    st.integers(1, 7),
    st.integers(0, 3),
    st.integers(),
    st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]),
)
def test_early_stop_gives_the_verdicts_of_all_votes(kind, count, votes, before, mood, agreeing):
    patches = [build_patch(str(n), f"solution {n};") for n in range(count)]
    earlier = (
        kind(SeededEngine(mood, agreeing), TEMPLATE).verify(ISSUE, patches, votes=before).votes
    )
    runs = []
    for stop_early in (False, True):
        engine = SeededEngine(mood, agreeing)
        progress = []
        verdict = kind(engine, TEMPLATE, VotingOptions(Sampling(stop_early=stop_early))).verify(
            ISSUE,
            patches,
            votes=votes,
            earlier=earlier,
            on_vote=lambda *counts, to=progress: to.append(counts),
        )
        runs.append({patch.id: patch.verdict for patch in verdict.patches})
        assert len(verdict.votes) == verdict.asked
        assert all(done <= asked for done, asked in progress)
        assert not progress or progress[-1] == (verdict.asked - len(earlier),) * 2
        for patch in verdict.patches:
            about = [vote for vote in verdict.votes if patch.id in vote.seats]
            assert patch.votes.valid + patch.votes.none == len(about)
            assert patch.votes.none == sum(vote.correct is None for vote in about)
        if not stop_early:
            whole = verdict.asked
    assert runs[0] == runs[1]
    assert verdict.asked + verdict.spared == whole
