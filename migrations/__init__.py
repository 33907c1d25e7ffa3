"""The revisions of the database, run by `app.db.migrate`. `initial` holds the tables of the first revision."""
