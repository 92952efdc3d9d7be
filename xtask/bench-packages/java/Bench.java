import com.cedarpolicy.BasicAuthorizationEngine;
import com.cedarpolicy.model.AuthorizationRequest;
import com.cedarpolicy.model.Context;
import com.cedarpolicy.model.entity.Entities;
import com.cedarpolicy.model.entity.Entity;
import com.cedarpolicy.model.policy.PolicySet;
import com.cedarpolicy.value.EntityUID;
import com.cedarpolicy.value.PrimString;
import io.durward.Outcome;
import io.durward.Pdp;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntPredicate;
import org.casbin.jcasbin.main.Enforcer;

/** Packages for Java: {@code java Bench QUESTIONS POLICIES VERSIONS}. See ../README.md. */
final class Bench {
    private record Question(boolean permitted, String user, String role, String action, String record, String kind, String text) {
        static Question of(String line) {
            String[] fields = line.split("\t");
            return new Question(Boolean.parseBoolean(fields[0]), fields[1], fields[2], fields[3], fields[4], fields[5], fields[6]);
        }
    }

    private record Contender(String title, IntPredicate decide) {}

    private interface Maker {
        void make() throws Exception;
    }

    /** Attributes that casbin looks up. */
    public record Subject(String role) {
        public String getRole() {
            return role;
        }
    }

    /** The same. */
    public record Thing(String type) {
        public String getType() {
            return type;
        }
    }

    private final List<Question> questions;
    private final Path policies;
    private final List<Contender> contenders = new ArrayList<>();

    private Bench(Path questions, Path policies) throws IOException {
        this.questions = Files.readAllLines(questions).stream().map(Question::of).toList();
        this.policies = policies;
    }

    private String policy(String name) throws IOException {
        return Files.readString(policies.resolve(name));
    }

    private void durward() throws IOException {
        Pdp pdp = Pdp.fromTexts(Map.of("doctors.sapl", policy("doctors.sapl")));
        String[] texts = questions.stream().map(Question::text).toArray(String[]::new);
        byte[][] bytes = questions.stream().map(one -> one.text().getBytes(StandardCharsets.UTF_8)).toArray(byte[][]::new);
        contenders.add(new Contender("durward, text", at -> pdp.decide(texts[at]).outcome() == Outcome.PERMIT));
        contenders.add(new Contender("durward, bytes", at -> pdp.decide(bytes[at]).outcome() == Outcome.PERMIT));
    }

    private void cedar(String version) throws Exception {
        BasicAuthorizationEngine engine = new BasicAuthorizationEngine();
        PolicySet set = PolicySet.parsePolicies(policy("doctors.cedar"));
        set.cache();
        List<AuthorizationRequest> requests = new ArrayList<>();
        List<Entities> entities = new ArrayList<>();
        for (Question one : questions) {
            EntityUID user = uid("User", one.user());
            EntityUID record = uid("Record", one.record());
            requests.add(new AuthorizationRequest(user, uid("Action", one.action()), record, new Context()));
            entities.add(new Entities(Set.of(
                    new Entity(user, Map.of("role", new PrimString(one.role())), Set.of()),
                    new Entity(record, Map.of("kind", new PrimString(one.kind())), Set.of()))));
        }
        contenders.add(new Contender("cedar-java " + version, at -> {
            try {
                return engine.isAuthorized(requests.get(at), set, entities.get(at)).success.orElseThrow().isAllowed();
            } catch (com.cedarpolicy.model.exception.AuthException error) {
                throw new IllegalStateException(error);
            }
        }));
    }

    private static EntityUID uid(String type, String id) {
        return EntityUID.parse(type + "::\"" + id + "\"").orElseThrow();
    }

    private void casbin(String version) {
        Enforcer enforcer = new Enforcer(policies.resolve("casbin.conf").toString(), policies.resolve("casbin.csv").toString());
        enforcer.enableLog(false);
        Object[][] asked = questions.stream()
                .map(one -> new Object[] {new Subject(one.role()), new Thing(one.kind()), one.action()})
                .toArray(Object[][]::new);
        contenders.add(new Contender("jcasbin " + version, at -> enforcer.enforce(asked[at])));
    }

    private static void orLeaveOut(String name, Maker maker) {
        try {
            maker.make();
        } catch (Exception | LinkageError error) {
            System.err.println("left out: " + name + ": " + error);
        }
    }

    private void verify() {
        for (Contender contender : contenders) {
            for (int at = 0; at < questions.size(); at++) {
                Question question = questions.get(at);
                if (contender.decide().test(at) != question.permitted()) {
                    throw new AssertionError(contender.title() + " answers otherwise: " + question.text());
                }
            }
        }
    }

    private double measure(IntPredicate decide, long ms) {
        long start = System.nanoTime();
        long end = start + ms * 1_000_000;
        long now = start;
        long calls = 0;
        long permits = 0;
        int count = questions.size();
        while (now < end) {
            for (int at = 0; at < count; at++) {
                if (decide.test(at)) {
                    permits++;
                }
            }
            calls += count;
            now = System.nanoTime();
        }
        if (permits == 0) {
            throw new AssertionError("nothing was permitted");
        }
        return (double) (now - start) / calls;
    }

    private void serve() throws IOException {
        System.out.println("ok\t" + String.join("\t", contenders.stream().map(Contender::title).toList()));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            IntPredicate decide = contenders.get(Integer.parseInt(words[1])).decide();
            System.out.println("ok " + measure(decide, Long.parseLong(words[2])));
        }
    }

    public static void main(String[] arguments) throws IOException {
        Bench bench = new Bench(Path.of(arguments[0]), Path.of(arguments[1]));
        orLeaveOut("durward", bench::durward);
        orLeaveOut("cedar", () -> bench.cedar(arguments[2]));
        orLeaveOut("casbin", () -> bench.casbin(arguments[3]));
        bench.verify();
        bench.serve();
    }
}
