package durward

// Code says what kind of failure an [Error] is. A code is an error itself, so that errors.Is finds it:
//
//	if errors.Is(err, durward.CodeQuestion) { ... }
type Code int32

// The numbers up to 8 are those of durward.h.
const (
	CodePolicies Code = 1   // policies are broken or cannot be read; those in force still are
	CodeQuestion Code = 2   // what was asked is no subscription, or no request
	CodeSystem   Code = 3   // no thread to watch with, or too many watched subscriptions
	CodeMisuse   Code = 4   // an argument that cannot be, such as a name that is not UTF-8
	CodeClosed   Code = 7   // the decision point is closed
	CodeInternal Code = 8   // a mistake within the library; nothing was decided or changed
	CodeLibrary  Code = 100 // the C library was not found, or is one of another version
)

func (c Code) Error() string {
	switch c {
	case CodePolicies:
		return "policies are broken"
	case CodeQuestion:
		return "no subscription, or no request"
	case CodeSystem:
		return "the system has no room for more"
	case CodeMisuse:
		return "wrong argument"
	case CodeClosed:
		return "closed"
	case CodeLibrary:
		return "no library"
	default:
		return "a mistake within the library"
	}
}

// Error is why a call failed. Whoever gets one instead of a decision must treat it as a deny.
type Error struct {
	Code Code
	// Message says what is wrong and where, in the words of whoever wrote the policy or the question.
	Message string
}

func (e *Error) Error() string { return "durward: " + e.Message }

// Unwrap gives the code, for errors.Is.
func (e *Error) Unwrap() error { return e.Code }

func errClosed() error { return &Error{CodeClosed, "the decision point is closed"} }
