package io.durward;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.ref.Cleaner;

/**
 * A handle of the library that is freed once, and not while a call uses it: every call with it holds its arena, and an arena is closed only when none
 * does. From the moment it is to be closed every new call is an exception. What nobody has closed is closed when the garbage collector finds it.
 */
@SuppressWarnings("restricted")
final class Handle implements AutoCloseable {
    private static final Cleaner CLEANER = Cleaner.create();

    private final MemorySegment segment;
    private final Closing closing = new Closing();
    private final Cleaner.Cleanable cleanable;
    private final String closedMessage;

    /** The handle itself is what the collector has to find: whoever calls a function has it in hand until that is over, though perhaps not its owner. */
    Handle(MemorySegment raw, MethodHandle free, String closedMessage) {
        segment = raw.reinterpret(closing.arena, handle -> Native.release(free, handle));
        cleanable = CLEANER.register(this, closing);
        this.closedMessage = closedMessage;
    }

    /** To be passed to a function. */
    MemorySegment get() {
        if (!isOpen()) {
            throw new IllegalStateException(closedMessage);
        }
        return segment;
    }

    boolean isOpen() {
        return !closing.hasBegun;
    }

    /** What calling a function threw: of a handle that was closed just then, too. */
    RuntimeException thrown(Throwable error) {
        if (error instanceof IllegalStateException && !isOpen()) {
            return new IllegalStateException(closedMessage, error);
        }
        return Native.unexpected(error);
    }

    /** Waits for calls that use it. A second time does nothing. */
    @Override
    public void close() {
        cleanable.clean();
    }

    /** How it is closed: knows nothing of the handle, which would never be found otherwise. */
    private static final class Closing implements Runnable {
        private final Arena arena = Arena.ofShared();
        private volatile boolean hasBegun;

        @Override
        public void run() {
            hasBegun = true;
            while (arena.scope().isAlive()) {
                try {
                    arena.close();
                } catch (IllegalStateException inUse) {
                    Thread.yield();
                }
            }
        }
    }
}
