"""Every error that this package raises. Catch `ModelError` for all of them, `EngineError` for a failed request."""


class ModelError(Exception):
    """Base class of every error that this package raises on purpose."""


class EngineError(ModelError):
    """One request to the engine failed. The vote counts for no side."""


class EngineDown(EngineError):
    """The engine cannot be reached, or cannot serve any request. A retry can help, except for BadEngine."""


class BadEngine(EngineDown):
    """The engine can never work with its settings, so a retry does not help.

    The message names the setting and the fix.
    """


class NoTools(EngineError):
    """The engine cannot offer tools to its model. The caller can describe the tools in the prompt instead."""


class EngineTimeout(EngineError):
    """The answer did not arrive within the seconds of its request. The provider may still bill it."""


class UnreadableAnswer(ModelError):
    """A reply of the engine does not say readably which patches it holds correct."""


class MalformedEdit(ModelError):
    """No SEARCH/REPLACE edit of a reply can be read or applied. `kind` names the defect in a word, for statistics."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class BadDiff(ModelError):
    """The text is not a unified diff. The message names the line."""


class PatchDoesNotApply(ModelError):
    """A diff cannot be applied to a source tree. The message names the file and the reason."""


class BadSuiteCommand(ModelError):
    """A test command cannot be run. The message names the command and the fix."""


class NoBaseline(ModelError):
    """The tests of a base say nothing about it. The message says why and names the fix."""


class BadRecipe(ModelError):
    """The recipe of a test environment cannot be used. The message names the value and the fix."""


class NoEnvironment(ModelError):
    """A test environment cannot be built, or none has that name. The message says why and names the fix."""


class TemplateError(ModelError):
    """A prompt template is missing or does not render."""


class BadGroups(ModelError):
    """The file does not hold labelled groups. The message names the file, the line and the fix."""


class BadGym(ModelError):
    """A gym cannot be read or written. The message names the file, the line and the fix."""


class BadRun(ModelError):
    """A run file with judged groups cannot be read or written. The message names the file."""


class UnknownVerifier(ModelError):
    """No verifier has that name. The message lists the known names."""


class NoTests(UnknownVerifier):
    """The verifier judges by tests, and nothing runs them here. The message names the fix."""


class IncompatibleOptions(ModelError):
    """Two options for judging exclude each other. The message names both and the fix."""


class BadAdapter(ModelError):
    """A trained adapter cannot be used. The message names its folder and the problem."""


class UnreadableAdapter(BadAdapter):
    """A file of a trained adapter cannot be read now. A retry can help. The message names the file and the fix."""


class BadArtefact(ModelError):
    """A file of trained parameters, such as the consensus model, has a format that this version does not read.

    The message says how to write the file again.
    """


class BadTrajectory(ModelError):
    """The text is not a trajectory of an attempt. The message names the problem."""


class UnknownAgent(ModelError):
    """No agent has that name. The message lists the known names."""


class WorkspaceError(ModelError):
    """An operation on the files of a workspace is refused. The message names the path and the fix."""


class PathRefused(WorkspaceError):
    """A path leaves the workspace, names git's own files, or leads through or to something that is not a plain file."""


class NoSuchFile(WorkspaceError):
    """A workspace has no file at this path. The operation changed nothing."""


class TooBig(WorkspaceError):
    """A file, the tree or the changes of a workspace pass a size limit. The operation changed nothing."""


class GitFailed(ModelError):
    """Git is missing, failed, or was stopped. The message holds git's complaint, and the fix where it is known."""


class NoCodeGraph(ModelError):
    """The code graph of a tree is not available. The message names the place, the problem and the fix."""


class NoTree(NoCodeGraph):
    """The directory or the commit to build a code graph of does not exist."""


class NoIndex(NoCodeGraph):
    """The file of a code graph cannot be opened, read or written."""


class NoReader(NoCodeGraph):
    """The process that reads source files for a code graph cannot start.

    Run the command in the message by hand to see why.
    """


class WeightsUnavailable(ModelError):
    """No source has a model's weights file with the pinned hash. The message lists the sources."""


class Cancelled(ModelError):
    """A verifier stopped without a result, because newer work replaced this work."""
