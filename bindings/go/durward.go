// Package durward decides by policies in SAPL and XACML within this program: no server, no socket, no cgo.
//
//	pdp, err := durward.FromTexts(map[string]string{
//		"doctors.sapl": `policy "doctors" permit subject.role == "doctor";`,
//	})
//	if err != nil {
//		return err
//	}
//	defer pdp.Close()
//	decision, err := pdp.Decide(durward.Subscription{Subject: user, Action: "read", Resource: "record"})
//	if err != nil || !decision.Permitted() {
//		return errForbidden
//	}
//
// The C library of durward must be there: see [LoadFile] for where it is looked for. Any goroutine may call any function, and many at once.
package durward

import (
	"runtime"
	"slices"
	"unsafe"

	"github.com/ebitengine/purego"
)

// DecisionPoint is a policy decision point with its policies. The zero value, and nil, are closed ones.
type DecisionPoint struct {
	// state knows nothing of the decision point, so that the collector can find that nobody has it any more.
	state *state
}

type state struct {
	functions *functions
	handle    handle
	watches   watches
}

func (s *state) close() {
	s.watches.close()
	s.handle.close()
}

// Open reads the policies of a folder, or of one file.
func Open(path string) (*DecisionPoint, error) {
	f, err := load()
	if err != nil {
		return nil, err
	}
	s := new(scratch)
	code, _, _ := purego.SyscallN(f.pdpFromDir, uintptr(start(path)), uintptr(len(path)),
		uintptr(unsafe.Pointer(&s.result)), uintptr(unsafe.Pointer(&s.failure)))
	return made(f, s, code)
}

