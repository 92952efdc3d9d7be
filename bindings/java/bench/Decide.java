import io.durward.Outcome;
import io.durward.Pdp;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * What a decision costs a program in Java: nanoseconds per call, the best of ten rounds, of which the first compile.
 *
 * <pre>
 *   cargo xtask package java
 *   java --enable-native-access=ALL-UNNAMED -cp target/packages/java/build/durward-0.1.0.jar bindings/java/bench/Decide.java
 * </pre>
 *
 * What Java adds is the difference to {@code bindings/c/bench/decide.c}, which asks the same.
 */
class Decide {
    private static final int ROUNDS = 10;
    private static final int CALLS = 1_000_000;
    private static final String PLAIN = "policy \"doctors\" permit subject.role == \"doctor\";";
    private static final String ASKED = "{\"subject\":{\"role\":\"doctor\"},\"action\":\"read\",\"resource\":\"record\"}";

    interface Call {
        Outcome decide();
    }

    public static void main(String[] arguments) {
        byte[] bytes = ASKED.getBytes(StandardCharsets.UTF_8);
        try (Pdp plain = Pdp.fromTexts(Map.of("doctors.sapl", PLAIN));
                Pdp more = Pdp.fromTexts(Map.of("doctors.sapl", PLAIN + " obligation { \"log\": resource }"))) {
            measure("outcome alone, bytes", () -> plain.decide(bytes).outcome());
            measure("outcome alone, text", () -> plain.decide(ASKED).outcome());
            measure("with an obligation", () -> more.decide(ASKED).outcome());
        }
    }

    private static void measure(String name, Call call) {
        long best = Long.MAX_VALUE;
        for (int round = 0; round < ROUNDS; round++) {
            long start = System.nanoTime();
            for (int at = 0; at < CALLS; at++) {
                if (call.decide() != Outcome.PERMIT) {
                    throw new AssertionError(name);
                }
            }
            best = Math.min(best, System.nanoTime() - start);
        }
        System.out.printf("%-20s %6d ns%n", name, best / CALLS);
    }
}
