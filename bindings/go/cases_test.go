package durward_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"durward.io/durward"
)

// oneCase is a row of the table that every package holds.
type oneCase struct {
	Name            string
	Policies        map[string]string
	Decide          [][2]json.RawMessage
	Requests        [][2]json.RawMessage
	XMLRequests     [][2]string `json:"xml_requests"`
	Refused         [][2]string
	RefusedRequests [][2]string `json:"refused_requests"`
	Broken          [][2]json.RawMessage
}

// table is where DURWARD_CASES says, or in the repository.
func table(t *testing.T) []oneCase {
	t.Helper()
	path := os.Getenv("DURWARD_CASES")
	if path == "" {
		path = "../../crates/durward-embed/tests/cases.json"
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cases []oneCase
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

func read(t *testing.T, text []byte, value any) {
	t.Helper()
	if err := json.Unmarshal(text, value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// sameJSON compares values, not texts.
func sameJSON(t *testing.T, got, expected []byte) {
	t.Helper()
	var one, other any
	read(t, got, &one)
	read(t, expected, &other)
	first, _ := json.Marshal(one)
	second, _ := json.Marshal(other)
	if string(first) != string(second) {
		t.Errorf("%s, not %s", first, second)
	}
}

func sameDecision(t *testing.T, decision durward.Decision, err error, expected []byte) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(decision)
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, got, expected)
}

func refused(t *testing.T, err error, code durward.Code, why string) {
	t.Helper()
	var known *durward.Error
	if !errors.As(err, &known) || known.Code != code || !errors.Is(err, code) || !strings.Contains(known.Message, why) {
		t.Errorf("%v, not %v with `%s`", err, code, why)
	}
}

// firstOf is what a watch gives first.
func firstOf(pdp *durward.DecisionPoint, subscription any) (durward.Decision, error) {
	for decision, err := range pdp.Watch(context.Background(), subscription) {
		return decision, err
	}
	return durward.Decision{}, errors.New("no decision")
}

func TestEveryCaseOfTheTableHolds(t *testing.T) {
	cases := table(t)
	if len(cases) <= 5 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, one := range cases {
		t.Run(one.Name, func(t *testing.T) {
			if one.Policies != nil {
				pdp := texts(t, one.Policies)
				holdDecisions(t, pdp, one)
				holdRequests(t, pdp, one)
				holdRefused(t, pdp, one)
			}
			for _, row := range one.Broken {
				var policies map[string]string
				var why string
				read(t, row[0], &policies)
				read(t, row[1], &why)
				_, err := durward.FromTexts(policies)
				refused(t, err, durward.CodePolicies, why)
			}
		})
	}
}

// holdDecisions asks the same question in every way there is.
func holdDecisions(t *testing.T, pdp *durward.DecisionPoint, one oneCase) {
	for _, row := range one.Decide {
		question, expected := row[0], row[1]
		decision, err := pdp.DecideText(string(question))
		sameDecision(t, decision, err, expected)
		outcome, permitted := decision.Outcome.String(), decision.Permitted()
		var value map[string]any
		read(t, question, &value)
		for _, form := range []any{question, value} {
			decision, err = pdp.Decide(form)
			sameDecision(t, decision, err, expected)
			decision, err = firstOf(pdp, form)
			sameDecision(t, decision, err, expected)
		}
		answers, err := pdp.DecideMany([]any{question, value})
		if err != nil || len(answers) != 2 {
			t.Fatal(answers, err)
		}
		for _, answer := range answers {
			sameDecision(t, answer.Decision, answer.Err, expected)
		}
		var said map[string]json.RawMessage
		read(t, expected, &said)
		if permitted != (len(said) == 1 && outcome == "PERMIT") {
			t.Errorf("%s is permitted: %v", expected, permitted)
		}
		explained, err := pdp.Explain(question)
		if err != nil || !strings.Contains(string(explained.JSON), `"outcome":"`+outcome+`"`) || explained.Text == "" {
			t.Errorf("%s, %v", explained.JSON, err)
		}
	}
}

func holdRequests(t *testing.T, pdp *durward.DecisionPoint, one oneCase) {
	for _, row := range one.Requests {
		var request string
		read(t, row[0], &request)
		response, err := pdp.DecideRequest(request)
		if err != nil {
			t.Fatal(err)
		}
		sameJSON(t, []byte(response), row[1])
		explained, err := pdp.ExplainRequest(request)
		if err != nil || !strings.Contains(string(explained.JSON), `"outcome":`) {
			t.Errorf("%s, %v", explained.JSON, err)
		}
	}
	for _, row := range one.XMLRequests {
		response, err := pdp.DecideRequest(row[0])
		if err != nil || !strings.Contains(response, row[1]) {
			t.Errorf("%s without %s: %v", response, row[1], err)
		}
	}
}

func holdRefused(t *testing.T, pdp *durward.DecisionPoint, one oneCase) {
	for _, row := range one.Refused {
		text := json.RawMessage(row[0])
		decision, err := pdp.DecideText(row[0])
		refused(t, err, durward.CodeQuestion, row[1])
		if decision.Outcome != durward.Indeterminate {
			t.Error(decision)
		}
		_, err = pdp.Decide(text)
		refused(t, err, durward.CodeQuestion, row[1])
		_, err = pdp.Explain(text)
		refused(t, err, durward.CodeQuestion, row[1])
		_, err = firstOf(pdp, text)
		refused(t, err, durward.CodeQuestion, row[1])
	}
	for _, row := range one.RefusedRequests {
		_, err := pdp.DecideRequest(row[0])
		refused(t, err, durward.CodeQuestion, row[1])
		_, err = pdp.ExplainRequest(row[0])
		refused(t, err, durward.CodeQuestion, row[1])
	}
}
