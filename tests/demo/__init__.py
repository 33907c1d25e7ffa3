"""The demo (`make demo`): the bot on two real issues with four rival patches each, from webhook to outcome."""
