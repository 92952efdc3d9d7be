package io.durward.balana;

import io.durward.xacml.PolicyDocument;
import io.durward.xacml.XacmlPoint;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.wso2.balana.ctx.EvaluationCtx;
import org.wso2.balana.finder.PolicyFinder;
import org.wso2.balana.finder.PolicyFinderModule;
import org.wso2.balana.finder.PolicyFinderResult;
import org.wso2.balana.finder.impl.FileBasedPolicyFinderModule;

/**
 * Finds one policy, which durward evaluates: all files that {@link FileBasedPolicyFinderModule} would read, combined with deny-overrides.
 * Balana's configuration names it in the place of that one:
 *
 * <pre>{@code
 * <policyFinderModule class="io.durward.balana.DurwardPolicyFinderModule"/>
 * }</pre>
 *
 * <p>A policy that is broken is an exception when a {@link org.wso2.balana.PDP} is made, and leaves none out.
 */
public final class DurwardPolicyFinderModule extends PolicyFinderModule implements AutoCloseable {
    private final Set<String> places;
    private volatile XacmlPoint point;

    /** Reads what the system property {@code org.wso2.balana.PolicyDirectory} names. */
    public DurwardPolicyFinderModule() {
        this(placesOfProperty());
    }

    /** Reads these files and folders. */
    public DurwardPolicyFinderModule(Set<String> policyLocations) {
        places = new HashSet<>(policyLocations);
    }

    private static Set<String> placesOfProperty() {
        String property = FileBasedPolicyFinderModule.POLICY_DIR_PROPERTY;
        String folder = System.getProperty(property);
        if (folder == null) {
            throw new IllegalStateException("the system property `" + property + "` names no folder of policies");
        }
        return Set.of(folder);
    }

    /**
     * Reads the policies.
     *
     * @throws IllegalArgumentException a file cannot be read or is no policy
     * @throws io.durward.PolicyException a policy is broken
     */
    @Override
    public void init(PolicyFinder finder) {
        read();
    }

    /** Reads the policies again, and puts them in force. */
    @Override
    public void invalidateCache() {
        read();
    }

    private synchronized void read() {
        List<Path> paths = new ArrayList<>();
        for (String place : places) {
            paths.add(Path.of(place));
        }
        paths.sort(null);
        List<PolicyDocument> documents = PolicyDocument.readAll(paths);
        // The one before is freed when nobody decides with it any more.
        point = XacmlPoint.ofRoots(documents, documents, XacmlPoint.DENY_OVERRIDES);
    }

    /** What decides. */
    XacmlPoint point() {
        XacmlPoint current = point;
        if (current == null) {
            throw new IllegalStateException("no policies were read yet: `init` was not called");
        }
        return current;
    }

    @Override
    public boolean isRequestSupported() {
        return true;
    }

    @Override
    public PolicyFinderResult findPolicy(EvaluationCtx context) {
        return new PolicyFinderResult(new DurwardPolicy(point()));
    }

    /** Frees the decision point; what nobody closes is freed when it is garbage. */
    @Override
    public synchronized void close() {
        if (point != null) {
            point.close();
        }
    }
}
