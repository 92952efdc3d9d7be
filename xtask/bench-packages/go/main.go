// Packages for Go: `bench QUESTIONS POLICIES LIBRARY`. See ../README.md.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"durward.io/durward"
	"github.com/casbin/casbin/v2"
	"github.com/cedar-policy/cedar-go"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
)

type question struct {
	permitted                              bool
	user, role, action, record, kind, text string
}

type contender struct {
	title  string
	decide func(int) (bool, error)
}

func read(path string) ([]question, error) {
	text, err := os.ReadFile(path)
	var questions []question
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		questions = append(questions, question{f[0] == "true", f[1], f[2], f[3], f[4], f[5], f[6]})
	}
	return questions, err
}

func ours(questions []question, policies, library string) ([]contender, error) {
	if err := durward.LoadFile(library); err != nil {
		return nil, err
	}
	pdp, err := durward.Open(filepath.Join(policies, "doctors.sapl"))
	if err != nil {
		return nil, err
	}
	objects := make([]map[string]any, len(questions))
	for at := range questions {
		if err := json.Unmarshal([]byte(questions[at].text), &objects[at]); err != nil {
			return nil, err
		}
	}
	return []contender{
		{"durward, text", func(at int) (bool, error) {
			decision, err := pdp.DecideText(questions[at].text)
			return decision.Permitted(), err
		}},
		{"durward, object", func(at int) (bool, error) {
			decision, err := pdp.Decide(objects[at])
			return decision.Permitted(), err
		}},
	}, nil
}

func cedarGo(questions []question, policies, _ string) ([]contender, error) {
	text, err := os.ReadFile(filepath.Join(policies, "doctors.cedar"))
	if err != nil {
		return nil, err
	}
	set, err := cedar.NewPolicySetFromBytes("doctors.cedar", text)
	if err != nil {
		return nil, err
	}
	requests, entities := make([]cedar.Request, len(questions)), make([]cedar.EntityMap, len(questions))
	for at, q := range questions {
		user, record := cedar.NewEntityUID("User", cedar.String(q.user)), cedar.NewEntityUID("Record", cedar.String(q.record))
		requests[at] = cedar.Request{Principal: user, Action: cedar.NewEntityUID("Action", cedar.String(q.action)), Resource: record}
		entities[at] = cedar.EntityMap{
			user:   {UID: user, Attributes: cedar.NewRecord(cedar.RecordMap{"role": cedar.String(q.role)})},
			record: {UID: record, Attributes: cedar.NewRecord(cedar.RecordMap{"kind": cedar.String(q.kind)})},
		}
	}
	return []contender{{"cedar-go", func(at int) (bool, error) {
		decision, _ := cedar.Authorize(set, entities[at], requests[at])
		return decision == cedar.Allow, nil
	}}}, nil
}

func opa(questions []question, policies, _ string) ([]contender, error) {
	text, err := os.ReadFile(filepath.Join(policies, "doctors.rego"))
	if err != nil {
		return nil, err
	}
	query, err := rego.New(rego.Query("data.doctors.allow"), rego.Module("doctors.rego", string(text))).PrepareForEval(context.Background())
	if err != nil {
		return nil, err
	}
	inputs := make([]ast.Value, len(questions))
	for at, q := range questions {
		if inputs[at], err = ast.ValueFromReader(strings.NewReader(q.text)); err != nil {
			return nil, err
		}
	}
	return []contender{{"opa", func(at int) (bool, error) {
		results, err := query.Eval(context.Background(), rego.EvalParsedInput(inputs[at]))
		return results.Allowed(), err
	}}}, nil
}

func casbinGo(questions []question, policies, _ string) ([]contender, error) {
	enforcer, err := casbin.NewEnforcer(filepath.Join(policies, "casbin.conf"), filepath.Join(policies, "casbin.csv"))
	if err != nil {
		return nil, err
	}
	asked := make([][]any, len(questions))
	for at, q := range questions {
		asked[at] = []any{map[string]any{"role": q.role}, map[string]any{"type": q.kind}, q.action}
	}
	return []contender{{"casbin", func(at int) (bool, error) { return enforcer.Enforce(asked[at]...) }}}, nil
}

func measure(c contender, questions []question, limit time.Duration) (float64, error) {
	start := time.Now()
	calls, permits := 0, 0
	took := time.Duration(0)
	for took < limit {
		for at := range questions {
			permitted, err := c.decide(at)
			if err != nil {
				return 0, err
			}
			if permitted {
				permits++
			}
		}
		calls += len(questions)
		took = time.Since(start)
	}
	if permits == 0 {
		return 0, errors.New("nothing was permitted")
	}
	return float64(took.Nanoseconds()) / float64(calls), nil
}

func run() error {
	questions, err := read(os.Args[1])
	if err != nil {
		return err
	}
	var contenders []contender
	for _, make := range []func([]question, string, string) ([]contender, error){ours, cedarGo, opa, casbinGo} {
		made, err := make(questions, os.Args[2], os.Args[3])
		if err != nil {
			fmt.Fprintln(os.Stderr, "left out:", err)
		}
		contenders = append(contenders, made...)
	}
	titles := ""
	for _, c := range contenders {
		for at, q := range questions {
			if permitted, err := c.decide(at); err != nil || permitted != q.permitted {
				return fmt.Errorf("%s answers otherwise: %s: %w", c.title, q.text, err)
			}
		}
		titles += "\t" + c.title
	}
	fmt.Println("ok" + titles)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var number, ms int
		if _, err := fmt.Sscanf(in.Text(), "measure %d %d", &number, &ms); err != nil {
			return err
		}
		ns, err := measure(contenders[number], questions, time.Duration(ms)*time.Millisecond)
		if err != nil {
			return err
		}
		fmt.Println("ok", ns)
	}
	return in.Err()
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
