"""Selects with filters of plans, in a real database: `databases.py ROWS.jsonl sqlite|postgres|mariadb [WHERE]`.

ROWS is what `plans --rows` writes, or what `documents.js` makes of it. WHERE is how PostgreSQL is reached (a connection
string), or the socket of MariaDB; SQLite is in memory. Columns whose collation is not binary ignore case, and trailing spaces
where the database can: a filter must compare byte by byte all the same. Every filter of durward must be true or false of
every row, never unknown. In PostgreSQL each filter is a policy of row-level security too. Exit code 1 after a difference.
"""

import json
import sys

TYPES = {
    "sqlite": {"text": "TEXT", "boolean": "INTEGER", "integer": "INTEGER", "decimal": "NUMERIC", "double": "REAL"},
    "postgres": {
        "text": "text",
        "boolean": "boolean",
        "integer": "bigint",
        "decimal": "numeric",
        "double": "double precision",
    },
    "mariadb": {
        "text": "TEXT CHARACTER SET utf8mb4",
        "boolean": "BOOLEAN",
        "integer": "BIGINT",
        "decimal": "DECIMAL(65,30)",
        "double": "DOUBLE",
    },
}
MANY = {"sqlite": "TEXT", "postgres": "jsonb", "mariadb": "JSON"}
COLLATIONS = {
    "sqlite": {"binary": " COLLATE BINARY", "other": " COLLATE NOCASE"},
    "postgres": {"binary": ' COLLATE "C"', "other": " COLLATE ignoring_case"},
    "mariadb": {"binary": " COLLATE utf8mb4_nopad_bin", "other": " COLLATE utf8mb4_general_ci"},
}


class Sqlite:
    quote, place = '"', "?"

    def __init__(self, _):
        import sqlite3

        self.connection = sqlite3.connect(":memory:")

    def run(self, text, values=()):
        return self.connection.execute(text, values)

    def selected(self, text, values):
        return {row[0] for row in self.run(text, values)}


