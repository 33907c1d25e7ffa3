"""`r4p calibrate --from FILE`: imports a calibrator until the bot has enough history of its own."""

import sys
from pathlib import Path

from app.db.session import open_database, transaction
from app.db.store.models import calibrators
from app.db.store.models.calibrators import NewCalibrator
from app.outcomes.judgement import Judge
from model.calibration import calibrator_file
from model.errors import IncompatibleOptions

NO_LABEL_RULE = 0
"""Label rule of a calibrator that was not fitted on the bot's labels."""


def import_calibrator(path: Path) -> int:
    """Save the calibrator in the file `path` as the active shared one of its judge, and return the exit code.

    The code is 0, or 2 for an unusable file. The calibrator is stored like one that was fitted on no group of the bot.
    So the bot may compare a later fit with it on every patch.
    """
    try:
        imported = calibrator_file.read(path)
    except IncompatibleOptions as error:
        sys.stderr.write(f"r4p calibrate: {error}\n")
        return 2
    new = NewCalibrator(
        judge=Judge(imported.verifier, imported.engine),
        calibrator=imported.calibrator,
        brier=imported.brier,
        label_rule=NO_LABEL_RULE,
        seen=frozenset(),
        is_active=True,
        why=f"imported from {path.name}, fitted {imported.calibrator.fitted_at}",
    )
    with open_database() as database, transaction(database) as connection:
        number = calibrators.save(connection, new)
    engine = imported.engine
    sys.stdout.write(
        f"calibrator {number} is in use for {imported.verifier} on {engine.name}, model {engine.model}, "
        f"prompt {engine.prompt_fingerprint}, in every installation without its own; "
        "it does not change other judges\n"
    )
    return 0
