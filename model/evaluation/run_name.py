"""Names of judges in run files: a verifier's name in the catalogue with suffixes for its settings (pure)."""

import re

from model.calibration.calibrator_file import CalibratorFile
from model.catalog import VotingChoice

LEAVE_ONE_OUT_SUFFIX = "-leave-one-out"
"""Suffix of the run name when the votes leave one rival out."""
SHORTLIST_SUFFIX = "-shortlist-"
"""Suffix of the run name when a hybrid has another shortlist; its length follows."""
MIN_LINES_SUFFIX = "-min-lines-"
"""Suffix of the run name when short patches are not judged; the number of lines follows."""
CODE_SUFFIX = "-code"
"""Suffix of the run name when the prompt shows code of the base."""
STRICT_SUFFIX = "-strict"
"""Suffix of the strict judge of consensus, whose fit saw no issue of the same repository."""
CALIBRATED_SUFFIX = "-calibrated-"
"""Suffix of the run name when a calibrator is applied; its digest follows."""
_WAYS = re.compile(
    f"({SHORTLIST_SUFFIX}[0-9]+)?({LEAVE_ONE_OUT_SUFFIX})?({MIN_LINES_SUFFIX}[0-9]+)?({CODE_SUFFIX})?({CALIBRATED_SUFFIX}[0-9a-f]+)?({STRICT_SUFFIX})?$"
)


def build_run_name(
    name: str,
    voting: VotingChoice,
    calibrator: CalibratorFile | None = None,
    *,
    shows_code: bool = False,
) -> str:
    """Build the run name of verifier `name`: its catalogue name with suffixes for the settings.

    The settings are the length of the shortlist, leave-one-out, the minimum number of edited lines, whether the prompt
    shows code of the base, and the calibrator's digest.
    """
    listed = "" if voting.shortlist is None else f"{SHORTLIST_SUFFIX}{voting.shortlist}"
    shorter = f"{MIN_LINES_SUFFIX}{voting.edited_lines}" if voting.edited_lines else ""
    weighed = f"{CALIBRATED_SUFFIX}{calibrator.digest}" if calibrator else ""
    settings = LEAVE_ONE_OUT_SUFFIX * voting.leave_one_out + shorter + CODE_SUFFIX * shows_code
    return name + listed + settings + weighed


def is_calibrated(verifier: str) -> bool:
    """Return whether the run name `verifier` says that a calibrator was applied."""
    return CALIBRATED_SUFFIX in verifier


def strip_suffixes(verifier: str) -> str:
    """Return the verifier's name in the catalogue: the run name `verifier` without its suffixes for settings."""
    return _WAYS.sub("", verifier, count=1)
