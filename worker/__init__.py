"""The hands of the bot: claims jobs from PostgreSQL and carries them out."""
