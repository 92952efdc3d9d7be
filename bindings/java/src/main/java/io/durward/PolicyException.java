package io.durward;

/** Policies are broken or cannot be read; the message names every problem with its place. Those in force still are. */
public class PolicyException extends DurwardException {
    private static final long serialVersionUID = 1;

    PolicyException(String message) {
        super(message);
    }
}
