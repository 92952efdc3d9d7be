package io.durward.xacml;

import io.durward.Pdp;
import io.durward.PolicyException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

/** A decision point as engines in Java see theirs: with a root policy that is named, or several that are combined. */
public final class XacmlPoint implements AutoCloseable {
    /** An algorithm of which one policy at most may apply. */
    public static final String ONLY_ONE_APPLICABLE =
            "urn:oasis:names:tc:xacml:1.0:policy-combining-algorithm:only-one-applicable";
    /** The algorithm by which a deny wins. */
    public static final String DENY_OVERRIDES =
            "urn:oasis:names:tc:xacml:3.0:policy-combining-algorithm:deny-overrides";

    private static final String XACML = "urn:oasis:names:tc:xacml:3.0:core:schema:wd-17";
    private static final String COMBINED = "urn:durward:combined-policies";

    private final Pdp pdp;
    private final List<Designator> designators;

    private XacmlPoint(Map<String, String> texts, Collection<PolicyDocument> documents) {
        pdp = Pdp.fromTexts(texts);
        designators = documents.stream()
                .flatMap(document -> document.designators().stream())
                .filter(designator -> !designator.isCurrentTime())
                .distinct()
                .toList();
    }

    /**
     * Takes one policy as the root, and of the others those that it refers to, by whatever way.
     *
     * @throws PolicyException they are broken, or one is missing
     */
    public static XacmlPoint ofRoot(PolicyDocument root, Collection<PolicyDocument> others) {
        List<PolicyDocument> needed = reachable(List.of(root), others);
        return new XacmlPoint(texts(needed), needed);
    }

    /**
     * Takes several policies as roots, whose decisions are combined, and of the others those that they refer to.
     *
     * @throws PolicyException they are broken, or one is missing
     */
    public static XacmlPoint ofRoots(
            List<PolicyDocument> given, Collection<PolicyDocument> others, String combiningAlgorithm) {
        // A file may be named twice.
        List<PolicyDocument> roots = given.stream().distinct().toList();
        if (roots.size() == 1) {
            return ofRoot(roots.get(0), others);
        }
        List<PolicyDocument> needed = reachable(roots, others);
        Map<String, String> texts = texts(needed);
        if (!roots.isEmpty()) {
            texts.put("combined-policies.xml", combined(roots, combiningAlgorithm));
        }
        return new XacmlPoint(texts, needed);
    }

    private static List<PolicyDocument> reachable(List<PolicyDocument> roots, Collection<PolicyDocument> others) {
        Deque<PolicyDocument> open = new ArrayDeque<>(roots);
        Set<PolicyDocument> seen = new HashSet<>(roots);
        List<PolicyDocument> needed = new ArrayList<>();
        while (!open.isEmpty()) {
            PolicyDocument document = open.remove();
            needed.add(document);
            for (PolicyDocument other : others) {
                if (document.references().contains(other.id()) && seen.add(other)) {
                    open.add(other);
                }
            }
        }
        return needed;
    }

    /** The name says the language. */
    private static Map<String, String> texts(List<PolicyDocument> documents) {
        Map<String, String> texts = new LinkedHashMap<>();
        for (PolicyDocument document : documents) {
            String name = document.name();
            texts.put(name.endsWith(".xml") ? name : name + ".xml", document.text());
        }
        return texts;
    }

    private static String combined(List<PolicyDocument> roots, String combiningAlgorithm) {
        Document document = Xml.document();
        Element set = document.createElementNS(XACML, "PolicySet");
        set.setAttribute("PolicySetId", COMBINED);
        set.setAttribute("Version", "1.0");
        set.setAttribute("PolicyCombiningAlgId", combiningAlgorithm);
        set.appendChild(document.createElementNS(XACML, "Target"));
        for (PolicyDocument root : roots) {
            String name = root.isSet() ? "PolicySetIdReference" : "PolicyIdReference";
            Element reference = document.createElementNS(XACML, name);
            reference.setAttribute("Version", root.version());
            reference.setTextContent(root.id());
            set.appendChild(reference);
        }
        document.appendChild(set);
        return Xml.write(document);
    }

    /** The attributes that the policies ask for, other than the time. */
    public List<Designator> designators() {
        return designators;
    }

    /**
     * Answers a request in XML; see {@link Pdp#decideRequest(String)}. The policy set that combines several roots is not among the policies
     * that the response names.
     */
    public String decide(String request) {
        String response = pdp.decideRequest(request);
        int at = response.indexOf(">" + COMBINED + "</PolicySetIdReference>");
        return at < 0 ? response : withoutCombined(response);
    }

    private static String withoutCombined(String response) {
        return response.replaceAll("<PolicySetIdReference[^<>]*>" + COMBINED + "</PolicySetIdReference>", "")
                .replace("<PolicyIdentifierList></PolicyIdentifierList>", "");
    }

    /** Waits for calls on other threads, then frees the decision point. */
    @Override
    public void close() {
        pdp.close();
    }
}
