"""Packages for Python: `python bench.py QUESTIONS POLICIES`. See ../README.md."""

import importlib.metadata
import json
import pathlib
import sys
import time
import types

QUESTIONS, POLICIES = sys.argv[1], pathlib.Path(sys.argv[2])


def policy(name):
    return (POLICIES / name).read_text()


def titled(name):
    return f"{name} {importlib.metadata.version(name)}"


def rows():
    for line in pathlib.Path(QUESTIONS).read_text().splitlines():
        permitted, *fields = line.split("\t")
        yield (permitted == "true", *fields)


ROWS = list(rows())
NUMBERS = range(len(ROWS))


def durward():
    import durward

    pdp = durward.Pdp.from_texts({"doctors.sapl": policy("doctors.sapl")})
    decide = pdp.decide
    texts = [row[-1] for row in ROWS]
    data = [text.encode() for text in texts]
    dicts = [json.loads(text) for text in texts]
    yield "durward, text", texts, lambda text: decide(text).permit
    yield "durward, bytes", data, lambda text: decide(text).permit
    yield "durward, object", dicts, lambda question: decide(question).permit


def cedarpy():
    import cedarpy

    policies = cedarpy.PolicySet.from_str(policy("doctors.cedar"))
    allow = cedarpy.Decision.Allow

    def asked(_, user, role, action, record, kind, text):
        entities = [
            {"uid": {"type": "User", "id": user}, "attrs": {"role": role}, "parents": []},
            {"uid": {"type": "Record", "id": record}, "attrs": {"kind": kind}, "parents": []},
        ]
        request = {
            "principal": {"type": "User", "id": user},
            "action": {"type": "Action", "id": action},
            "resource": {"type": "Record", "id": record},
            "context": {},
        }
        return request, cedarpy.Entities.from_json_str(json.dumps(entities))

    questions = [asked(*row) for row in ROWS]
    yield titled("cedarpy"), questions, lambda asked: cedarpy.is_authorized(asked[0], policies, asked[1]).decision is allow


def casbin():
    import logging

    import casbin

    logging.disable(logging.INFO)
    enforcer = casbin.Enforcer(str(POLICIES / "casbin.conf"), str(POLICIES / "casbin.csv"))

    def asked(_, user, role, action, record, kind, text):
        return types.SimpleNamespace(role=role), types.SimpleNamespace(type=kind), action

    yield titled("casbin"), [asked(*row) for row in ROWS], lambda asked: enforcer.enforce(*asked)


def contenders():
    for make in (durward, cedarpy, casbin):
        try:
            yield from make()
        except Exception as error:
            print(f"left out: {make.__name__}: {error}", file=sys.stderr)


def verify(title, questions, decide):
    for row, question in zip(ROWS, questions, strict=True):
        if decide(question) != row[0]:
            sys.exit(f"{title} answers otherwise: {row[-1]}")


def measure(questions, decide, ms):
    start = now = time.perf_counter_ns()
    end = start + ms * 1_000_000
    calls = 0
    while now < end:
        for question in questions:
            decide(question)
        calls += len(questions)
        now = time.perf_counter_ns()
    return (now - start) / calls


def main():
    ready = list(contenders())
    for contender in ready:
        verify(*contender)
    print("\t".join(["ok", *(title for title, _, _ in ready)]), flush=True)
    for line in sys.stdin:
        _, number, ms = line.split()
        _, questions, decide = ready[int(number)]
        print("ok", measure(questions, decide, int(ms)), flush=True)


if __name__ == "__main__":
    main()
