"""Who judges labelled groups: every verifier of the catalogue, each told only what it may know."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from model import catalog
from model.catalog import EngineChoice
from model.domain import EngineInfo, GroupVerdict
from model.evaluation.groups import LabelledGroup
from model.evaluation.judged import JudgedGroup, Key, judged
from model.protocols import Verifier


@dataclass(frozen=True, slots=True)
class Judge:
    """One verifier, one engine and one number of votes: what runs are compared by."""

    verifier: str
    engine: EngineInfo
    votes: int
    verify: Callable[[LabelledGroup], GroupVerdict]

    def key(self, group: LabelledGroup) -> Key:
        """Under which the judgement of this group is kept."""
        return Key(group.id, self.verifier, self.engine, self.votes)

    def judge(self, group: LabelledGroup) -> JudgedGroup:
        """The group judged now. Raises EngineDown."""
        return judged(group, self.verify(group), self.key(group))


@contextmanager
def opened(name: str, choice: EngineChoice, votes: int) -> Iterator[Judge]:
    """The verifier of that name on the chosen engine, which is closed afterwards. Raises EngineDown."""
    with closing(catalog.engine(choice)) as engine:
        yield ordinary(name, catalog.verifier(name, engine), votes)


def ordinary(name: str, verifier: Verifier, votes: int) -> Judge:
    """A judge that shows its verifier the issue and the patches, and nothing else of a labelled group."""

    def verify(group: LabelledGroup) -> GroupVerdict:
        return verifier.verify(group.issue, [one.patch for one in group.patches], votes=votes)

    return Judge(name, verifier.engine, votes, verify)
