"""Asks `durward serve` with SAPL's own Python package, over HTTP, server-sent events and RSocket.

    clients.py PATH-OF-DURWARD

Prints `ok NAME` or `FAILED NAME` for each case, and ends with 1 if any failed.
"""

import asyncio
import logging
import os
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.request
import warnings

warnings.filterwarnings("ignore")

import structlog  # noqa: E402

# What is meant to fail is told by exceptions here, and need not be told by others as well.
logging.disable(logging.CRITICAL)
structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))

from sapl_base.transport import (  # noqa: E402
    HttpPdpClient,
    HttpPdpClientOptions,
    RsocketPdpClient,
    RsocketPdpClientOptions,
)
from sapl_base.types import (  # noqa: E402
    RESOURCE_ABSENT,
    AuthorizationSubscription,
    Decision,
    MultiAuthorizationSubscription,
)

PATIENCE_S = 30

READING = """policy "reading"
permit
    subject.name == "alice" && action == "read";
obligation
    { "type": "log", "level": 7, "share": 0.25 }
advice
    "hint"
"""

REPLACING = """policy "replacing"
permit
    subject.name == "carol" && action == "read";
transform
    { "title": resource.title, "pages": [1, 2] }
"""

# Argon2id of `s3cret` and of the whole API key, with little memory so that a busy machine is quick.
SETTINGS = """
policies.path = "policies"
server.listen = "127.0.0.1:{http}"
sapl.http = true
sapl.keep_alive_ms = 500
rsocket.listen = "127.0.0.1:{rsocket}"

[[auth.users]]
id = "anna"
name = "anna"
password = "{password}"

[[auth.users]]
id = "robot"
api_key_id = "abcdefghij"
api_key = "{api_key}"
"""
PASSWORD = "s3cret"
API_KEY = "sapl_abcdefghij_0123456789"


def digest_of_password():
    return "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQxMjM0NTY$+QzL9T/y4vwK5yLwyPcXDCCH946RYwDKvHpQzCVMTnU"


def digest_of_key():
    return "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQxMjM0NTY$N/O9EphF5oFsgXpYrQuOue0QdZk1EG/TOVGjob4cIRA"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """`durward serve` over a folder of policies that cases may change."""

    def __init__(self, binary):
        self.folder = tempfile.TemporaryDirectory()
        self.http, self.rsocket = free_port(), free_port()
        os.mkdir(os.path.join(self.folder.name, "policies"))
        self.write("reading.sapl", READING)
        self.write("replacing.sapl", REPLACING)
        config = os.path.join(self.folder.name, "durward.toml")
        with open(config, "w", encoding="utf-8") as file:
            password, api_key = digest_of_password(), digest_of_key()
            file.write(
                SETTINGS.format(http=self.http, rsocket=self.rsocket, password=password, api_key=api_key)
            )
        self.process = subprocess.Popen([binary, "serve", "--config", config])
        self.wait_until_ready()

    def write(self, name, text):
        path = os.path.join(self.folder.name, "policies", name)
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(path + ".new", path)

    def wait_until_ready(self):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/health/ready", timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        raise RuntimeError("the server is not ready")

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE_S)
        self.folder.cleanup()

    def over_http(self, **credentials):
        return HttpPdpClient(HttpPdpClientOptions(base_url=f"http://127.0.0.1:{self.http}", **credentials))

    def over_rsocket(self, **credentials):
        return RsocketPdpClient(RsocketPdpClientOptions(host="127.0.0.1", port=self.rsocket, **credentials))


def ask(name, action="read"):
    return AuthorizationSubscription(
        subject={"name": name, "age": 41, "roles": ["a", None, True]},
        action=action,
        resource={"title": "Grüße 😀", "size": 1.5},
        environment={"hour": 9},
        secrets={"token": "t"},
    )


def several():
    return MultiAuthorizationSubscription(subscriptions={"second": ask("bob"), "first": ask("alice")})


def expect(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r} instead of {expected!r}")


async def next_of(stream):
    return await asyncio.wait_for(anext(stream), PATIENCE_S)


async def decides_once(server, client):
    decision = await client.decide_once(ask("alice"))
    expect(decision.decision, Decision.PERMIT)
    expect(decision.obligations, ({"type": "log", "level": 7, "share": 0.25},))
    expect(decision.advice, ("hint",))
    # Over RSocket the package reads an undefined resource as `None`.
    expect(decision.resource in (None, RESOURCE_ABSENT), True)
    expect((await client.decide_once(ask("bob"))).decision, Decision.DENY)
    expect((await client.decide_once(ask("alice", "write"))).decision, Decision.DENY)


