package io.durward.xacml;

import java.io.Reader;
import java.util.HashSet;
import java.util.Set;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;

/** Finds in the text of a policy what it is called and what it refers to. Whether it is right, the decision point says. */
final class PolicyScanner {
    private static final String SUBJECT = "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject";
    private static final String OTHER = "urn:oasis:names:tc:xacml:3.0:attribute-category:";

    private final Set<String> references = new HashSet<>();
    private final Set<Designator> designators = new HashSet<>();

    private PolicyScanner() {}

    static PolicyDocument scan(String name, String text, Reader from) {
        XMLInputFactory factory = XMLInputFactory.newDefaultFactory();
        factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
        factory.setProperty(XMLInputFactory.IS_SUPPORTING_EXTERNAL_ENTITIES, false);
        try {
            XMLStreamReader reader = factory.createXMLStreamReader(from);
            while (reader.next() != XMLStreamConstants.START_ELEMENT) {
                // Comments, and what else stands before the policy.
            }
            boolean isSet = reader.getLocalName().equals("PolicySet");
            if (!isSet && !reader.getLocalName().equals("Policy")) {
                throw new IllegalArgumentException(
                        name + ": a policy or a policy set is expected, not `" + reader.getLocalName() + "`");
            }
            String id = attribute(reader, isSet ? "PolicySetId" : "PolicyId");
            String version = attribute(reader, "Version");
            if (id == null) {
                throw new IllegalArgumentException(name + ": the policy has no identifier");
            }
            PolicyScanner found = new PolicyScanner();
            found.below(reader);
            String inForce = version == null ? "1.0" : version;
            return new PolicyDocument(name, text, id, inForce, isSet, found.references, found.designators);
        } catch (XMLStreamException error) {
            throw new IllegalArgumentException(name + ": " + error.getMessage(), error);
        }
    }

    private void below(XMLStreamReader reader) throws XMLStreamException {
        while (reader.hasNext()) {
            if (reader.next() != XMLStreamConstants.START_ELEMENT) {
                continue;
            }
            switch (reader.getLocalName()) {
                case "PolicyIdReference", "PolicySetIdReference" -> references.add(reader.getElementText().trim());
                case "AttributeDesignator" -> designator(reader, attribute(reader, "Category"));
                case "SubjectAttributeDesignator" -> {
                    String category = attribute(reader, "SubjectCategory");
                    designator(reader, category == null ? SUBJECT : category);
                }
                case "ResourceAttributeDesignator" -> designator(reader, OTHER + "resource");
                case "ActionAttributeDesignator" -> designator(reader, OTHER + "action");
                case "EnvironmentAttributeDesignator" -> designator(reader, OTHER + "environment");
                default -> {
                    // Nothing that is looked for.
                }
            }
        }
    }

    private void designator(XMLStreamReader reader, String category) {
        String id = attribute(reader, "AttributeId");
        String dataType = attribute(reader, "DataType");
        if (category != null && id != null && dataType != null) {
            designators.add(new Designator(category, id, dataType, attribute(reader, "Issuer")));
        }
    }

    private static String attribute(XMLStreamReader reader, String name) {
        String value = reader.getAttributeValue(null, name);
        return value == null ? null : value.strip();
    }
}
