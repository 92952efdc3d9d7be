import com.fasterxml.jackson.databind.JsonNode;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.rsocket.Payload;
import io.rsocket.RSocket;
import io.rsocket.core.RSocketConnector;
import io.rsocket.metadata.AuthMetadataCodec;
import io.rsocket.transport.netty.client.TcpClientTransport;
import io.rsocket.util.DefaultPayload;
import java.nio.channels.ClosedChannelException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.function.Supplier;
import org.springframework.core.ParameterizedTypeReference;
import org.springframework.http.MediaType;
import org.springframework.http.codec.ServerSentEvent;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.util.retry.Retry;

/** What SAPL 4's package is made of, put together as it is there: Spring's WebClient and rsocket-java. */
final class WireClient extends Puppet {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private WebClient http;
    private Mono<RSocket> connector;
    private RSocket socket;

    public static void main(String[] arguments) throws Exception {
        new WireClient().run();
    }

    @Override
    void connect(String transport, int port, JsonNode credentials) {
        if (socket != null) {
            socket.dispose();
            socket = null;
        }
        http = null;
        if (transport.equals("http")) {
            http = WebClient.builder().baseUrl("http://127.0.0.1:" + port).defaultHeaders(headers -> {
                if (credentials.has("username")) {
                    headers.setBasicAuth(credentials.get("username").asText(), credentials.get("secret").asText());
                } else if (credentials.has("token")) {
                    headers.setBearerAuth(credentials.get("token").asText());
                }
            }).build();
        } else {
            var start = RSocketConnector.create().keepAlive(Duration.ofMillis(400), Duration.ofSeconds(20));
            var metadata = authentication(credentials);
            if (metadata != null) {
                start = start.setupPayload(Mono.fromSupplier(() -> DefaultPayload.create(new byte[0], metadata)));
            }
            connector = start.connect(TcpClientTransport.create("127.0.0.1", port));
        }
    }

    @Override
    Mono<JsonNode> once(JsonNode ask) {
        return http != null ? post("decide-once", ask)
                : respond("decide-once", Messages.subscription(ask).toByteArray()).map(Messages::decision);
    }

    @Override
    Mono<JsonNode> allOnce(JsonNode ask) {
        return http != null ? post("multi-decide-all-once", ask)
                : respond("multi-decide-all-once", Messages.subscriptions(ask).toByteArray()).map(Messages::decisions);
    }

    @Override
    Flux<JsonNode> open(String what, JsonNode ask) {
        return kept(() -> http != null ? events(what, ask) : switch (what) {
            case "decide" -> stream(what, Messages.subscription(ask).toByteArray()).map(Messages::decision);
            case "multi-decide" -> stream(what, Messages.subscriptions(ask).toByteArray()).map(Messages::identified);
            default -> stream(what, Messages.subscriptions(ask).toByteArray()).map(Messages::decisions);
        });
    }

    /** Says INDETERMINATE when a stream ends or breaks, and opens it again. */
    private static Flux<JsonNode> kept(Supplier<Flux<JsonNode>> open) {
        var over = new IllegalStateException("the stream is over");
        return Flux.defer(open).concatWith(Flux.error(over))
                .onErrorResume(error -> Flux.concat(Flux.just(indeterminate()), Flux.error(error)))
                .retryWhen(Retry.fixedDelay(Long.MAX_VALUE, Duration.ofMillis(200))).distinctUntilChanged();
    }

    private Mono<JsonNode> post(String path, JsonNode ask) {
        return http.post().uri("/api/pdp/" + path).accept(MediaType.APPLICATION_JSON)
                .contentType(MediaType.APPLICATION_JSON).bodyValue(ask).retrieve().bodyToMono(JsonNode.class)
                .timeout(PATIENCE);
    }

    private Flux<JsonNode> events(String path, JsonNode ask) {
        var type = new ParameterizedTypeReference<ServerSentEvent<JsonNode>>() {};
        // Keep-alives count: without them the server would be taken for dead.
        return http.post().uri("/api/pdp/" + path).accept(MediaType.TEXT_EVENT_STREAM)
                .contentType(MediaType.APPLICATION_JSON).bodyValue(ask).retrieve().bodyToFlux(type)
                .timeout(PATIENCE).mapNotNull(ServerSentEvent::data);
    }

    private Mono<RSocket> socket() {
        return Mono.defer(() -> socket != null && !socket.isDisposed() ? Mono.just(socket)
                : connector.timeout(PATIENCE).doOnNext(opened -> socket = opened));
    }

    private Mono<byte[]> respond(String route, byte[] data) {
        // While a server starts again, a connection may close between looking at it and asking: ask once more, on another.
        return socket().flatMap(opened -> opened.requestResponse(payload(route, data))).map(WireClient::data)
                .retryWhen(Retry.max(1).filter(ClosedChannelException.class::isInstance)).timeout(PATIENCE);
    }

    private Flux<byte[]> stream(String route, byte[] data) {
        return socket().flatMapMany(opened -> opened.requestStream(payload(route, data))).map(WireClient::data);
    }

    private static Payload payload(String route, byte[] data) {
        return DefaultPayload.create(data, route.getBytes(StandardCharsets.UTF_8));
    }

    private static byte[] data(Payload payload) {
        var data = new byte[payload.data().readableBytes()];
        payload.data().readBytes(data);
        payload.release();
        return data;
    }

    private static byte[] authentication(JsonNode credentials) {
        if (credentials.isEmpty()) {
            return null;
        }
        var metadata = credentials.has("token")
                ? AuthMetadataCodec.encodeBearerMetadata(
                        ByteBufAllocator.DEFAULT, credentials.get("token").asText().toCharArray())
                : AuthMetadataCodec.encodeSimpleMetadata(ByteBufAllocator.DEFAULT,
                        credentials.get("username").asText().toCharArray(),
                        credentials.get("secret").asText().toCharArray());
        var bytes = new byte[metadata.readableBytes()];
        Unpooled.wrappedUnmodifiableBuffer(metadata).readBytes(bytes);
        metadata.release();
        return bytes;
    }
}
