"""The GitHub side of the bot: webhooks come in, decisions and texts come out.
No language model runs here and torch is never imported.
The worker and training packages may import app. App imports only model.
"""
