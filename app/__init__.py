"""The GitHub side of the bot: webhooks come in, decisions and texts come out.
In: deliveries, GitHub's facts and the operator's commands. Out: jobs, decisions, texts and stored rows.
No language model runs here and torch is never imported. The worker and training packages may import app.
May call: model.
"""
