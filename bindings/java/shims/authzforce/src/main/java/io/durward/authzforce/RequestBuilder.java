package io.durward.authzforce;

import java.util.LinkedHashMap;
import java.util.Map;
import net.sf.saxon.s9api.XdmNode;
import org.ow2.authzforce.core.pdp.api.AttributeFqn;
import org.ow2.authzforce.core.pdp.api.DecisionRequestBuilder;
import org.ow2.authzforce.core.pdp.api.ImmutableDecisionRequest;
import org.ow2.authzforce.core.pdp.api.value.AttributeBag;
import org.ow2.authzforce.core.pdp.api.value.Bag;

/** Collects the attributes of a request. */
final class RequestBuilder implements DecisionRequestBuilder<ImmutableDecisionRequest> {
    private final Map<AttributeFqn, AttributeBag<?>> attributes = new LinkedHashMap<>();
    private final Map<String, XdmNode> contents = new LinkedHashMap<>();

    @Override
    public Bag<?> putNamedAttributeIfAbsent(AttributeFqn name, AttributeBag<?> values) {
        return attributes.putIfAbsent(name, values);
    }

    @Override
    public XdmNode putContentIfAbsent(String category, XdmNode content) {
        return contents.putIfAbsent(category, content);
    }

    @Override
    public ImmutableDecisionRequest build(boolean returnsApplicablePolicies) {
        return ImmutableDecisionRequest.getInstance(attributes, contents, returnsApplicablePolicies);
    }

    @Override
    public void reset() {
        attributes.clear();
        contents.clear();
    }
}
