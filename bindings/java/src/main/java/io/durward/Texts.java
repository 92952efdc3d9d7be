package io.durward;

import java.nio.charset.StandardCharsets;
import java.util.Objects;

/** Texts of Java as UTF-8. */
final class Texts {
    private Texts() {}

    /**
     * The text in UTF-8. Half a surrogate pair is no character: it is refused, as what Java would write in its place would be another question.
     */
    static byte[] utf8(String text, String name) {
        Objects.requireNonNull(text, name);
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        // The usual text is ASCII, and seen to be without looking at each character: as many bytes are either that, or have a `?` for a half.
        boolean isAscii = bytes.length == text.length() && new String(bytes, StandardCharsets.ISO_8859_1).equals(text);
        if (!isAscii) {
            refuseHalves(text, name);
        }
        return bytes;
    }

    private static void refuseHalves(String text, String name) {
        int length = text.length();
        for (int at = 0; at < length; at++) {
            char here = text.charAt(at);
            if (Character.isSurrogate(here)) {
                boolean isPair = Character.isHighSurrogate(here)
                        && at + 1 < length
                        && Character.isLowSurrogate(text.charAt(at + 1));
                if (!isPair) {
                    throw new IllegalArgumentException("`" + name + "` has half a surrogate pair at index " + at);
                }
                at++;
            }
        }
    }
}
