"""Define the GraphQL queries; `graphql_pulls`, `graphql_heads`, `graphql_reviews` and `graphql_issues` read their answers."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from app.settings.repo_config import FILE

_PULL: Final = """
fragment PULL on PullRequest {
  number body state isDraft baseRefName baseRefOid headRefOid authorAssociation
  author { __typename login }
  repository { nameWithOwner }
}
"""

_REPOSITORY: Final = f"""
fragment REPOSITORY on Repository {{
  databaseId nameWithOwner isArchived isFork
  defaultBranchRef {{ name target {{ oid }} }}
  config: object(expression: "HEAD:{FILE}") {{ ...BLOB }}
}}
"""

_BLOB: Final = """
fragment BLOB on Blob { oid text byteSize isTruncated }
"""

_CHECKS: Final = """
fragment CHECKS on Commit {
  checkSuites(first: 20) {
    nodes {
      app { databaseId }
      checkRuns(first: 50, filterBy: {checkType: LATEST}) { nodes { name status conclusion } }
    }
  }
  status { contexts { context state } }
}
"""

_HEAD: Final = """
fragment HEAD on PullRequest {
  number state headRefOid title
  author { __typename login }
  commits(last: 1) { nodes { commit { ...CHECKS } } }
}
"""

_REVIEWS: Final = """
fragment PAGE on PullRequestReviewConnection {
  pageInfo { hasPreviousPage startCursor }
  nodes {
    fullDatabaseId body state submittedAt lastEditedAt
    commit { oid }
    author { __typename login ... on User { databaseId } }
  }
}
"""

ISSUE: Final = f"""
query Issue($owner: String!, $name: String!, $number: Int!, $closing: String, $events: String) {{
  repository(owner: $owner, name: $name) {{
    ...REPOSITORY
    issue(number: $number) {{
      number title body state
      closedByPullRequestsReferences(first: 50, after: $closing, includeClosedPrs: true) {{
        pageInfo {{ hasNextPage endCursor }}
        nodes {{ ...PULL }}
      }}
      timelineItems(
        first: 100
        after: $events
        itemTypes: [CROSS_REFERENCED_EVENT, CONNECTED_EVENT, DISCONNECTED_EVENT]
      ) {{
        pageInfo {{ hasNextPage endCursor }}
        nodes {{
          __typename
          ... on CrossReferencedEvent {{ willCloseTarget source {{ __typename ...PULL }} }}
          ... on ConnectedEvent {{ subject {{ __typename ...PULL }} }}
          ... on DisconnectedEvent {{ subject {{ __typename ...PULL }} }}
        }}
      }}
    }}
  }}
}}
{_REPOSITORY}{_BLOB}{_PULL}"""

PULL_ISSUES: Final = f"""
query PullIssues($owner: String!, $name: String!, $number: Int!) {{
  repository(owner: $owner, name: $name) {{
    databaseId
    defaultBranchRef {{ name }}
    pullRequest(number: $number) {{
      ...PULL
      mergeCommit {{ oid }}
      files(first: 100) {{ nodes {{ path }} }}
      commits(last: 1) {{
        nodes {{ commit {{ file(path: "{FILE}") {{ object {{ ...BLOB }} }} }} }}
      }}
      closingIssuesReferences(first: 50) {{
        nodes {{ number repository {{ nameWithOwner }} }}
      }}
    }}
  }}
}}
{_PULL}{_BLOB}"""

REPOSITORY: Final = f"""
query Repository($owner: String!, $name: String!) {{
  repository(owner: $owner, name: $name) {{ ...REPOSITORY }}
}}
{_REPOSITORY}{_BLOB}"""


def build_heads_query(numbers: Sequence[int]) -> str:
    """Build the GraphQL query for the state of an issue and the heads of the pull requests `numbers`, with their checks.

    The answer holds each pull request under `p` and its number, such as `p12`.
    """
    pulls = "\n".join(f"    p{n}: pullRequest(number: {n}) {{ ...HEAD }}" for n in numbers)
    return f"""
query Heads($owner: String!, $name: String!, $issue: Int!) {{
  repository(owner: $owner, name: $name) {{
    databaseId
    issue(number: $issue) {{ state locked }}
    defaultBranchRef {{ target {{ ...CHECKS }} }}
{pulls}
  }}
}}
{_CHECKS}{_HEAD if pulls else ""}"""


def build_reviews_query(cursors: Mapping[int, str | None]) -> str:
    """Build the GraphQL query for the newest 20 reviews of each pull request in `cursors`, by its number.

    A cursor of GitHub asks for older reviews, those before it. The answer holds each pull request under `p` and its
    number, such as `p12`.
    """
    pulls = "\n".join(
        f"    p{n}: pullRequest(number: {n}) {{ number reviews(last: 20, before: {json.dumps(before)}) {{ ...PAGE }} }}"
        for n, before in cursors.items()
    )
    return f"""
query Reviews($owner: String!, $name: String!) {{
  repository(owner: $owner, name: $name) {{
    databaseId
{pulls}
  }}
}}
{_REVIEWS if pulls else ""}"""
