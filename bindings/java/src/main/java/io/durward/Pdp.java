package io.durward;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Flow;

/**
 * A policy decision point with its policies, within this program. Any thread may call it, and many at once.
 *
 * <pre>{@code
 * try (Pdp pdp = Pdp.fromTexts(Map.of("doctors.sapl", "policy \"doctors\" permit subject.role == \"doctor\";"))) {
 *     Decision decision = pdp.decide("{\"subject\":{\"role\":\"doctor\"},\"action\":\"read\",\"resource\":\"record\"}");
 *     boolean mayRead = decision.isUnconditionalPermit();
 * }
 * }</pre>
 */
public final class Pdp implements AutoCloseable {
    /** The bytes of a {@code durward_decision}: outcome, code, answer, error. */
    private static final long ROW = 2 * JAVA_INT.byteSize() + 2 * ADDRESS.byteSize();

    private final Handle handle;

    private Pdp(MemorySegment raw) {
        handle = new Handle(raw, Native.FREE_PDP, "the decision point is closed");
    }

    /**
     * Reads the policies of a folder, or of one file.
     *
     * @throws PolicyException they cannot be read, or are broken
     */
    public static Pdp fromDir(Path path) {
        byte[] bytes = Texts.utf8(path.toString(), "path");
        Scratch scratch = Scratch.ofThread();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = scratch.put(bytes, arena);
            int code = (int) Native.FROM_DIR.invokeExact(text, (long) bytes.length, scratch.result, scratch.error);
            return made(code, scratch);
        } catch (Throwable error) {
            throw Native.unexpected(error);
        }
    }

    /**
     * Takes policies as texts, each with the name by which messages call it. The name says the language, as that of a file: {@code .sapl},
     * {@code .xml}, {@code pdp.json} and so on.
     *
     * @throws PolicyException they are broken
     */
    public static Pdp fromTexts(Map<String, String> policies) {
        Scratch scratch = Scratch.ofThread();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment rows = Policies.of(policies, arena);
            long count = policies.size();
            int code = (int) Native.FROM_TEXTS.invokeExact(rows, count, scratch.result, scratch.error);
            return made(code, scratch);
        } catch (Throwable error) {
            throw Native.unexpected(error);
        }
    }

    private static Pdp made(int code, Scratch scratch) {
        if (code != Native.OK) {
            throw scratch.failure(code);
        }
        return new Pdp(scratch.result());
    }

    /** The version of the library. */
    public static String version() {
        return Native.version();
    }

    /**
     * Answers a subscription of SAPL, a text of JSON: {@code {"subject": .., "action": .., "resource": .., "environment": ..}}. Policies of
     * XACML see its values as attributes.
     *
     * @throws QuestionException the text is no subscription
     */
    public Decision decide(String subscription) {
        return decide(Texts.utf8(subscription, "subscription"));
    }

    /**
     * The same for a text that is in UTF-8 already.
     *
     * @throws QuestionException the text is no subscription
     */
    public Decision decide(byte[] subscription) {
        Scratch scratch = Scratch.ofThread();
        try (Arena forLong = Scratch.forLong(subscription)) {
            MemorySegment text = scratch.put(subscription, forLong);
            int code = (int) Native.DECIDE.invokeExact(
                    handle.get(),
                    text,
                    (long) subscription.length,
                    scratch.outcome,
                    scratch.result,
                    scratch.error);
            if (code != Native.OK) {
                throw scratch.failure(code);
            }
            return scratch.decision();
        } catch (Throwable error) {
            throw handle.thrown(error);
        }
    }

    /** Answers many subscriptions in their order, each as {@link #decide(String)} does; one that fails leaves the others alone. */
    public List<Answer> decideMany(List<String> subscriptions) {
        Scratch scratch = Scratch.ofThread();
        try (Arena arena = Arena.ofConfined()) {
            long count = subscriptions.size();
            MemorySegment texts = Policies.of(subscriptions, arena);
            MemorySegment rows = arena.allocate(ROW * count, ADDRESS.byteAlignment());
            int code = (int) Native.DECIDE_MANY.invokeExact(handle.get(), texts, count, rows, scratch.error);
            if (code != Native.OK) {
                throw scratch.failure(code);
            }
            try {
                List<Answer> answers = new ArrayList<>(subscriptions.size());
                for (long at = 0; at < count; at++) {
                    answers.add(answer(rows.asSlice(at * ROW, ROW), scratch.length));
                }
                return answers;
            } finally {
                Native.FREE_DECISIONS.invokeExact(rows, count);
            }
        } catch (Throwable error) {
            throw handle.thrown(error);
        }
    }

    private static Answer answer(MemorySegment row, MemorySegment length) {
        Outcome outcome = Outcome.of(row.get(JAVA_INT, 0));
        int code = row.get(JAVA_INT, JAVA_INT.byteSize());
        MemorySegment answer = row.get(ADDRESS, 2 * JAVA_INT.byteSize());
        MemorySegment error = row.get(ADDRESS, 2 * JAVA_INT.byteSize() + ADDRESS.byteSize());
        if (code != Native.OK) {
            return new Answer(Decision.plain(Outcome.INDETERMINATE), Native.errorOf(error, length));
        }
        boolean isPlain = answer.address() == 0;
        return new Answer(
                isPlain ? Decision.plain(outcome) : Decision.of(outcome, Native.textOf(answer, length)), null);
    }

    /**
     * Answers a request of XACML 3.0 or 2.0 in XML, or in JSON of its profile; the response is of the same form. What cannot be decided is an
     * Indeterminate result that says why.
     *
     * @throws QuestionException the text is no request
     */
    public String decideRequest(String request) {
        byte[] bytes = Texts.utf8(request, "request");
        Scratch scratch = Scratch.ofThread();
        return Native.takeText(ask(Native.DECIDE_REQUEST, bytes, scratch), scratch.length);
    }

    /**
     * Says why a subscription is answered as it is.
     *
     * @throws QuestionException the text is no subscription
     */
    public Explanation explain(String subscription) {
        byte[] bytes = Texts.utf8(subscription, "subscription");
        Scratch scratch = Scratch.ofThread();
        return Native.takeExplanation(ask(Native.EXPLAIN, bytes, scratch), scratch.length);
    }

    /**
     * Says why a request of XACML is answered as it is.
     *
     * @throws QuestionException the text is no request
     */
    public Explanation explainRequest(String request) {
        byte[] bytes = Texts.utf8(request, "request");
        Scratch scratch = Scratch.ofThread();
        return Native.takeExplanation(ask(Native.EXPLAIN_REQUEST, bytes, scratch), scratch.length);
    }

    /**
     * Decides a subscription again whenever another decision comes of it: because time goes by, or because other policies were put in force.
     *
     * @throws QuestionException the text is no subscription
     */
    public Watch watch(String subscription) {
        byte[] bytes = Texts.utf8(subscription, "subscription");
        return new Watch(ask(Native.WATCH_OPEN, bytes, Scratch.ofThread()));
    }

    /**
     * The same for subscribers: each gets the decisions of a watch of its own, on a thread of its own, as fast as it asks for them; who is slow sees
     * only the latest.
     */
    public Flow.Publisher<Decision> publisher(String subscription) {
        Texts.utf8(subscription, "subscription");
        return new DecisionPublisher(() -> watch(subscription));
    }

    private MemorySegment ask(MethodHandle function, byte[] question, Scratch scratch) {
        try (Arena forLong = Scratch.forLong(question)) {
            MemorySegment text = scratch.put(question, forLong);
            int code = (int)
                    function.invokeExact(handle.get(), text, (long) question.length, scratch.result, scratch.error);
            if (code != Native.OK) {
                throw scratch.failure(code);
            }
            return scratch.result();
        } catch (Throwable error) {
            throw handle.thrown(error);
        }
    }

    /**
     * Reads the policies again from where they were read, and puts them in force.
     *
     * @throws PolicyException they cannot be read, or are broken, or were given as texts; those in force stay
     */
    public void reload() {
        Scratch scratch = Scratch.ofThread();
        try {
            int code = (int) Native.RELOAD.invokeExact(handle.get(), scratch.error);
            if (code != Native.OK) {
                throw scratch.failure(code);
            }
        } catch (Throwable error) {
            throw handle.thrown(error);
        }
    }

    /**
     * Puts these policies in force in place of those there are.
     *
     * @throws PolicyException they are broken; those in force stay
     */
    public void replace(Map<String, String> policies) {
        Objects.requireNonNull(policies, "policies");
        Scratch scratch = Scratch.ofThread();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment rows = Policies.of(policies, arena);
            long count = policies.size();
            int code = (int) Native.REPLACE.invokeExact(handle.get(), rows, count, scratch.error);
            if (code != Native.OK) {
                throw scratch.failure(code);
            }
        } catch (Throwable error) {
            throw handle.thrown(error);
        }
    }

    /** Waits for calls on other threads, then frees the decision point. Its watches give no more decisions, and still have to be closed. */
    @Override
    public void close() {
        handle.close();
    }
}
