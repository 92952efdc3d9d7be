package io.durward.xacml;

import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import javax.xml.XMLConstants;
import javax.xml.parsers.DocumentBuilder;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import javax.xml.transform.OutputKeys;
import javax.xml.transform.Transformer;
import javax.xml.transform.TransformerException;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import org.w3c.dom.Document;
import org.w3c.dom.Node;
import org.xml.sax.InputSource;
import org.xml.sax.SAXException;

/** Reads and writes XML with the parser that Java has, whatever else lies on the class path. It reads no document types. */
public final class Xml {
    private static final ThreadLocal<DocumentBuilder> READER = ThreadLocal.withInitial(Xml::reader);
    private static final ThreadLocal<Transformer> WRITER = ThreadLocal.withInitial(Xml::writer);

    private Xml() {}

    private static DocumentBuilder reader() {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newDefaultNSInstance();
        try {
            factory.setFeature(XMLConstants.FEATURE_SECURE_PROCESSING, true);
            factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
            DocumentBuilder builder = factory.newDocumentBuilder();
            builder.setErrorHandler(null);
            return builder;
        } catch (ParserConfigurationException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Transformer writer() {
        try {
            Transformer transformer = TransformerFactory.newDefaultInstance().newTransformer();
            transformer.setOutputProperty(OutputKeys.OMIT_XML_DECLARATION, "yes");
            return transformer;
        } catch (TransformerException error) {
            throw new IllegalStateException(error);
        }
    }

    /** An empty document. */
    public static Document document() {
        return READER.get().newDocument();
    }

    /**
     * Reads a text.
     *
     * @throws IllegalArgumentException it is no XML, or has a document type
     */
    public static Document read(String text) {
        try {
            return READER.get().parse(new InputSource(new StringReader(text)));
        } catch (SAXException error) {
            throw new IllegalArgumentException(error.getMessage(), error);
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    /**
     * Writes what is below this node, and the node.
     *
     * @throws IllegalArgumentException it cannot be written as XML
     */
    public static String write(Node node) {
        StringWriter text = new StringWriter();
        try {
            WRITER.get().transform(new DOMSource(node), new StreamResult(text));
        } catch (TransformerException error) {
            throw new IllegalArgumentException(error.getMessage(), error);
        }
        return text.toString();
    }
}
