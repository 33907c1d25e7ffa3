"""Let a language model write the issue of a commit, as R2E-Gym does by back-translation (section 2 and appendix A).

The paper gives the model the commit's message, its diffs, the failing tests and their runs. Its prompt is not in the text, so the
wording of `model/prompts/back_translation.j2` is ours. The model sees the true patch, so `leak_check` reads each reply.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from model.errors import EngineError
from model.prompts import prompt_template
from model.prompts.fingerprint import derive_seed
from model.prompts.untrusted import cut_middle, escape_patch
from model.protocols import Completion, Engine, Message, Request
from training.gym.back_translation.failing_test import FailingTest
from training.gym.back_translation.issue_reply import NoIssue, NoIssueReason, read_issue
from training.gym.leak_check import find_leaks

PROMPT: Final = "back_translation"
_REPLY_TOKENS: Final = 4_096
"""Room for the thought of a reasoning model; at most a quarter of the context."""
_SPARE_TOKENS: Final = 128
"""Reserve for the chat template's own tokens, and for texts whose counts do not add up exactly."""
_MESSAGE_ENDS: Final = (3_000, 500)
"""Characters of a commit's message that are shown of its beginning and of its end."""
_PATCH_ENDS: Final = (8_000, 2_000)


@dataclass(frozen=True, slots=True)
class CommitEvidence:
    """What a commit and the runs of its tests tell about the issue that it resolves."""

    message: str
    patch: str
    """The true patch."""
    test_patch: str
    tests: tuple[FailingTest, ...]


class IssueWriter:
    """Writes issues with the model of `engine`. Threads may share it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._template = prompt_template.load(PROMPT)
        self.model = engine.model
        self.prompt_fingerprint = self._template.fingerprint

    def write(self, commit: CommitEvidence) -> str:
        """Return the issue of a commit, its title in the first line. Raises NoIssue, also after a failed request, and BadDiff.

        `commit` has at least one failing test.
        """
        answer = self._ask(self._build_request(commit))
        if not answer.finished:
            raise NoIssue(NoIssueReason.REPLY_CUT)
        issue = read_issue(answer.text)
        if find_leaks(issue, commit.patch, commit.test_patch):
            raise NoIssue(NoIssueReason.LEAK)
        return issue

    def _ask(self, request: Request) -> Completion:
        try:
            (answer,) = self._engine.complete([request])
        except EngineError as error:
            raise NoIssue(NoIssueReason.ENGINE_FAILED) from error
        if isinstance(answer, EngineError):
            raise NoIssue(NoIssueReason.ENGINE_FAILED) from answer
        return answer

    def _build_request(self, commit: CommitEvidence) -> Request:
        """Return the request with as many tests as fit. The same commit gives the same request."""
        context = self._engine.context_tokens
        reply = min(_REPLY_TOKENS, context // 4)
        for messages in self._render(commit):
            texts = [message.content for message in messages]
            if sum(map(self._engine.count_tokens, texts)) + reply + _SPARE_TOKENS <= context:
                return Request(messages, reply, 0.0, derive_seed(PROMPT, *texts))
        raise NoIssue(NoIssueReason.PROMPT_TOO_LONG)

    def _render(self, commit: CommitEvidence) -> Iterator[tuple[Message, ...]]:
        """Yield the prompt with all tests, then with one less each time, down to one."""
        tokens = self._template.add_delimiters(self._engine.special_tokens)

        def escape(text: str) -> str:
            return escape_patch(text, tokens).text

        shown = [FailingTest(escape(test.source), escape(test.output)) for test in commit.tests]
        for count in range(len(shown), 0, -1):
            yield self._template.render(
                message=escape(cut_middle(commit.message.strip(), *_MESSAGE_ENDS)),
                change=escape(cut_middle(commit.patch, *_PATCH_ENDS)),
                tests=[test.source for test in shown[:count]],
                outputs=[test.output for test in shown[:count]],
            )
