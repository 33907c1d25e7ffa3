"""Each question of the report: a section made from series, without drawing or writing anything (pure)."""
