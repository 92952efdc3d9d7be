"""Programs that SAPL's Python packages guard, doing as they are told: see `xtask/src/clients/puppet.rs`.

    frameworks.py fastapi|flask

`once` calls what is guarded and says the status, and the body where there is one; `open` listens to a guarded stream
and says what the reader notices.
"""

import asyncio
import json
import logging
import sys

import httpx
import structlog

logging.disable(logging.CRITICAL)
structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))

from sapl_base.pep import AccessDeniedError  # noqa: E402
from sapl_base.transport import HttpPdpClientOptions  # noqa: E402

ASKED = {}


def asked(name):
    """What the guard asks: whatever the last line said."""
    return lambda _context: ASKED[name]


FIELDS = {name: asked(name) for name in ("subject", "action", "resource", "environment", "secrets")}


class FastApi:
    def __init__(self):
        import fastapi
        import sapl_fastapi.decorators as guard

        self.app = fastapi.FastAPI()

        @self.app.get("/guarded")
        @guard.pre_enforce(**FIELDS)
        async def guarded(request: fastapi.Request):
            return {"plain": True}

        @guard.stream_enforce(**FIELDS, signal_transitions=True)
        async def ticks():
            while True:
                yield "item"
                await asyncio.sleep(0.05)

        self.ticks = ticks

    async def connect(self, options):
        from sapl_fastapi.dependencies import cleanup_sapl, configure_sapl

        await cleanup_sapl()
        configure_sapl(options)

    async def call(self):
        transport = httpx.ASGITransport(app=self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://app") as client:
            reply = await client.get("/guarded")
        return reply.status_code, reply.json() if reply.status_code == 200 else None


class Flask:
    async def connect(self, options):
        import flask
        import sapl_flask.decorators as guard
        from sapl_flask.extension import SaplFlask

        self.app = flask.Flask("app")
        self.app.config.update(
            SAPL_BASE_URL=options.base_url,
            SAPL_TOKEN=options.token,
            SAPL_USERNAME=options.username,
            SAPL_SECRET=options.secret,
        )
        SaplFlask(self.app)

        @self.app.get("/guarded")
        @guard.pre_enforce(**FIELDS)
        def guarded():
            return {"plain": True}

    async def call(self):
        def get():
            reply = self.app.test_client().get("/guarded")
            return reply.status_code, reply.get_json() if reply.status_code == 200 else None

        return await asyncio.get_running_loop().run_in_executor(None, get)


class Program:
    def __init__(self, framework):
        self.framework, self.task, self.queue = framework, None, asyncio.Queue()

    async def connect(self, transport, port, credentials):
        options = HttpPdpClientOptions(base_url=f"http://127.0.0.1:{port}", **credentials)
        await self.framework.connect(options)

    async def once(self, ask):
        ASKED.update(ask)
        status, body = await self.framework.call()
        return {"answer": {"status": status} | ({} if body is None else {"body": body})}

    async def open(self, what, ask):
        ASKED.update(ask)
        self.queue = asyncio.Queue()

        async def listen():
            last = None
            try:
                async for item in self.framework.ticks():
                    if item != last and type(item) is not type(last):
                        await self.queue.put(item if isinstance(item, str) else type(item).__name__)
                    last = item
            except AccessDeniedError:
                await self.queue.put("denied")

        self.task = asyncio.ensure_future(listen())

    async def next(self, within_ms):
        try:
            return {"answer": await asyncio.wait_for(self.queue.get(), within_ms / 1000)}
        except asyncio.TimeoutError:
            return {"silent": True}

    async def close(self):
        if self.task:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
            self.task = None


async def main():
    program = Program({"fastapi": FastApi, "flask": Flask}[sys.argv[1]]())
    while line := await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline):
        told = json.loads(line)
        try:
            answer = await getattr(program, told.pop("do").replace("-", "_"))(**told)
        except Exception as error:
            answer = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer or {}), flush=True)
    await program.close()


asyncio.run(main())
