package durward_test

import (
	"encoding/json"
	"testing"

	"durward.io/durward"
)

// What a decision costs a program in Go; what Go adds is the difference to bindings/c/bench/decide.c, which asks the same. Use a release build:
//
//	cargo build --profile optimised -p durward-c
//	DURWARD_LIBRARY=$PWD/../../target/optimised/libdurward.so go test -run '^$' -bench . -benchmem

const (
	doctors = `policy "doctors" permit subject.role == "doctor";`
	asked   = `{"subject":{"role":"doctor"},"action":"read","resource":"record"}`
)

func benchmarked(b *testing.B, text string) *durward.DecisionPoint {
	b.Helper()
	pdp, err := durward.FromTexts(map[string]string{"doctors.sapl": text})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { pdp.Close() })
	return pdp
}

func permits(b *testing.B, decision durward.Decision, err error) {
	if err != nil || decision.Outcome != durward.Permit {
		b.Fatal(decision, err)
	}
}

func BenchmarkOutcomeAloneOfText(b *testing.B) {
	pdp := benchmarked(b, doctors)
	for b.Loop() {
		decision, err := pdp.DecideText(asked)
		permits(b, decision, err)
	}
}

func BenchmarkOutcomeAloneOfTextOnAllCores(b *testing.B) {
	pdp := benchmarked(b, doctors)
	b.RunParallel(func(loop *testing.PB) {
		for loop.Next() {
			if decision, err := pdp.DecideText(asked); err != nil || decision.Outcome != durward.Permit {
				b.Error(decision, err)
				return
			}
		}
	})
}

func BenchmarkOutcomeAloneOfValue(b *testing.B) {
	pdp := benchmarked(b, doctors)
	question := durward.Subscription{Subject: map[string]any{"role": "doctor"}, Action: "read", Resource: "record"}
	for b.Loop() {
		decision, err := pdp.Decide(question)
		permits(b, decision, err)
	}
}

func BenchmarkWithAnObligation(b *testing.B) {
	pdp := benchmarked(b, doctors+` obligation { "log": resource }`)
	for b.Loop() {
		decision, err := pdp.DecideText(asked)
		permits(b, decision, err)
	}
}

func BenchmarkEachOfAHundred(b *testing.B) {
	pdp := benchmarked(b, doctors)
	questions := make([]any, 100)
	for at := range questions {
		questions[at] = json.RawMessage(asked)
	}
	for b.Loop() {
		answers, err := pdp.DecideMany(questions)
		if err != nil || !answers[99].Decision.Permitted() {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/decision")
}
