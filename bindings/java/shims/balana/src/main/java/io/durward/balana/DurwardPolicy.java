package io.durward.balana;

import io.durward.DurwardException;
import io.durward.xacml.Designator;
import io.durward.xacml.XacmlPoint;
import io.durward.xacml.Xml;
import java.util.List;
import java.util.Set;
import org.wso2.balana.AbstractPolicy;
import org.wso2.balana.MatchResult;
import org.wso2.balana.ParsingException;
import org.wso2.balana.cond.EvaluationResult;
import org.wso2.balana.ctx.AbstractResult;
import org.wso2.balana.ctx.EvaluationCtx;
import org.wso2.balana.ctx.ResponseCtx;
import org.wso2.balana.ctx.ResultFactory;
import org.wso2.balana.ctx.Status;

/** All policies as one. Balana evaluates it by asking durward. */
final class DurwardPolicy extends AbstractPolicy {
    private final XacmlPoint point;

    DurwardPolicy(XacmlPoint point) {
        this.point = point;
    }

    /** Whether targets match is part of the evaluation. */
    @Override
    public MatchResult match(EvaluationCtx context) {
        return new MatchResult(MatchResult.MATCH);
    }

    @Override
    public AbstractResult evaluate(EvaluationCtx context) {
        try {
            RequestWriter request = new RequestWriter(context.getRequestCtx());
            for (Designator wanted : point.designators()) {
                if (request.has(wanted)) {
                    continue;
                }
                EvaluationResult found = request.find(wanted, context);
                if (found.indeterminate()) {
                    return indeterminate(found.getStatus(), context);
                }
                request.add(wanted, found.getAttributeValue());
            }
            return resultOf(point.decide(request.text()));
        } catch (DurwardException | ParsingException | IllegalArgumentException error) {
            Status status = new Status(List.of(Status.STATUS_PROCESSING_ERROR), error.getMessage());
            return indeterminate(status, context);
        }
    }

    private static AbstractResult resultOf(String response) throws ParsingException {
        ResponseCtx read = ResponseCtx.getInstance(Xml.read(response).getDocumentElement());
        Set<AbstractResult> results = read.getResults();
        if (results.size() != 1) {
            throw new ParsingException("several decisions for what is one request");
        }
        return results.iterator().next();
    }

    private static AbstractResult indeterminate(Status status, EvaluationCtx context) {
        return ResultFactory.getFactory().getResult(AbstractResult.DECISION_INDETERMINATE, status, context);
    }

    @Override
    public String encode() {
        throw new UnsupportedOperationException("the policies are in their files");
    }

    @Override
    public void encode(StringBuilder builder) {
        throw new UnsupportedOperationException("the policies are in their files");
    }
}
