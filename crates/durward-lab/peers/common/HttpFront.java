import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;

/**
 * An engine behind the JDK's own HTTP server: the REST profile's `POST /pdp`, XML in, XML out, and `GET /health`. `--serve
 * PORT` loads the policies once; `--serve-anew PORT` loads them for every request, as a careless wrapper would.
 */
final class HttpFront {
    /** More threads than cores, so that a connection that is slow to send holds up no other. */
    private static final int THREADS = 8;
    /** Connections that are kept although nothing is asked on them: more than a burst has requests. */
    private static final int IDLE_CONNECTIONS = 4096;
    /** Connections that may wait to be taken: a burst opens hundreds at once, and those beyond the usual 50 would lose a second. */
    private static final int WAITING_CONNECTIONS = 4096;

    private final Callable<Harness.Engine> engine;

    private HttpFront(Callable<Harness.Engine> engine) {
        this.engine = engine;
    }

    static void run(Callable<Harness.Engine> load, String[] arguments, PrintStream out) throws Exception {
        Harness.Engine first = load.call();
        Callable<Harness.Engine> engine = switch (arguments[1]) {
            case "--serve" -> () -> first;
            case "--serve-anew" -> load;
            default -> throw new IllegalArgumentException("unknown flag " + arguments[1]);
        };
        // Without it the second half of an answer waits 40 ms for an acknowledgement.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        System.setProperty("sun.net.httpserver.maxIdleConnections", Integer.toString(IDLE_CONNECTIONS));
        int port = Integer.parseInt(arguments[2]);
        InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
        HttpServer server = HttpServer.create(address, WAITING_CONNECTIONS);
        server.setExecutor(Executors.newFixedThreadPool(THREADS));
        server.createContext("/pdp", new HttpFront(engine)::decide);
        server.createContext("/health", exchange -> answer(exchange, 200, "text/plain", "ok"));
        server.start();
        out.println("listening on " + server.getAddress());
    }

    private void decide(HttpExchange exchange) throws IOException {
        if (!exchange.getRequestMethod().equals("POST")) {
            answer(exchange, 405, "text/plain", "POST a request in XML");
            return;
        }
        String request = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        String response;
        try {
            response = engine.call().answer(request);
        } catch (Exception problem) {
            answer(exchange, 400, "text/plain", String.valueOf(problem));
            return;
        }
        answer(exchange, 200, "application/xacml+xml; version=3.0", response);
    }

    private static void answer(HttpExchange exchange, int status, String media, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", media);
        exchange.sendResponseHeaders(status, bytes.length);
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(bytes);
        }
    }
}
