package io.durward.authzforce;

import io.durward.DurwardException;
import io.durward.xacml.RequestText;
import io.durward.xacml.RequestText.Value;
import io.durward.xacml.XacmlPoint;
import io.durward.xacml.Xml;
import jakarta.xml.bind.JAXBException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Collectors;
import javax.xml.namespace.QName;
import net.sf.saxon.s9api.XdmNode;
import oasis.names.tc.xacml._3_0.core.schema.wd_17.DecisionType;
import oasis.names.tc.xacml._3_0.core.schema.wd_17.Request;
import oasis.names.tc.xacml._3_0.core.schema.wd_17.Response;
import oasis.names.tc.xacml._3_0.core.schema.wd_17.Result;
import org.ow2.authzforce.core.pdp.api.AttributeFqn;
import org.ow2.authzforce.core.pdp.api.AttributeFqns;
import org.ow2.authzforce.core.pdp.api.CloseablePdpEngine;
import org.ow2.authzforce.core.pdp.api.DecisionRequest;
import org.ow2.authzforce.core.pdp.api.DecisionRequestBuilder;
import org.ow2.authzforce.core.pdp.api.DecisionResult;
import org.ow2.authzforce.core.pdp.api.DecisionResults;
import org.ow2.authzforce.core.pdp.api.EnvironmentProperties;
import org.ow2.authzforce.core.pdp.api.EvaluationContext;
import org.ow2.authzforce.core.pdp.api.IndeterminateEvaluationException;
import org.ow2.authzforce.core.pdp.api.io.PdpEngineInoutAdapter;
import org.ow2.authzforce.core.pdp.api.io.XacmlJaxbParsingUtils;
import org.ow2.authzforce.core.pdp.api.policy.PrimaryPolicyMetadata;
import org.ow2.authzforce.core.pdp.api.value.AttributeBag;
import org.ow2.authzforce.core.pdp.api.value.AttributeValue;
import org.ow2.authzforce.core.pdp.api.value.AttributeValueFactoryRegistry;
import org.ow2.authzforce.core.pdp.api.value.StandardAttributeValueFactories;
import org.ow2.authzforce.core.xmlns.pdp.Pdp;
import org.ow2.authzforce.xacml.identifiers.XacmlStatusCode;

/**
 * An engine of AuthzForce that decides with durward, with the policies of a {@code pdp.xml}. Any thread may call it, and many at once.
 *
 * <pre>{@code
 * try (DurwardPdpEngine engine = DurwardPdpEngine.open("pdp.xml")) {
 *     Response response = engine.xacmlJaxb().evaluate(request);
 * }
 * }</pre>
 */
public final class DurwardPdpEngine implements CloseablePdpEngine {
    private static final AttributeValueFactoryRegistry VALUES =
            StandardAttributeValueFactories.getRegistry(true, Optional.empty());

    private final XacmlPoint point;

    private DurwardPdpEngine(XacmlPoint point) {
        this.point = point;
    }

    /**
     * Reads a configuration and its policies.
     *
     * @param location a path or an address as Spring has them
     * @throws IllegalArgumentException it cannot be read, asks for what is not supported, or has a policy that is broken
     */
    public static DurwardPdpEngine open(String location) {
        return open(location, null, null);
    }

    /** The same with a catalogue and a schema for extensions of the configuration. */
    public static DurwardPdpEngine open(String location, String catalogLocation, String extensionSchemaLocation) {
        return new DurwardPdpEngine(Configuration.read(location, catalogLocation, extensionSchemaLocation));
    }

    /** Takes a configuration that was made in the program. */
    public static DurwardPdpEngine of(Pdp configuration, EnvironmentProperties properties) {
        return new DurwardPdpEngine(Configuration.point(configuration, properties));
    }

    /** The engine for requests and responses of JAXB: what {@code PdpEngineAdapters.newXacmlJaxbInoutAdapter} makes of theirs. Closing it closes the engine. */
    public PdpEngineInoutAdapter<Request, Response> xacmlJaxb() {
        return new DurwardJaxbAdapter(point);
    }

