package io.durward;

import io.durward.xacml.Designator;
import io.durward.xacml.PolicyDocument;
import io.durward.xacml.RequestText;
import io.durward.xacml.RequestText.Value;
import io.durward.xacml.XacmlPoint;
import io.durward.xacml.Xml;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What the packages that take the place of other engines have in common; those themselves are tested with the engines' jars. */
final class XacmlTest {
    private static final String SUBJECT = "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject";
    private static final String STRING = "http://www.w3.org/2001/XMLSchema#string";
    private static final String DOCTORS = """
            <?xml version="1.0"?><!-- Who may read. -->
            <Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="doctors" Version="1.0"
                RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:permit-overrides">
              <Target><AnyOf><AllOf>
                <Match MatchId="urn:oasis:names:tc:xacml:1.0:function:string-equal">
                  <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string">doctor</AttributeValue>
                  <AttributeDesignator Category="urn:oasis:names:tc:xacml:1.0:subject-category:access-subject"
                      AttributeId="role" DataType="http://www.w3.org/2001/XMLSchema#string" MustBePresent="false"/>
                </Match></AllOf></AnyOf></Target>
              <Rule RuleId="all" Effect="Permit"/>
            </Policy>""";
    /** A policy of an earlier version that denies everything. */
    private static final String NOBODY = """
            <Policy xmlns="urn:oasis:names:tc:xacml:2.0:policy:schema:os" PolicyId="nobody"
                RuleCombiningAlgId="urn:oasis:names:tc:xacml:1.0:rule-combining-algorithm:deny-overrides">
              <Target><Subjects><Subject><SubjectMatch MatchId="urn:oasis:names:tc:xacml:1.0:function:string-equal">
                <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string">cook</AttributeValue>
                <SubjectAttributeDesignator AttributeId="job" DataType="http://www.w3.org/2001/XMLSchema#string"/>
              </SubjectMatch></Subject></Subjects></Target>
              <Rule RuleId="all" Effect="Deny"/></Policy>""";
    private static final String SET = """
            <PolicySet xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicySetId="set" Version="1.0"
                PolicyCombiningAlgId="urn:oasis:names:tc:xacml:3.0:policy-combining-algorithm:permit-overrides">
              <Target/><PolicyIdReference> doctors </PolicyIdReference></PolicySet>""";

    public static void main(String[] arguments) throws IOException {
        documentsSayWhatTheyAre();
        filesAndFoldersAreRead();
        rootsAreChosenAndCombined();
        requestsAreEscaped();
        documentTypesAreRefused();
        Check.done();
    }

    private static void documentsSayWhatTheyAre() {
        PolicyDocument doctors = PolicyDocument.of("doctors", DOCTORS);
        Check.same(doctors.id() + " " + doctors.version() + " " + doctors.isSet(), "doctors 1.0 false");
        Check.same(doctors.designators(), Set.of(new Designator(SUBJECT, "role", STRING, null)));
        PolicyDocument nobody = PolicyDocument.of("nobody", NOBODY);
        Check.same(nobody.version(), "1.0");
        Check.same(nobody.designators(), Set.of(new Designator(SUBJECT, "job", STRING, null)));
        PolicyDocument set = PolicyDocument.of("set", SET);
        Check.that(set.isSet(), "it is a set");
        Check.same(set.references(), Set.of("doctors"));
        Class<IllegalArgumentException> refused = IllegalArgumentException.class;
        Check.refused(refused, "p.xml: ", () -> PolicyDocument.of("p.xml", "no XML"));
        Check.refused(refused, "p.xml: ", () -> PolicyDocument.of("p.xml", DOCTORS.substring(0, 300)));
        Check.refused(refused, "not `Request`", () -> PolicyDocument.of("p.xml", "<Request/>"));
        Check.refused(refused, "no identifier", () -> PolicyDocument.of("p.xml", "<Policy/>"));
    }

    private static void filesAndFoldersAreRead() throws IOException {
        Path folder = Files.createTempDirectory("durward-xacml");
        Path below = Files.createDirectory(folder.resolve("below"));
        Path set = folder.resolve("set");
        Path other = below.resolve("nobody.xml");
        Path hidden = folder.resolve(".hidden");
        Files.writeString(set, "\uFEFF" + SET);
        Files.writeString(other, NOBODY);
        Files.writeString(hidden, "no policy");
        List<String> ids = PolicyDocument.readAll(List.of(folder, other)).stream()
                .map(PolicyDocument::id)
                .toList();
        Check.same(ids, List.of("set", "nobody"));
        Files.write(set, SET.replace("set", "S\u00e4t").getBytes(StandardCharsets.ISO_8859_1));
        Check.refused(IllegalArgumentException.class, "not in UTF-8", () -> PolicyDocument.read(set));
        for (Path path : List.of(set, other, hidden, below, folder)) {
            Files.delete(path);
        }
        Check.refused(IllegalArgumentException.class, "cannot read", () -> PolicyDocument.read(set));
    }

