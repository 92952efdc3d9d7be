package io.durward.xacml;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/** Makes a request of XACML 3.0 in XML of what objects of other libraries hold. Values are escaped as they must be. */
public final class RequestText {
    private static final String XACML = "urn:oasis:names:tc:xacml:3.0:core:schema:wd-17";
    private static final String NAMESPACES = "http://www.w3.org/2000/xmlns/";

    private final Document document = Xml.document();
    private final Element request = document.createElementNS(XACML, "Request");
    /** Without an issuer, those that anybody has issued. */
    private final Set<Designator> given = new HashSet<>();
    private final Map<String, Element> categories = new HashMap<>();
    private Element multiRequests;

    /** An empty request; the version of XPath may be null. */
    public RequestText(boolean returnsPolicyIds, boolean combinesDecisions, String xpathVersion) {
        request.setAttribute("ReturnPolicyIdList", String.valueOf(returnsPolicyIds));
        request.setAttribute("CombinedDecision", String.valueOf(combinesDecisions));
        document.appendChild(request);
        if (xpathVersion != null) {
            Element version = below(below(request, "RequestDefaults"), "XPathVersion");
            version.setTextContent(xpathVersion);
        }
    }

    private Element below(Element parent, String name) {
        Element element = document.createElementNS(XACML, name);
        parent.appendChild(element);
        return element;
    }

    /** A category, whose content and identifier in the document may be null. */
    public Category category(String category, String xmlId, Node content) {
        Element attributes = below(request, "Attributes");
        attributes.setAttribute("Category", category);
        categories.put(category, attributes);
        if (xmlId != null) {
            attributes.setAttributeNS("http://www.w3.org/XML/1998/namespace", "xml:id", xmlId);
        }
        if (content != null) {
            Node root = content instanceof Document whole ? whole.getDocumentElement() : content;
            below(attributes, "Content").appendChild(document.importNode(root, true));
        }
        return new Category(category, attributes);
    }

    /** Asks for one of several decisions, about the categories with these identifiers. */
    public void reference(Iterable<String> xmlIds) {
        if (multiRequests == null) {
            multiRequests = below(request, "MultiRequests");
        }
        Element reference = below(multiRequests, "RequestReference");
        for (String xmlId : xmlIds) {
            below(reference, "AttributesReference").setAttribute("ReferenceId", xmlId);
        }
    }

    /** Whether the request has values for it. */
    public boolean has(Designator wanted) {
        return given.contains(wanted);
    }

    /** Adds values that somebody else has found. */
    public void add(Designator wanted, List<Value> values) {
        if (values.isEmpty()) {
            return;
        }
        Element found = categories.get(wanted.category());
        Category category =
                found == null ? category(wanted.category(), null, null) : new Category(wanted.category(), found);
        category.attribute(wanted.attributeId(), wanted.issuer(), false, values);
    }

    /** The request as a text. One of nothing asks about an empty environment, since XACML wants a category. */
    public String text() {
        if (categories.isEmpty()) {
            category("urn:oasis:names:tc:xacml:3.0:attribute-category:environment", null, null);
        }
        return Xml.write(document);
    }

    /**
     * A value.
     *
     * @param dataType its type
     * @param text how it is written
     * @param xpathCategory the category whose content an XPath expression is about; null for values that are none
     * @param namespaces what its prefixes stand for
     */
    public record Value(String dataType, String text, String xpathCategory, Map<String, String> namespaces) {
        /** A value that is no XPath expression. */
        public Value(String dataType, String text) {
            this(dataType, text, null, Map.of());
        }

        /** The same value of a double that Java has written, as XML Schema writes it. */
        public static Value ofDouble(String dataType, String text) {
            return new Value(dataType, text.replace("Infinity", "INF"));
        }
    }

    /** A category of the request. */
    public final class Category {
        private final String name;
        private final Element attributes;

        private Category(String name, Element attributes) {
            this.name = name;
            this.attributes = attributes;
        }

        /** Adds an attribute, whose issuer may be null. */
        public void attribute(String id, String issuer, boolean isIncludedInResult, List<Value> values) {
            Element attribute = below(attributes, "Attribute");
            attribute.setAttribute("AttributeId", id);
            attribute.setAttribute("IncludeInResult", String.valueOf(isIncludedInResult));
            if (issuer != null) {
                attribute.setAttribute("Issuer", issuer);
            }
            for (Value value : values) {
                given.add(new Designator(name, id, value.dataType(), null));
                given.add(new Designator(name, id, value.dataType(), issuer));
                Element element = below(attribute, "AttributeValue");
                element.setAttribute("DataType", value.dataType());
                if (value.xpathCategory() != null) {
                    element.setAttribute("XPathCategory", value.xpathCategory());
                }
                value.namespaces().forEach((prefix, uri) -> element.setAttributeNS(NAMESPACES, "xmlns:" + prefix, uri));
                element.setTextContent(value.text());
            }
        }
    }
}