    @Override
    public DecisionRequestBuilder<?> newRequestBuilder(int expectedCategories, int expectedAttributes) {
        return new RequestBuilder();
    }

    @Override
    public DecisionResult evaluate(DecisionRequest request) {
        try {
            List<Result> results = Jaxb.read(point.decide(text(request))).getResults();
            boolean isOne = results.size() == 1;
            return isOne ? resultOf(results.get(0)) : indeterminate("several decisions for what is one request");
        } catch (DurwardException | JAXBException | IllegalArgumentException error) {
            return indeterminate(error.getMessage());
        }
    }

    private static DecisionResult resultOf(Result result) {
        try {
            return XacmlJaxbParsingUtils.parseXacmlJaxbResult(Jaxb.asTheirs(result), VALUES);
        } catch (RuntimeException error) {
            // Their reader knows no XPath expressions in obligations, and has no class of exceptions of its own.
            return indeterminate("the result cannot be read: " + error.getMessage());
        }
    }

    private static DecisionResult indeterminate(String why) {
        IndeterminateEvaluationException error =
                new IndeterminateEvaluationException(why, XacmlStatusCode.PROCESSING_ERROR.value());
        return DecisionResults.newIndeterminate(DecisionType.INDETERMINATE, error, null);
    }

    @Override
    public <R extends DecisionRequest> Collection<Map.Entry<R, ? extends DecisionResult>> evaluate(
            List<R> requests, EvaluationContext context) {
        List<Map.Entry<R, ? extends DecisionResult>> results = new ArrayList<>(requests.size());
        for (R request : requests) {
            results.add(Map.entry(request, evaluate(request)));
        }
        return results;
    }

    /** The request in XML. Attributes of an issuer are there twice, the second time without; they are written once. */
    private static String text(DecisionRequest request) {
        RequestText text = new RequestText(request.isApplicablePolicyIdListReturned(), false, null);
        Map<String, XdmNode> contents = request.getExtraContentsByCategory();
        Map<AttributeFqn, AttributeBag<?>> attributes = request.getNamedAttributes();
        TreeSet<String> names =
                attributes.keySet().stream().map(AttributeFqn::getCategory).collect(Collectors.toCollection(TreeSet::new));
        Map<String, RequestText.Category> categories = new HashMap<>();
        names.addAll(contents.keySet());
        for (String name : names) {
            XdmNode content = contents.get(name);
            categories.put(
                    name,
                    text.category(name, null, content == null ? null : Xml.read(content.toString())));
        }
        attributes.forEach((name, bag) -> {
            List<Value> values = valuesOf(name, bag, attributes);
            if (!values.isEmpty()) {
                categories
                        .get(name.getCategory())
                        .attribute(name.getId(), name.getIssuer().orElse(null), false, values);
            }
        });
        return text.text();
    }

    private static List<Value> valuesOf(
            AttributeFqn name, AttributeBag<?> bag, Map<AttributeFqn, AttributeBag<?>> attributes) {
        List<AttributeValue> values = new ArrayList<>();
        bag.forEach(values::add);
        if (name.getIssuer().isEmpty()) {
            attributes.forEach((other, issued) -> {
                boolean isCopied = other.getIssuer().isPresent()
                        && AttributeFqns.newInstance(other.getCategory(), Optional.empty(), other.getId()).equals(name);
                if (isCopied && values.containsAll(issued.elements().elementSet())) {
                    issued.forEach(values::remove);
                }
            });
        }
        String dataType = bag.getElementDatatype().getId();
        return values.stream().map(value -> valueOf(dataType, value)).toList();
    }

    private static Value valueOf(String dataType, AttributeValue value) {
        String text = value.getContent().stream().map(String::valueOf).collect(Collectors.joining());
        return new Value(dataType, text, value.getXmlAttributes().get(new QName("XPathCategory")), Map.of());
    }

    /** AuthzForce says null where these are not known beforehand. */
    @Override
    public Iterable<PrimaryPolicyMetadata> getApplicablePolicies() {
        return null;
    }

    /** Waits for calls on other threads, then frees the decision point. */
    @Override
    public void close() {
        point.close();
    }
}
