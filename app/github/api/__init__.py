"""What the bot reads from GitHub and writes there, one typed function per question.
Each write is planned, sent once and confirmed.
May call: http, wire, the values in github, settings, values.
"""
