package io.durward;

import static java.lang.foreign.ValueLayout.ADDRESS;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Optional;

/**
 * A subscription that is decided again and again: the first decision at once, then each that is unlike the one before. Who is slow sees only the latest.
 * Where several threads wait, each decision goes to one of them. {@link #close()} ends it, and whoever waits.
 */
public final class Watch implements Iterator<Decision>, AutoCloseable {
    private static final long NO_LIMIT = -1;

    private final Handle handle;
    /** What {@link #hasNext()} has waited for. */
    private Decision waiting;
    private volatile boolean isClosed;

    Watch(MemorySegment raw) {
        handle = new Handle(raw, Native.FREE_WATCH, "the watch is closed");
    }

    /**
     * Waits for the next decision, for that long at most.
     *
     * @return nothing where there was none within the time, or the watch is closed
     */
    public Optional<Decision> next(Duration limit) {
        Decision before = taken();
        if (before != null) {
            return Optional.of(before);
        }
        return Optional.ofNullable(waitFor(limit.isNegative() ? 0 : millis(limit)));
    }

    private static long millis(Duration limit) {
        return limit.compareTo(Duration.ofMillis(Long.MAX_VALUE)) > 0 ? Long.MAX_VALUE : limit.toMillis();
    }

    /** Waits for the next decision; false once the watch is closed. */
    @Override
    public boolean hasNext() {
        Decision next = taken();
        if (next == null) {
            next = waitFor(NO_LIMIT);
        }
        synchronized (this) {
            waiting = next;
        }
        return next != null;
    }

    /**
     * Waits for the next decision.
     *
     * @throws NoSuchElementException the watch is closed
     */
    @Override
    public Decision next() {
        Decision before = taken();
        Decision next = before == null ? waitFor(NO_LIMIT) : before;
        if (next == null) {
            throw new NoSuchElementException("the watch is closed");
        }
        return next;
    }

    private synchronized Decision taken() {
        Decision before = waiting;
        waiting = null;
        return before;
    }

    /** Null where there is none. */
    private Decision waitFor(long waitMs) {
        Scratch scratch = Scratch.ofThread();
        try {
            if (isClosed) {
                return null;
            }
            int code = (int) Native.WATCH_NEXT.invokeExact(
                    handle.get(), waitMs, scratch.outcome, scratch.result, scratch.error);
            return switch (code) {
                case Native.OK -> scratch.decision();
                case Native.NOTHING, Native.CLOSED -> null;
                default -> throw scratch.failure(code);
            };
        } catch (Throwable error) {
            if (isClosed && error instanceof IllegalStateException) {
                return null;
            }
            throw handle.thrown(error);
        }
    }

    /** Ends it. Whoever waits is told; a second time does nothing. */
    @Override
    public void close() {
        isClosed = true;
        try (Arena arena = Arena.ofConfined()) {
            if (handle.isOpen()) {
                int ended = (int) Native.WATCH_CLOSE.invokeExact(handle.get(), arena.allocate(ADDRESS));
                assert ended == Native.OK;
            }
        } catch (IllegalStateException closedJustThen) {
            return;
        } catch (Throwable error) {
            throw Native.unexpected(error);
        }
        handle.close();
    }
}
