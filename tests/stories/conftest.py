"""One stage for all stories, and the checks at the end of each."""

from itertools import count

import pytest

from tests.stories import stage as stages
from tests.stories.story import Story
from tests.stories.verdicts import ADVISORY

_numbers = count(1)


@pytest.fixture(scope="session")
def stage(tmp_path_factory):
    data = tmp_path_factory.mktemp("stage")
    with stages.run_stage(data, stages.build_script_settings(data)) as running:
        yield running


@pytest.fixture
def tell(stage):
    """`tell(config)` starts a story in a new repository; the end checks all of them."""
    stories = []

    def begin(config=ADVISORY, files=None):
        story = Story.begin(stage, f"story-{next(_numbers)}", config, files or {})
        stories.append(story)
        return story

    yield begin
    stage.standin.clear_faults()
    stage.standin.release()
    for story in stories:
        story.end()


@pytest.fixture
def story(tell):
    """A story with the advisory configuration."""
    return tell()
