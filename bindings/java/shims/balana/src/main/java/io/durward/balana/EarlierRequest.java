package io.durward.balana;

import io.durward.xacml.Designator;
import io.durward.xacml.RequestText.Value;
import io.durward.xacml.Xml;
import java.util.List;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;
import org.wso2.balana.ctx.xacml2.RequestCtx;

/** A request of XACML 2.0 or before: the document that Balana has read it from, with what its attribute finders add. */
final class EarlierRequest {
    private static final String SUBJECT = "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject";
    private static final String OTHER = "urn:oasis:names:tc:xacml:3.0:attribute-category:";

    private final Element root;

    EarlierRequest(RequestCtx request) {
        root = RequestWriter.rootOf(request);
    }

    boolean has(Designator wanted) {
        NodeList attributes = root.getElementsByTagNameNS("*", "Attribute");
        for (int at = 0; at < attributes.getLength(); at++) {
            Element attribute = (Element) attributes.item(at);
            boolean isOfIssuer =
                    wanted.issuer() == null || wanted.issuer().equals(attribute.getAttribute("Issuer"));
            if (isOfIssuer
                    && wanted.attributeId().equals(attribute.getAttribute("AttributeId"))
                    && wanted.dataType().equals(attribute.getAttribute("DataType"))
                    && wanted.category().equals(categoryOf((Element) attribute.getParentNode()))) {
                return true;
            }
        }
        return false;
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
        for (Node node = root.getFirstChild(); node != null; node = node.getNextSibling()) {
            if (node instanceof Element section && wanted.category().equals(categoryOf(section))) {
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
