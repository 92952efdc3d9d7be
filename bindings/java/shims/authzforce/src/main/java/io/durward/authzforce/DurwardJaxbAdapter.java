package io.durward.authzforce;

import io.durward.DurwardException;
import io.durward.QuestionException;
import io.durward.xacml.XacmlPoint;
import jakarta.xml.bind.JAXBException;
import java.util.List;
import java.util.Map;
import oasis.names.tc.xacml._3_0.core.schema.wd_17.DecisionType;
import oasis.names.tc.xacml._3_0.core.schema.wd_17.Request;
import oasis.names.tc.xacml._3_0.core.schema.wd_17.Response;
import oasis.names.tc.xacml._3_0.core.schema.wd_17.Result;
import oasis.names.tc.xacml._3_0.core.schema.wd_17.Status;
import oasis.names.tc.xacml._3_0.core.schema.wd_17.StatusCode;
import org.ow2.authzforce.core.pdp.api.io.PdpEngineInoutAdapter;
import org.ow2.authzforce.core.pdp.api.policy.PrimaryPolicyMetadata;
import org.ow2.authzforce.xacml.identifiers.XacmlStatusCode;

/** Requests and responses of JAXB. What cannot be decided is Indeterminate, with its reason. */
final class DurwardJaxbAdapter implements PdpEngineInoutAdapter<Request, Response> {
    private final XacmlPoint point;

    DurwardJaxbAdapter(XacmlPoint point) {
        this.point = point;
    }

    @Override
    public Response evaluate(Request request) {
        return evaluate(request, Map.of());
    }

    @Override
    public Response evaluate(Request request, Map<String, String> namespacePrefixUriMap) {
        try {
            Response response = Jaxb.read(point.decide(Jaxb.write(request, namespacePrefixUriMap)));
            return new Response(
                    response.getResults().stream().map(Jaxb::asTheirs).toList());
        } catch (QuestionException error) {
            return indeterminate(XacmlStatusCode.SYNTAX_ERROR, error);
        } catch (DurwardException | JAXBException | IllegalArgumentException error) {
            return indeterminate(XacmlStatusCode.PROCESSING_ERROR, error);
        }
    }

    private static Response indeterminate(XacmlStatusCode code, Exception error) {
        Status status = new Status(new StatusCode(null, code.value()), error.getMessage(), null);
        return new Response(List.of(new Result(DecisionType.INDETERMINATE, status, null, null, null, null)));
    }

    @Override
    public Iterable<PrimaryPolicyMetadata> getApplicablePolicies() {
        return null;
    }

    /** Waits for calls on other threads, then frees the decision point. */
    @Override
    public void close() {
        point.close();
    }
}