class Postgres:
    quote = '"'

    def __init__(self, where):
        import psycopg

        self.connection = psycopg.connect(where, autocommit=True, cursor_factory=psycopg.RawCursor)
        # Tables come and go, and what was prepared for one would be asked of the next.
        self.connection.prepare_threshold = None
        self.run(
            "CREATE COLLATION IF NOT EXISTS ignoring_case "
            "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        )
        if not self.selected("SELECT 1 FROM pg_roles WHERE rolname = 'durward_reader'", ()):
            self.run("CREATE ROLE durward_reader")

    def read_as_reader(self, policy):
        """What a role reads that only this policy lets read."""
        self.run("ALTER TABLE t ENABLE ROW LEVEL SECURITY")
        self.run("GRANT SELECT ON t TO durward_reader")
        self.run(policy)
        self.run("SET ROLE durward_reader")
        try:
            return self.selected("SELECT number FROM t", ())
        finally:
            self.run("RESET ROLE")
            self.run("DROP POLICY readers ON t")

    def run(self, text, values=()):
        return self.connection.execute(text, values)

    def selected(self, text, values):
        return {row[0] for row in self.run(text, values)}


class Mariadb:
    quote = "`"

    def __init__(self, where):
        import pymysql

        self.connection = pymysql.connect(unix_socket=where, user="root", charset="utf8mb4", autocommit=True)
        self.run("CREATE DATABASE IF NOT EXISTS plans")
        self.run("USE plans")

    def run(self, text, values=()):
        cursor = self.connection.cursor()
        cursor.execute(text.replace("%", "%%").replace("?", "%s") if values else text, values or None)
        return cursor

    def selected(self, text, values):
        return {row[0] for row in self.run(text, values).fetchall()}


def table(database, name, columns):
    """The statement that makes a table of these columns."""
    parts = ["number INTEGER"]
    for column in columns:
        kind = MANY[name] if column["many"] else TYPES[name][column["type"]]
        is_text = column["type"] == "text" and not column["many"]
        collation = COLLATIONS[name][column["collation"]] if is_text else ""
        parts.append(f"{database.quote}{column['name'][0]}{database.quote} {kind}{collation}")
    return "CREATE TABLE t (" + ", ".join(parts) + ")"


def value(name, column, cell):
    if cell is None:
        return None
    if column["many"]:
        return json.dumps(cell, ensure_ascii=False)
    if name == "sqlite" and column["type"] == "decimal":
        return float(cell)
    return cell


def insert(database, name, columns, rows):
    """All rows at once: a statement each would be most of the time."""
    values, places = [], []
    for number, row in enumerate(rows):
        cells = [number] + [value(name, column, cell) for column, cell in zip(columns, row)]
        marks = [f"${len(values) + at + 1}" if name == "postgres" else "?" for at in range(len(cells))]
        places.append("(" + ", ".join(marks) + ")")
        values += cells
    if rows:
        database.run("INSERT INTO t VALUES " + ", ".join(places), values)


class Tables:
    """The table of a line; the next line has often the same rows."""

    def __init__(self, database, name):
        self.database, self.name, self.filled = database, name, None

    def fill(self, line):
        wanted = (line["columns"], line["rows"])
        if self.filled == wanted:
            return
        self.database.run("DROP TABLE IF EXISTS t")
        self.database.run(table(self.database, self.name, line["columns"]))
        insert(self.database, self.name, *wanted)
        self.filled = wanted


def constant(kind, rows):
    """The rows of a plan that is no filter."""
    return set(range(len(rows))) if kind == "all" else set()


def difference(selected, expect, rows):
    """What is wrong with a selection, if anything."""
    wrong = [row for number, row in enumerate(rows) if (number in selected) != expect[number]]
    return f"{len(wrong)} rows, the first {wrong[0]}" if wrong else None


def select(tables, line, plan, is_definite):
    """The numbers of the rows in a filter, or in words why it is none."""
    rows, database = line["rows"], tables.database
    if plan["kind"] != "filter":
        return constant(plan["kind"], rows), None
    tables.fill(line)
    condition, parameters = plan["filter"], plan["parameters"]
    selected = database.selected(f"SELECT number FROM t WHERE {condition}", parameters)
    if is_definite:
        others = database.selected(f"SELECT number FROM t WHERE NOT ({condition})", parameters)
        if selected & others or len(selected | others) != len(rows):
            return selected, "the filter is not definite"
    return selected, None


def check(tables, line):
    """What is wrong, if anything."""
    said, rows = line[tables.name], line["rows"]
    is_definite = line.get("definite", True)
    selected, wrong = select(tables, line, said["plan"], is_definite)
    wrong = wrong or difference(selected, said["expect"], rows)
    if wrong is None and "may" in said:
        selected, wrong = select(tables, line, said["plan"]["superset"], is_definite)
        wrong = wrong or difference(selected, said["may"], rows)
        wrong = wrong and f"the superset: {wrong}"
    if wrong is None and said.get("policy"):
        tables.fill(line)
        wrong = difference(tables.database.read_as_reader(said["policy"]), said["expect"], rows)
        wrong = wrong and f"the policy of row-level security: {wrong}"
    return wrong


def open_database(name, where):
    return {"sqlite": Sqlite, "postgres": Postgres, "mariadb": Mariadb}[name](where)


def each_line(path, check_line, what):
    """Checks line by line, and says what there was, or the first difference."""
    plans = rows = 0
    with open(path, encoding="utf-8") as lines:
        for text in lines:
            line = json.loads(text)
            wrong = check_line(line)
            if wrong:
                print(f"{what}: {line.get('name', '')}: {wrong}\n{text}")
                sys.exit(1)
            plans, rows = plans + 1, rows + len(line["rows"])
    print(f"{what}: {plans} filters, {rows} rows, no difference")


def main():
    path, name = sys.argv[1:3]
    tables = Tables(open_database(name, sys.argv[3] if len(sys.argv) > 3 else None), name)
    each_line(path, lambda line: check(tables, line) if name in line else None, name)


if __name__ == "__main__":
    main()
