"""SAPL's own Python package, doing as it is told: see `xtask/src/clients/puppet.rs`."""

import asyncio
import json
import logging
import sys

import structlog

# What is meant to fail is told in answers here, and need not be told by others as well.
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
    MultiAuthorizationSubscription,
)


def connect(transport, port, credentials):
    retries = {"streaming_retry_base_delay_seconds": 0.2, "streaming_retry_max_delay_seconds": 1}
    if transport == "http":
        return HttpPdpClient(
            HttpPdpClientOptions(base_url=f"http://127.0.0.1:{port}", **credentials, **retries)
        )
    return RsocketPdpClient(RsocketPdpClientOptions(host="127.0.0.1", port=port, **credentials, **retries))


def several(ask):
    return MultiAuthorizationSubscription(
        subscriptions={id: AuthorizationSubscription(**one) for id, one in ask.items()}
    )


def decision(told):
    plain = {"decision": told.decision.name}
    if told.obligations:
        plain["obligations"] = list(told.obligations)
    if told.advice:
        plain["advice"] = list(told.advice)
    # Over RSocket the package reads an undefined resource as `None`.
    if told.resource is not RESOURCE_ABSENT and told.resource is not None:
        plain["resource"] = told.resource
    return plain


def decisions(told):
    return {id: decision(one) for id, one in told.decisions.items()}


def identified(told):
    return {"subscriptionId": told.subscription_id, "decision": decision(told.decision)}


class Client:
    def __init__(self):
        self.pdp, self.task, self.queue = None, None, asyncio.Queue()

    async def connect(self, transport, port, credentials):
        await self.close()
        if self.pdp:
            await self.pdp.close()
        self.pdp = connect(transport, port, credentials)

    async def once(self, ask):
        return {"answer": decision(await self.pdp.decide_once(AuthorizationSubscription(**ask)))}

    async def all_once(self, ask):
        return {"answer": decisions(await self.pdp.multi_decide_all_once(several(ask)))}

    async def open(self, what, ask):
        await self.close()
        self.queue = asyncio.Queue()
        stream, plain = {
            "decide": lambda: (self.pdp.decide(AuthorizationSubscription(**ask)), decision),
            "multi-decide": lambda: (self.pdp.multi_decide(several(ask)), identified),
            "multi-decide-all": lambda: (self.pdp.multi_decide_all(several(ask)), decisions),
        }[what]()

        async def listen():
            async for told in stream:
                await self.queue.put(plain(told))

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
    client = Client()
    read = asyncio.get_running_loop().run_in_executor
    while line := await read(None, sys.stdin.readline):
        told = json.loads(line)
        try:
            answer = await getattr(client, told.pop("do").replace("-", "_"))(**told)
        except Exception as error:
            answer = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer or {}), flush=True)
    await client.close()
    await client.pdp.close()


asyncio.run(main())
