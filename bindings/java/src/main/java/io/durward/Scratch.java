package io.durward;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Memory of a thread for what goes into a call and comes out of it; nothing of it is kept from call to call. Longer texts get memory of their own. */
final class Scratch {
    private static final int TEXT_BYTES = 4096;
    private static final ThreadLocal<Scratch> OF_THREAD = ThreadLocal.withInitial(Scratch::new);

    final MemorySegment outcome;
    /** A handle that a call gives. */
    final MemorySegment result;
    final MemorySegment error;
    final MemorySegment length;
    private final MemorySegment text;

    private Scratch() {
        // Freed with the thread.
        Arena arena = Arena.ofAuto();
        outcome = arena.allocate(JAVA_INT);
        result = arena.allocate(ADDRESS);
        error = arena.allocate(ADDRESS);
        length = arena.allocate(ValueLayout.JAVA_LONG);
        text = arena.allocate(TEXT_BYTES);
    }

    static Scratch ofThread() {
        return OF_THREAD.get();
    }

    /** The text where the library can read it, until the next one or until the arena that came along is closed. */
    MemorySegment put(byte[] bytes, Arena forLong) {
        MemorySegment place = forLong == null ? text : forLong.allocate(bytes.length);
        MemorySegment.copy(bytes, 0, place, ValueLayout.JAVA_BYTE, 0, bytes.length);
        return place;
    }

    /** An arena for a text that has no room here; null for one that has. */
    static Arena forLong(byte[] bytes) {
        return bytes.length > TEXT_BYTES ? Arena.ofConfined() : null;
    }

    MemorySegment result() {
        return result.get(ADDRESS, 0);
    }

    /** The exception for a code that is not OK. */
    RuntimeException failure(int code) {
        return Native.takeError(code, error.get(ADDRESS, 0), length);
    }

    /** What was decided, of the outcome and the answer that a call gave. */
    Decision decision() {
        Outcome decided = Outcome.of(outcome.get(JAVA_INT, 0));
        MemorySegment answer = result();
        return answer.address() == 0 ? Decision.plain(decided) : Decision.of(decided, Native.takeText(answer, length));
    }
}
