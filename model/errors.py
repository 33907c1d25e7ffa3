"""What can go wrong in here.

ModelError
├── EngineError            one request failed; the vote is no vote
│   ├── EngineDown         the engine can't be reached or refuses all; try again later
│   │   └── BadEngine      what it was given can't be used: an address, a script, a key; nobody need try again
│   ├── NoTools            the engine has no way to offer tools; describe them in the text
│   └── TimedOut           the answer was not there in the time that the request gives
├── UnreadableAnswer       a reply without a usable box; the vote is no vote
├── MalformedEdit          a reply whose SEARCH/REPLACE edits can't be read or applied
├── BadDiff                text that is not a unified diff, with the line
├── TemplateError          a prompt template that can't be used
├── UnknownVerifier        nothing judges by that name; the message lists what does
├── BadChoice              a way to vote that the verifier, or another choice, rules out
├── BadGroups              a file of labelled groups that can't be read, with the line
├── BadRun                 a run file that can't be read or written
├── BadAdapter             a trained adapter whose files can't be read, or are not those that were trained
├── BadArtefact            something learnt, in a format that this version doesn't read
├── BadTrajectory          an agent's record that can't be read
├── OtherTree              an agent's record was made on another tree than it shall be replayed on
├── UnknownAgent           nothing proposes patches by that name; the message lists what does
├── WorkspaceError         a tree of code that an agent works on doesn't allow what was asked
│   ├── PathRefused        the path may not be read or written, with why
│   ├── NoSuchFile         there is no file at this path
│   └── TooBig             more bytes or files than the workspace takes, with the limit
├── GitFailed              git is missing, said no, or took too long
├── NoCodeGraph            definitions can't be looked up in this tree
│   ├── NoTree             there is nothing to index
│   ├── NoIndex            the index's file can't be used
│   └── NoReader           no process that reads can be started here
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


class NoTools(EngineError):
    """The engine has no way to offer tools to its model. Worth asking again with the tools described in words."""


class TimedOut(EngineError):
    """The answer was not there in the time that its request gives. It may have been billed."""


class UnreadableAnswer(ModelError):
    """A reply that names no readable set of patches."""


class MalformedEdit(ModelError):
    """A reply whose SEARCH/REPLACE edits can't be read or applied, all of them: `kind` counts, the message explains."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


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


class BadAdapter(ModelError):
    """A trained adapter that can't be used. The message names its folder, and what is wrong."""


class BadArtefact(ModelError):
    """What was learnt is written in another format. The message says how to write it again."""


class BadTrajectory(ModelError):
    """Not the record of an attempt. The message names what is wrong with it."""


class OtherTree(ModelError):
    """A record belongs to another tree than the one at hand. The message names both by their digests."""


class UnknownAgent(ModelError):
    """No agent has that name. The message lists those there are."""


class WorkspaceError(ModelError):
    """A tree of code can't do what was asked. The message names the path and what to do."""


class PathRefused(WorkspaceError):
    """A path that leaves the tree, names git's own files, or leads through or to what is no plain file."""


class NoSuchFile(WorkspaceError):
    """Nothing is at this path. Nothing of what was asked happened."""


class TooBig(WorkspaceError):
    """A file, a tree or all changes together pass a limit. Nothing of what was asked happened."""


class GitFailed(ModelError):
    """Git is missing, failed, or was ended. The message holds what it said, and the fix if we know one."""


class NoCodeGraph(ModelError):
    """The definitions of a tree can't be had. The message names the place, what is wrong with it, and the fix."""


class NoTree(NoCodeGraph):
    """There is nothing to index: no such directory, or no commit."""


class NoIndex(NoCodeGraph):
    """The file an index is kept in can't be opened, read or written."""


class NoReader(NoCodeGraph):
    """No process that reads can be started. Whoever runs the command in the message by hand sees why."""


class WeightsUnavailable(ModelError):
    """No source gave the file with the pinned hash. The message lists what was tried."""


class Superseded(ModelError):
    """The work is no longer wanted."""
