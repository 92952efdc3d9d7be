import com.fasterxml.jackson.databind.JsonNode;
import io.sapl.api.pdp.AuthorizationDecision;
import io.sapl.api.pdp.AuthorizationSubscription;
import io.sapl.pdp.remote.RemoteHttpPolicyDecisionPoint;
import io.sapl.pdp.remote.RemotePolicyDecisionPoint;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;

/** SAPL's own package, in the version that Maven Central has, over HTTP. */
final class SdkClient extends Puppet {
    private RemoteHttpPolicyDecisionPoint pdp;

    public static void main(String[] arguments) throws Exception {
        new SdkClient().run();
    }

    @Override
    void connect(String transport, int port, JsonNode credentials) {
        var builder = RemotePolicyDecisionPoint.builder().http().baseUrl("http://127.0.0.1:" + port)
                .withHttpClient(HttpClient.create());
        if (credentials.has("username")) {
            builder = builder.basicAuth(credentials.get("username").asText(), credentials.get("secret").asText());
        } else if (credentials.has("token")) {
            builder = builder.apiKey(credentials.get("token").asText());
        }
        pdp = builder.build();
        pdp.setFirstBackoffMillis(200);
        pdp.setMaxBackOffMillis(1000);
    }

    @Override
    Mono<JsonNode> once(JsonNode ask) {
        // This version hands errors on.
        return pdp.decideOnce(subscription(ask)).map(SdkClient::plain);
    }

    @Override
    Mono<JsonNode> allOnce(JsonNode ask) {
        return Mono.error(new UnsupportedOperationException("SAPL 3 cannot"));
    }

    @Override
    Flux<JsonNode> open(String what, JsonNode ask) {
        return pdp.decide(subscription(ask)).map(SdkClient::plain);
    }

    private static AuthorizationSubscription subscription(JsonNode ask) {
        return AuthorizationSubscription.of(
                ask.get("subject"), ask.get("action"), ask.get("resource"), ask.get("environment"));
    }

    private static JsonNode plain(AuthorizationDecision decision) {
        var plain = JSON.createObjectNode().put("decision", decision.getDecision().name());
        decision.getObligations().ifPresent(duties -> plain.set("obligations", duties));
        decision.getAdvice().ifPresent(duties -> plain.set("advice", duties));
        decision.getResource().ifPresent(resource -> plain.set("resource", resource));
        return plain;
    }
}
