package io.durward.authzforce;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.ow2.authzforce.core.pdp.api.DecisionRequest;
import org.ow2.authzforce.core.pdp.api.DecisionRequestBuilder;
import org.ow2.authzforce.core.pdp.api.DecisionResult;
import org.ow2.authzforce.core.pdp.api.EvaluationContext;
import org.ow2.authzforce.core.pdp.api.PdpEngine;
import org.ow2.authzforce.core.pdp.api.policy.PrimaryPolicyMetadata;
import org.springframework.util.SystemPropertyUtils;

/** A bean for Spring's configuration, with the properties of AuthzForce's {@code PdpBean}: another class name is all that changes. */
public final class DurwardPdpBean implements PdpEngine, AutoCloseable {
    private String file;
    private String schema;
    private String catalog;
    private DurwardPdpEngine engine;

    /** For Spring. */
    public DurwardPdpBean() {
        // Properties follow.
    }

    /** Where {@code pdp.xml} is. */
    public void setConfigFile(String path) {
        file = SystemPropertyUtils.resolvePlaceholders(path);
        openWhenKnown();
    }

    /** Where the schema of extensions is. */
    public void setSchemaFile(String path) {
        schema = SystemPropertyUtils.resolvePlaceholders(path);
        openWhenKnown();
    }

    /** Where the catalogue of schemas is. */
    public void setCatalogFile(String path) {
        catalog = SystemPropertyUtils.resolvePlaceholders(path);
        openWhenKnown();
    }

    private void openWhenKnown() {
        if (engine == null && file != null && schema != null && catalog != null) {
            engine = DurwardPdpEngine.open(file, catalog, schema);
        }
    }

    private DurwardPdpEngine engine() {
        if (engine == null) {
            throw new IllegalStateException("`configFile`, `schemaFile` and `catalogFile` are not all set");
        }
        return engine;
    }

    @Override
    public DecisionRequestBuilder<?> newRequestBuilder(int expectedCategories, int expectedAttributes) {
        return engine().newRequestBuilder(expectedCategories, expectedAttributes);
    }

    @Override
    public DecisionResult evaluate(DecisionRequest request) {
        return engine().evaluate(request);
    }

    @Override
    public <R extends DecisionRequest> Collection<Map.Entry<R, ? extends DecisionResult>> evaluate(
            List<R> requests, EvaluationContext context) {
        return engine().evaluate(requests, context);
    }

    @Override
    public Iterable<PrimaryPolicyMetadata> getApplicablePolicies() {
        return engine().getApplicablePolicies();
    }

    /** Frees the decision point. */
    @Override
    public void close() {
        if (engine != null) {
            engine.close();
        }
    }
}
