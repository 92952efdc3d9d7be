package io.durward.authzforce;

import io.durward.PolicyException;
import io.durward.xacml.PolicyDocument;
import io.durward.xacml.XacmlPoint;
import jakarta.xml.bind.JAXBException;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.StringWriter;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.xml.transform.stream.StreamSource;
import oasis.names.tc.xacml._3_0.core.schema.wd_17.PolicySet;
import org.ow2.authzforce.core.pdp.api.EnvironmentProperties;
import org.ow2.authzforce.core.pdp.api.EnvironmentPropertyName;
import org.ow2.authzforce.core.pdp.impl.DefaultEnvironmentProperties;
import org.ow2.authzforce.core.pdp.impl.PdpModelHandler;
import org.ow2.authzforce.core.xmlns.pdp.InOutProcChain;
import org.ow2.authzforce.core.xmlns.pdp.Pdp;
import org.ow2.authzforce.core.xmlns.pdp.StaticPolicyProvider;
import org.ow2.authzforce.core.xmlns.pdp.TopLevelPolicyElementRef;
import org.ow2.authzforce.xacml.Xacml3JaxbHelper;
import org.ow2.authzforce.xmlns.pdp.ext.AbstractPolicyProvider;
import org.springframework.util.ResourceUtils;

/** What durward takes of AuthzForce's {@code pdp.xml}. What would change decisions and is not supported is refused. */
final class Configuration {
    /** The request and result processors that AuthzForce has itself. */
    private static final Pattern THEIR_OWN = Pattern.compile("urn:ow2:authzforce:feature:pdp:re(quest-pre|sult-post)proc:"
            + "xacml-(xml|json):(default(-lax|-strict)?|multiple:repeated-attribute-categories-(lax|strict))");

    private Configuration() {}

    static XacmlPoint read(String location, String catalog, String extensions) {
        try {
            File file = ResourceUtils.getFile(location);
            if (!file.isFile()) {
                throw new IllegalArgumentException("there is no file `" + location + "`");
            }
            String folder = file.getAbsoluteFile().getParentFile().toPath().toUri().toString();
            String without = folder.endsWith("/") ? folder.substring(0, folder.length() - 1) : folder;
            PdpModelHandler handler = new PdpModelHandler(catalog, extensions);
            Pdp pdp = handler.unmarshal(new StreamSource(file), Pdp.class);
            return point(pdp, new DefaultEnvironmentProperties(Map.of(EnvironmentPropertyName.PARENT_DIR, without)));
        } catch (FileNotFoundException | JAXBException error) {
            throw new IllegalArgumentException("cannot read `" + location + "`: " + error, error);
        }
    }

    static XacmlPoint point(Pdp pdp, EnvironmentProperties properties) {
        if (!pdp.getAttributeProviders().isEmpty()) {
            String name = pdp.getAttributeProviders().get(0).getClass().getName();
            throw new IllegalArgumentException("attribute providers are not supported: `" + name + "`");
        }
        if (!pdp.isStandardAttributeProvidersEnabled()) {
            throw new IllegalArgumentException("the time is always known: `standardAttributeProvidersEnabled` cannot be false");
        }
        if (pdp.isStrictAttributeIssuerMatch()) {
            throw new IllegalArgumentException("`strictAttributeIssuerMatch` is not supported");
        }
        for (InOutProcChain chain : pdp.getIoProcChains()) {
            refuseForeign(chain.getRequestPreproc());
            refuseForeign(chain.getResultPostproc());
        }
        List<PolicyDocument> documents = new ArrayList<>();
        for (AbstractPolicyProvider provider : pdp.getPolicyProviders()) {
            if (!(provider instanceof StaticPolicyProvider files)) {
                throw new IllegalArgumentException("policies of `" + provider.getClass().getName() + "` are not supported");
            }
            for (Object place : files.getPolicySetsAndPolicyLocations()) {
                documents.addAll(documents(place, properties));
            }
        }
        try {
            return XacmlPoint.ofRoot(root(pdp.getRootPolicyRef(), documents), documents);
        } catch (PolicyException error) {
            // What AuthzForce throws then.
            throw new IllegalArgumentException(error.getMessage(), error);
        }
    }

    private static void refuseForeign(String processor) {
        if (processor != null && !THEIR_OWN.matcher(processor.strip()).matches()) {
            throw new IllegalArgumentException("the processor `" + processor + "` is not supported");
        }
    }

    private static List<PolicyDocument> documents(Object place, EnvironmentProperties properties) {
        if (place instanceof PolicySet set) {
            StringWriter text = new StringWriter();
            try {
                Xacml3JaxbHelper.createXacml3Marshaller().marshal(set, text);
            } catch (JAXBException error) {
                throw new IllegalArgumentException("the policy set `" + set.getPolicySetId() + "`: " + error, error);
            }
            return List.of(PolicyDocument.of("pdp.xml#" + set.getPolicySetId(), text.toString()));
        }
        String location = properties.replacePlaceholders(place.toString());
        int pattern = location.indexOf("/*");
        try {
            if (location.startsWith(ResourceUtils.FILE_URL_PREFIX) && pattern > 0) {
                return matching(location.substring(0, pattern), location.substring(pattern + 1));
            }
            try (InputStream stream = ResourceUtils.getURL(location).openStream()) {
                return List.of(PolicyDocument.of(
                        location, new String(stream.readAllBytes(), StandardCharsets.UTF_8)));
            }
        } catch (IOException error) {
            throw new IllegalArgumentException("cannot read the policies of `" + location + "`: " + error, error);
        }
    }

    /** A star more is a folder deeper: {@code *.xml} is about the folder itself, {@code **}{@code /*.xml} about those below it, too. */
    private static List<PolicyDocument> matching(String folder, String pattern) throws IOException {
        int slash = pattern.lastIndexOf('/');
        String end = pattern.substring(slash + 1).replaceFirst("^\\*+", "");
        long stars = pattern.chars().filter(letter -> letter == '*').count();
        int depth = Math.max(1, (int) stars);
        try (Stream<Path> found = Files.find(
                Path.of(URI.create(folder)),
                depth,
                (path, kind) -> kind.isRegularFile() && path.getFileName().toString().endsWith(end))) {
            return found.sorted().map(PolicyDocument::read).toList();
        }
    }

    private static PolicyDocument root(TopLevelPolicyElementRef wanted, List<PolicyDocument> documents) {
        if (wanted == null) {
            return theOnly(documents);
        }
        Boolean isSet = wanted.isPolicySet();
        return documents.stream()
                .filter(document -> document.id().equals(wanted.getValue().strip()))
                .filter(document -> isSet == null || isSet == document.isSet())
                .filter(document -> Versions.matches(wanted.getVersion(), document.version()))
                .max(Comparator.comparing(PolicyDocument::version, Versions::compare))
                .orElseThrow(() -> new IllegalArgumentException(
                        "none of the policies is the root, `" + wanted.getValue() + "`"));
    }

    /** As AuthzForce has it: where there is one policy, or else one policy set, that is the root. */
    private static PolicyDocument theOnly(List<PolicyDocument> documents) {
        for (boolean isSet : new boolean[] {false, true}) {
            List<PolicyDocument> alike =
                    documents.stream().filter(document -> document.isSet() == isSet).toList();
            if (alike.stream().map(PolicyDocument::id).distinct().count() == 1) {
                return alike.stream()
                        .max(Comparator.comparing(PolicyDocument::version, Versions::compare))
                        .orElseThrow();
            }
        }
        throw new IllegalArgumentException("`rootPolicyRef` does not say which of the policies is the root");
    }
}
