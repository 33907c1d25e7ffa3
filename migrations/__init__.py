"""Alembic's revisions of the database. `app.db.migrate` runs them; nothing else lives here."""
