package io.durward;

/** What went wrong, in the words of whoever wrote the policy or the question. Whoever catches it must treat it as a deny. */
public class DurwardException extends RuntimeException {
    private static final long serialVersionUID = 1;

    DurwardException(String message) {
        super(message);
    }
}
