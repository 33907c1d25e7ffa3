"""The demo (`make demo`): the bot on a real issue with four real rival patches, from webhook to outcome."""
