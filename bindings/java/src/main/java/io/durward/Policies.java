package io.durward;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;

/** Arrays of texts as the library reads them. */
final class Policies {
    /** {@code durward_text}. */
    private static final MemoryLayout TEXT = MemoryLayout.structLayout(ADDRESS, JAVA_LONG);

    private Policies() {}

    /** An array of {@code durward_policy}: for each name and text, two texts. */
    static MemorySegment of(Map<String, String> policies, Arena arena) {
        MemorySegment rows = arena.allocate(TEXT, 2L * policies.size());
        long at = 0;
        for (Map.Entry<String, String> policy : policies.entrySet()) {
            put(rows, at++, Texts.utf8(policy.getKey(), "name"), arena);
            put(rows, at++, Texts.utf8(policy.getValue(), "policy"), arena);
        }
        return rows;
    }

    /** An array of {@code durward_text}. */
    static MemorySegment of(List<String> texts, Arena arena) {
        MemorySegment rows = arena.allocate(TEXT, texts.size());
        long at = 0;
        for (String text : texts) {
            put(rows, at++, Texts.utf8(text, "subscription"), arena);
        }
        return rows;
    }

    private static void put(MemorySegment rows, long at, byte[] text, Arena arena) {
        // One byte at least: a text of none has a place, too.
        MemorySegment place = arena.allocate(text.length + 1L);
        MemorySegment.copy(text, 0, place, ValueLayout.JAVA_BYTE, 0, text.length);
        long row = at * TEXT.byteSize();
        rows.set(ADDRESS, row, place);
        rows.set(JAVA_LONG, row + ADDRESS.byteSize(), text.length);
    }
}
