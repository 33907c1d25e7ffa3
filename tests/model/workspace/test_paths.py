"""What is said of a refused path: its fault and how to write it."""

import pytest

from model.errors import PathRefused
from model.workspace.paths import (
    MOST_BYTES,
    check_path,
    explain_name_refusal,
    explain_refusal,
    explain_write_refusal,
    quote_path,
)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "it is empty"),
        ("/a", "it is absolute"),
        ("c:a", "it is absolute"),
        ("a\\b", "holds a backslash"),
        ("ü/" * MOST_BYTES, "longer than 1024 bytes"),
        ("a/../b", "holds `..`"),
        ("a\nb", "can't be seen"),
        ("a\ud800", "can't be seen"),
        ("n" * 256, "longer than 255 bytes"),
        (".Git/x", "git's own directory"),
        ("git~1/x", "git's own directory"),
    ],
)
def test_refusal_names_the_path_and_the_fault(path, message):
    assert message in explain_refusal(path)
    with pytest.raises(PathRefused) as raised:
        check_path(path)
    assert message in str(raised.value)
    assert quote_path(path) in str(raised.value)


@pytest.mark.parametrize(
    "path",
    ["a", "a/b.py", "ünï/cödé.py", "日本/語.py", "a b", "a.", "-x", "...a", "n" * 255, "e\u0301"],
)
def test_plain_path_is_unchanged(path):
    assert check_path(path) == path
    assert check_path(f"./{path}") == path


def test_no_break_space_is_allowed():
    """U+00A0 can't be printed as such, and yet is text."""
    assert explain_name_refusal("a\u00a0b") is None


def test_path_is_quoted_short_on_one_line():
    assert quote_path("a\nb") == "'a\\nb'"
    assert quote_path("x" * 500) == f"'{'x' * 118}…"


@pytest.mark.parametrize(
    "path",
    [
        *(".zuul.yaml", "zuul.yaml", ".zuul.d/jobs.yaml", "buildspec.yml", "api/buildspec.yaml"),
        *("azure-pipelines.yaml", ".drone.yaml", ".drone.star", ".woodpecker.yaml", ".envrc"),
        *(".tekton/push.yaml", "cloudbuild.json", "CloudBuild.YAML", ".pre-commit-hooks.yaml"),
        *(".vscode/tasks.json", ".travis.yml", "appveyor.yml", ".gitlab-ci.yaml", ".envrc. "),
        *(
            "OWNERS",
            "pkg/OWNERS",
            "OWNERS_ALIASES",
            ".mergify.yml",
            ".mergify/config.yml",
            "bors.toml",
        ),
        *(".kodiak.toml", "AGENTS.md", "docs/Agents.MD", "CLAUDE.md", "GEMINI.md", ".mcp.json"),
        *(".claude/settings.json", "web/.claude/hooks/x.sh", ".cursor/rules/a.mdc", ".cursorrules"),
        *(
            ".teamcity/settings.kts",
            ".idea/workspace.xml",
            "web/.vscode/tasks.json",
            ".vsts-ci.yml",
        ),
        *(
            "wercker.yml",
            ".npmrc",
            "web/.npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            ".yarn/releases/yarn.cjs",
        ),
        *(".pypirc", "pip.conf", ".bazelrc", "src/.envrc", ".devcontainer/devcontainer.json"),
        *(".devcontainer.json", "Jenkinsfile", "ci/Jenkinsfile.release", "ci/release.Jenkinsfile"),
        *(".gitmodules", "renovate.json", "renovate.json5", ".renovaterc", ".renovaterc.json"),
        *("dependabot.yml", ".pre-commit-config.yaml", ".cargo/config.toml", ".mvn/extensions.xml"),
        *(".roo/rules/a.md", "web/.kiro/steering/a.md", ".continue/config.yaml", ".roorules"),
        *(".amazonq/rules/a.md", ".junie/guidelines.md", ".aider.conf.yml", ".zed/tasks.json"),
        *("uv.toml", "bunfig.toml", "NuGet.Config", "lefthook.yml", ".lefthook.toml"),
        *("lefthook-local.yml", ".pnpmfile.cjs", ".gemrc", ".condarc", ".rules", "opencode.json"),
        *("ＡＧＥＮＴＳ.md", "claude.md:stream", ".ＣＬＡＵＤＥ/x", "\u200bCLAUDE.md", "owners "),
    ],
)
def test_automation_file_may_not_be_written(path):
    assert "which a fix may not change" in explain_write_refusal(path)


@pytest.mark.parametrize(
    "path",
    [
        *("cloudbuild.py", "src/drone.yml", "zuul/main.py", "buildspec", "docs/tekton/a.yaml"),
        *(
            "owners/model.py",
            "src/owners.py",
            "agents/run.py",
            "claude.py",
            "mcp.py",
            "renovate.ts",
        ),
        *("uv.py", "src/lefthook.rs", "continue/a.py", "nuget/config.cs", "roo.md", "rules.md"),
        *("src/jenkinsfile_parser.py", "src/mergify/a.yml", "pip.py", "npmrc.md", "idea/a.py"),
    ],
)
def test_code_named_like_automation_may_be_written(path):
    assert explain_write_refusal(path) is None
