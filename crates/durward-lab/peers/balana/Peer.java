import java.util.HashSet;
import java.util.Set;
import org.wso2.balana.Balana;
import org.wso2.balana.PDP;
import org.wso2.balana.PDPConfig;
import org.wso2.balana.ctx.AbstractRequestCtx;
import org.wso2.balana.ctx.AbstractResult;
import org.wso2.balana.ctx.RequestCtxFactory;
import org.wso2.balana.finder.AttributeFinder;
import org.wso2.balana.finder.AttributeFinderModule;
import org.wso2.balana.finder.PolicyFinder;
import org.wso2.balana.finder.PolicyFinderModule;
import org.wso2.balana.finder.impl.CurrentEnvModule;
import org.wso2.balana.finder.impl.FileBasedPolicyFinderModule;
import org.wso2.balana.finder.impl.SelectorModule;

/** Balana. */
final class Peer implements Harness.Engine {
    private final PDP pdp;

    private Peer(String policies) {
        Balana.getInstance();
        PolicyFinder policyFinder = new PolicyFinder();
        Set<PolicyFinderModule> policyModules = new HashSet<>();
        policyModules.add(new FileBasedPolicyFinderModule(Set.of(policies)));
        policyFinder.setModules(policyModules);
        AttributeFinder attributeFinder = new AttributeFinder();
        attributeFinder.setModules(java.util.List.<AttributeFinderModule>of(new CurrentEnvModule(), new SelectorModule()));
        pdp = new PDP(new PDPConfig(attributeFinder, policyFinder, null, false));
    }

    @Override
    public Object parse(String xml) throws Exception {
        return RequestCtxFactory.getFactory().getRequestCtx(xml);
    }

    @Override
    public String decide(Object request) {
        AbstractResult result = pdp.evaluate((AbstractRequestCtx) request).getResults().iterator().next();
        return AbstractResult.DECISIONS[result.getDecision()];
    }

    @Override
    public String answer(String xml) {
        return pdp.evaluate(xml);
    }

    public static void main(String[] arguments) throws Exception {
        Harness.run(() -> new Peer(arguments[0]), arguments);
    }
}
