"""A calibrator in a file: what `training/calibrators/fitting.py` writes, for whom it was fitted, and that judge's verdicts by it."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from model.calibration import calibration, evidence
from model.calibration.calibration import NO_HISTORY, Calibrator
from model.domain import EngineInfo, GroupVerdict
from model.errors import BadChoice
from model.verdict_json import Calibration


@dataclass(frozen=True, slots=True)
class KeptCalibrator:
    """A calibrator and its judge: it says nothing about another verifier, engine, model or prompt."""

    verifier: str
    """The judge's name in the catalogue."""
    engine: EngineInfo
    calibrator: Calibrator
    brier: float
    """On issues held out; 1, the worst, without enough history."""

    @property
    def digest(self) -> str:
        """The same for calibrators that say the same, whenever they were fitted."""
        said = json.dumps(calibration.to_json(replace(self.calibrator, fitted_at="")))
        return hashlib.sha256(said.encode()).hexdigest()[:12]

    @property
    def calibration(self) -> Calibration:
        """What a verdict's document says of it."""
        known = self.calibrator.history
        return Calibration(
            None, self.calibrator.fitted_at, known.issues, known.correct, known.incorrect
        )

    def check(self, engine: EngineInfo) -> None:
        """Refuse who is not its judge. Raises BadChoice naming what differs."""
        wanted, asked = asdict(self.engine), asdict(engine)
        for what, known in wanted.items():
            if asked[what] != known:
                raise BadChoice(
                    f"the calibrator was fitted for {what.replace('_', ' ')} {known!r}, and {asked[what]!r} would "
                    "judge; fit one on runs of that judge"
                )

    def weigh(self, verdict: GroupVerdict, consensus: Callable[[], GroupVerdict]) -> GroupVerdict:
        """The verdict with probabilities, and claims by its thresholds; `consensus` is asked where it is weighed."""
        beside = "consensus" in self.calibrator.weights and self.verifier != evidence.CONSENSUS
        beliefs = {one.id: one.score for one in consensus().patches} if beside else {}
        known = evidence.of_verdict(verdict, beliefs, self.verifier)
        return evidence.calibrated(verdict, known, self.calibrator)


def write(path: Path, kept: KeptCalibrator) -> None:
    """Raises OSError."""
    judge = {"verifier": kept.verifier, "engine": asdict(kept.engine)}
    document = {**calibration.to_json(kept.calibrator), "judge": judge, "brier": kept.brier}
    path.write_text(json.dumps(document, indent=2) + "\n")


def read(path: Path, verifier: str | None = None) -> KeptCalibrator:
    """What `write` wrote, of that verifier's if one is named.

    Raises BadChoice for a file that holds none, one without enough history, and another verifier's.
    """
    kept = _parsed(path)
    if not kept.calibrator.history.is_enough:
        told = kept.calibrator.history
        raise BadChoice(
            f"calibrator {path} has {NO_HISTORY}: {told.issues} issues, {told.correct} correct and {told.incorrect} "
            f"incorrect patches; fit it on {calibration.LEAST_ISSUES} issues with {calibration.LEAST_OF_EACH} of each"
        )
    if verifier not in {None, kept.verifier}:
        raise BadChoice(
            f"calibrator {path} was fitted for verifier {kept.verifier}, not {verifier}; fit one on runs of {verifier}"
        )
    return kept


def _parsed(path: Path) -> KeptCalibrator:
    try:
        document = json.loads(path.read_text())
        calibrator = calibration.from_json(document)
        judge, brier = document["judge"], document["brier"]
        return KeptCalibrator(
            str(judge["verifier"]),
            EngineInfo(**{name: str(value) for name, value in judge["engine"].items()}),
            calibrator,
            float(brier),
        )
    except OSError as error:
        raise BadChoice(f"calibrator {path} can't be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadChoice(
            f"{path} is no calibrator ({error}); write one with: python -m training.calibrators.fitting RUN_FILE --out {path}"
        ) from error
