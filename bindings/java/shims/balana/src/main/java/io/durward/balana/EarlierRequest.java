package io.durward.balana;

import io.durward.xacml.Designator;
import io.durward.xacml.RequestText.Value;
import io.durward.xacml.Xml;
import java.util.ArrayList;
import java.util.List;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.wso2.balana.ctx.xacml2.RequestCtx;

/** A request of XACML 2.0 or before: the document that Balana has read it from, with what its attribute finders add. */
final class EarlierRequest {
    private static final String SUBJECT = "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject";
    private static final String OTHER = "urn:oasis:names:tc:xacml:3.0:attribute-category:";

    private final Element root;

    EarlierRequest(RequestCtx request) {
        root = RequestWriter.rootOf(request);
    }

    /** Looks at what belongs to the request itself, and not into the content of a resource, in which anything may stand. */
    boolean has(Designator wanted) {
        for (Element section : childrenOf(root)) {
            if (!wanted.category().equals(categoryOf(section))) {
                continue;
            }
            for (Element attribute : childrenOf(section)) {
                boolean isOfIssuer = wanted.issuer() == null || wanted.issuer().equals(attribute.getAttribute("Issuer"));
                if (isOfIssuer
                        && attribute.getLocalName().equals("Attribute")
                        && wanted.attributeId().equals(attribute.getAttribute("AttributeId"))
                        && wanted.dataType().equals(attribute.getAttribute("DataType"))) {
                    return true;
                }
            }
        }
        return false;
    }

    private static List<Element> childrenOf(Element parent) {
        List<Element> children = new ArrayList<>();
        for (Node node = parent.getFirstChild(); node != null; node = node.getNextSibling()) {
            if (node instanceof Element element) {
                children.add(element);
            }
        }
        return children;
    }

    private static String categoryOf(Element section) {
        return switch (section.getLocalName()) {
            case "Subject" -> section.hasAttribute("SubjectCategory") ? section.getAttribute("SubjectCategory") : SUBJECT;
            case "Resource" -> OTHER + "resource";
            case "Action" -> OTHER + "action";
            default -> OTHER + "environment";
        };
    }

    void add(Designator wanted, List<Value> values) {
        Document document = root.getOwnerDocument();
        for (Element section : childrenOf(root)) {
            if (wanted.category().equals(categoryOf(section))) {
                addTo(section, wanted, values);
                return;
            }
        }
        if (wanted.category().equals(OTHER + "environment")) {
            Element section = document.createElementNS(root.getNamespaceURI(), "Environment");
            root.appendChild(section);
            addTo(section, wanted, values);
        } else if (!wanted.category().startsWith(OTHER)) {
            Element section = document.createElementNS(root.getNamespaceURI(), "Subject");
            section.setAttribute("SubjectCategory", wanted.category());
            root.insertBefore(section, root.getFirstChild());
            addTo(section, wanted, values);
        }
    }

    private static void addTo(Element section, Designator wanted, List<Value> values) {
        Document document = section.getOwnerDocument();
        Element attribute = document.createElementNS(section.getNamespaceURI(), "Attribute");
        attribute.setAttribute("AttributeId", wanted.attributeId());
        attribute.setAttribute("DataType", wanted.dataType());
        if (wanted.issuer() != null) {
            attribute.setAttribute("Issuer", wanted.issuer());
        }
        for (Value value : values) {
            Element element = document.createElementNS(section.getNamespaceURI(), "AttributeValue");
            element.setTextContent(value.text());
            attribute.appendChild(element);
        }
        section.appendChild(attribute);
    }

    String text() {
        return Xml.write(root);
    }
}
