package io.durward;

/** What was decided, without what goes along with it. */
public enum Outcome {
    /** Access is granted, if the obligations of the decision are met. */
    PERMIT,
    /** Access is refused. */
    DENY,
    /** The matter is held until somebody else has decided it. */
    SUSPEND,
    /** No policy has anything to say. */
    NOT_APPLICABLE,
    /** An error kept the policies from deciding. */
    INDETERMINATE;

    /** Whatever is no number of an outcome is no permit. */
    static Outcome of(int number) {
        return switch (number) {
            case 200 -> PERMIT;
            case 1 -> DENY;
            case 2 -> NOT_APPLICABLE;
            case 3 -> SUSPEND;
            default -> INDETERMINATE;
        };
    }
}
