"""Alembic's migrations, shipped with the package so that `r4p up` can apply them."""
