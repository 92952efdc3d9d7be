package io.durward.balana;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.durward.PolicyException;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.wso2.balana.ConfigurationStore;
import org.wso2.balana.PDP;
import org.wso2.balana.PDPConfig;
import org.wso2.balana.attr.BagAttribute;
import org.wso2.balana.attr.StringAttribute;
import org.wso2.balana.cond.EvaluationResult;
import org.wso2.balana.ctx.AbstractResult;
import org.wso2.balana.ctx.Attribute;
import org.wso2.balana.ctx.EvaluationCtx;
import org.wso2.balana.ctx.ResponseCtx;
import org.wso2.balana.ctx.Status;
import org.wso2.balana.ctx.xacml3.RequestCtx;
import org.wso2.balana.finder.AttributeFinder;
import org.wso2.balana.finder.AttributeFinderModule;
import org.wso2.balana.finder.PolicyFinder;
import org.wso2.balana.finder.PolicyFinderModule;
import org.wso2.balana.finder.impl.FileBasedPolicyFinderModule;
import org.wso2.balana.xacml3.Attributes;

class DurwardPdpTest {
    private static final String SUBJECT = "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject";
    private static final String STRING = "http://www.w3.org/2001/XMLSchema#string";
    /** Lets doctors in, and wants it logged. */
    private static final String DOCTORS = """
            <Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="doctors" Version="1.0"
                RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:permit-overrides">
              <Target/>
              <Rule RuleId="doctors" Effect="Permit"><Target><AnyOf><AllOf>
                <Match MatchId="urn:oasis:names:tc:xacml:1.0:function:string-equal">
                  <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string">doctor</AttributeValue>
                  <AttributeDesignator Category="urn:oasis:names:tc:xacml:1.0:subject-category:access-subject"
                      AttributeId="role" DataType="http://www.w3.org/2001/XMLSchema#string" MustBePresent="false"/>
                </Match></AllOf></AnyOf></Target></Rule>
              <ObligationExpressions><ObligationExpression ObligationId="log" FulfillOn="Permit"/></ObligationExpressions>
            </Policy>""";

    @TempDir
    private Path folder;

    @BeforeEach
    void writePolicy() throws IOException {
        Files.writeString(folder.resolve("doctors.xml"), DOCTORS);
    }

    private static String request(String role) {
        return """
                <Request xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" CombinedDecision="false"
                    ReturnPolicyIdList="true"><Attributes Category="%s">
                  <Attribute AttributeId="role" IncludeInResult="false">
                    <AttributeValue DataType="%s">%s</AttributeValue>
                  </Attribute></Attributes></Request>""".formatted(SUBJECT, STRING, role);
    }

    private PDPConfig config(AttributeFinderModule... modules) {
        AttributeFinder attributes = new AttributeFinder();
        attributes.setModules(List.of(modules));
        PolicyFinder policies = new PolicyFinder();
        PolicyFinderModule files = new FileBasedPolicyFinderModule(Set.of(folder.toString()));
        policies.setModules(new HashSet<>(List.of(files)));
        return new PDPConfig(attributes, policies, null);
    }

    private static int decision(ResponseCtx response) {
        assertEquals(1, response.getResults().size());
        return response.getResults().iterator().next().getDecision();
    }

    private static RequestCtx made(String value) {
        StringAttribute attribute = new StringAttribute(value);
        Attribute role = new Attribute(URI.create("role"), null, null, attribute, false, 3);
        return new RequestCtx(Set.of(new Attributes(URI.create(SUBJECT), Set.of(role))), null);
    }

    @Test
    void theConfigurationOfBalanaNamesTheModule() throws Exception {
        Path file = folder.resolveSibling("balana.config");
        Files.writeString(file, """
                <config defaultPDP="pdp" defaultAttributeFactory="attr" defaultCombiningAlgFactory="comb"
                    defaultFunctionFactory="func">
                  <pdp name="pdp">
                    <policyFinderModule class="io.durward.balana.DurwardPolicyFinderModule">
                      <set><string>%s</string></set>
                    </policyFinderModule>
                  </pdp>
                  <attributeFactory name="attr" useStandardDatatypes="true"/>
                  <combiningAlgFactory name="comb" useStandardAlgorithms="true"/>
                  <functionFactory name="func" useStandardFunctions="true"/>
                </config>""".formatted(folder));
        PDP pdp = new PDP(new ConfigurationStore(file.toFile()).getDefaultPDPConfig());
        String response = pdp.evaluate(request("doctor"));
        assertTrue(response.contains("<Decision>Permit</Decision>"), response);
        assertTrue(response.contains("<Obligation ObligationId=\"log\""), response);
        assertTrue(response.contains("doctors</PolicyIdReference>"), response);
        assertTrue(pdp.evaluate(request("cook")).contains("<Decision>NotApplicable</Decision>"));
    }

