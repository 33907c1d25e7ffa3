"""The stored form of a trajectory, `r4p.trajectory/1`: one line of JSON, written in one way only (pure).

The same trajectory is the same bytes, and what is read and written again has not changed.
"""

import hashlib
import json
from dataclasses import asdict

from model import typed_json
from model.agents.trajectories.trajectory import Trajectory
from model.errors import BadTrajectory

FORMAT = "r4p.trajectory/1"


def dumped(trajectory: Trajectory) -> bytes:
    """ASCII, ended by a line end; fields in the order in which the classes name them."""
    document = {"format": FORMAT, **asdict(trajectory)}
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


def identity(trajectory: Trajectory) -> str:
    """What a guided attempt calls the one before it: the SHA-256 of its stored form, as 64 hex digits."""
    return hashlib.sha256(dumped(trajectory)).hexdigest()


def loaded(raw: bytes) -> Trajectory:
    """What `dumped` wrote. Raises BadTrajectory."""
    try:
        document = json.loads(raw)
        if document.pop("format", None) != FORMAT:
            raise BadTrajectory(f"this is no {FORMAT} document; was it written by another version?")
        return typed_json.read(Trajectory, document)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise BadTrajectory(f"not the record of an attempt: {error}") from error
