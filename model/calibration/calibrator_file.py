"""This module reads and writes calibrator files and applies a calibrator to the verdicts of its judge."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from model.calibration import calibration, evidence
from model.calibration.calibration import NO_HISTORY, Calibrator
from model.domain import EngineInfo, GroupVerdict
from model.errors import IncompatibleOptions
from model.verdict_json import Calibration


@dataclass(frozen=True, slots=True)
class CalibratorFile:
    """A calibrator with its judge. It is invalid for another verifier, engine, model or prompt."""

    verifier: str
    """The verifier's name in the catalogue."""
    engine: EngineInfo
    calibrator: Calibrator
    brier: float
    """Brier score on held-out issues; 1, the worst, without enough history."""

    @property
    def digest(self) -> str:
        """A hash of the calibrator without its date. Equal fits have equal digests."""
        said = json.dumps(calibration.to_json(replace(self.calibrator, fitted_at="")))
        return hashlib.sha256(said.encode()).hexdigest()[:12]

    @property
    def calibration(self) -> Calibration:
        """The calibrator's description for the document of a verdict."""
        known = self.calibrator.history
        return Calibration(
            None, self.calibrator.fitted_at, known.issues, known.correct, known.incorrect
        )

    def check(self, engine: EngineInfo) -> None:
        """Check that the calibrator was fitted for this engine, model and prompt.

        Raises IncompatibleOptions with the difference.
        """
        wanted, asked = asdict(self.engine), asdict(engine)
        for what, known in wanted.items():
            if asked[what] != known:
                raise IncompatibleOptions(
                    f"the calibrator was fitted for {what.replace('_', ' ')} {known!r}, and {asked[what]!r} would "
                    "judge; fit one on runs of that judge"
                )

    def weigh(self, verdict: GroupVerdict, consensus: Callable[[], GroupVerdict]) -> GroupVerdict:
        """Add probabilities to a verdict and apply the thresholds. `consensus` is called only when the calibrator uses it.
        """
        beside = "consensus" in self.calibrator.weights and self.verifier != evidence.CONSENSUS
        beliefs = {one.id: one.score for one in consensus().patches} if beside else {}
        known = evidence.of_verdict(verdict, beliefs, self.verifier)
        return evidence.calibrated(verdict, known, self.calibrator)


def write(path: Path, kept: CalibratorFile) -> None:
    """Write a calibrator file. Raises OSError."""
    judge = {"verifier": kept.verifier, "engine": asdict(kept.engine)}
    document = {**calibration.to_json(kept.calibrator), "judge": judge, "brier": kept.brier}
    path.write_text(json.dumps(document, indent=2) + "\n")


def read(path: Path, verifier: str | None = None) -> CalibratorFile:
    """Read a calibrator file, and check that it belongs to `verifier` if one is given.

    Raises IncompatibleOptions for an unreadable file, too little history, or another verifier.
    """
    kept = _parsed(path)
    if not kept.calibrator.history.is_enough:
        told = kept.calibrator.history
        raise IncompatibleOptions(
            f"calibrator {path} has {NO_HISTORY}: {told.issues} issues, {told.correct} correct and {told.incorrect} "
            f"incorrect patches; fit it on {calibration.LEAST_ISSUES} issues with {calibration.LEAST_OF_EACH} of each"
        )
    if verifier not in {None, kept.verifier}:
        raise IncompatibleOptions(
            f"calibrator {path} was fitted for verifier {kept.verifier}, not {verifier}; fit one on runs of {verifier}"
        )
    return kept


def _parsed(path: Path) -> CalibratorFile:
    try:
        document = json.loads(path.read_text())
        calibrator = calibration.from_json(document)
        judge, brier = document["judge"], document["brier"]
        return CalibratorFile(
            str(judge["verifier"]),
            EngineInfo(**{name: str(value) for name, value in judge["engine"].items()}),
            calibrator,
            float(brier),
        )
    except OSError as error:
        raise IncompatibleOptions(f"calibrator {path} can't be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise IncompatibleOptions(
            f"{path} is no calibrator ({error}); write one with: python -m training.calibrate RUN_FILE --out {path}"
        ) from error
