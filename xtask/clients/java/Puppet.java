import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Does as it is told, line by line: see `xtask/src/clients/puppet.rs`. */
abstract class Puppet {
    static final ObjectMapper JSON = new ObjectMapper();

    private final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    private BlockingQueue<JsonNode> told = new LinkedBlockingQueue<>();
    private Disposable stream;

    abstract void connect(String transport, int port, JsonNode credentials) throws Exception;

    abstract Mono<JsonNode> once(JsonNode ask);

    abstract Mono<JsonNode> allOnce(JsonNode ask);

    abstract Flux<JsonNode> open(String what, JsonNode ask);

    static ObjectNode indeterminate() {
        return JSON.createObjectNode().put("decision", "INDETERMINATE");
    }

    final void run() throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answer(JSON.readTree(line)));
        }
        System.exit(0);
    }

    private JsonNode answer(JsonNode line) {
        var answer = JSON.createObjectNode();
        try {
            switch (line.get("do").asText()) {
                case "connect" -> connect(
                        line.get("transport").asText(), line.get("port").asInt(), line.get("credentials"));
                case "once" -> answer.set("answer", said(once(line.get("ask")), answer));
                case "all-once" -> answer.set("answer", said(allOnce(line.get("ask")), answer));
                case "open" -> listen(open(line.get("what").asText(), line.get("ask")));
                case "next" -> next(line.get("within_ms").asLong(), answer);
                case "close" -> close();
                default -> answer.put("failed", "cannot do " + line);
            }
        } catch (Exception exception) {
            answer.put("failed", exception.toString());
        }
        return answer;
    }

    /** What came, or INDETERMINATE and why. */
    private static JsonNode said(Mono<JsonNode> decision, ObjectNode answer) {
        return decision.onErrorResume(error -> {
            answer.put("why", error.toString());
            return Mono.just(indeterminate());
        }).block();
    }

    private void listen(Flux<JsonNode> decisions) {
        close();
        var queue = new LinkedBlockingQueue<JsonNode>();
        told = queue;
        stream = decisions.subscribe(queue::add, error -> queue.add(indeterminate().put("error", error.toString())));
    }

    private void next(long withinMs, ObjectNode answer) throws InterruptedException {
        JsonNode next = told.poll(withinMs, TimeUnit.MILLISECONDS);
        if (next == null) {
            answer.put("silent", true);
        } else {
            answer.set("answer", next);
        }
    }

    private void close() {
        if (stream != null) {
            stream.dispose();
            stream = null;
        }
    }
}
