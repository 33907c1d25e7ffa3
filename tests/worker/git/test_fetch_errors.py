"""Git's own words, as it and real servers gave them, and who is to blame by them."""

import pytest

from worker.git.fetch_errors import is_outage

URL = "https://github.com/octo/cat.git/"
DENIED = f"fatal: unable to access '{URL}': "
HTTP = f"{DENIED}The requested URL returned error: "
CUT = "fatal: early EOF\nfatal: fetch-pack: invalid index-pack output"

OUTAGES = [
    f"{DENIED}Could not resolve host: github.com",
    f"{DENIED}Failed to connect to github.com port 443 after 0 ms: Couldn't connect to server",
    f"{DENIED}Empty reply from server",
    f"{DENIED}SSL certificate problem: certificate has expired",
    *(f"{HTTP}{status}" for status in (301, 302, 403, 429, 500, 502, 503)),
    f"remote: Repository not found.\nfatal: repository '{URL}' not found",
    "fatal: could not read Username for 'https://github.com': terminal prompts disabled",
    f"remote: Invalid username or token.\nfatal: Authentication failed for '{URL}'",
    (
        "error: RPC failed; HTTP 502 curl 22 The requested URL returned error: 502\n"
        "fatal: expected flush after ref listing"
    ),
    (
        "error: RPC failed; curl 18 transfer closed with 63721 bytes remaining to read\n"
        f"error: 1888 bytes of body are still expected\n{CUT}"
    ),
    (
        "error: 1881 bytes of body are still expected\n"
        f"fetch-pack: unexpected disconnect while reading sideband packet\n{CUT}"
    ),
    "fatal: remote-curl: bad line length character: <htm\nfatal: expected flush after ref listing",
    "fatal: the remote end hung up unexpectedly",
    "fatal: the remote end hung up upon initial contact",
]

OF_WHAT_LIES_THERE = [
    "",
    "fatal: couldn't find remote ref refs/pull/9/head",
    "fatal: couldn't find remote ref refs/heads/early-eof-hung-up-unable-to-access",
    "fatal: remote error: upload-pack: not our ref 1111111111111111111111111111111111111111",
    "remote: fatal: unable to access 'here', said a hook\nfatal: couldn't find remote ref main",
    (
        "error: object 1f: gitmodulesUrl: disallowed submodule url: -early eof, hung up\n"
        "fatal: fsck error in packed object\nfatal: fetch-pack: invalid index-pack output"
    ),
    (
        f"error: object 1f: gitmodulesUrl: disallowed submodule url: -x\n{HTTP}503\n"
        "fatal: fsck error in packed object\nfatal: fetch-pack: invalid index-pack output"
    ),
    (
        "error: object 1f: gitmodulesUrl: disallowed submodule url: -x\nfatal: early EOF\n"
        "fatal: fsck error in pack objects\nfatal: fetch-pack: invalid index-pack output"
    ),
    "error: unable to write file: No space left on device\nfatal: index-pack failed",
]


@pytest.mark.parametrize("stderr", OUTAGES)
def test_a_way_that_is_broken_or_closed_says_nothing_of_any_commit(stderr):
    assert is_outage("fetch", 128, stderr)


@pytest.mark.parametrize("stderr", OF_WHAT_LIES_THERE)
def test_an_error_about_objects_is_no_outage_whatever_their_names(stderr):
    assert not is_outage("fetch", 128, stderr)


@pytest.mark.parametrize("code", [1, 127, 129, -9, -25])
def test_only_a_git_that_gave_up_by_itself_can_tell(code):
    assert not is_outage("fetch", code, OUTAGES[0])


@pytest.mark.parametrize("command", ["diff", "rev-parse", "merge-base"])
def test_a_local_command_meets_no_outage(command):
    assert not is_outage(command, 128, OUTAGES[0])
