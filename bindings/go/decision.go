package durward

import "encoding/json"

// Outcome is what was decided. The zero value is Indeterminate, which is no permit.
type Outcome int32

// The numbers are those of durward.h.
const (
	Indeterminate Outcome = 0
	Deny          Outcome = 1
	NotApplicable Outcome = 2
	Suspend       Outcome = 3
	Permit        Outcome = 200
)

// String gives the name that SAPL has for it, such as PERMIT. What is no outcome is INDETERMINATE.
func (o Outcome) String() string {
	switch o {
	case Permit:
		return "PERMIT"
	case Deny:
		return "DENY"
	case NotApplicable:
		return "NOT_APPLICABLE"
	case Suspend:
		return "SUSPEND"
	default:
		return "INDETERMINATE"
	}
}

// MarshalText gives the name, for JSON.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Decision is what a decision point says. Grant access if [Decision.Permitted] says so; or if the outcome is [Permit], you have done what all
// obligations say, and you give the resource, if there is one, in place of the one that was asked for.
//
// As JSON it is a decision as SAPL writes it.
type Decision struct {
	Outcome Outcome `json:"decision"`
	// Obligations must be met, or access refused.
	Obligations []json.RawMessage `json:"obligations,omitempty"`
	// Advice may be followed.
	Advice []json.RawMessage `json:"advice,omitempty"`
	// Resource stands for the resource that was asked for; nil where there is none.
	Resource json.RawMessage `json:"resource,omitempty"`
}

// Permitted says whether access is granted and there is nothing to do for it: a permit without obligations, and with no other resource.
func (d Decision) Permitted() bool {
	return d.Outcome == Permit && len(d.Obligations) == 0 && d.Resource == nil
}

// decisionOf reads what goes along with an outcome.
func decisionOf(outcome Outcome, written []byte) (Decision, error) {
	var along struct {
		Obligations []json.RawMessage `json:"obligations"`
		Advice      []json.RawMessage `json:"advice"`
		Resource    json.RawMessage   `json:"resource"`
	}
	if err := json.Unmarshal(written, &along); err != nil {
		return Decision{}, &Error{CodeInternal, "the library gave a decision that is no JSON: " + err.Error()}
	}
	return Decision{outcome, along.Obligations, along.Advice, along.Resource}, nil
}

// Answer is one of many: a decision, or why there is none.
type Answer struct {
	// Decision is INDETERMINATE where there is an error.
	Decision Decision
	Err      error
}

// Explanation says why a question is answered as it is.
type Explanation struct {
	// Text is in words, of many lines.
	Text string
	// JSON is the same for programs.
	JSON json.RawMessage
}
