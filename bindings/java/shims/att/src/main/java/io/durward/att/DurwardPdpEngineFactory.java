package io.durward.att;

import com.att.research.xacml.api.Decision;
import com.att.research.xacml.api.pdp.PDPEngine;
import com.att.research.xacml.api.pdp.PDPEngineFactory;
import com.att.research.xacml.api.pip.PIPException;
import com.att.research.xacml.api.pip.PIPFinder;
import com.att.research.xacml.api.pip.PIPFinderFactory;
import com.att.research.xacml.util.FactoryException;
import com.att.research.xacml.util.XACMLProperties;
import io.durward.PolicyException;
import io.durward.xacml.PolicyDocument;
import io.durward.xacml.XacmlPoint;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/**
 * Makes engines that decide with durward, of the policies that {@code xacml.properties} names. One line there is all that changes:
 *
 * <pre>{@code
 * xacml.pdpEngineFactory=io.durward.att.DurwardPdpEngineFactory
 * }</pre>
 *
 * <p>The engine's own {@code StdPolicyFinderFactory} leaves out what cannot be read; here that is an exception.
 */
public final class DurwardPdpEngineFactory extends PDPEngineFactory {
    private static final String COMBINE = "xacml.att.policyFinderFactory.combineRootPolicies";

    /** For {@link PDPEngineFactory#newInstance()}, which finds the class by its name. */
    public DurwardPdpEngineFactory() {
        super();
    }

    /** The same with properties, which engines are given again. */
    public DurwardPdpEngineFactory(Properties properties) {
        super(properties);
    }

    /** Takes the properties of the file that the system property {@code xacml.properties} names. */
    @Override
    public PDPEngine newEngine() throws FactoryException {
        try {
            return engine(XACMLProperties.getProperties(), false);
        } catch (IOException error) {
            throw new FactoryException("cannot read `xacml.properties`", error);
        }
    }

    @Override
    public PDPEngine newEngine(Properties properties) throws FactoryException {
        return engine(properties, true);
    }

    private PDPEngine engine(Properties properties, boolean areGiven) throws FactoryException {
        Decision otherwise = getDefaultBehavior();
        if (otherwise != null && otherwise != Decision.INDETERMINATE && otherwise != Decision.NOTAPPLICABLE) {
            throw new FactoryException("`" + XACMLProperties.PROP_PDP_BEHAVIOR
                    + "` is not supported: requests that no policy applies to are NotApplicable");
        }
        List<PolicyDocument> roots = documents(XACMLProperties.PROP_ROOTPOLICIES, properties);
        if (roots.isEmpty()) {
            throw new FactoryException("`" + XACMLProperties.PROP_ROOTPOLICIES + "` names no policy");
        }
        List<PolicyDocument> others = new ArrayList<>(roots);
        others.addAll(documents(XACMLProperties.PROP_REFERENCEDPOLICIES, properties));
        String algorithm = properties.getProperty(COMBINE, XacmlPoint.ONLY_ONE_APPLICABLE);
        try {
            XacmlPoint point = XacmlPoint.ofRoots(roots, others, algorithm.strip());
            return new DurwardPdpEngine(point, getScopeResolver(), attributes(properties, areGiven));
        } catch (PolicyException error) {
            throw new FactoryException(error.getMessage(), error);
        }
    }

    private static PIPFinder attributes(Properties properties, boolean areGiven) throws FactoryException {
        if (properties.getProperty(XACMLProperties.PROP_PIP_ENGINES, "").isBlank()) {
            return null;
        }
        try {
            return areGiven
                    ? PIPFinderFactory.newInstance(properties).getFinder(properties)
                    : PIPFinderFactory.newInstance().getFinder();
        } catch (PIPException error) {
            throw new FactoryException("the engines of `" + XACMLProperties.PROP_PIP_ENGINES + "`", error);
        }
    }

    private static List<PolicyDocument> documents(String property, Properties properties) throws FactoryException {
        List<PolicyDocument> documents = new ArrayList<>();
        for (String id : properties.getProperty(property, "").split(",")) {
            if (!id.isBlank()) {
                documents.add(document(id.strip(), properties));
            }
        }
        return documents;
    }

    private static PolicyDocument document(String id, Properties properties) throws FactoryException {
        String file = properties.getProperty(id + ".file");
        String url = properties.getProperty(id + ".url");
        try {
            if (file != null) {
                return PolicyDocument.read(Path.of(file.strip()));
            }
            if (url == null) {
                throw new FactoryException("neither `" + id + ".file` nor `" + id + ".url` says where the policy is");
            }
            try (InputStream stream = URI.create(url.strip()).toURL().openStream()) {
                return PolicyDocument.of(url.strip(), new String(stream.readAllBytes(), StandardCharsets.UTF_8));
            }
        } catch (IOException | IllegalArgumentException error) {
            throw new FactoryException("the policy `" + id + "`: " + error.getMessage(), error);
        }
    }
}
