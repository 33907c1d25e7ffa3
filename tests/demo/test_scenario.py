"""The demo leaves nothing behind."""

import signal
import subprocess

import pytest

from app.settings import build_child_environment, get_interpreter
from tests.services import wait_for

pytestmark = pytest.mark.services


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_demo_that_is_interrupted_takes_its_data_with_it(tmp_path, sent):
    environment = build_child_environment({"TMPDIR": str(tmp_path), "R4P_ENGINE": "scripted"})
    with subprocess.Popen([get_interpreter(), "-m", "tests.demo"], env=environment) as demo:
        wait_for(lambda: demo.poll() is not None or any(tmp_path.glob("r4p-demo-*/services")), 120)
        assert demo.poll() is None
        demo.send_signal(sent)
        assert demo.wait(60) == 130
    assert list(tmp_path.glob("r4p-demo-*")) == []
