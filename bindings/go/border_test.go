package durward_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"durward.io/durward"
)

// What a caller does wrong or at once is an error or waits: never a crash, and never a permit.

const (
	anna     = `{"subject":"anna","action":"read","resource":1}`
	bob      = `{"subject":"bob","action":"read","resource":1}`
	letsAnna = `policy "p" permit subject == "anna";`
)

func texts(t *testing.T, policies map[string]string) *durward.DecisionPoint {
	t.Helper()
	pdp, err := durward.FromTexts(policies)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pdp.Close() })
	return pdp
}

func policy(t *testing.T, text string) *durward.DecisionPoint {
	t.Helper()
	return texts(t, map[string]string{"p.sapl": text})
}

func decides(t *testing.T, pdp *durward.DecisionPoint, text string, expected durward.Outcome) {
	t.Helper()
	decision, err := pdp.DecideText(text)
	if err != nil || decision.Outcome != expected {
		t.Errorf("%v, %v, not %v", decision.Outcome, err, expected)
	}
}

// isRight asks twice a round, and says whether both answers were as they should be.
func isRight(pdp *durward.DecisionPoint, rounds int) bool {
	for range rounds {
		first, err := pdp.DecideText(anna)
		if err != nil || !first.Permitted() {
			return false
		}
		second, err := pdp.DecideText(bob)
		if err != nil || second.Outcome != durward.Deny {
			return false
		}
	}
	return true
}

func TestWhatGoesAlongIsTakenApart(t *testing.T) {
	pdp := policy(t, `policy "p" permit
		obligation { "log": [1, "a]\"}"] } obligation "x,y:{"
		advice null
		transform null`)
	decision, err := pdp.DecideText(anna)
	if err != nil || decision.Outcome != durward.Permit || decision.Permitted() {
		t.Fatal(decision, err)
	}
	along := []json.RawMessage{decision.Obligations[0], decision.Obligations[1], decision.Advice[0], decision.Resource}
	for at, expected := range []string{`{"log":[1,"a]\"}"]}`, `"x,y:{"`, `null`, `null`} {
		if string(along[at]) != expected {
			t.Errorf("%s, not %s", along[at], expected)
		}
	}
	if len(decision.Obligations) != 2 || len(decision.Advice) != 1 {
		t.Error(decision)
	}
}

func TestOneNumberIsAPermit(t *testing.T) {
	for number := int32(-1); number < 300; number++ {
		decision := durward.Decision{Outcome: durward.Outcome(number)}
		if decision.Permitted() != (number == 200) || (decision.Outcome.String() == "PERMIT") != (number == 200) {
			t.Error(number)
		}
	}
	if (durward.Decision{}).Permitted() || (durward.Answer{}).Decision.Permitted() {
		t.Error("what nobody has filled is no permit")
	}
}

type selfish struct{ Self *selfish }

type closing struct{ pdp *durward.DecisionPoint }

func (c closing) MarshalJSON() ([]byte, error) {
	c.pdp.Close()
	return []byte(anna), nil
}

type written string

func (w written) MarshalJSON() ([]byte, error) { return []byte(w), nil }

type named string

func (n named) MarshalText() ([]byte, error) { return []byte(n), nil }

type failing struct{}

func (failing) MarshalJSON() ([]byte, error) { return nil, errors.New("on purpose") }

func TestValuesThatHaveNoJSONAreErrors(t *testing.T) {
	pdp := policy(t, `policy "p" permit`)
	knot := new(selfish)
	knot.Self = knot
	values := []any{
		math.NaN(), math.Inf(1), math.Inf(-1), func() {}, make(chan int), complex(1, 1), knot, failing{},
		map[int]any{1: math.NaN()}, map[bool]int{true: 1}, json.RawMessage("{"), json.Number("NaN"),
		written("\"\xff\""), named("\xff"), []any{"\ufffd", struct{ A, b any }{&[]string{"\xff"}, 1}},
		"\xff", "a\xed\xa0\x80", map[string]int{"\xff": 1}, []any{map[string]any{"at": "\xc3"}},
	}
	for _, value := range values {
		question := durward.Subscription{Subject: value, Action: "read", Resource: 1}
		decision, err := pdp.Decide(question)
		refused(t, err, durward.CodeQuestion, "")
		if decision.Outcome != durward.Indeterminate {
			t.Error(decision)
		}
		_, err = pdp.Explain(question)
		refused(t, err, durward.CodeQuestion, "")
		_, err = firstOf(pdp, question)
		refused(t, err, durward.CodeQuestion, "")
		answers, err := pdp.DecideMany([]any{question, json.RawMessage(anna)})
		if err != nil || answers[0].Err == nil || answers[0].Decision.Permitted() || !answers[1].Decision.Permitted() {
			t.Error(answers, err)
		}
	}
	for _, question := range []any{nil, anna, []byte(anna), 1, []int{}, map[string]any{}, (*durward.Subscription)(nil)} {
		_, err := pdp.Decide(question)
		refused(t, err, durward.CodeQuestion, "")
	}
}

