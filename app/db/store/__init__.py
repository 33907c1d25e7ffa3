"""The only queries: rows in, frozen values out. Each room holds the queries of one subject.
May call: db.tables, db.session.
"""
