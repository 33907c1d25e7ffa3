"""R4P bot's GitHub side: webhooks in, decisions, words out. No model and no torch in here."""
