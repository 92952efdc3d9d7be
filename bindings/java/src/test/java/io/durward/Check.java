package io.durward;

import java.util.Map;

/** Checks that count: whoever runs a test program looks for the number on its last line. */
final class Check {
    private static int checks;

    private Check() {}

    interface Action {
        void run() throws Exception;
    }

    static void that(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError("not so: " + what);
        }
        checks++;
    }

    static void same(Object is, Object wanted) {
        that(is == null ? wanted == null : is.equals(wanted), is + " is " + wanted);
    }

    /** The call throws an exception of this class with these words. */
    static void refused(Class<? extends RuntimeException> kind, String words, Action action) {
        try {
            action.run();
        } catch (Exception error) {
            that(kind.isInstance(error), error + " is a " + kind.getSimpleName());
            that(String.valueOf(error.getMessage()).contains(words), error.getMessage() + " has `" + words + "`");
            return;
        }
        throw new AssertionError("nothing was thrown: `" + words + "`");
    }

    static Pdp pdp(String policy) {
        return Pdp.fromTexts(Map.of("p.sapl", policy));
    }

    static void done() {
        System.out.println(checks + " checks");
    }
}
