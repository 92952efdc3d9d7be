"""The first page of what somebody may read, of a million rows and by ten thousand policies: `page.py DURWARD WHERE FOLDER`.

DURWARD serves plans; WHERE is how PostgreSQL is reached. Each policy lets a role read what lies in one ward up to a level, and
records under seal are denied by another one. Somebody has some of the roles, so some of the policies are left of the ten
thousand. Measured are the plan, over HTTP, and the first page that the database gives by it, in the order of ids. Every row of
the page is decided by itself as well.
"""

import json
import os
import statistics
import subprocess
import sys
import time
import urllib.request

import psycopg

POLICIES, ROLES, WARDS, ROWS, PAGE, ROUNDS = 10_000, 1_000, 10_000, 1_000_000, 50, 41
SETS = 100


def write(folder):
    """The policies, a set a file, and the settings."""
    policies = os.path.join(folder, "policies")
    os.makedirs(policies, exist_ok=True)
    each = POLICIES // SETS
    for number in range(SETS):
        lines = [f'set "set {number}" priority deny or abstain errors propagate']
        for policy in range(number * each, (number + 1) * each):
            lines.append(
                f'policy "ward {policy}" permit action == "read"; "role-{policy % ROLES}" in subject.roles; '
                f'resource.ward == "ward-{policy}"; resource.level <= {policy % 5};'
            )
        with open(os.path.join(policies, f"set{number}.sapl"), "w", encoding="utf-8") as file:
            file.write("\n\n".join(lines) + "\n")
    with open(os.path.join(policies, "sealed.sapl"), "w", encoding="utf-8") as file:
        file.write('policy "sealed" deny resource.sealed;\n')
    with open(os.path.join(policies, "pdp.json"), "w", encoding="utf-8") as file:
        algorithm = {"votingMode": "PRIORITY_DENY", "defaultDecision": "DENY", "errorHandling": "PROPAGATE"}
        json.dump({"algorithm": algorithm}, file)
    columns = {"ward": "text", "level": "integer", "sealed": "boolean"}
    with open(os.path.join(folder, "durward.toml"), "w", encoding="utf-8") as file:
        file.write('server.listen = "127.0.0.1:0"\npolicies.path = "policies"\nauth.danger_allow_no_auth = true\n')
        file.write('sapl.http = true\n[plan.columns.records]\nunlisted = "absent"\n')
        for name, kind in columns.items():
            file.write(f'[[plan.columns.records.column]]\nname = "{name}"\ntype = "{kind}"\n')
            file.write('nulls = "never"\ncollation = "binary"\n')


def serve(durward, folder):
    """The server, and its address, which it logs."""
    process = subprocess.Popen(
        [durward, "serve", "--config", "durward.toml"], cwd=folder, stderr=subprocess.PIPE, text=True
    )
    for line in process.stderr:
        at = line.find("127.0.0.1:")
        if at >= 0:
            address = line[at:].split()[0].strip("\"',}")
            return process, f"http://{address}"
    raise SystemExit("durward does not serve")


def post(address, path, body):
    request = urllib.request.Request(
        address + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def fill(database):
    """A million records: each ward has a hundred, spread over all ids."""
    database.execute("DROP TABLE IF EXISTS records")
    database.execute(
        'CREATE TABLE records (id bigint PRIMARY KEY, ward text COLLATE "C" NOT NULL, level bigint NOT NULL, '
        "sealed boolean NOT NULL, content text NOT NULL)"
    )
    database.execute(
        f"INSERT INTO records SELECT number, 'ward-' || (number::bigint * 7919 % {WARDS}), number % 7, number % 10 = 0, "
        f"repeat('x', 100) FROM generate_series(1, {ROWS}) AS number"
    )
    database.execute("CREATE INDEX ON records (ward, level)")
    database.execute("VACUUM ANALYZE records")


def timed(work):
    """The answer, and median and longest time in milliseconds."""
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        answer = work()
        times.append((time.perf_counter() - begun) * 1000)
    return answer, statistics.median(times), max(times)


def main():
    durward, where, folder = sys.argv[1:4]
    write(folder)
    database = psycopg.connect(where, autocommit=True, cursor_factory=psycopg.RawCursor)
    fill(database)
    process, address = serve(durward, folder)
    try:
        for roles in (3, 30, 100):
            subject = {"id": "ada", "roles": [f"role-{number}" for number in range(roles)]}
            asked = {"subject": subject, "action": "read", "resource": {}}
            question = {**asked, "columns": "records", "dialect": "postgres"}
            plan, plan_ms, plan_max = timed(lambda: post(address, "/v1/plan", question))
            if not plan["exact"] or plan["kind"] != "filter":
                raise SystemExit(f"no exact filter: {plan['kind']}")
            query = f"SELECT id, ward, level, sealed FROM records WHERE {plan['filter']} ORDER BY id LIMIT {PAGE}"
            page, page_ms, page_max = timed(lambda: database.execute(query, plan["parameters"]).fetchall())
            for _, ward, level, sealed in page:
                row = {"ward": ward, "level": level, "sealed": sealed}
                decision = post(address, "/api/pdp/decide-once", {**asked, "resource": row})
                if decision["decision"] != "PERMIT":
                    raise SystemExit(f"{row} is in the filter, and decided {decision}")
            count = f"SELECT count(*) FROM records WHERE {plan['filter']}"
            rows = database.execute(count, plan["parameters"]).fetchone()[0]
            print(
                f"{roles} roles: {POLICIES * roles // ROLES} of {POLICIES} policies left, {rows} of {ROWS} rows; "
                f"plan {plan_ms:.1f} ms (at most {plan_max:.1f}), {len(plan['filter'])} bytes; "
                f"first {len(page)} rows {page_ms:.1f} ms (at most {page_max:.1f})",
                flush=True,
            )
    finally:
        process.kill()


main()
