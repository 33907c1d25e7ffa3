"""One stage for all stories, and what must be true at the end of each."""

from itertools import count

import pytest

from tests.stories import stage as stages
from tests.stories.story import Story
from tests.stories.verdicts import ADVISORY

_numbers = count(1)


@pytest.fixture(scope="session")
def stage(tmp_path_factory):
    data = tmp_path_factory.mktemp("stage")
    with stages.running(data, stages.scripted(data)) as running:
        yield running


@pytest.fixture
def tell(stage):
    """`tell(config)`: a repository of its own with the bot on it; all is checked at the end."""
    told = []

    def begin(config=ADVISORY, files=None):
        story = Story.begin(stage, f"story-{next(_numbers)}", config, files or {})
        told.append(story)
        return story

    yield begin
    stage.standin.clear_faults()
    stage.standin.release()
    for story in told:
        story.end()


@pytest.fixture
def story(tell):
    """In a repository whose checks never fail."""
    return tell()
