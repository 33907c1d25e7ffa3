"""`r4p calibrate --from FILE`: a calibrator to start from, until there is enough history of the bot's own."""

import sys
from pathlib import Path

from app.db.session import opened, transaction
from app.db.store.models import calibrators
from app.db.store.models.calibrators import NewCalibrator
from app.outcomes.judgement import Judge
from app.settings import DatabaseSettings, load
from model.calibration import calibrator_file
from model.errors import BadChoice

NO_LABEL_RULE = 0
"""Its labels were made by none of the bot's rules."""


def plant(path: Path) -> int:
    """Put the calibrator in a file into use for its judge. 0: it is in use, 2: the file can't be used.

    It is kept like a fitted one, with no group that it has seen, so a later fit is compared with it on every patch.
    """
    try:
        kept = calibrator_file.read(path)
    except BadChoice as error:
        sys.stderr.write(f"r4p calibrate: {error}\n")
        return 2
    new = NewCalibrator(
        judge=Judge(kept.verifier, kept.engine),
        calibrator=kept.calibrator,
        brier=kept.brier,
        label_rule=NO_LABEL_RULE,
        seen=frozenset(),
        is_active=True,
        why=f"a seed: {path.name}, fitted {kept.calibrator.fitted_at}",
    )
    with opened(load(DatabaseSettings).database_url) as database, transaction(database) as known:
        number = calibrators.save(known, new)
    engine = kept.engine
    sys.stdout.write(
        f"calibrator {number} is in use for {kept.verifier} on {engine.name}, model {engine.model}, "
        f"prompt {engine.prompt_fingerprint}; no other judge is weighed by it\n"
    )
    return 0
