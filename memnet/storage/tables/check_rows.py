"""What can be wrong with the rows."""

from memnet.storage.tables.text_rows import TextRows


class CheckRows(TextRows):
    """Looks for damage that no read met."""

    def problems(self, dimension: int) -> list[str]:
        """What is wrong with the rows, a line each; empty when all is well."""
        found = [
            f"database: {row[0]}" for row in self._rows("PRAGMA integrity_check") if row[0] != "ok"
        ]
        found += [
            f"database: row {row[1]} of {row[0]} refers to a missing row of {row[2]}"
            for row in self._rows("PRAGMA foreign_key_check")
        ]
        wrong = self._one("SELECT count(*) FROM vector WHERE length(data) <> ?", 4 * dimension)
        if wrong is not None and wrong[0]:
            found.append(f"database: {wrong[0]} vectors have another width than {dimension}")
        if self._wrong_values():
            found.append("database: holds values that memnet does not write")
        wrong = self._one("SELECT count(*) FROM slot WHERE valid_until < valid_from")
        if wrong is not None and wrong[0]:
            found.append(f"database: {wrong[0]} statements ended before they began")
        wrong = self._one(
            "SELECT count(*) FROM slot WHERE kind <> 'passage' "
            "AND NOT EXISTS (SELECT 1 FROM link WHERE link.slot = slot.id "
            "AND link.relation = slot.vector)"
        )
        if wrong is not None and wrong[0]:
            found.append(f"database: {wrong[0]} facts can't be followed")
        wrong = self._one(
            "SELECT 1 FROM (SELECT generation, last_slot FROM revision ORDER BY 1 DESC LIMIT 1) "
            "WHERE generation <> (SELECT value + 0 FROM property WHERE name = 'generation') "
            "OR last_slot <> ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'slot'), 0)"
        )
        if wrong is not None:
            found.append("database: the last commit is not the one that its rows are of")
        if not self._text_agrees():
            found.append("text search: does not agree with the slots")
        return found

    def _wrong_values(self) -> bool:
        """Whether a column holds another type than its schema says, or what can't be used."""
        for table in ("property", "source", "vector", "slot", "symbol"):
            columns = self._rows(f"SELECT name, type FROM pragma_table_info('{table}')")
            wrong = " OR ".join(
                f"typeof({name}) NOT IN ('{kind.lower()}', 'null')" for name, kind in columns
            )
            if self._one(f"SELECT 1 FROM {table} WHERE {wrong} LIMIT 1") is not None:
                return True
        # The length of a text ends for SQLite where it holds a zero, and its JSON has no NaN.
        row = self._one(
            "SELECT 1 FROM slot WHERE kind NOT IN ('passage', 'fact', 'reverse') "
            "OR (length(text) <> end - start AND instr(text, char(0)) = 0) UNION ALL "
            "SELECT 1 FROM source WHERE NOT json_valid(metadata) "
            "AND NOT (metadata LIKE '%NaN%' OR metadata LIKE '%Infinity%') LIMIT 1"
        )
        return row is not None
