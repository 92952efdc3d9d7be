package io.durward;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** What a caller does wrong or at once is an exception or waits: never a crash, and never a permit. */
final class BorderTest {
    private static final String ANNA = "{\"subject\":\"anna\",\"action\":\"read\",\"resource\":1}";
    private static final String BOB = "{\"subject\":\"bob\",\"action\":\"read\",\"resource\":1}";
    private static final String LETS_ANNA = "policy \"p\" permit subject == \"anna\";";
    private static final Duration LONG = Duration.ofMinutes(1);

    public static void main(String[] arguments) throws Exception {
        whatGoesAlongIsTakenApart();
        wrongArgumentsAreExceptions();
        textsThatAreTooLongOrNoUnicodeAreExceptions();
        policiesAreReadAgain();
        eachOfManyFailsAlone();
        whatIsClosedIsAnException();
        closingWaitsForCalls();
        threadsDecideWhilePoliciesChange();
        virtualThreadsDecide();
        garbageIsFreed();
        watchesFollowPolicies();
        whoeverWaitsIsToldThatAWatchIsClosed();
        publishersGiveAsMuchAsIsAskedFor();
        Check.that(Pdp.version().matches("\\d+\\.\\d+\\.\\d+"), Pdp.version());
        Check.done();
    }

    private static void whatGoesAlongIsTakenApart() {
        String policy = """
                policy "p" permit
                obligation { "log": [1, "a]\\"}"] } obligation "x,y:{"
                advice null
                transform { "id": 7 }
                """;
        try (Pdp pdp = Check.pdp(policy)) {
            Decision decision = pdp.decide(ANNA);
            Check.same(decision.outcome(), Outcome.PERMIT);
            Check.same(decision.obligations(), List.of("{\"log\":[1,\"a]\\\"}\"]}", "\"x,y:{\""));
            Check.same(decision.advice(), List.of("null"));
            Check.same(decision.resource(), Optional.of("{\"id\":7}"));
            Check.that(!decision.isUnconditionalPermit(), "a permit with obligations has conditions");
        }
        try (Pdp pdp = Check.pdp(LETS_ANNA)) {
            Check.that(pdp.decide(ANNA).isUnconditionalPermit(), "a permit");
            Check.that(pdp.decide(ANNA) == pdp.decide(ANNA), "plain decisions are made once");
            Check.that(!pdp.decide(BOB).isUnconditionalPermit(), "a deny is no permit");
        }
        for (int number = -1; number <= 300; number++) {
            Check.that((Outcome.of(number) == Outcome.PERMIT) == (number == 200), "one number is a permit");
        }
    }

    private static void wrongArgumentsAreExceptions() {
        try (Pdp pdp = Check.pdp(LETS_ANNA)) {
            Check.refused(NullPointerException.class, "", () -> pdp.decide((String) null));
            Check.refused(NullPointerException.class, "", () -> pdp.decide((byte[]) null));
            Check.refused(NullPointerException.class, "", () -> pdp.decideRequest(null));
            Check.refused(NullPointerException.class, "", () -> pdp.decideMany(null));
            Check.refused(NullPointerException.class, "", () -> pdp.explain(null));
            Check.refused(NullPointerException.class, "", () -> pdp.watch(null));
            Check.refused(NullPointerException.class, "", () -> pdp.replace(null));
            Check.refused(QuestionException.class, "", () -> pdp.decide(""));
            Check.refused(QuestionException.class, "", () -> pdp.decide("NaN"));
            Check.refused(
                    QuestionException.class, "", () -> pdp.decide("{\"subject\":NaN,\"action\":1,\"resource\":1}"));
            Check.same(pdp.decideMany(List.of()), List.of());
        }
        Check.refused(NullPointerException.class, "", () -> Pdp.fromTexts(null));
        Check.refused(NullPointerException.class, "", () -> Pdp.fromDir(null));
        Check.refused(PolicyException.class, "no such folder", () -> Pdp.fromDir(Path.of("no such folder")));
    }

    private static void textsThatAreTooLongOrNoUnicodeAreExceptions() {
        try (Pdp pdp = Check.pdp("policy \"p\" permit")) {
            String long100 = " ".repeat(100 << 20);
            Check.refused(QuestionException.class, "longer than", () -> pdp.decide(long100));
            Check.refused(QuestionException.class, "longer than", () -> pdp.decideRequest(long100));
            String some = "a".repeat(1 << 20);
            Check.same(pdp.decide(ANNA.replace("anna", some)).outcome(), Outcome.PERMIT);
            for (String half : List.of("\ud800", "\udc00", "\udc00\ud800", "a\ud83d")) {
                String question = ANNA.replace("anna", half);
                Check.refused(IllegalArgumentException.class, "surrogate", () -> pdp.decide(question));
                Check.refused(IllegalArgumentException.class, "surrogate", () -> pdp.decideMany(List.of(question)));
            }
            Check.same(pdp.decide(ANNA.replace("anna", "\ud834\udd1e")).outcome(), Outcome.PERMIT);
            byte[] wrong = ANNA.replace("anna", "\u00e9").getBytes(StandardCharsets.ISO_8859_1);
            Check.refused(QuestionException.class, "", () -> pdp.decide(wrong));
        }
    }