    private static String request(Map<String, String> attributes) {
        RequestText request = new RequestText(true, false, null);
        RequestText.Category subject = request.category(SUBJECT, null, null);
        attributes.forEach((id, value) -> subject.attribute(id, null, false, List.of(new Value(STRING, value))));
        return request.text();
    }

    private static void rootsAreChosenAndCombined() {
        PolicyDocument doctors = PolicyDocument.of("doctors", DOCTORS);
        PolicyDocument nobody = PolicyDocument.of("nobody.xml", NOBODY);
        PolicyDocument set = PolicyDocument.of("set.xml", SET);
        List<PolicyDocument> all = List.of(doctors, nobody, set);
        String both = request(Map.of("role", "doctor", "job", "cook"));
        try (XacmlPoint point = XacmlPoint.ofRoot(set, all)) {
            Check.that(point.decide(both).contains("<Decision>Permit</Decision>"), "nobody refers to the other");
            Check.same(point.designators().size(), 1);
        }
        try (XacmlPoint point = XacmlPoint.ofRoots(all, all, XacmlPoint.DENY_OVERRIDES)) {
            String response = point.decide(both);
            Check.that(response.contains("<Decision>Deny</Decision>"), response);
            Check.that(response.contains("nobody</PolicyIdReference>"), response);
            Check.that(!response.contains("combined"), response);
            Check.that(point.decide(request(Map.of("role", "doctor"))).contains("Permit"), "nobody denies it");
        }
        try (XacmlPoint point = XacmlPoint.ofRoots(List.of(doctors, nobody, nobody), all, XacmlPoint.ONLY_ONE_APPLICABLE)) {
            Check.that(point.decide(both).contains("Indeterminate"), "two apply");
            String response = point.decide(request(Map.of("job", "cook")));
            Check.that(response.contains("Deny"), response);
        }
        try (XacmlPoint point = XacmlPoint.ofRoots(List.of(), all, XacmlPoint.DENY_OVERRIDES)) {
            Check.that(point.decide(both).contains("NotApplicable"), "there is no policy");
        }
        Check.refused(PolicyException.class, "doctors", () -> XacmlPoint.ofRoot(set, List.of(nobody)));
    }

    private static void requestsAreEscaped() {
        try (XacmlPoint point = XacmlPoint.ofRoot(PolicyDocument.of("doctors", DOCTORS), List.of())) {
            String injected = "cook</AttributeValue><AttributeValue DataType=\"" + STRING + "\">doctor";
            Check.that(point.decide(request(Map.of("role", injected))).contains("NotApplicable"), "it is one value");
            Check.that(point.decide(request(Map.of("role\" Issuer=\"x", "doctor"))).contains("NotApplicable"), "one name");
            Check.that(point.decide(new RequestText(false, false, null).text()).contains("NotApplicable"), "nothing");
            Check.refused(QuestionException.class, "", () -> point.decide("<Request/>"));
        }
        RequestText request = new RequestText(false, true, "http://www.w3.org/TR/1999/REC-xpath-19991116");
        RequestText.Category subject = request.category(SUBJECT, "one", Xml.read("<m:record xmlns:m=\"urn:m\"/>"));
        Value path = new Value("urn:oasis:names:tc:xacml:3.0:data-type:xpathExpression", "//m:a", SUBJECT, Map.of("m", "urn:m"));
        subject.attribute("path", "somebody", true, List.of(path, Value.ofDouble("#double", "-Infinity")));
        request.reference(List.of("one"));
        Designator wanted = new Designator(SUBJECT, "role", STRING, null);
        Check.that(!request.has(wanted), "not yet");
        request.add(wanted, List.of());
        Check.that(!request.has(wanted), "nothing was found");
        request.add(wanted, List.of(new Value(STRING, "doctor")));
        Check.that(request.has(wanted), "now it has");
        Check.that(!request.has(new Designator(SUBJECT, "role", STRING, "hospital")), "the hospital does not say so");
        String text = request.text();
        for (String part : List.of(
                "xml:id=\"one\"", "<Content><m:record", "XPathCategory=\"", "xmlns:m=\"urn:m\"", ">-INF<", ">doctor<",
                "<AttributesReference ReferenceId=\"one\"/>", "<XPathVersion>", "Issuer=\"somebody\"")) {
            Check.that(text.contains(part), part + " in " + text);
        }
    }

    private static void documentTypesAreRefused() {
        String entities = "<!DOCTYPE a [<!ENTITY e SYSTEM \"file:///etc/passwd\">]><a>&e;</a>";
        Check.refused(IllegalArgumentException.class, "", () -> Xml.read(entities));
        Check.refused(IllegalArgumentException.class, "p.xml: ", () -> PolicyDocument.of("p.xml", entities));
    }
}
