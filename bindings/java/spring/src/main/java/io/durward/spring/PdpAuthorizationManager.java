package io.durward.spring;

import io.durward.Decision;
import io.durward.Outcome;
import io.durward.Pdp;
import jakarta.servlet.http.HttpServletRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.springframework.security.authorization.AuthorizationDecision;
import org.springframework.security.authorization.AuthorizationManager;
import org.springframework.security.authorization.AuthorizationResult;
import org.springframework.security.core.Authentication;
import org.springframework.security.web.access.intercept.RequestAuthorizationContext;

/**
 * Lets a request through if the policies permit it and every obligation is met: {@code requests.anyRequest().access(manager)}.
 *
 * <p>Denied is also a permit with an obligation that nobody meets, or with another resource, which no manager can put into the answer. What goes wrong
 * (a question that is refused, a handler that throws) is thrown, and is no permit.
 */
public final class PdpAuthorizationManager implements AuthorizationManager<RequestAuthorizationContext> {
    /** Writes the question about a request. */
    @FunctionalInterface
    public interface Question {
        /**
         * A subscription of SAPL, as JSON.
         *
         * @param user who asks; null if nobody is known
         * @param context the request, and the variables of the pattern that it matched
         * @return the text of the subscription
         */
        String of(Authentication user, RequestAuthorizationContext context);
    }

    /** Finds what meets an obligation, or follows an advice. */
    @FunctionalInterface
    public interface Handlers {
        /**
         * Only looks: what it gives is run later, when all obligations have somebody.
         *
         * @param constraint the obligation or advice, as JSON
         * @param request the request that was decided about
         * @return what is to be run; null for what it does not know
         */
        Runnable find(String constraint, HttpServletRequest request);
    }

    private static final System.Logger LOG = System.getLogger(PdpAuthorizationManager.class.getName());
    private static final AuthorizationDecision GRANTED = new AuthorizationDecision(true);
    private static final AuthorizationDecision DENIED = new AuthorizationDecision(false);

    private final Pdp pdp;
    private final Question question;
    private final Handlers obligations;
    private final Handlers advice;

    /**
     * Meets no obligations.
     *
     * @param pdp who decides; closing it is the program's business
     */
    public PdpAuthorizationManager(Pdp pdp) {
        this(pdp, Questions::of, (constraint, request) -> null, (constraint, request) -> null);
    }

    private PdpAuthorizationManager(Pdp pdp, Question question, Handlers obligations, Handlers advice) {
        this.pdp = Objects.requireNonNull(pdp, "pdp");
        this.question = Objects.requireNonNull(question, "question");
        this.obligations = Objects.requireNonNull(obligations, "obligations");
        this.advice = Objects.requireNonNull(advice, "advice");
    }

    /**
     * The same with another question.
     *
     * @param question writes it
     * @return a new manager
     */
    public PdpAuthorizationManager withQuestion(Question question) {
        return new PdpAuthorizationManager(pdp, question, obligations, advice);
    }

    /**
     * The same with somebody who meets obligations.
     *
     * @param obligations finds them
     * @return a new manager
     */
    public PdpAuthorizationManager withObligations(Handlers obligations) {
        return new PdpAuthorizationManager(pdp, question, obligations, advice);
    }

    /**
     * The same with somebody who follows advice.
     *
     * @param advice finds them
     * @return a new manager
     */
    public PdpAuthorizationManager withAdvice(Handlers advice) {
        return new PdpAuthorizationManager(pdp, question, obligations, advice);
    }

    @Override
    public AuthorizationResult authorize(
            Supplier<? extends Authentication> user, RequestAuthorizationContext context) {
        Decision decision = pdp.decide(question.of(user.get(), context));
        if (decision.isUnconditionalPermit() && decision.advice().isEmpty()) {
            return GRANTED;
        }
        return isMet(decision, context.getRequest()) ? GRANTED : DENIED;
    }

    private boolean isMet(Decision decision, HttpServletRequest request) {
        boolean isPermit = decision.outcome() == Outcome.PERMIT;
        List<Runnable> duties = new ArrayList<>();
        boolean allKnown = true;
        for (String obligation : decision.obligations()) {
            allKnown &= add(duties, obligations.find(obligation, request));
        }
        if (isPermit && (!allKnown || decision.resource() != null)) {
            return false;
        }
        duties.forEach(Runnable::run);
        decision.advice().forEach(hint -> follow(hint, request));
        return isPermit;
    }

    /** Advice need not be followed: where that fails, the decision stays. */
    private void follow(String hint, HttpServletRequest request) {
        try {
            Runnable duty = advice.find(hint, request);
            if (duty != null) {
                duty.run();
            }
        } catch (RuntimeException error) {
            LOG.log(System.Logger.Level.WARNING, "advice could not be followed: " + hint, error);
        }
    }

    private static boolean add(List<Runnable> duties, Runnable duty) {
        return duty != null && duties.add(duty);
    }
}
