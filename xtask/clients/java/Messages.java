import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.google.protobuf.InvalidProtocolBufferException;
import java.math.BigDecimal;
import sapl.ArrayValue;
import sapl.Decision;
import sapl.IdentifiedDecision;
import sapl.IdentifiedSubscription;
import sapl.MultiDecision;
import sapl.MultiSubscription;
import sapl.NullValue;
import sapl.ObjectValue;
import sapl.Subscription;
import sapl.Value;

/** JSON into SAPL's messages and back, by the classes that protoc makes. */
final class Messages {
    private Messages() {}

    static Subscription subscription(JsonNode ask) {
        return Subscription.newBuilder().setSubject(value(ask.get("subject"))).setAction(value(ask.get("action")))
                .setResource(value(ask.get("resource"))).setEnvironment(value(ask.get("environment")))
                .setSecrets(value(ask.get("secrets"))).build();
    }

    static MultiSubscription subscriptions(JsonNode ask) {
        var all = MultiSubscription.newBuilder();
        ask.fields().forEachRemaining(one -> all.addSubscriptions(IdentifiedSubscription.newBuilder()
                .setId(one.getKey()).setSubscription(subscription(one.getValue()))));
        return all.build();
    }

    static JsonNode decision(byte[] data) {
        return read(() -> plain(Decision.parseFrom(data)));
    }

    static JsonNode identified(byte[] data) {
        return read(() -> {
            var one = IdentifiedDecision.parseFrom(data);
            return Puppet.JSON.createObjectNode().put("subscriptionId", one.getId())
                    .set("decision", plain(one.getDecision()));
        });
    }

    static JsonNode decisions(byte[] data) {
        return read(() -> {
            var all = Puppet.JSON.createObjectNode();
            MultiDecision.parseFrom(data).getDecisionsMap().forEach((id, one) -> all.set(id, plain(one)));
            return all;
        });
    }

    private interface Reading {
        JsonNode read() throws InvalidProtocolBufferException;
    }

    private static JsonNode read(Reading reading) {
        try {
            return reading.read();
        } catch (InvalidProtocolBufferException exception) {
            throw new IllegalStateException(exception);
        }
    }

    private static JsonNode plain(Decision decision) {
        var plain = Puppet.JSON.createObjectNode().put("decision", decision.getDecision().name());
        if (decision.getObligations().getElementsCount() > 0) {
            plain.set("obligations", plain(decision.getObligations()));
        }
        if (decision.getAdvice().getElementsCount() > 0) {
            plain.set("advice", plain(decision.getAdvice()));
        }
        if (decision.getResource().getKindCase() != Value.KindCase.UNDEFINED) {
            plain.set("resource", plain(decision.getResource()));
        }
        return plain;
    }

    private static ArrayNode plain(ArrayValue array) {
        var plain = Puppet.JSON.createArrayNode();
        array.getElementsList().forEach(element -> plain.add(plain(element)));
        return plain;
    }

    private static JsonNode plain(Value value) {
        var json = Puppet.JSON.getNodeFactory();
        return switch (value.getKindCase()) {
            case NULL -> json.nullNode();
            case BOOL -> json.booleanNode(value.getBool());
            case NUMBER -> number(value.getNumber());
            case TEXT -> json.textNode(value.getText());
            case ARRAY -> plain(value.getArray());
            case OBJECT -> {
                var object = json.objectNode();
                value.getObject().getFieldsMap().forEach((key, field) -> object.set(key, plain(field)));
                yield object;
            }
            case UNDEFINED, ERROR, KIND_NOT_SET -> throw new IllegalStateException("no JSON: " + value);
        };
    }

    private static JsonNode number(String text) {
        var number = new BigDecimal(text);
        return number.scale() <= 0 ? Puppet.JSON.getNodeFactory().numberNode(number.longValueExact())
                : Puppet.JSON.getNodeFactory().numberNode(number);
    }

    private static Value value(JsonNode json) {
        var value = Value.newBuilder();
        switch (json.getNodeType()) {
            case NULL -> value.setNull(NullValue.getDefaultInstance());
            case BOOLEAN -> value.setBool(json.booleanValue());
            case NUMBER -> value.setNumber(json.decimalValue().toPlainString());
            case STRING -> value.setText(json.textValue());
            case ARRAY -> {
                var array = ArrayValue.newBuilder();
                json.forEach(element -> array.addElements(value(element)));
                value.setArray(array);
            }
            case OBJECT -> {
                var object = ObjectValue.newBuilder();
                json.fields().forEachRemaining(field -> object.putFields(field.getKey(), value(field.getValue())));
                value.setObject(object);
            }
            default -> throw new IllegalArgumentException(json.toString());
        }
        return value.build();
    }
}
