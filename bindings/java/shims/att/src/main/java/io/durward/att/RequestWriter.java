package io.durward.att;

import com.att.research.xacml.api.Attribute;
import com.att.research.xacml.api.AttributeValue;
import com.att.research.xacml.api.DataType;
import com.att.research.xacml.api.DataTypeException;
import com.att.research.xacml.api.DataTypeFactory;
import com.att.research.xacml.api.Identifier;
import com.att.research.xacml.api.Request;
import com.att.research.xacml.api.RequestAttributes;
import com.att.research.xacml.api.RequestAttributesReference;
import com.att.research.xacml.api.RequestReference;
import com.att.research.xacml.std.datatypes.ExtendedNamespaceContext;
import com.att.research.xacml.std.datatypes.XPathExpressionWrapper;
import com.att.research.xacml.util.FactoryException;
import io.durward.xacml.Designator;
import io.durward.xacml.RequestText;
import io.durward.xacml.RequestText.Value;
import java.net.URI;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** The text of a request that is an object of theirs. They only read XML, and write none. */
final class RequestWriter {
    private final RequestText text;

    RequestWriter(Request request) {
        URI xpath = request.getRequestDefaults() == null ? null : request.getRequestDefaults().getXPathVersion();
        text = new RequestText(
                request.getReturnPolicyIdList(), request.getCombinedDecision(), xpath == null ? null : xpath.toString());
        for (RequestAttributes attributes : request.getRequestAttributes()) {
            String name = attributes.getCategory().stringValue();
            RequestText.Category category = text.category(name, attributes.getXmlId(), attributes.getContentRoot());
            for (Attribute attribute : attributes.getAttributes()) {
                category.attribute(
                        attribute.getAttributeId().stringValue(),
                        attribute.getIssuer(),
                        attribute.getIncludeInResults(),
                        valuesOf(attribute, name));
            }
        }
        for (RequestReference reference : request.getMultiRequests()) {
            text.reference(reference.getAttributesReferences().stream()
                    .map(RequestAttributesReference::getReferenceId)
                    .toList());
        }
    }

    RequestText text() {
        return text;
    }

    /** Adds what a PIP has found. */
    void add(Designator wanted, Attribute found) {
        List<Value> values = valuesOf(found, wanted.category()).stream()
                .filter(value -> value.dataType().equals(wanted.dataType()))
                .toList();
        text.add(wanted, values);
    }

    private static List<Value> valuesOf(Attribute attribute, String category) {
        return attribute.getValues().stream().map(value -> valueOf(value, category)).toList();
    }

    /** What they split a request into has paths without a category, which are about the content of their own. */
    private static Value valueOf(AttributeValue<?> value, String own) {
        String dataType = value.getDataTypeId().stringValue();
        if (value.getValue() instanceof XPathExpressionWrapper path) {
            Identifier category = value.getXPathCategory();
            String about = category == null ? own : category.stringValue();
            return new Value(dataType, path.getPath(), about, prefixes(path.getNamespaceContext()));
        }
        if (value.getValue() instanceof Double number) {
            return Value.ofDouble(dataType, number.toString());
        }
        try {
            DataType<?> known = DataTypeFactory.newInstance().getDataType(value.getDataTypeId());
            String written = known == null ? String.valueOf(value.getValue()) : write(known, value.getValue());
            return new Value(dataType, written);
        } catch (FactoryException | DataTypeException error) {
            throw new IllegalArgumentException("a value of `" + dataType + "` cannot be written", error);
        }
    }

    private static <T> String write(DataType<T> dataType, Object value) throws DataTypeException {
        return dataType.toStringValue(dataType.convert(value));
    }

    private static Map<String, String> prefixes(ExtendedNamespaceContext context) {
        Map<String, String> prefixes = new HashMap<>();
        Iterator<String> names = context == null ? List.<String>of().iterator() : context.getAllPrefixes();
        while (names.hasNext()) {
            String name = names.next();
            if (!name.isEmpty() && !name.startsWith("xml")) {
                prefixes.put(name, context.getNamespaceURI(name));
            }
        }
        return prefixes;
    }
}
