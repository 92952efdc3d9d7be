"""Decisions that follow one another."""

from __future__ import annotations

import asyncio
import atexit
import threading
import weakref
from functools import partial
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from ._durward import Decision, NativeWatch

_open: "weakref.WeakSet[Watch]" = weakref.WeakSet()


class Watch:
    """A subscription that is decided again whenever another decision comes of it. `Pdp.watch` makes it.

    Iterate over it, with `for` or `async for`: the first decision comes at once, then each that is unlike the one before. Who is slow sees
    only the latest. One at a time waits: a second one gets a RuntimeError. Close it, or use it as a context manager; whoever waits is
    told.
    """

    def __init__(self, native: NativeWatch) -> None:
        self._native = native
        self._waits = threading.Lock()
        _open.add(self)

    def next(self, timeout: Optional[float] = None) -> Optional[Decision]:
        """The next decision; None where none comes within so many seconds, or it is closed."""
        try:
            return self._wait(timeout)
        except StopIteration:
            return None

    def close(self) -> None:
        """Ends it. Closing it again does nothing."""
        self._native.close()

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._native.closed

    def _wait(self, timeout: Optional[float]) -> Optional[Decision]:
        self._enter()
        try:
            return self._native.wait(timeout)
        finally:
            self._waits.release()

    def _enter(self) -> None:
        if not self._waits.acquire(blocking=False):
            raise RuntimeError("somebody else waits for the next decision: watch the subscription a second time")

    def __iter__(self) -> Watch:
        return self

    def __next__(self) -> Decision:
        decision = self._wait(None)
        assert decision is not None, "it waits for ever"
        return decision

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> Decision:
        loop = asyncio.get_running_loop()
        self._enter()
        try:
            while True:
                woken = loop.create_future()
                decision = self._native.poll(partial(loop.call_soon_threadsafe, _wake, woken))
                if decision is not None:
                    return decision
                await woken
        finally:
            self._waits.release()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Watch:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<durward.Watch {'closed' if self.closed else 'open'}>"


def _wake(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)


@atexit.register
def _close_all() -> None:
    """No thread wakes a task of an interpreter that ends."""
    for watch in list(_open):
        watch.close()