    @Test
    void theSystemPropertyNamesTheFolder() {
        String property = FileBasedPolicyFinderModule.POLICY_DIR_PROPERTY;
        assertThrows(IllegalStateException.class, DurwardPolicyFinderModule::new);
        System.setProperty(property, folder.toString());
        try (DurwardPolicyFinderModule module = new DurwardPolicyFinderModule()) {
            assertThrows(IllegalStateException.class, module::point);
            module.init(null);
            assertTrue(module.point().decide(request("doctor")).contains("Permit"));
        } finally {
            System.clearProperty(property);
        }
    }

    @Test
    void everyWayToAskGivesWhatBalanaGives() {
        PDP ours = new DurwardPdp(config());
        PDP theirs = new PDP(config());
        for (String role : List.of("doctor", "cook")) {
            int wanted = decision(theirs.evaluateReturnResponseCtx(request(role)));
            assertEquals(wanted, decision(ours.evaluateReturnResponseCtx(request(role))));
            assertEquals(wanted, decision(ours.evaluate(made(role))));
            String name = AbstractResult.DECISIONS[wanted];
            assertTrue(ours.evaluate(request(role)).contains("<Decision>" + name + "</Decision>"));
        }
    }

    @Test
    void whatIsNoRequestIsIndeterminate() {
        PDP pdp = new DurwardPdp(config());
        for (String text : List.of("", "<Request/>", "<Request", "no XML", "{}")) {
            assertTrue(pdp.evaluate(text).contains("<Decision>Indeterminate</Decision>"), text);
        }
    }

    @Test
    void requestsOfEarlierVersionsAreAnsweredInTheirs() {
        String request = """
                <Request xmlns="urn:oasis:names:tc:xacml:2.0:context:schema:os"><Subject>
                  <Attribute AttributeId="role" DataType="http://www.w3.org/2001/XMLSchema#string">
                    <AttributeValue>doctor</AttributeValue></Attribute></Subject>
                <Resource><Attribute AttributeId="urn:oasis:names:tc:xacml:1.0:resource:resource-id"
                    DataType="http://www.w3.org/2001/XMLSchema#string">
                  <AttributeValue>record</AttributeValue></Attribute></Resource>
                <Action/><Environment/></Request>""";
        PDP pdp = new DurwardPdp(config());
        assertTrue(pdp.evaluate(request).contains("<Decision>Permit</Decision>"));
        ResponseCtx response = pdp.evaluateReturnResponseCtx(request);
        assertEquals(AbstractResult.DECISION_PERMIT, decision(response));
        assertTrue(response.getResults().iterator().next() instanceof org.wso2.balana.ctx.xacml2.Result);
    }

    @Test
    void valuesAreNoMarkup() {
        String injected = "cook</AttributeValue><AttributeValue DataType=\"" + STRING + "\">doctor";
        assertEquals(AbstractResult.DECISION_NOT_APPLICABLE, decision(new DurwardPdp(config()).evaluate(made(injected))));
    }

    /** Knows the role of everybody, or fails. */
    private static final class Roles extends AttributeFinderModule {
        private final String role;

        private Roles(String role) {
            this.role = role;
        }

        @Override
        public boolean isDesignatorSupported() {
            return true;
        }

        @Override
        public EvaluationResult findAttribute(URI type, URI id, String issuer, URI category, EvaluationCtx context) {
            if (role == null) {
                return new EvaluationResult(new Status(List.of(Status.STATUS_PROCESSING_ERROR), "the directory is down"));
            }
            return new EvaluationResult(new BagAttribute(type, new ArrayList<>(List.of(new StringAttribute(role)))));
        }
    }

