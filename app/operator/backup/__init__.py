"""Back the bot up into one file, and restore it from there.
In: a running or stopped bot's folder, or a database URL. Out: a tar archive `r4p.backup/1`, or a restored bot.
May call: db, operator (embedded), settings.
"""