func TestTextsAreTheSameOnBothSides(t *testing.T) {
	for _, name := range []string{"\ufffd", `\ufffd`, "<&>\u2028", "Zo\u00eb \U0001d11e", "\x00\x7f", `"\`} {
		written, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		pdp := policy(t, `policy "p" permit subject == `+string(written)+`;`)
		decision, err := pdp.Decide(durward.Subscription{Subject: name, Action: 1, Resource: 1})
		if err != nil || !decision.Permitted() {
			t.Errorf("%q: %v, %v", name, decision, err)
		}
		for _, form := range []any{&name, named(name), json.RawMessage(written), [1]any{time.Time{}}, struct{ A *int }{}} {
			question := durward.Subscription{Subject: form, Action: name, Resource: struct{ A, b string }{name, "\xff"}}
			if decision, err := pdp.Decide(question); err != nil || decision.Outcome == durward.Indeterminate {
				t.Errorf("%q: %v, %v", name, decision, err)
			}
		}
	}
}

func TestTextsThatAreTooLongOrNoUTF8AreErrors(t *testing.T) {
	pdp := policy(t, `policy "p" permit`)
	long := strings.Repeat(" ", 100<<20)
	_, err := pdp.DecideText(long)
	refused(t, err, durward.CodeQuestion, "longer than")
	_, err = pdp.DecideRequest(long)
	refused(t, err, durward.CodeQuestion, "longer than")
	_, err = pdp.Decide(durward.Subscription{Subject: long, Action: 1, Resource: 1})
	refused(t, err, durward.CodeQuestion, "longer than")
	decides(t, pdp, strings.Replace(anna, "anna", strings.Repeat("a", 1<<20), 1), durward.Permit)
	for _, wrong := range []string{"\xff", "\xc3", "\xed\xa0\x80", `\ud800`, "\x00"} {
		_, err := pdp.DecideText(strings.Replace(anna, "anna", wrong, 1))
		refused(t, err, durward.CodeQuestion, "")
	}
	_, err = pdp.DecideText(`{"subject":NaN,"action":1,"resource":1}`)
	refused(t, err, durward.CodeQuestion, "")
	_, err = durward.FromTexts(map[string]string{"\xff.sapl": letsAnna})
	refused(t, err, durward.CodeMisuse, "`policies[0].name` is not UTF-8")
	_, err = durward.FromTexts(map[string]string{"p.sapl": "policy \"\xff\" permit"})
	refused(t, err, durward.CodePolicies, "")
	_, err = durward.Open("\xff")
	refused(t, err, durward.CodeMisuse, "`path` is not UTF-8")
	for _, path := range []string{"", "no such folder", "a\x00b"} {
		_, err = durward.Open(path)
		refused(t, err, durward.CodePolicies, "")
	}
}

// The library runs on the stack of a thread, which does not grow.
func TestWhatIsDeepIsAnswered(t *testing.T) {
	pdp := policy(t, `policy "p" permit subject == subject;`)
	for _, depth := range []int{10, 100, 400, 10_000, 1_000_000} {
		deep := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		decision, err := pdp.DecideText(strings.Replace(anna, `"anna"`, deep, 1))
		if (depth <= 100 && !decision.Permitted()) || (depth >= 10_000 && err == nil) {
			t.Error(depth, decision, err)
		}
		condition := strings.Repeat("(", depth) + "true" + strings.Repeat(")", depth)
		other, err := durward.FromTexts(map[string]string{"p.sapl": `policy "p" permit ` + condition + ";"})
		if depth >= 10_000 {
			refused(t, err, durward.CodePolicies, "")
		}
		if err == nil {
			decides(t, other, anna, durward.Permit)
			other.Close()
		}
	}
}

func TestPoliciesAreReadAgain(t *testing.T) {
	folder := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(folder, "p.sapl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`policy "p" permit`)
	pdp, err := durward.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer pdp.Close()
	decides(t, pdp, anna, durward.Permit)
	write(`policy "p" denyy`)
	refused(t, pdp.Reload(), durward.CodePolicies, "p.sapl:1:")
	decides(t, pdp, anna, durward.Permit)
	write(`policy "p" deny`)
	if err := pdp.Reload(); err != nil {
		t.Error(err)
	}
	decides(t, pdp, anna, durward.Deny)
	refused(t, pdp.Replace(map[string]string{"q.sapl": "policy"}), durward.CodePolicies, "q.sapl:1:")
	if err := pdp.Replace(map[string]string{"q.sapl": `policy "q" permit`}); err != nil {
		t.Error(err)
	}
	decides(t, pdp, anna, durward.Permit)
	refused(t, policy(t, letsAnna).Reload(), durward.CodePolicies, "given as texts")
}

func TestEachOfManyFailsAlone(t *testing.T) {
	pdp := policy(t, letsAnna)
	answers, err := pdp.DecideMany([]any{json.RawMessage(anna), json.RawMessage("no JSON"), json.RawMessage(bob), json.RawMessage("")})
	if err != nil || len(answers) != 4 || !answers[0].Decision.Permitted() || answers[2].Decision.Outcome != durward.Deny {
		t.Fatal(answers, err)
	}
	for _, at := range []int{1, 3} {
		refused(t, answers[at].Err, durward.CodeQuestion, "")
		if answers[at].Decision.Outcome != durward.Indeterminate {
			t.Error(answers[at])
		}
	}
	if answers, err := pdp.DecideMany(nil); err != nil || len(answers) != 0 {
		t.Error(answers, err)
	}
}

func TestWhatIsClosedIsAnError(t *testing.T) {
	closed := policy(t, `policy "p" permit`)
	closed.Close()
	closed.Close()
	for _, pdp := range []*durward.DecisionPoint{closed, nil, {}} {
		_, err := pdp.DecideText(anna)
		refused(t, err, durward.CodeClosed, "the decision point is closed")
		_, err = pdp.Decide(json.RawMessage(anna))
		refused(t, err, durward.CodeClosed, "")
		_, err = pdp.DecideMany([]any{json.RawMessage(anna)})
		refused(t, err, durward.CodeClosed, "")
		_, err = pdp.DecideRequest("{}")
		refused(t, err, durward.CodeClosed, "")
		_, err = pdp.Explain(json.RawMessage(anna))
		refused(t, err, durward.CodeClosed, "")
		_, err = pdp.ExplainRequest("{}")
		refused(t, err, durward.CodeClosed, "")
		_, err = firstOf(pdp, json.RawMessage(anna))
		refused(t, err, durward.CodeClosed, "")
		refused(t, pdp.Reload(), durward.CodeClosed, "")
		refused(t, pdp.Replace(nil), durward.CodeClosed, "")
		pdp.Close()
	}
}

func TestAValueMayCloseWhileItIsWritten(t *testing.T) {
	pdp := policy(t, `policy "p" permit`)
	_, err := pdp.Decide(closing{pdp})
	refused(t, err, durward.CodeClosed, "")
	pdp = policy(t, `policy "p" permit`)
	_, err = pdp.DecideMany([]any{closing{pdp}})
	refused(t, err, durward.CodeClosed, "")
}

func TestClosingWaitsForCalls(t *testing.T) {
	for range 30 {
		pdp := policy(t, letsAnna)
		var started, ended sync.WaitGroup
		started.Add(4)
		for range 4 {
			ended.Go(func() {
				for isFirst := true; ; isFirst = false {
					decision, err := pdp.DecideText(bob)
					if isFirst {
						started.Done()
					}
					if errors.Is(err, durward.CodeClosed) {
						return
					}
					if err != nil || decision.Outcome != durward.Deny {
						t.Error(decision, err)
						return
					}
				}
			})
		}
		started.Wait()
		pdp.Close()
		ended.Wait()
	}
}

func TestGoroutinesDecideWhilePoliciesChange(t *testing.T) {
	pdp := policy(t, letsAnna)
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			if !isRight(pdp, 100) {
				t.Error("anna is always let in, bob never")
			}
		})
	}
	for round := range 30 {
		name := strings.Replace(letsAnna, `"p"`, `"p`+strings.Repeat("x", round)+`"`, 1)
		if err := pdp.Replace(map[string]string{"p.sapl": name}); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
}

// Decision points that nobody closes, and collections while others decide. Stacks grow, and so move.
func TestGarbageIsFreed(t *testing.T) {
	pdp := policy(t, letsAnna)
	var deciding sync.WaitGroup
	for range 4 {
		deciding.Go(func() {
			if !isRight(pdp, 2_000) || !isRightDeep(pdp, 500) {
				t.Error("the collector takes nothing that is in use")
			}
		})
	}
	for round := range 100 {
		dropped, err := durward.FromTexts(map[string]string{"p.sapl": letsAnna})
		if err != nil {
			t.Fatal(err)
		}
		if decision, err := firstOf(dropped, json.RawMessage(anna)); err != nil || !decision.Permitted() {
			t.Error(decision, err)
		}
		if round%5 == 0 {
			runtime.GC()
		}
	}
	deciding.Wait()
	runtime.GC()
}

func isRightDeep(pdp *durward.DecisionPoint, depth int) bool {
	var room [256]byte
	room[depth%256] = byte(depth)
	decision, err := pdp.DecideText(string(append([]byte(nil), anna...)))
	return err == nil && decision.Permitted() && (depth == 0 || isRightDeep(pdp, depth-1)) && room[depth%256] == byte(depth)
}

func TestProgramsAreStartedWhileOthersDecide(t *testing.T) {
	if os.Getenv("DURWARD_TEST_CHILD") != "" {
		if !isRight(policy(t, letsAnna), 100) {
			t.Error("a child decides")
		}
		return
	}
	pdp := policy(t, letsAnna)
	ctx, cancel := context.WithCancel(context.Background())
	var deciding sync.WaitGroup
	for range 4 {
		deciding.Go(func() {
			for ctx.Err() == nil {
				if !isRight(pdp, 100) {
					t.Error("anna is let in, bob is not")
					return
				}
			}
		})
	}
	deciding.Go(func() {
		for _, err := range pdp.Watch(ctx, json.RawMessage(anna)) {
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	})
	for range 3 {
		child := exec.Command(os.Args[0], "-test.run=^TestProgramsAreStartedWhileOthersDecide$")
		child.Env = append(os.Environ(), "DURWARD_TEST_CHILD=1")
		if said, err := child.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, said)
		}
	}
	cancel()
	deciding.Wait()
}

func TestWatchesFollowPolicies(t *testing.T) {
	pdp := policy(t, `policy "p" permit`)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	texts := []string{`policy "p" deny`, `policy "p" permit obligation "log"`}
	expected, seen := []durward.Outcome{durward.Permit, durward.Deny, durward.Permit}, 0
	for decision, err := range pdp.Watch(ctx, json.RawMessage(anna)) {
		if err != nil || decision.Outcome != expected[seen] || decision.Permitted() != (seen == 0) {
			t.Fatal(decision, err)
		}
		if seen++; seen == len(expected) {
			break
		}
		if err := pdp.Replace(map[string]string{"p.sapl": texts[seen-1]}); err != nil {
			t.Fatal(err)
		}
	}
	if seen != len(expected) {
		t.Error(seen)
	}
}

func TestAWatchEndsWithItsContext(t *testing.T) {
	pdp := policy(t, `policy "p" permit`)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	why, seen := errors.New("on purpose"), []error(nil)
	for _, err := range pdp.Watch(ctx, json.RawMessage(anna)) {
		seen = append(seen, err)
		cancel(why)
	}
	if len(seen) != 2 || seen[0] != nil || !errors.Is(seen[1], why) {
		t.Error(seen)
	}
	for decision, err := range pdp.Watch(ctx, json.RawMessage(anna)) {
		if !errors.Is(err, why) || decision.Permitted() {
			t.Error(decision, err)
		}
	}
	for _, err := range pdp.Watch(nil, json.RawMessage(anna)) { //nolint:staticcheck // that is the mistake
		refused(t, err, durward.CodeMisuse, "the context is nil")
	}
}

func TestWatchesEndWithTheirDecisionPoint(t *testing.T) {
	pdp := policy(t, `policy "p" permit`)
	var watching, ended sync.WaitGroup
	watching.Add(20)
	for range 20 {
		ended.Go(func() {
			seen := []error(nil)
			for _, err := range pdp.Watch(context.Background(), json.RawMessage(anna)) {
				if seen = append(seen, err); len(seen) == 1 {
					watching.Done()
				}
			}
			if len(seen) != 2 || seen[0] != nil || !errors.Is(seen[1], durward.CodeClosed) {
				t.Error(seen)
			}
		})
	}
	watching.Wait()
	pdp.Close()
	ended.Wait()
}

func TestTooManyWatchesAreErrors(t *testing.T) {
	pdp := policy(t, `policy "p" permit`)
	var watching, ended sync.WaitGroup
	watching.Add(durward.WatchesMax)
	for range durward.WatchesMax {
		ended.Go(func() {
			isFirst := true
			for range pdp.Watch(context.Background(), json.RawMessage(anna)) {
				if isFirst {
					watching.Done()
				}
				isFirst = false
			}
		})
	}
	watching.Wait()
	_, err := firstOf(pdp, json.RawMessage(anna))
	refused(t, err, durward.CodeSystem, "too many")
	decides(t, pdp, anna, durward.Permit)
	pdp.Close()
	ended.Wait()
	if decision, err := firstOf(policy(t, letsAnna), json.RawMessage(anna)); err != nil || !decision.Permitted() {
		t.Error(decision, err)
	}
}

func TestTheVersionIsOfTheLibrary(t *testing.T) {
	version, err := durward.Version()
	if err != nil || !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(version) {
		t.Error(version, err)
	}
}
