// Package durwardhttp guards handlers of net/http by decisions of durward: nobody gets through whose obligations are not met.
//
//	guarded := durwardhttp.Guard(records, pdp, durwardhttp.Options{
//		Obligations: durwardhttp.Handlers{"log": writeToAuditLog},
//	})
//	http.Handle("/records/", authentication(guarded)) // which uses durwardhttp.WithSubject
//
// A request goes on if its decision is a permit, every obligation has a handler and is met, and somebody takes the resource if the decision has one. Every other
// one is answered with 403, whatever went wrong.
package durwardhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"durward.io/durward"
)

// Exchange is what a handler is told beside the obligation, the advice or the resource.
type Exchange struct {
	Request *http.Request
	// Header is that of the response.
	Header   http.Header
	Decision durward.Decision
}

// Handler does what an obligation, advice, or a resource in place of the one that was asked for says. With an error of the handler of an obligation or a
// resource the request is refused.
type Handler func(value json.RawMessage, exchange Exchange) error

// Handlers are handlers by the name of what they handle: the text itself, its "type", or the "id" that XACML gives it.
type Handlers map[string]Handler

// Options of a guard.
type Options struct {
	// Subscription is what is asked about a request; nil refuses it. Without this function, the subject is that of [WithSubject] or null, the action the method,
	// and the resource the whole path, decoded; an address that can be read in two ways is refused.
	Subscription func(*http.Request) (any, error)
	// Obligations are met by these. A permit with an obligation that has no handler is refused, and no handler is called.
	Obligations Handlers
	// Advice is followed by these. What fails there is logged, and changes nothing.
	Advice Handlers
	// Resource takes what stands for the resource. Without it, a permit that has such a thing is refused.
	Resource Handler
	// Deny answers what is refused; without it, 403.
	Deny http.Handler
	// Log is told what failed; without it, slog.Default.
	Log *slog.Logger
}

// Guard lets a request through to a handler if the decision point permits it, and answers 403 otherwise.
func Guard(next http.Handler, pdp *durward.DecisionPoint, options Options) http.Handler {
	if options.Subscription == nil {
		options.Subscription = SubscriptionOf
	}
	if options.Deny == nil {
		options.Deny = http.HandlerFunc(forbid)
	}
	return guard{next, pdp, options}
}

type guard struct {
	next    http.Handler
	pdp     *durward.DecisionPoint
	options Options
}

func (g guard) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	decision, err := g.decide(request)
	if err == nil {
		request = request.WithContext(context.WithValue(request.Context(), decisionKey{}, decision))
		err = g.enforce(Exchange{request, response.Header(), decision})
	}
	if err == nil && g.next == nil {
		err = errors.New("the guard has nothing to guard")
	}
	if err == nil {
		g.next.ServeHTTP(response, request)
		return
	}
	if !errors.Is(err, errRefused) {
		g.log().ErrorContext(request.Context(), "durward: a request is refused", "error", err)
	}
	g.options.Deny.ServeHTTP(response, request)
}

// errRefused is what was decided; all other errors are failures.
var errRefused = errors.New("refused")

func (g guard) decide(request *http.Request) (durward.Decision, error) {
	asked, err := g.options.Subscription(request)
	if err != nil {
		return durward.Decision{}, err
	}
	if asked == nil {
		return durward.Decision{}, errRefused
	}
	return g.pdp.Decide(asked)
}

// enforce does what a decision says. Without an error, the request may go on.
func (g guard) enforce(exchange Exchange) error {
	decision, options := exchange.Decision, g.options
	isPermit := decision.Outcome == durward.Permit
	for _, obligation := range decision.Obligations {
		if isPermit && options.Obligations[nameOf(obligation)] == nil {
			return fmt.Errorf("no handler for the obligation %s", obligation)
		}
	}
	if isPermit && decision.Resource != nil && options.Resource == nil {
		return errors.New("the decision has a resource that nobody takes")
	}
	for _, obligation := range decision.Obligations {
		handler := options.Obligations[nameOf(obligation)]
		if handler == nil {
			continue
		}
		if err := handler(obligation, exchange); err != nil {
			return fmt.Errorf("the obligation %s is not met: %w", obligation, err)
		}
	}
	if isPermit && decision.Resource != nil {
		if err := options.Resource(decision.Resource, exchange); err != nil {
			return fmt.Errorf("the resource of the decision is not taken: %w", err)
		}
	}
	g.advise(exchange)
	if !isPermit {
		return errRefused
	}
	return nil
}

func (g guard) advise(exchange Exchange) {
	for _, advice := range exchange.Decision.Advice {
		handler := g.options.Advice[nameOf(advice)]
		if handler == nil {
			continue
		}
		if err := handler(advice, exchange); err != nil {
			message := "durward: advice is not followed"
			g.log().WarnContext(exchange.Request.Context(), message, "advice", string(advice), "error", err)
		}
	}
}

func (g guard) log() *slog.Logger {
	if g.options.Log != nil {
		return g.options.Log
	}
	return slog.Default()
}

func forbid(response http.ResponseWriter, _ *http.Request) {
	http.Error(response, "Forbidden", http.StatusForbidden)
}

// nameOf is by what an obligation or advice is known; "" where it has no name. Members are looked for by their exact names.
func nameOf(value json.RawMessage) string {
	var name string
	if json.Unmarshal(value, &name) == nil {
		return name
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil {
		return ""
	}
	for _, key := range []string{"type", "id"} {
		if member, ok := members[key]; ok && string(member) != "null" {
			if json.Unmarshal(member, &name) != nil {
				return ""
			}
			return name
		}
	}
	return ""
}

type (
	subjectKey  struct{}
	decisionKey struct{}
)

// WithSubject says who sends a request, once that is known for sure; see [SubscriptionOf].
func WithSubject(ctx context.Context, subject any) context.Context {
	return context.WithValue(ctx, subjectKey{}, subject)
}

// DecisionOf gives the decision about a request that went through a guard; within Deny too, if there was one.
func DecisionOf(ctx context.Context) (durward.Decision, bool) {
	decision, ok := ctx.Value(decisionKey{}).(durward.Decision)
	return decision, ok
}
