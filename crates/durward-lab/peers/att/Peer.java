import com.att.research.xacml.api.Request;
import com.att.research.xacml.api.pdp.PDPEngine;
import com.att.research.xacml.api.pdp.PDPEngineFactory;
import com.att.research.xacml.std.dom.DOMRequest;
import com.att.research.xacml.std.dom.DOMResponse;
import java.io.File;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;

/** The engine of AT&amp;T. */
final class Peer implements Harness.Engine {
    private final PDPEngine pdp;

    private Peer(String folder) throws Exception {
        File policy = new File(folder).listFiles()[0];
        Properties properties = new Properties();
        properties.setProperty("xacml.dataTypeFactory", "com.att.research.xacml.std.StdDataTypeFactory");
        properties.setProperty("xacml.pdpEngineFactory", "com.att.research.xacmlatt.pdp.ATTPDPEngineFactory");
        properties.setProperty("xacml.pepEngineFactory", "com.att.research.xacml.std.pep.StdEngineFactory");
        properties.setProperty("xacml.pipFinderFactory", "com.att.research.xacml.std.pip.StdPIPFinderFactory");
        properties.setProperty("xacml.traceEngineFactory", "com.att.research.xacml.std.trace.NullTraceEngineFactory");
        properties.setProperty("xacml.att.evaluationContextFactory", "com.att.research.xacmlatt.pdp.std.StdEvaluationContextFactory");
        properties.setProperty("xacml.att.combiningAlgorithmFactory", "com.att.research.xacmlatt.pdp.std.StdCombiningAlgorithmFactory");
        properties.setProperty("xacml.att.functionDefinitionFactory", "com.att.research.xacmlatt.pdp.std.StdFunctionDefinitionFactory");
        properties.setProperty("xacml.att.policyFinderFactory", "com.att.research.xacmlatt.pdp.std.StdPolicyFinderFactory");
        properties.setProperty("xacml.rootPolicies", "root");
        properties.setProperty("root.file", policy.getAbsolutePath());
        properties.setProperty("xacml.referencedPolicies", "");
        // The engine's own readers want a file, wherever it may be.
        Path file = Files.createTempFile("xacml", ".properties");
        try (OutputStream to = Files.newOutputStream(file)) {
            properties.store(to, null);
        }
        System.setProperty("xacml.properties", file.toString());
        pdp = PDPEngineFactory.newInstance().newEngine();
        Files.delete(file);
    }

    @Override
    public Object parse(String xml) throws Exception {
        return DOMRequest.load(xml);
    }

    @Override
    public String decide(Object request) throws Exception {
        return pdp.decide((Request) request).getResults().iterator().next().getDecision().toString();
    }

    @Override
    public String answer(String xml) throws Exception {
        return DOMResponse.toString(pdp.decide(DOMRequest.load(xml)), false);
    }

    public static void main(String[] arguments) throws Exception {
        Harness.run(() -> new Peer(arguments[0]), arguments);
    }
}
