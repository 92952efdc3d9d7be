"""Selects with filters of plans, in a real database: `databases.py ROWS.jsonl sqlite|postgres|mariadb [WHERE]`.

ROWS is what `plans --rows` writes. WHERE is how PostgreSQL is reached (a connection string), or the socket of MariaDB; SQLite
is in memory. Columns whose collation is not binary ignore case, and trailing spaces where the database can: a filter must
compare byte by byte all the same. Every filter must be true or false of every row, never unknown. Exit code 1 after a
difference.
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
    parts = []
    for column in columns:
        kind = MANY[name] if column["many"] else TYPES[name][column["type"]]
        is_text = column["type"] == "text" and not column["many"]
        collation = COLLATIONS[name][column["collation"]] if is_text else ""
        parts.append(f"{database.quote}{column['name'][0]}{database.quote} {kind}{collation}")
    return "CREATE TABLE t (number INTEGER, " + ", ".join(parts) + ")"


def value(name, column, cell):
    if cell is None:
        return None
    if column["many"]:
        return json.dumps(cell, ensure_ascii=False)
    if name == "sqlite" and column["type"] == "decimal":
        return float(cell)
    return cell


def insert(database, name, columns, rows):
    for number, row in enumerate(rows):
        values = [number] + [value(name, column, cell) for column, cell in zip(columns, row)]
        places = [f"${at + 1}" if name == "postgres" else "?" for at in range(len(values))]
        database.run(f"INSERT INTO t VALUES ({', '.join(places)})", values)


def check(database, name, line):
    """What is wrong, if anything."""
    columns, rows, said = line["columns"], line["rows"], line[name]
    plan = said["plan"]
    if plan["kind"] != "filter":
        expected = {"all": [True], "none": [False]}[plan["kind"]] * len(rows)
        return None if expected == said["expect"] else "the kind is wrong"
    database.run("DROP TABLE IF EXISTS t")
    database.run(table(database, name, columns))
    insert(database, name, columns, rows)
    condition, parameters = plan["filter"], plan["parameters"]
    selected = database.selected(f"SELECT number FROM t WHERE {condition}", parameters)
    others = database.selected(f"SELECT number FROM t WHERE NOT ({condition})", parameters)
    if selected & others or len(selected | others) != len(rows):
        return "the filter is not definite"
    wrong = [row for number, row in enumerate(rows) if (number in selected) != said["expect"][number]]
    return f"{len(wrong)} rows, the first {wrong[0]}" if wrong else None


def main():
    path, name = sys.argv[1:3]
    where = sys.argv[3] if len(sys.argv) > 3 else None
    database = {"sqlite": Sqlite, "postgres": Postgres, "mariadb": Mariadb}[name](where)
    plans = rows = 0
    with open(path, encoding="utf-8") as lines:
        for text in lines:
            line = json.loads(text)
            wrong = check(database, name, line)
            if wrong:
                print(f"{name}: {wrong}\n{json.dumps(line[name], ensure_ascii=False)}\n{line['columns']}")
                sys.exit(1)
            plans, rows = plans + 1, rows + len(line["rows"])
    print(f"{name}: {plans} filters, {rows} rows, no difference")


main()
