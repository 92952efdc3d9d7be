"""What a decision costs from Python, in nanoseconds: the best of several rounds.

    cargo xtask package python
    target/packages/python/fresh/bin/python bindings/python/bench/bench.py

A batch crosses the border once: what `decide` costs beyond it is the call. `durward bench embedded --mode text` says what the same takes in Rust.
"""

import json
import threading
import time

import durward

ROUNDS, CALLS = 7, 100_000

POLICIES = {
    "plain": 'policy "doctors" permit action == "read" & subject.role == "doctor";',
    "with an obligation": 'policy "doctors" permit action == "read" & subject.role == "doctor"; obligation {"type": "log", "record": resource}',
    "by the clock": 'policy "doctors" permit subject.role == "doctor"; time.after(<time.now>, "2020-01-01T00:00:00Z");',
}
QUESTION = {"subject": {"role": "doctor", "name": "anna"}, "action": "read", "resource": "record"}


def measured(work, calls):
    best = min(timed(work) for _ in range(ROUNDS))
    return best / calls * 1e9


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def repeat(decide, question):
    def work():
        for _ in range(CALLS):
            decide(question)

    return work


def nothing(question):
    pass


def in_threads(count, work):
    def run():
        threads = [threading.Thread(target=work) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return run


def main():
    text = json.dumps(QUESTION)
    loop = measured(repeat(nothing, text), CALLS)
    print(f"{'an empty call':44}{loop:8.0f}")
    for name, policy in POLICIES.items():
        pdp = durward.Pdp.from_texts({"p.sapl": policy})
        assert pdp.decide(text).permit
        for form, question in (("str", text), ("bytes", text.encode()), ("dict", QUESTION)):
            print(f"{f'{name}, {form}':44}{measured(repeat(pdp.decide, question), CALLS):8.0f}")
        batch = [text] * CALLS
        print(f"{f'{name}, str, in one batch':44}{measured(lambda: pdp.decide_many(batch), CALLS):8.0f}")
        for threads in (2, 4):
            work = in_threads(threads, repeat(pdp.decide, text))
            print(f"{f'{name}, str, {threads} threads, each of all':44}{measured(work, CALLS * threads):8.0f}")


if __name__ == "__main__":
    main()
