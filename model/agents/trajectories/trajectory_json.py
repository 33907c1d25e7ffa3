"""Store a trajectory as `r4p.trajectory/1`: one line of JSON in one canonical form (pure).

Equal trajectories give equal bytes, and reading and writing again changes nothing.
"""

import hashlib
import json
from dataclasses import asdict

from model import typed_json
from model.agents.trajectories.trajectory import Trajectory
from model.errors import BadTrajectory

FORMAT = "r4p.trajectory/1"


def dump_trajectory(trajectory: Trajectory) -> bytes:
    """Encode a trajectory as one line of ASCII JSON, with fields in the order of the classes."""
    document = {"format": FORMAT, **asdict(trajectory)}
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


def compute_identity(trajectory: Trajectory) -> str:
    """Return the identity of a trajectory: the SHA-256 of its stored form, as 64 hex digits.

    The guidance of a second attempt names the first attempt by this value.
    """
    return hashlib.sha256(dump_trajectory(trajectory)).hexdigest()


def load_trajectory(raw: bytes) -> Trajectory:
    """Decode a trajectory that `dump_trajectory` wrote. Raises BadTrajectory."""
    try:
        document = json.loads(raw)
        if document.pop("format", None) != FORMAT:
            raise BadTrajectory(f"this is no {FORMAT} document; was it written by another version?")
        return typed_json.read(Trajectory, document)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise BadTrajectory(f"not the record of an attempt: {error}") from error
