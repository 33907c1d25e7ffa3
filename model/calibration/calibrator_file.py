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
    origin: str | None = None
    """Where the probabilities come from, if not from a file that the operator named."""

    @property
    def digest(self) -> str:
        """A hash of the calibrator without its date, in 12 hex digits. Equal fits have equal digests."""
        text = json.dumps(calibration.to_json(replace(self.calibrator, fitted_at="")))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def calibration(self) -> Calibration:
        """The calibrator's date and the size of its history, for the JSON document of a verdict."""
        history = self.calibrator.history
        return Calibration(
            None,
            self.calibrator.fitted_at,
            history.issues,
            history.correct,
            history.incorrect,
            self.origin,
        )

    def check_engine(self, engine: EngineInfo) -> None:
        """Raise IncompatibleOptions if `engine` differs from the engine, model and prompt of the calibrator's fit."""
        fitted, present = asdict(self.engine), asdict(engine)
        for what, expected in fitted.items():
            if present[what] != expected:
                raise IncompatibleOptions(
                    f"the calibrator was fitted for {what.replace('_', ' ')} {expected!r}, and {present[what]!r} would "
                    "judge; fit one on runs of that judge"
                )

    def calibrate(
        self, verdict: GroupVerdict, consensus: Callable[[], GroupVerdict]
    ) -> GroupVerdict:
        """Return a verdict with calibrated probabilities, and with claims by the calibrator's thresholds.

        `consensus` computes the verdict of the consensus verifier on the same group. It is called only if the
        calibrator has a weight for that feature.
        """
        is_weighed = "consensus" in self.calibrator.weights and self.verifier != evidence.CONSENSUS
        beliefs = {patch.id: patch.score for patch in consensus().patches} if is_weighed else {}
        inputs = evidence.build_evidence(verdict, beliefs, self.verifier)
        return evidence.apply_calibrator(verdict, inputs, self.calibrator)


def write(path: Path, content: CalibratorFile) -> None:
    """Write a calibrator file. Raises OSError."""
    judge = {"verifier": content.verifier, "engine": asdict(content.engine)}
    document = {**calibration.to_json(content.calibrator), "judge": judge, "brier": content.brier}
    path.write_text(json.dumps(document, indent=2) + "\n")


def read(path: Path, verifier: str | None = None) -> CalibratorFile:
    """Read a calibrator file, and check that it belongs to `verifier` if one is given.

    Raises IncompatibleOptions for an unreadable file, too little history, or another verifier.
    """
    content = _parse(path)
    if not content.calibrator.history.is_enough:
        history = content.calibrator.history
        raise IncompatibleOptions(
            f"calibrator {path} has {NO_HISTORY}: {history.issues} issues, {history.correct} correct and {history.incorrect} "
            f"incorrect patches; fit it on {calibration.MIN_ISSUES} issues with {calibration.MIN_PER_LABEL} of each"
        )
    if verifier not in {None, content.verifier}:
        raise IncompatibleOptions(
            f"calibrator {path} was fitted for verifier {content.verifier}, not {verifier}; fit one on runs of {verifier}"
        )
    return content


def _parse(path: Path) -> CalibratorFile:
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
