// OPA, in this process. Argument: the folder with policy.rego, data.json and requests.jsonl.
//
// As its documentation advises for speed: a prepared query, inputs converted before, the store in memory with its values
// as OPA's evaluator wants them. Whether partial evaluation while preparing helps depends on the policies: both are tried,
// and the faster one is measured; what was chosen goes to standard error. Of thousands of policies it would take all memory.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
)

// How long each way of preparing is tried.
const trial = 500 * time.Millisecond

// The collector runs when the heap has grown to five times its size instead of twice: the same machine gives the virtual
// machines of the other engines a gibibyte.
const collectorPercent = 400

// The longest policy and data that are tried with partial evaluation: it writes data out as rules, and multiplies every
// permission with every denial.
const partialBytesMax = 100_000

type opa struct {
	query       rego.PreparedEvalQuery
	transaction storage.Transaction
}

func (engine opa) parse(line string) (ast.Value, error) {
	return ast.ValueFromReader(strings.NewReader(line))
}

func (engine opa) decide(input ast.Value) (string, error) {
	results, err := engine.query.Eval(context.Background(),
		rego.EvalParsedInput(input), rego.EvalTransaction(engine.transaction))
	if err != nil {
		return "", err
	}
	if results.Allowed() {
		return "Permit", nil
	}
	return "Deny", nil
}

func prepare(folder string, options ...rego.PrepareOption) (opa, error) {
	text, err := os.ReadFile(filepath.Join(folder, "data.json"))
	if err != nil {
		return opa{}, err
	}
	var data map[string]any
	if err := json.Unmarshal(text, &data); err != nil {
		return opa{}, err
	}
	store := inmem.NewFromObjectWithOpts(data, inmem.OptReturnASTValuesOnRead(true))
	transaction, err := store.NewTransaction(context.Background())
	if err != nil {
		return opa{}, err
	}
	policy, err := os.ReadFile(filepath.Join(folder, "policy.rego"))
	if err != nil {
		return opa{}, err
	}
	query, err := rego.New(
		rego.Query("data.scenario.allow"),
		rego.Module("policy.rego", string(policy)),
		rego.Store(store),
		rego.Transaction(transaction),
	).PrepareForEval(context.Background(), options...)
	return opa{query, transaction}, err
}

// What the engine does in a short time.
func try(engine opa, lines []string) (int, error) {
	inputs := make([]ast.Value, len(lines))
	for at, line := range lines {
		input, err := engine.parse(line)
		if err != nil {
			return 0, err
		}
		inputs[at] = input
	}
	decided := 0
	for begin := time.Now(); time.Since(begin) < trial; decided++ {
		if _, err := engine.decide(inputs[decided%len(inputs)]); err != nil {
			return 0, err
		}
	}
	return decided, nil
}

func fastest(folder string, lines []string) (opa, error) {
	plain, err := prepare(folder)
	if err != nil {
		return opa{}, err
	}
	size := int64(0)
	for _, name := range []string{"policy.rego", "data.json"} {
		file, err := os.Stat(filepath.Join(folder, name))
		if err != nil {
			return opa{}, err
		}
		size += file.Size()
	}
	if size > partialBytesMax {
		return plain, nil
	}
	plainDecided, err := try(plain, lines)
	if err != nil {
		return opa{}, err
	}
	partial, err := prepare(folder, rego.WithPartialEval())
	if err != nil {
		fmt.Fprintln(os.Stderr, "not evaluated partially:", err)
		return plain, nil
	}
	partialDecided, err := try(partial, lines)
	if err != nil {
		return opa{}, err
	}
	fmt.Fprintf(os.Stderr, "in %v: %d as it is, %d evaluated partially\n", trial, plainDecided, partialDecided)
	if partialDecided > plainDecided {
		return partial, nil
	}
	return plain, nil
}

func start(folder string) error {
	text, err := os.ReadFile(filepath.Join(folder, "requests.jsonl"))
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	engine, err := fastest(folder, lines)
	if err != nil {
		return err
	}
	return serve(engine, lines)
}

func main() {
	debug.SetGCPercent(collectorPercent)
	if err := start(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
