package io.durward.balana;

import io.durward.xacml.Designator;
import io.durward.xacml.RequestText;
import io.durward.xacml.RequestText.Value;
import io.durward.xacml.Xml;
import java.net.URI;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.wso2.balana.attr.AttributeValue;
import org.wso2.balana.attr.BagAttribute;
import org.wso2.balana.attr.DoubleAttribute;
import org.wso2.balana.attr.xacml3.XPathAttribute;
import org.wso2.balana.cond.EvaluationResult;
import org.wso2.balana.ctx.AbstractRequestCtx;
import org.wso2.balana.ctx.Attribute;
import org.wso2.balana.ctx.EvaluationCtx;
import org.wso2.balana.ctx.xacml3.RequestCtx;
import org.wso2.balana.xacml3.Attributes;
import org.wso2.balana.xacml3.AttributesReference;
import org.wso2.balana.xacml3.RequestReference;

/** The text of a request that Balana has read or somebody has made. Balana's own does not escape values. */
final class RequestWriter {
    /** Of XACML 3.0; null for one of 2.0 or before. */
    private final RequestText latest;
    private final EarlierRequest earlier;

    RequestWriter(AbstractRequestCtx request) {
        if (request instanceof RequestCtx read) {
            latest = write(read);
            earlier = null;
        } else if (request instanceof org.wso2.balana.ctx.xacml2.RequestCtx read) {
            latest = null;
            earlier = new EarlierRequest(read);
        } else {
            throw new IllegalArgumentException("no request of XACML: " + request);
        }
    }

    private static RequestText write(RequestCtx request) {
        String xpath = request.getDefaults() == null ? null : request.getDefaults().getXPathVersion();
        RequestText text = new RequestText(request.isReturnPolicyIdList(), request.isCombinedDecision(), xpath);
        for (Attributes attributes : request.getAttributesSet()) {
            String name = attributes.getCategory().toString();
            RequestText.Category category = text.category(name, attributes.getId(), attributes.getContent());
            for (Attribute attribute : attributes.getAttributes()) {
                category.attribute(
                        attribute.getId().toString(),
                        attribute.getIssuer(),
                        attribute.isIncludeInResult(),
                        valuesOf(attribute));
            }
        }
        if (request.getMultiRequests() != null) {
            for (RequestReference reference : request.getMultiRequests().getRequestReferences()) {
                text.reference(reference.getReferences().stream()
                        .map(AttributesReference::getId)
                        .toList());
            }
        }
        return text;
    }

    private static List<Value> valuesOf(Attribute attribute) {
        return attribute.getValues().stream().map(RequestWriter::valueOf).toList();
    }

    private static Value valueOf(AttributeValue value) {
        String dataType = value.getType().toString();
        if (value instanceof XPathAttribute path) {
            return new Value(dataType, path.getValue(), path.getXPathCategory(), Map.of());
        }
        boolean isDouble = value instanceof DoubleAttribute;
        return isDouble ? Value.ofDouble(dataType, value.encode()) : new Value(dataType, value.encode());
    }

    boolean has(Designator wanted) {
        return latest == null ? earlier.has(wanted) : latest.has(wanted);
    }

    /** What Balana's attribute finders know of it. */
    EvaluationResult find(Designator wanted, EvaluationCtx context) {
        return context.getAttribute(
                URI.create(wanted.dataType()),
                URI.create(wanted.attributeId()),
                wanted.issuer(),
                URI.create(wanted.category()));
    }

    void add(Designator wanted, AttributeValue found) {
        List<Value> values = new ArrayList<>();
        if (found instanceof BagAttribute bag) {
            for (Iterator<?> each = bag.iterator(); each.hasNext(); ) {
                values.add(valueOf((AttributeValue) each.next()));
            }
        } else if (found != null) {
            values.add(valueOf(found));
        }
        if (values.isEmpty()) {
            return;
        }
        if (latest == null) {
            earlier.add(wanted, values);
        } else {
            latest.add(wanted, values);
        }
    }

    String text() {
        return latest == null ? earlier.text() : latest.text();
    }

    /** The root of the document that it was read from. */
    static Element rootOf(AbstractRequestCtx request) {
        Node root = request.getDocumentRoot();
        if (root instanceof Document document) {
            return document.getDocumentElement();
        }
        if (root instanceof Element element) {
            Document copy = Xml.document();
            copy.appendChild(copy.importNode(element, true));
            return copy.getDocumentElement();
        }
        throw new IllegalArgumentException("a request of XACML 2.0 that was not read from XML cannot be decided");
    }
}
