package io.durward.authzforce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import javax.xml.transform.stream.StreamSource;
import oasis.names.tc.xacml._3_0.core.schema.wd_17.DecisionType;
import oasis.names.tc.xacml._3_0.core.schema.wd_17.Request;
import oasis.names.tc.xacml._3_0.core.schema.wd_17.Response;
import oasis.names.tc.xacml._3_0.core.schema.wd_17.Result;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.ow2.authzforce.core.pdp.api.AttributeFqns;
import org.ow2.authzforce.core.pdp.api.DecisionRequest;
import org.ow2.authzforce.core.pdp.api.DecisionRequestBuilder;
import org.ow2.authzforce.core.pdp.api.DecisionResult;
import org.ow2.authzforce.core.pdp.api.PdpEngine;
import org.ow2.authzforce.core.pdp.api.io.BaseXacmlJaxbResultPostprocessor;
import org.ow2.authzforce.core.pdp.api.io.PdpEngineInoutAdapter;
import org.ow2.authzforce.core.pdp.api.value.Bags;
import org.ow2.authzforce.core.pdp.api.value.StandardAttributeValueFactories;
import org.ow2.authzforce.core.pdp.api.value.StandardDatatypes;
import org.ow2.authzforce.core.pdp.api.value.StringValue;
import org.ow2.authzforce.core.pdp.impl.PdpModelHandler;
import org.ow2.authzforce.core.pdp.impl.io.PdpEngineAdapters;
import org.ow2.authzforce.core.pdp.impl.io.SingleDecisionXacmlJaxbRequestPreprocessor;
import org.ow2.authzforce.xacml.Xacml3JaxbHelper;

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
    private static final String ROOT = """
            <PolicySet xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicySetId="root" Version="1.2"
                PolicyCombiningAlgId="urn:oasis:names:tc:xacml:3.0:policy-combining-algorithm:permit-overrides">
              <Target/><PolicyIdReference>doctors</PolicyIdReference></PolicySet>""";

    @TempDir
    private Path folder;

    @BeforeEach
    void writePolicies() throws IOException {
        Files.createDirectory(folder.resolve("policies"));
        write("doctors", DOCTORS);
        write("root", ROOT);
    }

    private void write(String name, String policy) throws IOException {
        Files.writeString(folder.resolve("policies").resolve(name + ".xml"), policy);
    }

    private String configuration(String attributes, String members) throws IOException {
        Path file = folder.resolve("pdp.xml");
        Files.writeString(file, """
                <pdp xmlns="http://authzforce.github.io/core/xmlns/pdp/8" version="8.0" %s
                    xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
                  <policyProvider id="files" xsi:type="StaticPolicyProvider">
                    <policyLocation>${PARENT_DIR}/policies/*.xml</policyLocation>
                  </policyProvider>%s
                </pdp>""".formatted(attributes, members));
        return file.toString();
    }

    private DurwardPdpEngine engine() throws IOException {
        return DurwardPdpEngine.open(configuration("", "<rootPolicyRef policySet=\"true\">root</rootPolicyRef>"));
    }

    private static String attributes(String role) {
        return """
                <Attributes Category="%s"><Attribute AttributeId="role" IncludeInResult="true" Issuer="hospital">
                  <AttributeValue DataType="%s">%s</AttributeValue></Attribute></Attributes>"""
                .formatted(SUBJECT, STRING, role);
    }

    private static Request request(String attributes) throws Exception {
        String text = """
                <Request xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" CombinedDecision="false"
                    ReturnPolicyIdList="true">%s</Request>""".formatted(attributes);
        StreamSource source = new StreamSource(new StringReader(text));
        return Xacml3JaxbHelper.createXacml3Unmarshaller().unmarshal(source, Request.class).getValue();
    }

    private static Result only(Response response) {
        assertEquals(1, response.getResults().size());
        return response.getResults().get(0);
    }

    @Test
    void requestsOfJaxbAreAnswered() throws Exception {
        try (PdpEngineInoutAdapter<Request, Response> pdp = engine().xacmlJaxb()) {
            Result result = only(pdp.evaluate(request(attributes("doctor"))));
            assertEquals(DecisionType.PERMIT, result.getDecision());
            assertNull(result.getStatus(), "as theirs");
            assertEquals("log", result.getObligations().getObligations().get(0).getObligationId());
            assertEquals(2, result.getPolicyIdentifierList().getPolicyIdReferencesAndPolicySetIdReferences().size());
            assertEquals(1, result.getAttributes().size());
            assertEquals(
                    DecisionType.NOT_APPLICABLE,
                    only(pdp.evaluate(request(attributes("cook")), Map.of("x", "urn:x"))).getDecision());
            Response two = pdp.evaluate(request(attributes("doctor") + attributes("cook")));
            assertEquals(
                    List.of(DecisionType.PERMIT, DecisionType.NOT_APPLICABLE),
                    two.getResults().stream().map(Result::getDecision).toList());
        }
    }

    private static DecisionRequest request(PdpEngine engine, String value, boolean returnsPolicies) {
        DecisionRequestBuilder<?> builder = engine.newRequestBuilder(1, 1);
        builder.putNamedAttributeIfAbsent(
                AttributeFqns.newInstance(SUBJECT, Optional.empty(), "role"),
                Bags.singletonAttributeBag(StandardDatatypes.STRING, new StringValue(value)));
        return builder.build(returnsPolicies);
    }

    @Test
    void requestsThatAreMadeInTheProgramAreAnswered() throws Exception {
        try (DurwardPdpEngine engine = engine()) {
            DecisionResult result = engine.evaluate(request(engine, "doctor", true));
            assertEquals(DecisionType.PERMIT, result.getDecision());
            assertEquals("log", result.getPepActions().get(0).getId());
            assertTrue(result.getPepActions().get(0).isMandatory());
            assertEquals(2, result.getApplicablePolicies().size());
            DecisionRequest nothing = engine.newRequestBuilder(0, 0).build(false);
            assertEquals(DecisionType.NOT_APPLICABLE, engine.evaluate(nothing).getDecision());
            List<DecisionRequest> both = List.of(request(engine, "cook", false), request(engine, "doctor", false));
            List<DecisionType> decisions = engine.evaluate(both, null).stream()
                    .map(answer -> answer.getValue().getDecision())
                    .toList();
            assertEquals(List.of(DecisionType.NOT_APPLICABLE, DecisionType.PERMIT), decisions);
            String injected = "cook</AttributeValue><AttributeValue DataType=\"" + STRING + "\">doctor";
            assertEquals(
                    DecisionType.NOT_APPLICABLE,
                    engine.evaluate(request(engine, injected, false)).getDecision());
        }
    }

    /** One role, which the hospital says, is one value. */
    @Test
    void theirOwnProcessorsWorkOnTheEngine() throws Exception {
        write("doctors", DOCTORS.replaceAll("(?s)<Rule RuleId.*?/>", """
                <Rule RuleId="one" Effect="Permit"><Condition>
                  <Apply FunctionId="urn:oasis:names:tc:xacml:1.0:function:integer-equal">
                    <Apply FunctionId="urn:oasis:names:tc:xacml:1.0:function:string-bag-size">
                      <AttributeDesignator Category="urn:oasis:names:tc:xacml:1.0:subject-category:access-subject"
                        AttributeId="role" DataType="http://www.w3.org/2001/XMLSchema#string" MustBePresent="false"/>
                    </Apply>
                    <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#integer">1</AttributeValue>
                  </Apply></Condition></Rule>"""));
        BaseXacmlJaxbResultPostprocessor after = new BaseXacmlJaxbResultPostprocessor(0);
        try (PdpEngineInoutAdapter<Request, Response> pdp = PdpEngineAdapters.newInoutAdapter(
                Request.class,
                Response.class,
                engine(),
                SingleDecisionXacmlJaxbRequestPreprocessor.LaxVariantFactory.INSTANCE.getInstance(
                        StandardAttributeValueFactories.getRegistry(true, Optional.empty()), false, true, Set.of()),
                after)) {
            Result result = only(pdp.evaluate(request(attributes("doctor"))));
            assertEquals(DecisionType.PERMIT, result.getDecision());
        }
    }

    @Test
    void theRootIsTheOneThatIsNamed() throws Exception {
        write("other", ROOT.replace("\"root\"", "\"other\"").replace("<PolicyIdReference>doctors</PolicyIdReference>", ""));
        write("later", ROOT.replace("1.2", "1.10").replace("<PolicyIdReference>doctors</PolicyIdReference>", ""));
        Map<String, DecisionType> decisions = Map.of(
                "<rootPolicyRef>other</rootPolicyRef>", DecisionType.NOT_APPLICABLE,
                "<rootPolicyRef>root</rootPolicyRef>", DecisionType.NOT_APPLICABLE,
                "<rootPolicyRef version=\"1.2\">root</rootPolicyRef>", DecisionType.PERMIT,
                "<rootPolicyRef>doctors</rootPolicyRef>", DecisionType.PERMIT,
                "", DecisionType.PERMIT);
        for (Map.Entry<String, DecisionType> wanted : decisions.entrySet()) {
            try (DurwardPdpEngine engine = DurwardPdpEngine.open(configuration("", wanted.getKey()))) {
                DecisionResult result = engine.evaluate(request(engine, "doctor", false));
                assertEquals(wanted.getValue(), result.getDecision(), wanted.getKey());
            }
        }
        for (String wrong : List.of(
                "<rootPolicyRef>nobody</rootPolicyRef>",
                "<rootPolicyRef version=\"3.+\">root</rootPolicyRef>",
                "<rootPolicyRef policySet=\"true\">doctors</rootPolicyRef>")) {
            String configuration = configuration("", wrong);
            assertThrows(IllegalArgumentException.class, () -> DurwardPdpEngine.open(configuration));
        }
    }

    @Test
    void versionsHavePatterns() {
        for (String pattern : List.of("1.2", "1.*", "*.2", "1.+", "+", "*.*")) {
            assertTrue(Versions.matches(pattern, "1.2"), pattern);
        }
        for (String pattern : List.of("1", "1.3", "1.2.3", "*", "2.+", "1.2.*")) {
            assertFalse(Versions.matches(pattern, "1.2"), pattern);
        }
        assertTrue(Versions.compare("1.10", "1.9") > 0 && Versions.compare("1", "1.0") < 0);
    }

    @Test
    void theBeanHasTheirProperties() throws Exception {
        try (DurwardPdpBean bean = new DurwardPdpBean()) {
            assertThrows(IllegalStateException.class, () -> bean.newRequestBuilder(1, 1));
            bean.setConfigFile(configuration("", ""));
            bean.setCatalogFile(PdpModelHandler.DEFAULT_CATALOG_LOCATION);
            bean.setSchemaFile(PdpModelHandler.CORE_XSD_LOCATION);
            assertEquals(DecisionType.PERMIT, bean.evaluate(request(bean, "doctor", false)).getDecision());
        }
    }

    @Test
    void whatCannotBeDoneIsRefused() throws Exception {
        assertThrows(IllegalArgumentException.class, () -> DurwardPdpEngine.open(folder + "/none.xml"));
        for (String attribute : List.of("strictAttributeIssuerMatch=\"true\"", "standardAttributeProvidersEnabled=\"false\"")) {
            String configuration = configuration(attribute, "");
            assertThrows(IllegalArgumentException.class, () -> DurwardPdpEngine.open(configuration), attribute);
        }
        String foreign = configuration("", "<ioProcChain><requestPreproc>urn:mine</requestPreproc></ioProcChain>");
        assertThrows(IllegalArgumentException.class, () -> DurwardPdpEngine.open(foreign));
        write("doctors", DOCTORS.replace("string-equal", "string-same"));
        assertThrows(IllegalArgumentException.class, this::engine);
        Files.delete(folder.resolve("policies/doctors.xml"));
        assertThrows(IllegalArgumentException.class, this::engine);
    }
}
