"""Who judges, and who is heard beside them."""

from dataclasses import dataclass

from app.outcomes.judgement import Judge
from model.protocols import Verifier


@dataclass(frozen=True, slots=True)
class Bench:
    """Who judges, and who is heard beside them."""

    name: str
    """The verifier's name in the catalogue."""
    verifier: Verifier
    beside: Verifier | None = None
    """Asks no engine, so its belief is had for nothing; None: the verifier is that one itself."""

    @property
    def judge(self) -> Judge:
        """Whom a calibrator is fitted for."""
        return Judge(self.name, self.verifier.engine)
