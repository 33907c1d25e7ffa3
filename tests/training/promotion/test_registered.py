"""A run is registered as a model, once; what is no measured run is not."""

import pytest

from app import promotion
from app.db.session import transaction
from app.db.store import models
from app.promotion import NotPromoted
from app.serving import State
from tests.training import adapted
from tests.training.promotion.promoting import MARKS

pytestmark = MARKS


def test_a_run_is_registered_once_under_a_name_of_its_bytes(database, names, runs):
    with transaction(database) as connection:
        again = promotion.register_run(connection, runs[0], adapted.BASE)
        kept = models.named(connection, names[0])
    assert again == names[0]
    assert names[0].endswith(kept.adapter.sha256[:8])
    assert (kept.state, kept.why) == (State.CANDIDATE, "gate: passed; passed every check")
    assert kept.adapter.directory == runs[0] / "adapter"


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "No such file"), ("{", "is no JSON"), ("[]", "holds no object")],
)
def test_a_folder_that_holds_no_measured_run_is_told(database, tmp_path, content, said):
    if content:
        (tmp_path / "result.json").write_text(content)
    with transaction(database) as connection, pytest.raises(NotPromoted, match=said):
        promotion.register_run(connection, tmp_path, adapted.BASE)
