import jakarta.xml.bind.Marshaller;
import jakarta.xml.bind.Unmarshaller;
import java.io.File;
import java.io.StringReader;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.transform.stream.StreamSource;
import oasis.names.tc.xacml._3_0.core.schema.wd_17.Request;
import oasis.names.tc.xacml._3_0.core.schema.wd_17.Response;
import org.ow2.authzforce.core.pdp.api.DecisionRequest;
import org.ow2.authzforce.core.pdp.api.DecisionRequestPreprocessor;
import org.ow2.authzforce.core.pdp.api.io.PdpEngineInoutAdapter;
import org.ow2.authzforce.core.pdp.impl.BasePdpEngine;
import org.ow2.authzforce.core.pdp.impl.PdpEngineConfiguration;
import org.ow2.authzforce.core.pdp.impl.io.PdpEngineAdapters;
import org.ow2.authzforce.core.pdp.impl.io.SingleDecisionXacmlJaxbRequestPreprocessor;
import org.ow2.authzforce.xacml.Xacml3JaxbHelper;
import org.w3c.dom.Element;

/**
 * AuthzForce. A parsed request is its own
 * preprocessed form, the fastest way into the engine.
 */
final class Peer implements Harness.Engine {
    private final BasePdpEngine engine;
    private final PdpEngineInoutAdapter<Request, Response> adapter;
    private final DecisionRequestPreprocessor<Request, ? extends DecisionRequest> preprocessor;
    // Neither may be shared by threads.
    private final ThreadLocal<Unmarshaller> reader = ThreadLocal.withInitial(() -> made(Xacml3JaxbHelper::createXacml3Unmarshaller));
    private final ThreadLocal<Marshaller> writer = ThreadLocal.withInitial(() -> made(Xacml3JaxbHelper::createXacml3Marshaller));

    private Peer(String folder) throws Exception {
        PdpEngineConfiguration settings = settings(new File(folder).listFiles()[0]);
        engine = new BasePdpEngine(settings);
        adapter = PdpEngineAdapters.newXacmlJaxbInoutAdapter(settings);
        preprocessor = new SingleDecisionXacmlJaxbRequestPreprocessor.LaxVariantFactory()
            .getInstance(settings.getAttributeValueFactoryRegistry(), false, false, Set.of());
    }

    private static <T> T made(Callable<T> maker) {
        try {
            return maker.call();
        } catch (Exception problem) {
            throw new IllegalStateException(problem);
        }
    }

    private static PdpEngineConfiguration settings(File policy) throws Exception {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setNamespaceAware(true);
        Element root = factory.newDocumentBuilder().parse(policy).getDocumentElement();
        boolean isSet = root.getLocalName().equals("PolicySet");
        String id = root.getAttribute(isSet ? "PolicySetId" : "PolicyId");
        Path file = Files.createTempFile("pdp", ".xml");
        Files.writeString(file, """
            <?xml version="1.0" encoding="UTF-8"?>
            <pdp xmlns="http://authzforce.github.io/core/xmlns/pdp/8"
                 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" version="8.1">
              <policyProvider id="policies" xsi:type="StaticPolicyProvider">
                <policyLocation>%s</policyLocation>
              </policyProvider>
              <rootPolicyRef policySet="%s">%s</rootPolicyRef>
            </pdp>
            """.formatted(policy.toURI(), isSet, id));
        try {
            return PdpEngineConfiguration.getInstance(file.toString());
        } finally {
            Files.delete(file);
        }
    }

    private Request read(String xml) throws Exception {
        return (Request) reader.get().unmarshal(new StreamSource(new StringReader(xml)));
    }

    @Override
    public Object parse(String xml) throws Exception {
        return preprocessor.process(read(xml), Map.of()).get(0);
    }

    @Override
    public String decide(Object request) {
        return switch (engine.evaluate((DecisionRequest) request).getDecision()) {
            case PERMIT -> "Permit";
            case DENY -> "Deny";
            case NOT_APPLICABLE -> "NotApplicable";
            case INDETERMINATE -> "Indeterminate";
        };
    }

    @Override
    public String answer(String xml) throws Exception {
        StringWriter out = new StringWriter();
        writer.get().marshal(adapter.evaluate(read(xml)), out);
        return out.toString();
    }

    public static void main(String[] arguments) throws Exception {
        Harness.run(() -> new Peer(arguments[0]), arguments);
    }
}