// FromTexts takes policies as texts, by the names by which messages call them. The name says the language, as that of a file: .sapl, .xml, pdp.json
// and so on.
func FromTexts(policies map[string]string) (*DecisionPoint, error) {
	f, err := load()
	if err != nil {
		return nil, err
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	s, rows := new(scratch), policyRows(&pinner, policies)
	code, _, _ := purego.SyscallN(f.pdpFromTexts, uintptr(unsafe.Pointer(unsafe.SliceData(rows))), uintptr(len(rows)),
		uintptr(unsafe.Pointer(&s.result)), uintptr(unsafe.Pointer(&s.failure)))
	return made(f, s, code)
}

// policyRows are in the order of their names, so that messages are the same every time.
func policyRows(pinner *runtime.Pinner, policies map[string]string) []nativePolicy {
	names := make([]string, 0, len(policies))
	for name := range policies {
		names = append(names, name)
	}
	slices.Sort(names)
	rows := make([]nativePolicy, 0, len(names))
	for _, name := range names {
		rows = append(rows, nativePolicy{pinned(pinner, name), pinned(pinner, policies[name])})
	}
	return rows
}

func made(f *functions, s *scratch, code uintptr) (*DecisionPoint, error) {
	if err := s.check(f, code); err != nil {
		return nil, err
	}
	p := &DecisionPoint{&state{functions: f, handle: handle{raw: s.result, free: f.freePdp}}}
	runtime.AddCleanup(p, (*state).close, p.state)
	return p, nil
}

// hold gives what calls need, until state.handle is released.
func (p *DecisionPoint) hold() (*state, uintptr, error) {
	if p == nil || p.state == nil {
		return nil, 0, errClosed()
	}
	raw, ok := p.state.handle.hold()
	if !ok {
		return nil, 0, errClosed()
	}
	return p.state, raw, nil
}

// Decide answers a subscription of SAPL: a [Subscription], or another value that becomes such an object in JSON. A json.RawMessage is taken as the
// text of one. Policies of XACML see its values as attributes.
func (p *DecisionPoint) Decide(subscription any) (Decision, error) {
	text, err := textOf(subscription)
	if err != nil {
		return Decision{}, err
	}
	return p.DecideText(text)
}

// DecideText answers a subscription that is text in JSON already, which is fastest.
func (p *DecisionPoint) DecideText(subscription string) (Decision, error) {
	state, raw, err := p.hold()
	if err != nil {
		return Decision{}, err
	}
	defer state.handle.release()
	s, f := scratches.Get().(*scratch), state.functions
	defer scratches.Put(s)
	code, _, _ := purego.SyscallN(f.decide, raw, uintptr(start(subscription)), uintptr(len(subscription)),
		uintptr(unsafe.Pointer(&s.outcome)), uintptr(unsafe.Pointer(&s.result)), uintptr(unsafe.Pointer(&s.failure)))
	if err := s.check(f, code); err != nil {
		return Decision{}, err
	}
	return s.decision(f)
}

// DecideMany answers many, each as [DecisionPoint.Decide] does, in their order. One that fails leaves the others alone.
func (p *DecisionPoint) DecideMany(subscriptions []any) ([]Answer, error) {
	var pinner runtime.Pinner
	defer pinner.Unpin()
	answers, texts, asked := make([]Answer, len(subscriptions)), []nativeText{}, []int{}
	// Before the decision point is held: methods of a value that write its JSON may do anything.
	for number, subscription := range subscriptions {
		text, err := textOf(subscription)
		if err != nil {
			answers[number].Err = err
			continue
		}
		texts, asked = append(texts, pinned(&pinner, text)), append(asked, number)
	}
	state, raw, err := p.hold()
	if err != nil {
		return nil, err
	}
	defer state.handle.release()
	s, f, rows := new(scratch), state.functions, make([]nativeDecision, len(texts))
	code, _, _ := purego.SyscallN(f.decideMany, raw, uintptr(unsafe.Pointer(unsafe.SliceData(texts))), uintptr(len(texts)),
		uintptr(unsafe.Pointer(unsafe.SliceData(rows))), uintptr(unsafe.Pointer(&s.failure)))
	if err := s.check(f, code); err != nil {
		return nil, err
	}
	for at, number := range asked {
		answers[number] = s.answer(f, rows[at])
	}
	purego.SyscallN(f.freeDecisions, uintptr(unsafe.Pointer(unsafe.SliceData(rows))), uintptr(len(rows)))
	return answers, nil
}

// answer is one of many; what it is made of stays.
func (s *scratch) answer(f *functions, row nativeDecision) Answer {
	if row.code != codeOK {
		return Answer{Err: s.errorOf(f, row.code, row.failure)}
	}
	if row.answer == 0 {
		return Answer{Decision: Decision{Outcome: Outcome(row.outcome)}}
	}
	decision, err := decisionOf(Outcome(row.outcome), s.lent(f.answerText, row.answer))
	return Answer{decision, err}
}

// ask calls a function that takes a question and gives a handle, which is then in s.result.
func (p *DecisionPoint) ask(s *scratch, question string, which func(*functions) uintptr) (*functions, error) {
	state, raw, err := p.hold()
	if err != nil {
		return nil, err
	}
	defer state.handle.release()
	code, _, _ := purego.SyscallN(which(state.functions), raw, uintptr(start(question)), uintptr(len(question)),
		uintptr(unsafe.Pointer(&s.result)), uintptr(unsafe.Pointer(&s.failure)))
	return state.functions, s.check(state.functions, code)
}

// DecideRequest answers a request of XACML 3.0 or 2.0 in XML, or in JSON of its profile; the response is of the same form. What cannot be decided is
// an Indeterminate result that says why.
func (p *DecisionPoint) DecideRequest(request string) (string, error) {
	s := new(scratch)
	f, err := p.ask(s, request, func(f *functions) uintptr { return f.decideRequest })
	if err != nil {
		return "", err
	}
	defer purego.SyscallN(f.freeAnswer, s.result)
	return string(s.lent(f.answerText, s.result)), nil
}

// Explain says why a subscription is answered as it is.
func (p *DecisionPoint) Explain(subscription any) (Explanation, error) {
	text, err := textOf(subscription)
	if err != nil {
		return Explanation{}, err
	}
	return p.explained(text, func(f *functions) uintptr { return f.explain })
}

// ExplainRequest says why a request of XACML is answered as it is.
func (p *DecisionPoint) ExplainRequest(request string) (Explanation, error) {
	return p.explained(request, func(f *functions) uintptr { return f.explainRequest })
}

func (p *DecisionPoint) explained(question string, which func(*functions) uintptr) (Explanation, error) {
	s := new(scratch)
	f, err := p.ask(s, question, which)
	if err != nil {
		return Explanation{}, err
	}
	defer purego.SyscallN(f.freeAnswer, s.result)
	return Explanation{string(s.lent(f.answerText, s.result)), s.lent(f.answerJSON, s.result)}, nil
}

// Reload reads the policies again from where they were read, and puts them in force. If they are broken, those in force stay.
func (p *DecisionPoint) Reload() error {
	state, raw, err := p.hold()
	if err != nil {
		return err
	}
	defer state.handle.release()
	s := new(scratch)
	code, _, _ := purego.SyscallN(state.functions.reload, raw, uintptr(unsafe.Pointer(&s.failure)))
	return s.check(state.functions, code)
}

// Replace puts these policies in force in place of those there are. If they are broken, those in force stay.
func (p *DecisionPoint) Replace(policies map[string]string) error {
	state, raw, err := p.hold()
	if err != nil {
		return err
	}
	defer state.handle.release()
	var pinner runtime.Pinner
	defer pinner.Unpin()
	s, rows := new(scratch), policyRows(&pinner, policies)
	code, _, _ := purego.SyscallN(state.functions.replace, raw, uintptr(unsafe.Pointer(unsafe.SliceData(rows))),
		uintptr(len(rows)), uintptr(unsafe.Pointer(&s.failure)))
	return s.check(state.functions, code)
}

// Close waits for calls of other goroutines, ends all watches, and frees the policies. From then on every call is an error with [CodeClosed]. A decision
// point that nobody has any more is closed by the garbage collector. The error is always nil.
func (p *DecisionPoint) Close() error {
	if p != nil && p.state != nil {
		p.state.close()
	}
	return nil
}
