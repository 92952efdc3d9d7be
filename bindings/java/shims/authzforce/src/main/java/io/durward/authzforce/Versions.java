package io.durward.authzforce;

import java.math.BigInteger;

/** Versions of policies: numbers with dots between them. */
final class Versions {
    private Versions() {}

    /** Whether a version is one that a pattern is about: of {@code *}, any number, and {@code +}, any numbers. Without a pattern, all are. */
    static boolean matches(String pattern, String version) {
        if (pattern == null) {
            return true;
        }
        String[] wanted = pattern.strip().split("\\.");
        String[] numbers = version.split("\\.");
        for (int at = 0; at < wanted.length; at++) {
            if (wanted[at].equals("+")) {
                return true;
            }
            if (at >= numbers.length || !(wanted[at].equals("*") || wanted[at].equals(numbers[at]))) {
                return false;
            }
        }
        return wanted.length == numbers.length;
    }

    static int compare(String left, String right) {
        String[] ours = left.split("\\.");
        String[] theirs = right.split("\\.");
        for (int at = 0; at < Math.min(ours.length, theirs.length); at++) {
            int order = new BigInteger(ours[at]).compareTo(new BigInteger(theirs[at]));
            if (order != 0) {
                return order;
            }
        }
        return Integer.compare(ours.length, theirs.length);
    }
}
