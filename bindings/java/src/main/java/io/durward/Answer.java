package io.durward;

import java.util.Objects;

/**
 * One of many answers.
 *
 * @param decision what was decided; INDETERMINATE where that failed
 * @param error why it failed; null where it did not
 */
public record Answer(Decision decision, DurwardException error) {
    /** Checks that there is a decision. */
    public Answer {
        Objects.requireNonNull(decision, "decision");
    }

    /**
     * The decision.
     *
     * @throws DurwardException where that failed
     */
    public Decision orThrow() {
        if (error != null) {
            throw error;
        }
        return decision;
    }
}
