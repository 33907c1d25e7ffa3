"""The setup prints an address that a browser can open, once it has its port."""

import socket
from pathlib import Path

import pytest

from app.operator.setup.setup_server import serve_setup, write_invitation
from app.settings import SettingsError
from app.web.listen_address import Listen


@pytest.mark.parametrize(
    ("host", "shown", "has_hint"),
    [("127.0.0.1", "127.0.0.1", False), ("0.0.0.0", "127.0.0.1", True), ("::", "[::1]", True)],
)
def test_the_address_that_is_shown_can_be_opened(host, shown, has_hint):
    words = write_invitation(Listen(host, 8000), "t0ken", Path("/data"))
    assert f" http://{shown}:8000/setup?token=t0ken\n" in words
    name = f" http://{socket.gethostname()}:8000/setup?token=t0ken\n"
    assert (name in words) is has_hint


def test_no_token_is_shown_where_another_program_has_the_port(tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError):
            serve_setup(tmp_path, Listen("127.0.0.1", port))
    why = f"--port: can't listen on 127.0.0.1:{port}: Address already in use: choose another"
    assert capsys.readouterr().err == f"r4p: cannot start:\n  {why}\n"