    private static void policiesAreReadAgain() throws IOException {
        Path folder = Files.createTempDirectory("durward-java");
        Path file = folder.resolve("p.sapl");
        Files.writeString(file, "policy \"p\" permit");
        try (Pdp pdp = Pdp.fromDir(folder)) {
            Check.same(pdp.decide(ANNA).outcome(), Outcome.PERMIT);
            Files.writeString(file, "policy \"p\" denyy");
            Check.refused(PolicyException.class, "p.sapl:1:", pdp::reload);
            Check.same(pdp.decide(ANNA).outcome(), Outcome.PERMIT);
            Files.writeString(file, "policy \"p\" deny");
            pdp.reload();
            Check.same(pdp.decide(ANNA).outcome(), Outcome.DENY);
            Check.refused(PolicyException.class, "q.sapl:1:", () -> pdp.replace(Map.of("q.sapl", "policy")));
            pdp.replace(Map.of("q.sapl", "policy \"q\" permit"));
            Check.same(pdp.decide(ANNA).outcome(), Outcome.PERMIT);
        }
        Files.delete(file);
        Files.delete(folder);
        try (Pdp pdp = Check.pdp("policy \"p\" permit")) {
            Check.refused(PolicyException.class, "given as texts", pdp::reload);
        }
    }

    private static void eachOfManyFailsAlone() {
        try (Pdp pdp = Check.pdp(LETS_ANNA)) {
            List<Answer> answers = pdp.decideMany(List.of(ANNA, "no JSON", BOB));
            Check.same(answers.get(0).orThrow().outcome(), Outcome.PERMIT);
            Check.same(answers.get(1).decision().outcome(), Outcome.INDETERMINATE);
            Check.refused(QuestionException.class, "", () -> answers.get(1).orThrow());
            Check.same(answers.get(2).orThrow().outcome(), Outcome.DENY);
        }
    }

    private static void whatIsClosedIsAnException() {
        Pdp pdp = Check.pdp("policy \"p\" permit");
        Watch watch = pdp.watch(ANNA);
        pdp.close();
        pdp.close();
        String closed = "the decision point is closed";
        Check.refused(IllegalStateException.class, closed, () -> pdp.decide(ANNA));
        Check.refused(IllegalStateException.class, closed, () -> pdp.decideMany(List.of(ANNA)));
        Check.refused(IllegalStateException.class, closed, () -> pdp.decideRequest("{}"));
        Check.refused(IllegalStateException.class, closed, () -> pdp.explain(ANNA));
        Check.refused(IllegalStateException.class, closed, () -> pdp.watch(ANNA));
        Check.refused(IllegalStateException.class, closed, pdp::reload);
        Check.refused(IllegalStateException.class, closed, () -> pdp.replace(Map.of()));
        // Whoever watches has what was decided, and no more.
        watch.next(Duration.ZERO);
        Check.same(watch.next(Duration.ofMillis(10)), Optional.empty());
        watch.close();
        watch.close();
        Check.same(watch.next(LONG), Optional.empty());
        Check.that(!watch.hasNext(), "a closed watch has no next decision");
        Check.refused(NoSuchElementException.class, "the watch is closed", watch::next);
    }

