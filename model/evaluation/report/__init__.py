"""Run files in, a page with figures and tables for people out."""
