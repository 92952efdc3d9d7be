package io.durward.att;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.att.research.xacml.api.AttributeValue;
import com.att.research.xacml.api.Decision;
import com.att.research.xacml.api.Request;
import com.att.research.xacml.api.Result;
import com.att.research.xacml.api.XACML3;
import com.att.research.xacml.api.pdp.PDPEngine;
import com.att.research.xacml.api.pdp.PDPEngineFactory;
import com.att.research.xacml.api.pdp.PDPException;
import com.att.research.xacml.api.pip.PIPException;
import com.att.research.xacml.api.pip.PIPFinder;
import com.att.research.xacml.api.pip.PIPRequest;
import com.att.research.xacml.api.pip.PIPResponse;
import com.att.research.xacml.std.IdentifierImpl;
import com.att.research.xacml.std.StdAttributeValue;
import com.att.research.xacml.std.StdMutableAttribute;
import com.att.research.xacml.std.StdMutableRequest;
import com.att.research.xacml.std.StdMutableRequestAttributes;
import com.att.research.xacml.std.datatypes.DataTypes;
import com.att.research.xacml.std.dom.DOMRequest;
import com.att.research.xacml.std.pip.StdMutablePIPResponse;
import com.att.research.xacml.std.pip.engines.StdConfigurableEngine;
import com.att.research.xacml.util.FactoryException;
import com.att.research.xacml.util.XACMLProperties;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DurwardPdpEngineTest {
    private static final String SUBJECT = "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject";
    private static final String STRING = "http://www.w3.org/2001/XMLSchema#string";
    /** Lets doctors in, and wants it logged. */
    private static final String DOCTORS = """
            <Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="doctors" Version="1.0"
                RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:permit-overrides">
              <Target><AnyOf><AllOf>
                <Match MatchId="urn:oasis:names:tc:xacml:1.0:function:string-equal">
                  <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string">doctor</AttributeValue>
                  <AttributeDesignator Category="urn:oasis:names:tc:xacml:1.0:subject-category:access-subject"
                      AttributeId="role" DataType="http://www.w3.org/2001/XMLSchema#string" MustBePresent="false"/>
                </Match></AllOf></AnyOf></Target>
              <Rule RuleId="all" Effect="Permit"/>
              <ObligationExpressions><ObligationExpression ObligationId="log" FulfillOn="Permit"/></ObligationExpressions>
            </Policy>""";
    private static final String SET = """
            <PolicySet xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicySetId="set" Version="1.0"
                PolicyCombiningAlgId="urn:oasis:names:tc:xacml:3.0:policy-combining-algorithm:permit-overrides">
              <Target/><PolicyIdReference>doctors</PolicyIdReference></PolicySet>""";

    @TempDir
    private Path folder;

    private Properties properties;

    @BeforeEach
    void writePolicies() throws IOException {
        properties = new Properties();
        properties.setProperty(XACMLProperties.PROP_PDPENGINEFACTORY, DurwardPdpEngineFactory.class.getName());
        write("doctors", DOCTORS);
        write("set", SET);
    }

    private void write(String name, String policy) throws IOException {
        Path file = folder.resolve(name + ".xml");
        Files.writeString(file, policy);
        properties.setProperty(name + ".file", file.toString());
    }

    private PDPEngine engine(String roots, String referenced) throws FactoryException {
        properties.setProperty(XACMLProperties.PROP_ROOTPOLICIES, roots);
        properties.setProperty(XACMLProperties.PROP_REFERENCEDPOLICIES, referenced);
        PDPEngine engine = PDPEngineFactory.newInstance(properties).newEngine(properties);
        return assertInstanceOf(DurwardPdpEngine.class, engine);
    }

    private static StdMutableRequestAttributes subject(String attribute, AttributeValue<?> value) {
        StdMutableRequestAttributes subject = new StdMutableRequestAttributes();
        subject.setCategory(new IdentifierImpl(SUBJECT));
        subject.add(new StdMutableAttribute(
                new IdentifierImpl(SUBJECT), new IdentifierImpl(attribute), value, null, false));
        return subject;
    }

    private static StdMutableRequest request(String role) {
        StdMutableRequest request = new StdMutableRequest();
        request.add(subject("role", new StdAttributeValue<>(DataTypes.DT_STRING.getId(), role)));
        return request;
    }

    private static Result decide(PDPEngine engine, Request request) throws PDPException {
        Collection<Result> results = engine.decide(request).getResults();
        assertEquals(1, results.size());
        return results.iterator().next();
    }

    @Test
    void onePropertyIsAllThatChanges() throws Exception {
        PDPEngine engine = engine("doctors", "");
        Result result = decide(engine, request("doctor"));
        assertEquals(Decision.PERMIT, result.getDecision());
        assertTrue(result.getStatus().isOk());
        assertEquals("log", result.getObligations().iterator().next().getId().stringValue());
        assertEquals(Decision.NOTAPPLICABLE, decide(engine, request("cook")).getDecision());
    }

    @Test
    void theFileOfPropertiesIsRead() throws Exception {
        properties.setProperty(XACMLProperties.PROP_ROOTPOLICIES, "doctors");
        Path file = folder.resolve("xacml.properties");
        try (var writer = Files.newBufferedWriter(file)) {
            properties.store(writer, null);
        }
        System.setProperty(XACMLProperties.XACML_PROPERTIES_NAME, file.toString());
        XACMLProperties.reloadProperties();
        try {
            PDPEngine engine = PDPEngineFactory.newInstance().newEngine();
            assertEquals(Decision.PERMIT, decide(engine, request("doctor")).getDecision());
        } finally {
            System.clearProperty(XACMLProperties.XACML_PROPERTIES_NAME);
            XACMLProperties.reloadProperties();
        }
    }

    @Test
    void referencedPoliciesAreNoRoots() throws Exception {
        write("open", DOCTORS.replace("\"doctors\"", "\"open\"").replace(">doctor<", ">cook<"));
        PDPEngine engine = engine("set", "doctors, open");
        StdMutableRequest request = request("doctor");
        request.setReturnPolicyIdList(true);
        Result result = decide(engine, request);
        assertEquals(Decision.PERMIT, result.getDecision());
        assertEquals("set", result.getPolicySetIdentifiers().iterator().next().getId().stringValue());
        assertEquals(Decision.NOTAPPLICABLE, decide(engine, request("cook")).getDecision());
    }

    @Test
    void ofSeveralRootsOneMayApply() throws Exception {
        write("cooks", DOCTORS.replace("\"doctors\"", "\"cooks\"").replace(">doctor<", ">cook<"));
        write("all", DOCTORS.replace("\"doctors\"", "\"all\"").replaceAll("(?s)<Target>.*</Target>", "<Target/>"));
        PDPEngine two = engine("doctors,cooks", "");
        assertEquals(Decision.PERMIT, decide(two, request("cook")).getDecision());
        assertEquals(Decision.NOTAPPLICABLE, decide(two, request("nurse")).getDecision());
        PDPEngine three = engine("doctors,cooks,all", "");
        assertEquals(Decision.INDETERMINATE, decide(three, request("cook")).getDecision());
        properties.setProperty(
                "xacml.att.policyFinderFactory.combineRootPolicies",
                "urn:oasis:names:tc:xacml:3.0:policy-combining-algorithm:permit-overrides");
        StdMutableRequest request = request("cook");
        request.setReturnPolicyIdList(true);
        Result result = decide(engine("doctors,cooks,all", ""), request);
        assertEquals(Decision.PERMIT, result.getDecision());
        assertTrue(result.getPolicySetIdentifiers().isEmpty(), "the set that combines them is nobody's");
    }

    @Test
    void valuesAreNoMarkup() throws Exception {
        String injected = "cook</AttributeValue><AttributeValue DataType=\"" + STRING + "\">doctor";
        assertEquals(Decision.NOTAPPLICABLE, decide(engine("doctors", ""), request(injected)).getDecision());
    }

    @Test
    void requestsThatTheyReadAreAnswered() throws Exception {
        String one = """
                <Attributes Category="%s"><Attribute AttributeId="role" IncludeInResult="true">
                  <AttributeValue DataType="%s">%s</AttributeValue></Attribute></Attributes>""";
        String text = """
                <Request xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" CombinedDecision="false"
                    ReturnPolicyIdList="false">""" + one.formatted(SUBJECT, STRING, "doctor")
                + one.formatted(SUBJECT, STRING, "cook") + "</Request>";
        List<Decision> decisions = engine("doctors", "").decide(DOMRequest.load(text)).getResults().stream()
                .map(Result::getDecision)
                .toList();
        assertEquals(List.of(Decision.PERMIT, Decision.NOTAPPLICABLE), decisions);
    }

    /** Knows the role of everybody, or fails. */
    public static final class Roles extends StdConfigurableEngine {
        private static String role;

        @Override
        public Collection<PIPRequest> attributesRequired() {
            return List.of();
        }

        @Override
        public Collection<PIPRequest> attributesProvided() {
            return List.of();
        }

        @Override
        public void shutdown() {
            // It holds nothing.
        }

        @Override
        public PIPResponse getAttributes(PIPRequest wanted, PIPFinder finder) throws PIPException {
            if (role == null) {
                throw new PIPException("the directory is down");
            }
            StdMutablePIPResponse response = new StdMutablePIPResponse();
            response.addAttribute(new StdMutableAttribute(
                    wanted.getCategory(),
                    wanted.getAttributeId(),
                    new StdAttributeValue<>(wanted.getDataTypeId(), role),
                    null,
                    false));
            return response;
        }
    }

    @Test
    void enginesForAttributesAreAsked() throws Exception {
        properties.setProperty(XACMLProperties.PROP_PIP_ENGINES, "roles");
        properties.setProperty("roles.classname", Roles.class.getName());
        PDPEngine engine = engine("doctors", "");
        StdMutableRequest nobody = new StdMutableRequest();
        nobody.add(subject("name", new StdAttributeValue<>(DataTypes.DT_STRING.getId(), "anna")));
        Roles.role = "doctor";
        assertEquals(Decision.PERMIT, decide(engine, nobody).getDecision());
        assertEquals(Decision.NOTAPPLICABLE, decide(engine, request("cook")).getDecision(), "the request has one");
        Roles.role = null;
        assertEquals(Decision.INDETERMINATE, decide(engine, nobody).getDecision());
    }

    @Test
    void combinedDecisionsAreOne() throws Exception {
        properties.setProperty(XACMLProperties.PROP_PIP_ENGINES, "roles");
        properties.setProperty("roles.classname", Roles.class.getName());
        Roles.role = "cook";
        PDPEngine engine = engine("doctors", "");
        for (String other : List.of("cook", "doctor")) {
            StdMutableRequest request = request("cook");
            request.add(subject("role", new StdAttributeValue<>(DataTypes.DT_STRING.getId(), other)));
            request.setCombinedDecision(true);
            Decision wanted = other.equals("cook") ? Decision.NOTAPPLICABLE : Decision.INDETERMINATE;
            assertEquals(wanted, decide(engine, request).getDecision());
        }
    }

    @Test
    void whatCannotBeDoneIsRefused() throws Exception {
        assertThrows(FactoryException.class, () -> engine("", ""));
        assertThrows(FactoryException.class, () -> engine("nothing", ""));
        assertThrows(FactoryException.class, () -> engine("set", ""), "a policy is missing");
        write("broken", DOCTORS.replace("string-equal", "string-same"));
        assertThrows(FactoryException.class, () -> engine("broken", ""));
        write("broken", "no policy");
        assertThrows(FactoryException.class, () -> engine("broken", ""));
        properties.setProperty("gone.file", folder.resolve("gone.xml").toString());
        assertThrows(FactoryException.class, () -> engine("doctors,gone", ""));
        properties.setProperty(XACMLProperties.PROP_PDP_BEHAVIOR, "Permit");
        assertThrows(FactoryException.class, () -> engine("doctors", ""));
    }

    @Test
    void policiesLieAtAddressesToo() throws Exception {
        properties.setProperty("there.url", folder.resolve("doctors.xml").toUri().toString());
        assertEquals(Decision.PERMIT, decide(engine("there", ""), request("doctor")).getDecision());
    }

    @Test
    void anEngineThatIsShutDownDecidesNothing() throws Exception {
        PDPEngine engine = engine("doctors", "");
        URI profile = XACML3.ID_PROFILE_MULTIPLE_SCOPE.getUri();
        assertTrue(engine.hasProfile(profile) && engine.getProfiles().contains(profile));
        engine.shutdown();
        assertThrows(PDPException.class, () -> engine.decide(request("doctor")));
    }
}
