"""The background processes. A worker claims jobs from PostgreSQL and carries them out.
`celery_app` starts it, `wiring` connects each job to its handler, `components` builds what handlers share.
May call: app, model.
"""
