package io.durward;

import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * A decision. Grant access only if the outcome is {@link Outcome#PERMIT} and you meet all obligations; where there is a resource, give that
 * instead of the one that was asked for. Values are texts of JSON, for the library of your choice.
 *
 * @param outcome what was decided
 * @param obligations what must be done, each a text of JSON
 * @param advice what may be done, each a text of JSON
 * @param resource what stands for the resource, a text of JSON
 * @param json the whole decision, as SAPL writes it
 */
public record Decision(
        Outcome outcome, List<String> obligations, List<String> advice, Optional<String> resource, String json) {
    private static final Map<Outcome, Decision> PLAIN = new EnumMap<>(Outcome.class);

    static {
        for (Outcome outcome : Outcome.values()) {
            String json = "{\"decision\":\"" + outcome + "\"}";
            PLAIN.put(outcome, new Decision(outcome, List.of(), List.of(), Optional.empty(), json));
        }
    }

    /** Checks that nothing is null. */
    public Decision {
        Objects.requireNonNull(outcome, "outcome");
        obligations = List.copyOf(obligations);
        advice = List.copyOf(advice);
        Objects.requireNonNull(resource, "resource");
        Objects.requireNonNull(json, "json");
    }

    /** The one decision that is this outcome and nothing else. */
    static Decision plain(Outcome outcome) {
        return PLAIN.get(outcome);
    }

    static Decision of(Outcome outcome, String json) {
        Map<String, String> members = JsonParts.members(json);
        return new Decision(
                outcome,
                JsonParts.elements(members.getOrDefault("obligations", "[]")),
                JsonParts.elements(members.getOrDefault("advice", "[]")),
                Optional.ofNullable(members.get("resource")),
                json);
    }

    /** Whether access is granted and there is nothing to do for it: a permit without obligations, and with no other resource. */
    public boolean isUnconditionalPermit() {
        return outcome == Outcome.PERMIT && obligations.isEmpty() && resource.isEmpty();
    }
}
