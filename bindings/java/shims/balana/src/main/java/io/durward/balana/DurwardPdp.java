package io.durward.balana;

import io.durward.DurwardException;
import io.durward.xacml.XacmlPoint;
import java.lang.reflect.Field;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.wso2.balana.PDP;
import org.wso2.balana.PDPConfig;
import org.wso2.balana.finder.AttributeFinder;
import org.wso2.balana.finder.AttributeFinderModule;
import org.wso2.balana.finder.PolicyFinder;
import org.wso2.balana.finder.PolicyFinderModule;
import org.wso2.balana.finder.ResourceFinder;
import org.wso2.balana.finder.impl.CurrentEnvModule;
import org.wso2.balana.finder.impl.FileBasedPolicyFinderModule;
import org.wso2.balana.finder.impl.SelectorModule;

/**
 * A {@link PDP} that decides with durward, with the policies that the configuration's {@link FileBasedPolicyFinderModule} names:
 * {@code new DurwardPdp(config)} in the place of {@code new PDP(config)}.
 *
 * <p>{@link #evaluate(String)} gives texts to durward as they are, unless attributes or resources are found by modules of the program.
 */
public final class DurwardPdp extends PDP {
    private final DurwardPolicyFinderModule policies;
    private final boolean takesTexts;

    /**
     * Reads the policies.
     *
     * @throws IllegalArgumentException a file cannot be read or is no policy, or a module finds policies that are in no files
     * @throws io.durward.PolicyException a policy is broken
     */
    public DurwardPdp(PDPConfig config) {
        this(config, moduleOf(config.getPolicyFinder()));
    }

    private DurwardPdp(PDPConfig config, DurwardPolicyFinderModule policies) {
        super(new PDPConfig(
                config.getAttributeFinder(),
                finderOf(policies),
                config.getResourceFinder(),
                config.isMultipleRequestHandle()));
        this.policies = policies;
        takesTexts = config.isMultipleRequestHandle()
                && findsNothing(config.getAttributeFinder())
                && findsNothing(config.getResourceFinder());
    }

    private static PolicyFinder finderOf(DurwardPolicyFinderModule policies) {
        PolicyFinder finder = new PolicyFinder();
        finder.setModules(new HashSet<>(List.of(policies)));
        return finder;
    }

    private static DurwardPolicyFinderModule moduleOf(PolicyFinder finder) {
        Set<String> places = new HashSet<>();
        for (Object module : finder.getModules()) {
            if (module instanceof DurwardPolicyFinderModule ours && finder.getModules().size() == 1) {
                return ours;
            }
            if (!(module instanceof FileBasedPolicyFinderModule files)) {
                throw new IllegalArgumentException("policies that `" + module.getClass().getName()
                        + "` finds are not supported: name files with DurwardPolicyFinderModule");
            }
            places.addAll(placesOf(files));
        }
        return new DurwardPolicyFinderModule(places);
    }

    /** Balana has no method that says it. */
    private static Set<String> placesOf(PolicyFinderModule files) {
        try {
            Field field = FileBasedPolicyFinderModule.class.getDeclaredField("policyLocations");
            field.setAccessible(true);
            Set<String> places = new HashSet<>();
            if (field.get(files) instanceof Set<?> locations) {
                locations.forEach(location -> places.add(location.toString()));
            }
            return places;
        } catch (ReflectiveOperationException | SecurityException error) {
            throw new IllegalArgumentException(
                    "this version of Balana does not say where policies are: name files with DurwardPolicyFinderModule",
                    error);
        }
    }

    private static boolean findsNothing(AttributeFinder finder) {
        if (finder == null) {
            return true;
        }
        for (AttributeFinderModule module : finder.getModules()) {
            if (!(module instanceof CurrentEnvModule) && !(module instanceof SelectorModule)) {
                return false;
            }
        }
        return true;
    }

    private static boolean findsNothing(ResourceFinder finder) {
        return finder == null || finder.getModules().isEmpty();
    }

    /** As {@link PDP#evaluate(String)}: what is no request is Indeterminate, too. */
    @Override
    public String evaluate(String request) {
        if (!takesTexts) {
            return super.evaluate(request);
        }
        XacmlPoint point = policies.point();
        try {
            return point.decide(request);
        } catch (DurwardException | IllegalArgumentException error) {
            // Balana writes its answer to what is no request.
            return super.evaluate(request);
        }
    }

    /** Reads the policies again, and puts them in force. */
    public void reload() {
        policies.invalidateCache();
    }
}
