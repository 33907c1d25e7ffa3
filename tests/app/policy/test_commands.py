import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.commands import (
    MAX_COMMANDS,
    REGISTRY,
    Command,
    GroupEdit,
    Unknown,
    Verb,
    can_hold_command,
    is_allowed,
    parse,
)
from app.values.permission import Permission


@pytest.mark.parametrize("verb", [Verb.VERIFY, Verb.STATUS, Verb.HELP, Verb.EXPLAIN, Verb.AGREE])
@pytest.mark.parametrize("form", ["/r4p {}", "  /r4p   {}", "/R4P {}", "Hello.\n/r4p {}\nThanks!"])
def test_the_first_word_of_a_line_commands(verb, form):
    (command,) = parse(form.format(verb))
    assert (command.verb, command.pulls) == (verb, ())


def test_a_bare_prefix_asks_for_help():
    assert parse("/r4p") == (Command(Verb.HELP, "/r4p"),)


@pytest.mark.parametrize(
    "name", ["@r4p-bot", "@R4P-Bot", "@r4p-bot[bot]", "@r4p-bot,", "@r4p-bot:"]
)
def test_the_apps_own_name_is_an_alias(name):
    (command,) = parse(f"{name} verify", mention="r4p-bot")
    assert command.verb is Verb.VERIFY


@pytest.mark.parametrize(
    "body",
    [
        "please /r4p verify",
        "`/r4p verify`",
        "```\n/r4p verify\n```",
        "    /r4p verify",
        "> /r4p verify",
        "> quoted\n/r4p verify",
        "- /r4p verify",
        "1. /r4p verify",
        "# /r4p verify",
        "/r4p verify\n===",
        "[/r4p verify](https://example.org)",
        "**/r4p verify**",
        "<!-- /r4p verify -->",
        "<!--\n/r4p verify\n-->",
        "<div>\n/r4p verify\n</div>",
        "text <!--\n/r4p verify\n-->",
        "a `code\n/r4p verify\nspan`",
        "| /r4p verify |\n|---|\n| x |",
        r"\/r4p verify",
        "&#47;r4p verify",
        "/r4pverify",
        "/r4p-verify",
        "/r4 p verify",
        "@r4p-bot verify",
        "",
        "x" * 16_384 + "\n/r4p verify",
    ],
)
def test_a_quoted_shown_or_hidden_line_is_no_command(body):
    assert parse(body) == ()