    @Test
    void attributeFindersOfTheProgramAreAsked() {
        String nobody = request("doctor").replace("AttributeId=\"role\"", "AttributeId=\"name\"");
        PDP pdp = new DurwardPdp(config(new Roles("doctor")));
        assertTrue(pdp.evaluate(nobody).contains("<Decision>Permit</Decision>"));
        assertTrue(pdp.evaluate(request("cook")).contains("<Decision>NotApplicable</Decision>"), "the request has one");
        String failed = new DurwardPdp(config(new Roles(null))).evaluate(nobody);
        assertTrue(failed.contains("<Decision>Indeterminate</Decision>"), failed);
        assertTrue(failed.contains("the directory is down"), failed);
    }

    /** Whoever writes a resource's content must not keep attribute finders from being asked. */
    @Test
    void attributesInContentAreNoneOfTheRequest() {
        String request = """
                <Request xmlns="urn:oasis:names:tc:xacml:2.0:context:schema:os"><Subject/>
                <Resource><ResourceContent><Subject>
                  <Attribute AttributeId="role" DataType="http://www.w3.org/2001/XMLSchema#string">
                    <AttributeValue>cook</AttributeValue></Attribute></Subject></ResourceContent>
                  <Attribute AttributeId="urn:oasis:names:tc:xacml:1.0:resource:resource-id"
                    DataType="http://www.w3.org/2001/XMLSchema#string">
                  <AttributeValue>record</AttributeValue></Attribute></Resource>
                <Action/></Request>""";
        String response = new DurwardPdp(config(new Roles("doctor"))).evaluate(request);
        assertTrue(response.contains("<Decision>Permit</Decision>"), response);
    }

    @Test
    void repeatedCategoriesAreSeveralRequests() {
        String one = request("doctor");
        String attributes = one.substring(one.indexOf("<Attributes "), one.indexOf("</Request>"));
        String two = one.replace("</Request>", attributes.replace("doctor", "cook") + "</Request>");
        for (PDP pdp : List.of(new DurwardPdp(config()), new DurwardPdp(config(new Roles("cook"))))) {
            assertEquals(2, pdp.evaluateReturnResponseCtx(two).getResults().size());
            String response = pdp.evaluate(two);
            assertTrue(response.contains("Permit") && response.contains("NotApplicable"), response);
        }
    }

    @Test
    void everyFileIsARoot() throws IOException {
        Files.writeString(folder.resolve("set.xml"), """
                <PolicySet xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicySetId="set" Version="1.0"
                    PolicyCombiningAlgId="urn:oasis:names:tc:xacml:3.0:policy-combining-algorithm:deny-overrides">
                  <Target><AnyOf><AllOf>
                    <Match MatchId="urn:oasis:names:tc:xacml:1.0:function:string-equal">
                      <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string">nobody</AttributeValue>
                      <AttributeDesignator Category="urn:oasis:names:tc:xacml:1.0:subject-category:access-subject"
                          AttributeId="role" DataType="http://www.w3.org/2001/XMLSchema#string" MustBePresent="false"/>
                    </Match></AllOf></AnyOf></Target>
                  <PolicyIdReference>doctors</PolicyIdReference>
                </PolicySet>""");
        String response = new DurwardPdp(config()).evaluate(request("doctor"));
        assertTrue(response.contains("<Decision>Permit</Decision>"), response);
        assertTrue(!response.contains("urn:durward"), response);
    }

    @Test
    void brokenPoliciesAndForeignModulesAreRefused() throws IOException {
        PDPConfig foreign = config();
        foreign.getPolicyFinder().setModules(new HashSet<>(List.of(new PolicyFinderModule() {
            @Override
            public void init(PolicyFinder finder) {
                // It has nothing to read.
            }
        })));
        assertThrows(IllegalArgumentException.class, () -> new DurwardPdp(foreign));
        DurwardPdp pdp = new DurwardPdp(config());
        Files.writeString(folder.resolve("broken.xml"), DOCTORS.replace("string-equal", "string-same"));
        assertThrows(PolicyException.class, () -> new DurwardPdp(config()));
        assertThrows(PolicyException.class, pdp::reload);
        assertTrue(pdp.evaluate(request("doctor")).contains("Permit"), "those in force stay");
        Files.writeString(folder.resolve("broken.xml"), "no policy");
        assertThrows(IllegalArgumentException.class, () -> new DurwardPdp(config()));
        Files.delete(folder.resolve("broken.xml"));
        Files.delete(folder.resolve("doctors.xml"));
        pdp.reload();
        assertTrue(pdp.evaluate(request("doctor")).contains("NotApplicable"), "no policy applies");
    }
}
