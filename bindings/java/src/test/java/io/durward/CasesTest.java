package io.durward;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;

/**
 * The table of cases. Each row on standard input is {@code VERB LENGTH LENGTH}, a line feed, two texts of these lengths in bytes, and a line feed. The
 * verbs are those of {@code bindings/c/tests/cases.c}.
 */
final class CasesTest {
    private static final DataInputStream INPUT = new DataInputStream(new BufferedInputStream(System.in));

    private static Map<String, String> policies = new LinkedHashMap<>();
    private static Pdp pdp;

    public static void main(String[] arguments) throws IOException {
        for (String line = line(); !line.isEmpty(); line = line()) {
            Scanner words = new Scanner(line);
            String verb = words.next();
            int firstLength = words.nextInt();
            int secondLength = words.nextInt();
            String first = text(firstLength);
            String second = text(secondLength);
            Check.same(INPUT.read(), (int) '\n');
            row(verb, first, second);
        }
        pdp.close();
        Check.done();
    }

    private static String line() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int next = INPUT.read(); next >= 0 && next != '\n'; next = INPUT.read()) {
            line.append((char) next);
        }
        return line.toString();
    }

    private static String text(int length) throws IOException {
        return new String(INPUT.readNBytes(length), StandardCharsets.UTF_8);
    }

    private static void row(String verb, String first, String second) {
        switch (verb) {
            case "policy" -> policies.put(first, second);
            case "open" -> {
                if (pdp != null) {
                    pdp.close();
                }
                pdp = Pdp.fromTexts(policies);
                policies = new LinkedHashMap<>();
            }
            case "decide" -> decide(first, second);
            case "request" -> {
                String response = pdp.decideRequest(first);
                Check.that(response.contains(second), response);
                Check.that(pdp.explainRequest(first).json().contains("\"outcome\":"), "explained");
            }
            case "refuse" -> {
                Check.refused(QuestionException.class, second, () -> pdp.decide(first));
                Check.refused(QuestionException.class, second, () -> pdp.watch(first));
                Check.refused(QuestionException.class, "", () -> pdp.explain(first));
            }
            case "refuse_request" -> {
                Check.refused(QuestionException.class, second, () -> pdp.decideRequest(first));
                Check.refused(QuestionException.class, "", () -> pdp.explainRequest(first));
            }
            case "broken" -> {
                Check.refused(PolicyException.class, first, () -> Pdp.fromTexts(policies));
                policies = new LinkedHashMap<>();
            }
            default -> throw new AssertionError(verb);
        }
    }

    /** The same question by every way there is to ask it. */
    private static void decide(String question, String json) {
        Decision decision = pdp.decide(question);
        Check.same(decision.json(), json);
        Check.same(pdp.decide(question.getBytes(StandardCharsets.UTF_8)), decision);
        Check.same(pdp.decideMany(List.of(question, question)).get(1).orThrow(), decision);
        try (Watch watch = pdp.watch(question)) {
            Check.same(watch.next(Duration.ofMinutes(1)).orElseThrow(), decision);
        }
        Explanation explained = pdp.explain(question);
        Check.that(explained.json().contains("\"outcome\":\"" + decision.outcome() + "\""), explained.text());
    }
}