@pytest.mark.parametrize(
    ("body", "command"),
    [
        ("/r4p group", Command(Verb.GROUP, "/r4p group", edit=GroupEdit.SHOW)),
        ("/r4p group show", Command(Verb.GROUP, "/r4p group show", edit=GroupEdit.SHOW)),
        (
            "/r4p group add #12, GH-15 #12",
            Command(Verb.GROUP, "/r4p group add #12, GH-15 #12", (12, 15), GroupEdit.ADD),
        ),
        (
            "/r4p group remove #12",
            Command(Verb.GROUP, "/r4p group remove #12", (12,), GroupEdit.REMOVE),
        ),
        ("/r4p explain #12", Command(Verb.EXPLAIN, "/r4p explain #12", (12,))),
        ("/r4p explain everything", Command(Verb.EXPLAIN, "/r4p explain everything")),
        (
            "/r4p disagree #12 it breaks `[]`",
            Command(
                Verb.DISAGREE,
                "/r4p disagree #12 it breaks []",
                (12,),
                reason="it breaks []",
            ),
        ),
        (
            "/r4p disagree both are right",
            Command(Verb.DISAGREE, "/r4p disagree both are right", reason="both are right"),
        ),
        (
            "/r4p agree #12 nice",
            Command(Verb.AGREE, "/r4p agree #12 nice", (12,), reason="nice"),
        ),
        ("/r4p explain A1", Command(Verb.EXPLAIN, "/r4p explain A1", alternative=1)),
        (
            "/r4p agree a12: nice",
            Command(Verb.AGREE, "/r4p agree a12: nice", alternative=12, reason="nice"),
        ),
        (
            "/r4p disagree A2 it drops `None`",
            Command(
                Verb.DISAGREE,
                "/r4p disagree A2 it drops None",
                alternative=2,
                reason="it drops None",
            ),
        ),
        ("/r4p explain A0", Command(Verb.EXPLAIN, "/r4p explain A0")),
        ("/r4p propose", Command(Verb.PROPOSE, "/r4p propose")),
        ("/r4p ok", Command(Verb.OK, "/r4p ok")),
        ("/r4p ok #12, #15", Command(Verb.OK, "/r4p ok #12, #15", (12, 15))),
        ("/r4p cancel", Command(Verb.CANCEL, "/r4p cancel")),
        ("/r4p delegate", Command(Verb.DELEGATE, "/r4p delegate", edit=GroupEdit.SHOW)),
        (
            "/r4p delegate @Mona, hubot-2 mona",
            Command(
                Verb.DELEGATE,
                "/r4p delegate @Mona, hubot-2 mona",
                edit=GroupEdit.ADD,
                logins=("mona", "hubot-2"),
            ),
        ),
        (
            "/r4p delegate remove mona",
            Command(
                Verb.DELEGATE, "/r4p delegate remove mona", edit=GroupEdit.REMOVE, logins=("mona",)
            ),
        ),
        ("/r4p open a2", Command(Verb.OPEN, "/r4p open a2", alternative=2)),
        ("/r4p verify please", Command(Verb.VERIFY, "/r4p verify please")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_words_after_a_verb_are_parsed(body, command):
    assert parse(body) == (command,)


@pytest.mark.parametrize(
    ("line", "problem", "suggestion"),
    [
        ("/r4p verfy", "`verfy` is not a command", "/r4p verify"),
        ("/r4p explian #12", "`explian` is not a command", "/r4p explain #12"),
        ("/r4p merge", "`merge` is not a command", None),
        ("/r4p pasue", "`pasue` is not a command", "/r4p pause"),
        ("/r4p delegate a/b", "`delegate add` takes 1 to 5 logins of people", None),
        ("/r4p delegate remove", "`delegate remove` takes 1 to 5 logins of people", None),
        ("/r4p delegate a b c d e f", "`delegate add` takes 1 to 5 logins of people", None),
        ("/r4p group ad #12", "`group ad` is not a command", "/r4p group add #12"),
        ("/r4p group zzz", "`group zzz` is not a command", None),
        ("/r4p group add", "`group add` needs pull requests written as #N", None),
        (
            "/r4p group add 12, 15",
            "`group add` needs pull requests written as #N",
            "/r4p group add #12 #15",
        ),
        ("/r4p open", "`open` needs one patch of the bot, written as A1", None),
        ("/r4p open #12", "`open` needs one patch of the bot, written as A1", None),
        ("/r4p group add #x", "`group add` needs pull requests written as #N", None),
        (
            "/r4p group add " + " ".join(f"#{n}" for n in range(1, 22)),
            "`group add` takes 20 pull requests at most",
            None,
        ),
        ("/r4p disagree", "`disagree` needs a reason: say what is wrong", None),
        ("/r4p disagree #12", "`disagree` needs a reason: say what is wrong", None),
    ],
)
def test_a_mistake_is_answered_with_the_line_as_it_should_read(line, problem, suggestion):
    assert parse(line) == (Unknown(line, problem, suggestion),)


def test_a_suggestion_is_itself_understood():
    (mistake,) = parse("/r4p group remov 12")
    (again,) = parse(mistake.suggestion)
    assert again.suggestion == "/r4p group remove #12"
    assert parse(again.suggestion)[0].pulls == (12,)


def test_several_commands_run_in_order_up_to_the_limit():
    found = parse("/r4p status\n" * (MAX_COMMANDS + 3))
    assert [type(one) for one in found] == [Command] * MAX_COMMANDS + [Unknown]
    assert (
        found[-1].problem
        == "the bot runs 5 commands of one comment at most, so it left this one out"
    )


def test_a_long_line_is_cut():
    (command,) = parse("/r4p disagree " + "x" * 5000)
    assert len(command.line) == 500
    assert len(command.reason) < 500


@pytest.mark.parametrize(
    ("body", "about"),
    [("/r4p explain #12", "#12"), ("/r4p explain A1", "A1"), ("/r4p explain", None)],
)
def test_a_command_knows_which_patch_it_is_about(body, about):
    (command,) = parse(body)
    assert command.about == about


PEOPLE = {
    Permission.NONE: {Verb.STATUS, Verb.EXPLAIN, Verb.CONFIG, Verb.HELP},
    Permission.READ: {Verb.STATUS, Verb.EXPLAIN, Verb.CONFIG, Verb.HELP},
    Permission.TRIAGE: {Verb.STATUS, Verb.EXPLAIN, Verb.CONFIG, Verb.HELP, Verb.OK},
    Permission.WRITE: set(Verb),
    Permission.MAINTAIN: set(Verb),
    Permission.ADMIN: set(Verb),
}


@pytest.mark.parametrize("permission", PEOPLE)
def test_only_those_who_may_write_can_spend_or_change(permission):
    assert {verb for verb in Verb if is_allowed(verb, permission)} == PEOPLE[permission]


def test_a_custom_role_proves_nothing():
    assert Permission.parse("maintain") is Permission.MAINTAIN
    assert Permission.parse("release-captain") is Permission.NONE


@pytest.mark.parametrize("verb", list(Verb))
def test_every_verb_has_an_entry_whose_example_is_that_verb(verb):
    (command,) = parse(REGISTRY[verb].example)
    assert command.verb is verb
    assert REGISTRY[verb].usage.split()[0] == verb


@given(st.text(alphabet="/r4pverifygoupad #12`>\n-*<!\0\ud800", max_size=80))
def test_any_comment_can_be_read_and_the_cheap_look_never_misses_a_command(body):
    assert not parse(body) or can_hold_command(body)


def test_a_delegate_may_use_what_can_be_delegated_and_nothing_else():
    allowed = {verb for verb in Verb if is_allowed(verb, Permission.NONE, is_delegate=True)}
    delegable = {verb for verb, entry in REGISTRY.items() if entry.is_delegable}
    assert allowed == delegable | PEOPLE[Permission.NONE]
    assert not delegable & {Verb.DELEGATE, Verb.OPEN, Verb.OK, Verb.AGREE, Verb.DISAGREE}
