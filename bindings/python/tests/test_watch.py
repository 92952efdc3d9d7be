"""Decisions that follow one another: in threads, in tasks, with an end."""

import asyncio
import gc
import threading
import unittest
import weakref

import durward

PERMIT, DENY = {"p.sapl": 'policy "p" permit'}, {"p.sapl": 'policy "p" deny'}
ASK = {"subject": "anna", "action": "read", "resource": 1}

LONG = 60
"""Seconds: far longer than anything takes."""


class Waits(unittest.TestCase):
    def test_other_policies_give_another_decision(self):
        pdp = durward.Pdp.from_texts(PERMIT)
        with pdp.watch(**ASK) as watch:
            self.assertTrue(watch.next(LONG).permit)
            for seconds in (0, 0.01, -1):
                self.assertIsNone(watch.next(seconds))
            pdp.replace(DENY)
            self.assertFalse(watch.next(float("inf")).permit)
            self.assertRaises(durward.PolicyError, pdp.replace, {"p.sapl": "policy"})
            self.assertIsNone(watch.next(0.05))
            self.assertFalse(watch.closed)
        self.assertTrue(watch.closed)

    def test_time_gives_another_decision(self):
        pdp = durward.Pdp.from_texts({"p.sapl": 'policy "p" permit time.secondOf(<time.now>) % 2 == 0;'})
        with pdp.watch(ASK) as watch:
            seen = [decision.permit for decision, _ in zip(watch, range(3))]
        self.assertIn(seen, ([True, False, True], [False, True, False]))

    def test_what_is_closed_gives_nothing(self):
        watch = durward.Pdp.from_texts(PERMIT).watch(ASK)
        watch.close()
        watch.close()
        self.assertIsNone(watch.next())
        self.assertEqual(list(watch), [])
        with watch:
            pass
        self.assertEqual(repr(watch), "<durward.Watch closed>")

    def test_a_thread_that_waits_is_told(self):
        watch = durward.Pdp.from_texts(PERMIT).watch(ASK)
        got = []
        thread = threading.Thread(target=lambda: got.extend(one.permit for one in watch))
        thread.start()
        while not got:
            pass
        with self.assertRaisesRegex(RuntimeError, "somebody else waits"):
            while True:
                watch.next(0)
        watch.close()
        thread.join()
        self.assertEqual(got, [True])

    def test_a_watch_keeps_its_decision_point(self):
        watch = durward.Pdp.from_texts({"p.sapl": 'policy "p" permit time.secondOf(<time.now>) % 2 == 0;'}).watch(ASK)
        gc.collect()
        self.assertNotEqual(watch.next(LONG).permit, watch.next(LONG).permit)

    def test_a_watch_that_nobody_holds_is_gone(self):
        pdp = durward.Pdp.from_texts(PERMIT)
        watch = pdp.watch(ASK)
        gone = weakref.ref(watch)
        del watch
        gc.collect()
        self.assertIsNone(gone())
        pdp.replace(DENY)

    def test_wrong_limits_are_refused(self):
        with durward.Pdp.from_texts(PERMIT).watch(ASK) as watch:
            for wrong in ("1", [], {}):
                self.assertRaises(TypeError, watch.next, wrong)
            self.assertTrue(watch.next(float("nan")).permit)


class Tasks(unittest.IsolatedAsyncioTestCase):
    async def next(self, watch):
        return await asyncio.wait_for(watch.__anext__(), LONG)

    async def test_other_policies_give_another_decision(self):
        pdp = durward.Pdp.from_texts(PERMIT)
        seen = []
        async with pdp.watch(ASK) as watch:
            async for decision in watch:
                seen.append(decision.permit)
                if len(seen) == 4:
                    break
                await asyncio.get_running_loop().run_in_executor(None, pdp.replace, DENY if decision.permit else PERMIT)
        self.assertEqual(seen, [True, False, True, False])
        self.assertTrue(watch.closed)

    async def test_policies_may_be_replaced_in_the_same_thread(self):
        pdp = durward.Pdp.from_texts(PERMIT)
        watch = pdp.watch(ASK)
        self.assertTrue((await self.next(watch)).permit)
        waiting = asyncio.ensure_future(watch.__anext__())
        await asyncio.sleep(0)
        pdp.replace(DENY)
        self.assertFalse((await asyncio.wait_for(waiting, LONG)).permit)

    async def test_a_task_that_waits_is_told(self):
        watch = durward.Pdp.from_texts(PERMIT).watch(ASK)
        await self.next(watch)
        waiting = asyncio.ensure_future(watch.__anext__())
        await asyncio.sleep(0)
        with self.assertRaisesRegex(RuntimeError, "somebody else waits"):
            await watch.__anext__()
        watch.close()
        with self.assertRaises(StopAsyncIteration):
            await asyncio.wait_for(waiting, LONG)
        with self.assertRaises(StopAsyncIteration):
            await watch.__anext__()

    async def test_no_decision_is_lost_when_a_task_is_cancelled(self):
        pdp = durward.Pdp.from_texts(PERMIT)
        watch = pdp.watch(ASK)
        await self.next(watch)
        for policies, permit in ((DENY, False), (PERMIT, True)) * 5:
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(watch.__anext__(), 0.01)
            pdp.replace(policies)
            self.assertEqual((await self.next(watch)).permit, permit)

    async def test_many_watches_in_one_loop(self):
        pdp = durward.Pdp.from_texts({"p.sapl": 'policy "p" permit subject < 50;'})
        watches = [pdp.watch({**ASK, "subject": number}) for number in range(100)]
        decisions = await asyncio.gather(*map(self.next, watches))
        self.assertEqual([one.permit for one in decisions], [True] * 50 + [False] * 50)
        waiting = [asyncio.ensure_future(self.next(watch)) for watch in watches]
        await asyncio.sleep(0)
        pdp.replace({"p.sapl": 'policy "p" permit subject >= 50;'})
        decisions = await asyncio.gather(*waiting)
        self.assertEqual([one.permit for one in decisions], [False] * 50 + [True] * 50)


class Loops(unittest.TestCase):
    def test_a_watch_goes_from_loop_to_loop(self):
        pdp = durward.Pdp.from_texts(PERMIT)
        watch = pdp.watch(ASK)

        async def wait():
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(watch.__anext__(), 0.01)

        self.assertTrue(watch.next(LONG).permit)
        asyncio.run(wait())
        # The loop that would be woken is closed.
        pdp.replace(DENY)
        self.assertFalse(asyncio.run(asyncio.wait_for(watch.__anext__(), LONG)).permit)
