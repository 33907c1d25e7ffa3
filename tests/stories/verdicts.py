"""The configurations and files of the stories, and a reader of the bot's comments."""

import json
import re
from dataclasses import dataclass, field
from importlib.resources import files

import jsonschema_rs

ADVISORY = "version: 1\nmode: advisory\nquiet_minutes: 0\nvotes: 2\ncomments: all\n"
FILL = ADVISORY + "alternatives: fill\n"
BASE = {"area.py": "def area(w, h):\n    return w + h\n", "README.md": "# Areas\n"}

_SCHEMA = json.loads(files("model").joinpath("verdict.schema.json").read_text())
_VALIDATOR = jsonschema_rs.validator_for(_SCHEMA)
_ROW = re.compile(r"^\| #(\d+)(?: [^\n]*?)? \| \*\*([^*]+)\*\* \| ([^|]*) \|", re.MULTILINE)
_OURS = re.compile(r"^\| (A\d+) \| \*\*([^*]+)\*\* \|", re.MULTILINE)
_HIDDEN = re.compile(r"<!-- r4p\.verdict/1 (.*?) -->", re.DOTALL)


def area(result: str, name: str = "area.py") -> dict[str, str]:
    """Return the file whose function returns `result`."""
    return {name: f"def area(w, h):\n    return {result}\n"}


@dataclass(frozen=True)
class BotComment:
    """A comment of the bot with its table of verdicts."""

    id: int
    body: str
    rows: dict[int, str] = field(init=False)
    """Verdict by pull request, from the table, in the order of the numbers."""
    agreement: dict[int, str] = field(init=False)
    alternatives: dict[str, str] = field(init=False)
    """Verdict by alternative."""

    def __post_init__(self):
        matches = sorted(_ROW.findall(self.body), key=lambda row: int(row[0]))
        verdicts = {int(n): word.replace("\N{NO-BREAK SPACE}", " ") for n, word, _ in matches}
        object.__setattr__(self, "rows", verdicts)
        object.__setattr__(self, "agreement", {int(n): votes for n, _, votes in matches})
        object.__setattr__(self, "alternatives", dict(_OURS.findall(self.body)))

    @property
    def document(self) -> dict[str, object]:
        """The hidden verdict document, checked by its schema."""
        (matches,) = _HIDDEN.findall(self.body)
        document = json.loads(matches)
        _VALIDATOR.validate(document)
        return document
