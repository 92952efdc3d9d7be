package main

import (
	"bufio"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
)

// The same commands, rounds and median as in Harness.java and harness.rs:
//
//	decisions FILE   decides every request once and writes the decisions, one a line; answers `ok COUNT`
//	parsed SECONDS   read request to decision, for that long; answers `ok DECISIONS_PER_SECOND`
//	text SECONDS     text of a request to text of the decision, for that long; answers the same
const (
	round = 100 * time.Millisecond
	batch = 20
)

// Keeps results alive, so that no work can be left out.
var sink int

func serve(engine opa, lines []string) error {
	requests := make([]ast.Value, len(lines))
	for at, line := range lines {
		request, err := engine.parse(line)
		if err != nil {
			return err
		}
		requests[at] = request
	}
	fmt.Println("ok", len(requests))
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		command, argument, _ := strings.Cut(in.Text(), " ")
		var answer string
		var err error
		switch command {
		case "decisions":
			answer, err = decisions(engine, requests, argument)
		case "parsed":
			answer, err = measure(argument, len(requests), func(at int) (string, error) {
				return engine.decide(requests[at])
			})
		case "text":
			answer, err = measure(argument, len(lines), func(at int) (string, error) {
				request, err := engine.parse(lines[at])
				if err != nil {
					return "", err
				}
				decision, err := engine.decide(request)
				return `{"decision":"` + decision + `"}`, err
			})
		default:
			answer = "error unknown command " + command
		}
		if err != nil {
			return err
		}
		fmt.Println(answer)
	}
	return in.Err()
}

func decisions(engine opa, requests []ast.Value, file string) (string, error) {
	var text strings.Builder
	for _, request := range requests {
		decision, err := engine.decide(request)
		if err != nil {
			return "", err
		}
		text.WriteString(decision + "\n")
	}
	return fmt.Sprintf("ok %d", len(requests)), os.WriteFile(file, []byte(text.String()), 0o644)
}

// Goes through all requests again and again. The answer is the median over rounds.
func measure(seconds string, requests int, step func(int) (string, error)) (string, error) {
	duration, err := strconv.ParseFloat(seconds, 64)
	if err != nil {
		return "", err
	}
	var rates []float64
	at := 0
	for start := time.Now(); time.Since(start).Seconds() < duration; {
		begin := time.Now()
		count := 0
		took := time.Duration(0)
		for took < round {
			for range batch {
				answer, err := step(at)
				if err != nil {
					return "", err
				}
				sink += len(answer)
				if at++; at == requests {
					at = 0
				}
			}
			count += batch
			took = time.Since(begin)
		}
		rates = append(rates, float64(count)/took.Seconds())
	}
	sort.Float64s(rates)
	return fmt.Sprintf("ok %f", rates[len(rates)/2]), nil
}
