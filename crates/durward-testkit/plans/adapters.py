"""Selects through libraries of others: `adapters.py ROWS.jsonl cerbos|sapl sqlite|postgres|mariadb [WHERE]`.

`cerbos` is `cerbos-sqlalchemy`, given our filter as the answer of a decision point of Cerbos, with numbers as its protocol has
them. `sapl` is `sapl-sqlalchemy`: a decision that permits with our obligation, enforced by the package on a select of an
application that knows nothing of it. Exit code 1 after a difference.
"""

import sys

from cerbos.response.v1 import response_pb2
from cerbos_sqlalchemy import get_query
from google.protobuf.json_format import ParseDict
from sapl_base.pep.enforce import PRE_ENFORCE_SUPPORTED, DecisionSignal
from sapl_base.pep.planner import EnforcementPlanner
from sapl_base.pep.request_context import reset_current_plan, set_current_plan
from sapl_base.pep.shim_signals import shim_signals
from sapl_base.types import AuthorizationDecision, Decision
from sapl_sqlalchemy import SqlQueryRewritingProvider, register_orm_listener
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    Integer,
    MetaData,
    Numeric,
    Table,
    Text,
    create_engine,
    event,
    func,
    select,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session
from sqlalchemy.pool import StaticPool

import databases

KINDS = {"text": Text, "boolean": Boolean, "integer": BigInteger, "decimal": Numeric, "double": Double}


class Connected:
    """A database as `databases` fills it, reached through SQLAlchemy."""

    def __init__(self, name, where):
        if name == "sqlite":
            self.engine = create_engine("sqlite://", poolclass=StaticPool)
            event.listen(self.engine, "connect", functions)
        elif name == "postgres":
            import psycopg

            self.engine = create_engine(
                "postgresql+psycopg://",
                creator=lambda: psycopg.connect(where, autocommit=True, prepare_threshold=None),
                poolclass=StaticPool,
            )
        else:
            self.engine = create_engine(
                f"mysql+pymysql://root@localhost/plans?unix_socket={where}&charset=utf8mb4",
                poolclass=StaticPool,
                isolation_level="AUTOCOMMIT",
            )
        self.tables = databases.Tables(databases.open_database(name, where), name)
        if name == "sqlite":
            # In memory, there is one connection.
            self.tables.database.connection = self.engine.raw_connection().driver_connection
        self.name, self.session = name, Session(self.engine)

    def described(self, columns):
        """The table in the words of SQLAlchemy."""
        many = JSONB if self.name == "postgres" else JSON
        kinds = [(one["name"][0], many if one["many"] else KINDS[one["type"]]) for one in columns]
        return Table("t", MetaData(), Column("number", Integer), *(Column(name, kind) for name, kind in kinds))

    def selected(self, query):
        found = {row[0] for row in self.session.execute(query)}
        self.session.rollback()
        return found


def functions(connection, _):
    """What a connection of SQLite needs: functions that the operators on columns of many call."""
    import json

    def holds(value, array):
        return None if array is None else any(type(one) is type(value) and one == value for one in json.loads(array))

    # What is inserted stays, whatever a session does.
    connection.isolation_level = None
    connection.create_function("holds", 2, holds, deterministic=True)
    connection.create_function(
        "size_of", 1, lambda array: None if array is None else len(json.loads(array)), deterministic=True
    )


def operators(name):
    """What an application gives the adapter of Cerbos for columns of many."""
    is_many = lambda column: isinstance(getattr(column, "type", None), JSON)

    def holds(column, value):
        if is_many(value):
            column, value = value, column
        if not is_many(column):
            return column.in_(value)
        value = int(value) if isinstance(value, float) else value
        if name == "postgres":
            return column.contains([value])
        if name == "mariadb":
            import json

            return func.json_contains(column, json.dumps(value, ensure_ascii=False))
        return func.holds(value, column)

    def size(column, _):
        return {
            "sqlite": func.size_of,
            "postgres": func.jsonb_array_length,
            "mariadb": func.json_length,
        }[name](column)

    return {"in": holds, "size": size}


def of_cerbos(connected, columns, plan):
    """The rows that the adapter of Cerbos selects."""
    answer = ParseDict(
        {"action": "read", "resourceKind": "t", "filter": plan["filter"]},
        response_pb2.PlanResourcesResponse(),
        ignore_unknown_fields=False,
    )
    described = connected.described(columns)
    names = {f"request.resource.attr.{'.'.join(one['path'])}": described.c[one["name"][0]] for one in columns}
    query = get_query(answer, described, names, operator_override_fns=operators(connected.name))
    return connected.selected(query.with_only_columns(described.c.number))


def of_sapl(connected, columns, plan):
    """The rows that an application gets whose decision has our obligation."""
    decision = AuthorizationDecision(decision=Decision.PERMIT, obligations=[plan["filter"]])
    planner = EnforcementPlanner([SqlQueryRewritingProvider()])
    enforced = planner.plan(decision, PRE_ENFORCE_SUPPORTED | shim_signals())
    if enforced.execute(DecisionSignal(decision=decision)).failure_state:
        raise ValueError("the obligation is not understood")
    token = set_current_plan(enforced)
    try:
        return connected.selected(select(connected.described(columns).c.number))
    finally:
        reset_current_plan(token)


def main():
    path, library, name = sys.argv[1:4]
    connected = Connected(name, sys.argv[4] if len(sys.argv) > 4 else None)
    selected = {"cerbos": of_cerbos, "sapl": of_sapl}[library]
    register_orm_listener()

    def check(line):
        said, rows = line[library], line["rows"]
        plan, parts = said["plan"], [(said["plan"], said["expect"])]
        if "may" in said and library == "sapl":
            parts.append((plan["superset"], said["may"]))
        for part, expect in parts:
            if name == "sqlite" and any(one["type"] == "decimal" for one in line["columns"]):
                # It has no decimals: what is written comes back as something else.
                continue
            if part["kind"] == "filter" or library == "cerbos":
                connected.tables.fill(line)
                found = selected(connected, line["columns"], part)
            else:
                found = databases.constant(part["kind"], rows)
            wrong = databases.difference(found, expect, rows)
            if wrong:
                return wrong
        return None

    databases.each_line(path, check, f"{library} on {name}")


main()
