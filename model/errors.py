"""What can go wrong in here.

ModelError
├── EngineError            one request failed; the vote is no vote
│   └── EngineDown         the engine can't be reached or refuses all; try again later
│       └── BadEngine      what it was given can't be used: an address, a script, a key; nobody need try again
├── UnreadableAnswer       a reply without a usable box; the vote is no vote
├── BadDiff                text that is not a unified diff, with the line
├── TemplateError          a prompt template that can't be used
├── UnknownVerifier        nothing judges by that name; the message lists what does
├── BadChoice              a way to vote that the verifier, or another choice, rules out
├── BadGroups              a file of labelled groups that can't be read, with the line
├── BadRun                 a run file that can't be read or written
├── BadArtefact            something learnt, in a format that this version doesn't read
├── WeightsUnavailable     no source gave the model's bytes, with what was tried
└── Superseded             newer work replaced this one; stop quietly
"""


class ModelError(Exception):
    """Anything this package raises on purpose."""


class EngineError(ModelError):
    """One request failed. It never becomes a verdict."""


class EngineDown(EngineError):
    """The engine can't be reached, or can't serve what is asked. Worth another attempt later."""


class BadEngine(EngineDown):
    """What an engine was given can't be used. The message names it, and the fix."""


class UnreadableAnswer(ModelError):
    """A reply that names no readable set of patches."""


class BadDiff(ModelError):
    """Text that is not a unified diff. The message names the line."""


class TemplateError(ModelError):
    """A prompt template that is missing or does not render."""


class BadGroups(ModelError):
    """Not a file of labelled groups. The message names file, line and what to do."""


class BadRun(ModelError):
    """Not a run file, or one that can't be written now. The message names the file."""


class UnknownVerifier(ModelError):
    """No verifier has that name. The message lists those there are."""


class BadChoice(ModelError):
    """Ways to judge that can't go together. The message names both and what to do."""


class BadArtefact(ModelError):
    """What was learnt is written in another format. The message says how to write it again."""


class WeightsUnavailable(ModelError):
    """No source gave the file with the pinned hash. The message lists what was tried."""


class Superseded(ModelError):
    """The work is no longer wanted."""
