"""`r4p doctor`: checks whether the bot can work with these settings; each line names a thing, its value and the fix.
In: settings, and answers of GitHub, the database, the broker and the model server. Out: findings and an exit code.
May call: every room but web.
"""
