package io.durward.authzforce;

import io.durward.xacml.Xml;
import jakarta.xml.bind.JAXBException;
import jakarta.xml.bind.Marshaller;
import jakarta.xml.bind.Unmarshaller;
import java.io.StringReader;
import java.io.StringWriter;
import java.util.Map;
import javax.xml.transform.stream.StreamSource;
import oasis.names.tc.xacml._3_0.core.schema.wd_17.Request;
import oasis.names.tc.xacml._3_0.core.schema.wd_17.Response;
import oasis.names.tc.xacml._3_0.core.schema.wd_17.Result;
import oasis.names.tc.xacml._3_0.core.schema.wd_17.Status;
import org.ow2.authzforce.xacml.Xacml3JaxbHelper;
import org.ow2.authzforce.xacml.identifiers.XacmlStatusCode;
import org.w3c.dom.Document;

/** Writes their requests, and reads responses into theirs. */
final class Jaxb {
    private static final String NAMESPACES = "http://www.w3.org/2000/xmlns/";
    private static final ThreadLocal<Marshaller> WRITER = ThreadLocal.withInitial(Jaxb::writer);
    private static final ThreadLocal<Unmarshaller> READER = ThreadLocal.withInitial(Jaxb::reader);

    private Jaxb() {}

    private static Marshaller writer() {
        try {
            Marshaller marshaller = Xacml3JaxbHelper.XACML_3_0_JAXB_CONTEXT.createMarshaller();
            marshaller.setProperty(Marshaller.JAXB_FRAGMENT, true);
            return marshaller;
        } catch (JAXBException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Unmarshaller reader() {
        try {
            return Xacml3JaxbHelper.XACML_3_0_JAXB_CONTEXT.createUnmarshaller();
        } catch (JAXBException error) {
            throw new IllegalStateException(error);
        }
    }

    /** The text of a request whose paths may have these prefixes. */
    static String write(Request request, Map<String, String> prefixes) throws JAXBException {
        if (prefixes == null || prefixes.isEmpty()) {
            StringWriter text = new StringWriter();
            WRITER.get().marshal(request, text);
            return text.toString();
        }
        Document document = Xml.document();
        WRITER.get().marshal(request, document);
        prefixes.forEach((prefix, uri) -> {
            boolean isFree = !prefix.isEmpty() && !prefix.startsWith("xml");
            if (isFree && !document.getDocumentElement().hasAttributeNS(NAMESPACES, prefix)) {
                document.getDocumentElement().setAttributeNS(NAMESPACES, "xmlns:" + prefix, uri);
            }
        });
        return Xml.write(document);
    }

    static Response read(String response) throws JAXBException {
        StreamSource source = new StreamSource(new StringReader(response));
        return READER.get().unmarshal(source, Response.class).getValue();
    }

    /** AuthzForce writes no status where all is well. */
    static Result asTheirs(Result result) {
        Status status = result.getStatus();
        boolean isWell = status != null && XacmlStatusCode.OK.value().equals(status.getStatusCode().getValue());
        return !isWell
                ? result
                : new Result(
                        result.getDecision(),
                        null,
                        result.getObligations(),
                        result.getAssociatedAdvice(),
                        result.getAttributes(),
                        result.getPolicyIdentifierList());
    }
}
