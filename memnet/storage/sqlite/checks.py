"""What a damaged database file may hold: SQLite keeps any value in any column."""

from memnet.storage.tables.connection import Connection


def _not_texts(column: str) -> str:
    """SQL for a column of a statement that is no JSON list of texts."""
    column = f'"{column}"'
    return (
        f"CASE WHEN json_valid({column}) THEN json_type({column}) <> 'array' OR EXISTS "
        f"(SELECT 1 FROM json_each({column}) AS element WHERE element.type <> 'text') ELSE 1 END"
    )


def has_wrong_values(connection: Connection) -> bool:
    """Whether a column holds another type than its schema says, or what can't be used."""
    for table in (
        "property",
        "source",
        "vector",
        "quick_vector",
        "slot",
        "symbol",
        "statement",
        "tell",
        "journal",
        "evicted_source",
        "statement_change",
        "eviction",
    ):
        columns = connection.rows(f"SELECT name, type FROM pragma_table_info('{table}')")
        wrong = " OR ".join(
            f"typeof(\"{name}\") NOT IN ('{kind.lower()}', 'null')" for name, kind in columns
        )
        if connection.one(f"SELECT 1 FROM {table} WHERE {wrong} LIMIT 1") is not None:
            return True
    # The length of a text ends for SQLite where it holds a zero, and its JSON has no NaN.
    row = connection.one(
        "SELECT 1 FROM slot WHERE kind NOT IN ('passage', 'fact', 'reverse') "
        "OR (length(text) <> slot.end - start AND instr(text, char(0)) = 0) UNION ALL "
        "SELECT 1 FROM slot WHERE valid_from IS NULL AND NOT (usage BETWEEN 0 AND 1e11 "
        "AND used_at BETWEEN 0 AND 1e11) UNION ALL "
        "SELECT 1 FROM source WHERE NOT json_valid(metadata) "
        "AND NOT (metadata LIKE '%NaN%' OR metadata LIKE '%Infinity%') UNION ALL "
        "SELECT 1 FROM statement WHERE polarity NOT IN (0, 1) OR standing NOT IN (0, 1) "
        "OR told_at < 0 OR told_at > 1e11 OR certainty NOT IN ('is', 'was', 'planned', 'maybe') "
        "OR change NOT IN ('supersede', 'correct', 'end', 'contradict') "
        f"OR {_not_texts('aliases')} OR {_not_texts('values')} UNION ALL "
        "SELECT 1 FROM statement_change "
        "WHERE change NOT IN ('supersede', 'correct', 'end', 'contradict') UNION ALL "
        "SELECT 1 FROM eviction WHERE kind NOT IN ('message', 'statement') "
        "OR evicted_at < 0 OR evicted_at > 1e11 LIMIT 1"
    )
    return row is not None
