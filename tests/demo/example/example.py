"""The packaged example: a real issue of a real project, and four real patches for it."""

from dataclasses import dataclass
from importlib.resources import files

PATH = "django/contrib/auth/forms.py"

CONFIG = """\
version: 1
mode: advisory        # publish, no check ever fails
quiet_minutes: 0      # the demo does not wait for people to finish
votes: 3
comments: all
"""


@dataclass(frozen=True, slots=True)
class Rival:
    """A rival patch, with the title of its pull request."""

    login: str
    title: str
    diff: str
    resolved: bool
    """Return whether the benchmark's hidden tests accept it; for people, never for the verifier."""


@dataclass(frozen=True, slots=True)
class Example:
    """The issue, the files and the rival patches of one repository of the demo."""

    repository: str
    """`owner/name` on the stand-in for GitHub."""
    title: str
    body: str
    tree: dict[str, str]
    """Content of the base commit's files by path."""
    rivals: tuple[Rival, ...]


def load() -> Example:
    """Load the packaged example; NOTICE.md names its sources and licences."""
    folder = files(__package__)
    heading, body = folder.joinpath("issue.md").read_text().split("\n", 1)
    tree = {
        PATH: folder.joinpath("base", "forms.py.txt").read_text(),
        "LICENSE": folder.joinpath("base", "LICENSE.txt").read_text(),
        ".github/r4p.yml": CONFIG,
    }
    return Example(
        repository="octo-org/django",
        title=heading.removeprefix("# "),
        body=body.strip(),
        tree=tree,
        rivals=tuple(
            Rival(
                login=f"coding-agent-{number}",
                title=title,
                diff=folder.joinpath(f"rival-{number}.diff").read_text(),
                resolved=resolved,
            )
            for number, (title, resolved) in enumerate(_RIVALS, start=1)
        ),
    )


_RIVALS = (
    ("Set maxlength on the username widget as a string", False),
    ("Update widget attributes after max_length is known", True),
    ("Pass maxlength to the username field's widget", False),
    ("Set maxlength on the username widget", True),
)
