"""The database schema as SQLAlchemy tables, one module a subject.
The name is tables because `model` means the language model here.
May call: no other room.
"""