    private static void closingWaitsForCalls() throws Exception {
        try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
            for (int round = 0; round < 50; round++) {
                Pdp pdp = Check.pdp(LETS_ANNA);
                CountDownLatch started = new CountDownLatch(4);
                List<Future<Boolean>> ends = new ArrayList<>();
                for (int thread = 0; thread < 4; thread++) {
                    ends.add(threads.submit(() -> decideUntilClosed(pdp, started)));
                }
                started.await();
                pdp.close();
                for (Future<Boolean> end : ends) {
                    Check.that(end.get(), "each decision was right, and then it was closed");
                }
            }
        }
    }

    private static boolean decideUntilClosed(Pdp pdp, CountDownLatch started) {
        boolean isFirst = true;
        for (;;) {
            try {
                if (pdp.decide(BOB).outcome() != Outcome.DENY) {
                    return false;
                }
            } catch (IllegalStateException closed) {
                return closed.getMessage().equals("the decision point is closed");
            } finally {
                if (isFirst) {
                    started.countDown();
                    isFirst = false;
                }
            }
        }
    }

    private static boolean decidesRightly(Pdp pdp, int rounds) {
        for (int round = 0; round < rounds; round++) {
            if (pdp.decide(ANNA).outcome() != Outcome.PERMIT || pdp.decide(BOB).outcome() != Outcome.DENY) {
                return false;
            }
        }
        return true;
    }

    private static void threadsDecideWhilePoliciesChange() throws Exception {
        try (Pdp pdp = Check.pdp(LETS_ANNA);
                ExecutorService threads = Executors.newFixedThreadPool(8)) {
            List<Callable<Boolean>> tasks = new ArrayList<>();
            for (int thread = 0; thread < 7; thread++) {
                tasks.add(() -> decidesRightly(pdp, 5_000));
            }
            tasks.add(() -> {
                for (int round = 0; round < 50; round++) {
                    pdp.replace(Map.of("p.sapl", LETS_ANNA.replace("\"p\"", "\"p" + round + "\"")));
                }
                return true;
            });
            for (Future<Boolean> end : threads.invokeAll(tasks)) {
                Check.that(end.get(), "anna is always let in, bob never");
            }
        }
    }

    private static void virtualThreadsDecide() throws Exception {
        try (Pdp pdp = Check.pdp(LETS_ANNA);
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Boolean>> ends = new ArrayList<>();
            for (int thread = 0; thread < 1_000; thread++) {
                ends.add(threads.submit(() -> decidesRightly(pdp, 10)));
            }
            for (Future<Boolean> end : ends) {
                Check.that(end.get(), "virtual threads get the same");
            }
        }
    }

    /** Decision points that nobody closes, and garbage collection while others decide. */
    private static void garbageIsFreed() throws Exception {
        try (Pdp pdp = Check.pdp(LETS_ANNA);
                ExecutorService threads = Executors.newFixedThreadPool(2)) {
            Future<Boolean> deciding = threads.submit(() -> decidesRightly(pdp, 50_000));
            for (int round = 0; round < 100; round++) {
                Check.pdp(LETS_ANNA).watch(ANNA);
                if (round % 10 == 0) {
                    System.gc();
                }
            }
            Check.that(deciding.get(), "the collector takes nothing that is in use");
        }
    }

    private static void watchesFollowPolicies() {
        try (Pdp pdp = Check.pdp("policy \"p\" permit");
                Watch watch = pdp.watch(ANNA)) {
            Check.that(watch.hasNext(), "there is a first decision");
            Check.same(watch.next().outcome(), Outcome.PERMIT);
            Check.same(watch.next(Duration.ZERO), Optional.empty());
            pdp.replace(Map.of("p.sapl", "policy \"p\" deny"));
            Check.that(watch.hasNext(), "there is another decision");
            Check.that(watch.hasNext(), "and looking takes nothing away");
            Check.same(watch.next().outcome(), Outcome.DENY);
        }
    }

    private static void whoeverWaitsIsToldThatAWatchIsClosed() throws Exception {
        try (Pdp pdp = Check.pdp("policy \"p\" permit");
                ExecutorService threads = Executors.newFixedThreadPool(2)) {
            Watch watch = pdp.watch(ANNA);
            Check.same(watch.next().outcome(), Outcome.PERMIT);
            List<Future<Boolean>> waiting = new ArrayList<>();
            for (int thread = 0; thread < 2; thread++) {
                waiting.add(threads.submit(watch::hasNext));
            }
            watch.close();
            for (Future<Boolean> one : waiting) {
                Check.that(!one.get(), "a closed watch has no next decision");
            }
        }
    }

    /** Notes what it gets, and asks for what it is told to. */
    private static final class Noting implements Flow.Subscriber<Decision> {
        private final LinkedBlockingQueue<String> notes = new LinkedBlockingQueue<>();
        private volatile Flow.Subscription subscription;

        @Override
        public void onSubscribe(Flow.Subscription given) {
            subscription = given;
            notes.add("subscribed");
        }

        @Override
        public void onNext(Decision decision) {
            notes.add(decision.outcome().toString());
        }

        @Override
        public void onError(Throwable error) {
            notes.add(error.getClass().getSimpleName());
        }

        @Override
        public void onComplete() {
            notes.add("complete");
        }

        private String next() throws InterruptedException {
            return notes.poll(60, TimeUnit.SECONDS);
        }
    }

    private static void publishersGiveAsMuchAsIsAskedFor() throws Exception {
        try (Pdp pdp = Check.pdp("policy \"p\" permit")) {
            Noting noting = new Noting();
            pdp.publisher(ANNA).subscribe(noting);
            Check.same(noting.next(), "subscribed");
            noting.subscription.request(1);
            Check.same(noting.next(), "PERMIT");
            pdp.replace(Map.of("p.sapl", "policy \"p\" deny"));
            noting.subscription.request(Long.MAX_VALUE);
            Check.same(noting.next(), "DENY");
            pdp.replace(Map.of("p.sapl", "policy \"p\" permit"));
            Check.same(noting.next(), "PERMIT");
            noting.subscription.cancel();
            noting.subscription.cancel();
            Check.that(noting.notes.isEmpty(), "nothing after it is cancelled");
            Noting wrong = new Noting();
            pdp.publisher(ANNA).subscribe(wrong);
            Check.same(wrong.next(), "subscribed");
            wrong.subscription.request(0);
            Check.same(wrong.next(), "IllegalArgumentException");
            Noting refused = new Noting();
            pdp.publisher("no JSON").subscribe(refused);
            Check.same(refused.next(), "subscribed");
            Check.same(refused.next(), "QuestionException");
        }
    }
}
