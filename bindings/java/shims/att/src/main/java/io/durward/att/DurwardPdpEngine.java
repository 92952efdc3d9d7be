package io.durward.att;

import com.att.research.xacml.api.Attribute;
import com.att.research.xacml.api.Decision;
import com.att.research.xacml.api.Request;
import com.att.research.xacml.api.RequestAttributes;
import com.att.research.xacml.api.Response;
import com.att.research.xacml.api.Result;
import com.att.research.xacml.api.Status;
import com.att.research.xacml.api.XACML3;
import com.att.research.xacml.api.pdp.PDPEngine;
import com.att.research.xacml.api.pdp.PDPException;
import com.att.research.xacml.api.pdp.ScopeResolver;
import com.att.research.xacml.api.pip.PIPException;
import com.att.research.xacml.api.pip.PIPFinder;
import com.att.research.xacml.api.pip.PIPResponse;
import com.att.research.xacml.std.IdentifierImpl;
import com.att.research.xacml.std.StdIndividualDecisionRequestGenerator;
import com.att.research.xacml.std.StdMutableResponse;
import com.att.research.xacml.std.StdMutableResult;
import com.att.research.xacml.std.StdStatus;
import com.att.research.xacml.std.StdStatusCode;
import com.att.research.xacml.std.dom.DOMResponse;
import com.att.research.xacml.std.dom.DOMStructureException;
import com.att.research.xacml.std.pip.StdPIPRequest;
import com.att.research.xacml.std.pip.engines.RequestEngine;
import com.att.research.xacml.std.pip.finders.RequestFinder;
import io.durward.DurwardException;
import io.durward.xacml.Designator;
import io.durward.xacml.RequestText;
import io.durward.xacml.XacmlPoint;
import java.net.URI;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Set;

/** An engine that decides with durward. Any thread may call it, and many at once. */
final class DurwardPdpEngine implements PDPEngine {
    private static final Set<URI> PROFILES = Set.of(
            XACML3.ID_PROFILE_MULTIPLE_COMBINED_DECISION.getUri(),
            XACML3.ID_PROFILE_MULTIPLE_REFERENCE.getUri(),
            XACML3.ID_PROFILE_MULTIPLE_REPEATED_ATTRIBUTE_CATEGORIES.getUri(),
            XACML3.ID_PROFILE_MULTIPLE_SCOPE.getUri(),
            XACML3.ID_PROFILE_MULTIPLE_XPATH_EXPRESSION.getUri());

    private final XacmlPoint point;
    /** Knows what is below a resource; null where nobody does. */
    private final ScopeResolver scopes;
    /** Knows attributes that a request has not; null where nobody does. */
    private final PIPFinder attributes;

    DurwardPdpEngine(XacmlPoint point, ScopeResolver scopes, PIPFinder attributes) {
        this.point = point;
        this.scopes = scopes;
        this.attributes = attributes;
    }

    @Override
    public Response decide(Request request) throws PDPException {
        Status status = request.getStatus();
        if (status != null && !status.isOk()) {
            return new StdMutableResponse(status);
        }
        try {
            boolean isSplit = attributes != null || hasScope(request);
            return isSplit ? eachAlone(request) : answer(new RequestWriter(request).text());
        } catch (IllegalArgumentException error) {
            return failed(error);
        } catch (IllegalStateException closed) {
            throw new PDPException("Engine is shutdown.", closed);
        }
    }

    /** durward knows no resources but those of the request. */
    private boolean hasScope(Request request) {
        if (scopes == null) {
            return false;
        }
        for (RequestAttributes category : request.getRequestAttributes()) {
            if (category.hasAttributes(XACML3.ID_RESOURCE_SCOPE)) {
                return true;
            }
        }
        return false;
    }

    private Response answer(RequestText request) {
        try {
            return DOMResponse.load(point.decide(request.text()));
        } catch (DOMStructureException | DurwardException | IllegalArgumentException error) {
            return failed(error);
        }
    }

    private static Response failed(Exception error) {
        return new StdMutableResponse(new StdStatus(StdStatusCode.STATUS_CODE_PROCESSING_ERROR, error.getMessage()));
    }

    private Response eachAlone(Request request) {
        Iterator<Request> each =
                new StdIndividualDecisionRequestGenerator(scopes, request).getIndividualDecisionRequests();
        List<Result> results = new ArrayList<>();
        while (each != null && each.hasNext()) {
            results.addAll(alone(each.next()).getResults());
        }
        if (results.isEmpty()) {
            return failed(new IllegalArgumentException("no individual decision requests"));
        }
        return request.getCombinedDecision() ? combined(results) : new StdMutableResponse(results);
    }

    private Response alone(Request request) {
        Status status = request.getStatus();
        if (status != null && !status.isOk()) {
            return new StdMutableResponse(status);
        }
        RequestWriter writer = new RequestWriter(request);
        if (attributes != null) {
            RequestFinder finder = new RequestFinder(attributes, new RequestEngine(request));
            for (Designator wanted : point.designators()) {
                Status failure = writer.text().has(wanted) ? null : find(wanted, finder, writer);
                if (failure != null) {
                    return new StdMutableResponse(failure);
                }
            }
        }
        return answer(writer.text());
    }

    /** Nothing where that went well. */
    private static Status find(Designator wanted, RequestFinder finder, RequestWriter writer) {
        StdPIPRequest question = new StdPIPRequest(
                new IdentifierImpl(wanted.category()),
                new IdentifierImpl(wanted.attributeId()),
                new IdentifierImpl(wanted.dataType()),
                wanted.issuer());
        try {
            PIPResponse found = finder.getMatchingAttributes(question, null);
            if (found.getStatus() != null && !found.getStatus().isOk()) {
                return found.getStatus();
            }
            for (Attribute attribute : found.getAttributes()) {
                writer.add(wanted, attribute);
            }
            return null;
        } catch (PIPException error) {
            return new StdStatus(StdStatusCode.STATUS_CODE_PROCESSING_ERROR, error.getMessage());
        }
    }

    /** The one decision of all; Indeterminate where they differ, or where obligations or advice would be lost. */
    private static Response combined(List<Result> results) {
        Decision decision = results.get(0).getDecision();
        StdMutableResult combined = new StdMutableResult(decision, results.get(0).getStatus());
        for (Result result : results) {
            boolean isAlike = result.getDecision() == decision
                    && result.getObligations().isEmpty()
                    && result.getAssociatedAdvice().isEmpty();
            if (!isAlike) {
                return failed(new IllegalArgumentException("decisions that cannot be combined"));
            }
            combined.addPolicyIdentifiers(result.getPolicyIdentifiers());
            combined.addPolicySetIdentifiers(result.getPolicySetIdentifiers());
            combined.addAttributeCategories(result.getAttributes());
        }
        return new StdMutableResponse(combined);
    }

    /** Waits for calls on other threads, then frees the decision point. */
    @Override
    public void shutdown() {
        point.close();
        if (attributes != null) {
            attributes.shutdown();
        }
    }

    @Override
    public Collection<URI> getProfiles() {
        return PROFILES;
    }

    @Override
    public boolean hasProfile(URI profile) {
        return PROFILES.contains(profile);
    }
}