async def replaces_the_resource(server, client):
    decision = await client.decide_once(ask("carol"))
    expect(decision.decision, Decision.PERMIT)
    expect(decision.resource, {"title": "Grüße 😀", "pages": [1, 2]})


async def streams_what_changes(server, client):
    stream = client.decide(ask("alice"))
    expect((await next_of(stream)).decision, Decision.PERMIT)
    server.write("reading.sapl", READING.replace("permit", "deny"))
    expect((await next_of(stream)).decision, Decision.DENY)
    server.write("reading.sapl", READING)
    expect((await next_of(stream)).decision, Decision.PERMIT)
    await stream.aclose()


async def decides_several_once(server, client):
    decisions = (await client.multi_decide_all_once(several())).decisions
    # In the order asked for; over RSocket the package reads a map, which has none.
    expect(sorted(decisions), ["first", "second"])
    expect(decisions["first"].decision, Decision.PERMIT)
    expect(decisions["second"].decision, Decision.DENY)


async def streams_several_together(server, client):
    stream = client.multi_decide_all(several())
    outcomes = {id: one.decision for id, one in (await next_of(stream)).decisions.items()}
    expect(outcomes, {"first": Decision.PERMIT, "second": Decision.DENY})
    server.write("reading.sapl", READING.replace("alice", "bob"))
    outcomes = {id: one.decision for id, one in (await next_of(stream)).decisions.items()}
    expect(outcomes, {"first": Decision.DENY, "second": Decision.PERMIT})
    server.write("reading.sapl", READING)
    await next_of(stream)
    await stream.aclose()


async def streams_several_one_by_one(server, client):
    stream = client.multi_decide(several())
    told = [await next_of(stream) for _ in range(2)]
    outcomes = {one.subscription_id: one.decision.decision for one in told}
    expect(outcomes, {"first": Decision.PERMIT, "second": Decision.DENY})
    server.write("reading.sapl", READING.replace("permit", "deny"))
    changed = await next_of(stream)
    expect((changed.subscription_id, changed.decision.decision), ("first", Decision.DENY))
    server.write("reading.sapl", READING)
    await next_of(stream)
    await stream.aclose()


async def stays_open_while_nothing_changes(server, client):
    stream = client.decide(ask("alice"))
    expect((await next_of(stream)).decision, Decision.PERMIT)
    pending = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(2)
    expect(pending.done(), False)
    server.write("reading.sapl", READING.replace("permit", "deny"))
    expect((await asyncio.wait_for(pending, PATIENCE_S)).decision, Decision.DENY)
    server.write("reading.sapl", READING)
    await next_of(stream)
    await stream.aclose()


CASES = [
    decides_once,
    replaces_the_resource,
    streams_what_changes,
    decides_several_once,
    streams_several_together,
    streams_several_one_by_one,
    stays_open_while_nothing_changes,
]

RIGHT = [{"username": "anna", "secret": PASSWORD}, {"token": API_KEY}]
WRONG = [{"username": "anna", "secret": "wrong"}, {"token": "sapl_abcdefghij_wrong"}, {"token": "a.b.c"}, {}]


async def fails_to_authenticate(server, client):
    expect((await client.decide_once(ask("alice"))).decision, Decision.INDETERMINATE)
    stream = client.decide(ask("alice"))
    expect((await next_of(stream)).decision, Decision.INDETERMINATE)
    await stream.aclose()


async def run(server):
    failed = 0
    for protocol, connect in [("http", server.over_http), ("rsocket", server.over_rsocket)]:
        asked = [(case, credentials) for case in CASES for credentials in RIGHT[:1]]
        asked += [(decides_once, RIGHT[1])]
        asked += [(fails_to_authenticate, credentials) for credentials in WRONG]
        for number, (case, credentials) in enumerate(asked, 1):
            name = f"python {protocol} {number}: {case.__name__} with {'+'.join(credentials) or 'nothing'}"
            client = connect(**credentials)
            try:
                await asyncio.wait_for(case(server, client), 3 * PATIENCE_S)
                print(f"ok {name}", flush=True)
            except Exception:
                failed += 1
                traceback.print_exc()
                print(f"FAILED {name}", flush=True)
            finally:
                await client.close()
    return failed


def main():
    server = Server(sys.argv[1])
    try:
        return 1 if asyncio.run(run(server)) else 0
    finally:
        server.stop()


sys.exit(main())
