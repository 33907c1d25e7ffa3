"""A judge that is ready to use: its verifier and its prior."""

from dataclasses import dataclass

from app.outcomes.judgement import Judge
from model.protocols import Verifier


@dataclass(frozen=True, slots=True)
class JudgeSetup:
    """A loaded verifier and the prior that is stored beside its votes."""

    name: str
    """The verifier's name in the catalog."""
    verifier: Verifier
    prior: Verifier | None = None
    """A verifier without an engine, so it costs nothing; None when the verifier itself has no
    engine."""

    @property
    def judge(self) -> Judge:
        """Return the judge's identity, by which calibrators are found."""
        return Judge(self.name, self.verifier.engine)
