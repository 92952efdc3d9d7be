package durwardhttp_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"durward.io/durward"
	"durward.io/durward/durwardhttp"
)

func pdpOf(t *testing.T, policy string) *durward.DecisionPoint {
	t.Helper()
	pdp, err := durward.FromTexts(map[string]string{"p.sapl": policy})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pdp.Close() })
	return pdp
}

// quiet drops what is logged.
var quiet = slog.New(slog.DiscardHandler)

var shown = http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
	decision, ok := durwardhttp.DecisionOf(request.Context())
	fmt.Fprintf(response, "shown %v %v", decision.Outcome, ok)
})

// as says who the user is, as authentication would.
func as(next http.Handler) http.Handler {
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if user := request.Header.Get("user"); user != "" {
			request = request.WithContext(durwardhttp.WithSubject(request.Context(), map[string]string{"name": user}))
		}
		next.ServeHTTP(response, request)
	})
}

// serve gives a function that asks a real server with this guard.
func serve(t *testing.T, pdp *durward.DecisionPoint, options durwardhttp.Options) func(user, target string) (int, string, http.Header) {
	t.Helper()
	if options.Log == nil {
		options.Log = quiet
	}
	server := httptest.NewServer(as(durwardhttp.Guard(shown, pdp, options)))
	t.Cleanup(server.Close)
	return func(user, target string) (int, string, http.Header) {
		t.Helper()
		return send(t, server, user, target)
	}
}

// send writes the target as it is; a client of net/http would clean it.
func send(t *testing.T, server *httptest.Server, user, target string) (int, string, http.Header) {
	t.Helper()
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	fmt.Fprintf(connection, "GET %s HTTP/1.1\r\nHost: here\r\nUser: %s\r\nConnection: close\r\n\r\n", target, user)
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, strings.TrimSpace(string(body)), response.Header
}

func is(t *testing.T, what string, status, expected int) {
	t.Helper()
	if status != expected {
		t.Errorf("%s: %d, not %d", what, status, expected)
	}
}

func TestAPermitGoesOnAndNothingElse(t *testing.T) {
	ask := serve(t, pdpOf(t, `policy "p" permit subject.name == "anna"; action == "GET"; resource == "/records/a b";`), durwardhttp.Options{})
	status, body, _ := ask("anna", "/records/a%20b?at=1")
	is(t, "anna", status, http.StatusOK)
	if body != "shown PERMIT true" {
		t.Error(body)
	}
	for _, other := range [][2]string{{"bob", "/records/a%20b"}, {"", "/records/a%20b"}, {"anna", "/records/"}} {
		status, body, _ = ask(other[0], other[1])
		is(t, other[0], status, http.StatusForbidden)
		if body != "Forbidden" {
			t.Error(body)
		}
	}
	for _, policy := range []string{`policy "p" deny`, `policy "p" permit 1 / 0 > 1;`, `policy "p" permit subject.name;`} {
		status, _, _ = serve(t, pdpOf(t, policy), durwardhttp.Options{})("anna", "/")
		is(t, policy, status, http.StatusForbidden)
	}
}

func TestAddressesThatCanBeReadInTwoWaysAreRefused(t *testing.T) {
	ask := serve(t, pdpOf(t, `policy "p" permit`), durwardhttp.Options{})
	for _, target := range []string{
		"//", "/a//b", "/./a", "/..", "/a/../b", "/a/%2e%2e/b", "/a%2fb", "/a%2Fb", "/a%5cb", `/a\b`, "/a;b", "/a%3bb", "/%00", "/%ff", "*",
	} {
		status, _, _ := ask("anna", target)
		if status != http.StatusForbidden && status != http.StatusBadRequest {
			t.Errorf("%s: %d", target, status)
		}
	}
	for _, target := range []string{"/", "/a/", "/...", "/a.b/.c", "/%C3%A9", "/a?x=//..;", "http://here/a"} {
		status, _, _ := ask("anna", target)
		is(t, target, status, http.StatusOK)
	}
}

func TestThePathIsTheWholeOne(t *testing.T) {
	pdp := pdpOf(t, `policy "p" permit resource == "/api/records";`)
	guarded := http.StripPrefix("/api", durwardhttp.Guard(shown, pdp, durwardhttp.Options{Log: quiet}))
	server := httptest.NewServer(guarded)
	defer server.Close()
	status, _, _ := send(t, server, "", "/api/records")
	is(t, "the whole path", status, http.StatusOK)
	status, _, _ = send(t, server, "", "/api/other")
	is(t, "another", status, http.StatusForbidden)
	// A request that no server has made has its address in the URL alone.
	request, recorder := httptest.NewRequest(http.MethodGet, "/api/records", nil), httptest.NewRecorder()
	request.RequestURI = ""
	guarded = durwardhttp.Guard(shown, pdp, durwardhttp.Options{Log: quiet})
	guarded.ServeHTTP(recorder, request)
	is(t, "without a server", recorder.Code, http.StatusOK)
}

func TestObligationsAreMetOrTheRequestIsRefused(t *testing.T) {
	policy := `policy "p" permit
		obligation "text" obligation { "type": "typed", "at": 1 } obligation { "id": "urn:x" }
		advice "tip" advice { "type": "fails" } advice 7`
	var mutex sync.Mutex
	var met []string
	note := func(value json.RawMessage, exchange durwardhttp.Exchange) error {
		mutex.Lock()
		defer mutex.Unlock()
		met = append(met, string(value))
		exchange.Header.Add("met", exchange.Decision.Outcome.String()+exchange.Request.Method)
		return nil
	}
	fails := func(json.RawMessage, durwardhttp.Exchange) error { return errors.New("on purpose") }
	all := durwardhttp.Handlers{"text": note, "typed": note, "urn:x": note}
	status, _, header := serve(t, pdpOf(t, policy), durwardhttp.Options{
		Obligations: all, Advice: durwardhttp.Handlers{"tip": note, "fails": fails},
	})("anna", "/")
	is(t, "all are met", status, http.StatusOK)
	expected := `"text" {"type":"typed","at":1} {"id":"urn:x"} "tip"`
	if said := strings.Join(met, " "); said != expected || len(header.Values("met")) != 4 || header.Get("met") != "PERMITGET" {
		t.Error(said, header)
	}
	for missing := range all {
		met = nil
		some := durwardhttp.Handlers{}
		for name, handler := range all {
			if name != missing {
				some[name] = handler
			}
		}
		status, _, _ = serve(t, pdpOf(t, policy), durwardhttp.Options{Obligations: some})("anna", "/")
		is(t, "without "+missing, status, http.StatusForbidden)
		if len(met) > 0 {
			t.Error("no handler is called", met)
		}
		some[missing] = fails
		status, _, _ = serve(t, pdpOf(t, policy), durwardhttp.Options{Obligations: some})("anna", "/")
		is(t, "failing "+missing, status, http.StatusForbidden)
		some[missing] = nil
		status, _, _ = serve(t, pdpOf(t, policy), durwardhttp.Options{Obligations: some})("anna", "/")
		is(t, "nil for "+missing, status, http.StatusForbidden)
	}
	for _, nameless := range []string{`7`, `null`, `{}`, `{ "Type": "typed" }`, `{ "type": 7, "id": "typed" }`, `["typed"]`} {
		status, _, _ = serve(t, pdpOf(t, `policy "p" permit obligation `+nameless), durwardhttp.Options{
			Obligations: durwardhttp.Handlers{"typed": note},
		})("anna", "/")
		is(t, nameless, status, http.StatusForbidden)
	}
}

func TestObligationsOfADenyAreMetAndItStaysOne(t *testing.T) {
	var met []string
	note := func(value json.RawMessage, _ durwardhttp.Exchange) error {
		met = append(met, string(value))
		return nil
	}
	status, _, _ := serve(t, pdpOf(t, `policy "p" deny obligation "other" obligation "text" advice "tip"`), durwardhttp.Options{
		Obligations: durwardhttp.Handlers{"text": note}, Advice: durwardhttp.Handlers{"tip": note},
	})("anna", "/")
	is(t, "a deny", status, http.StatusForbidden)
	if said := strings.Join(met, " "); said != `"text" "tip"` {
		t.Error(said)
	}
}

func TestAResourceIsTakenOrTheRequestIsRefused(t *testing.T) {
	pdp := pdpOf(t, `policy "p" permit transform null`)
	status, _, _ := serve(t, pdp, durwardhttp.Options{})("anna", "/")
	is(t, "nobody takes it", status, http.StatusForbidden)
	take := func(value json.RawMessage, exchange durwardhttp.Exchange) error {
		exchange.Header.Set("taken", string(value))
		return nil
	}
	status, _, header := serve(t, pdp, durwardhttp.Options{Resource: take})("anna", "/")
	is(t, "taken", status, http.StatusOK)
	if header.Get("taken") != "null" {
		t.Error(header)
	}
	fails := func(json.RawMessage, durwardhttp.Exchange) error { return errors.New("on purpose") }
	status, _, _ = serve(t, pdp, durwardhttp.Options{Resource: fails})("anna", "/")
	is(t, "that fails", status, http.StatusForbidden)
}

func TestWhateverFailsIsRefused(t *testing.T) {
	permits := pdpOf(t, `policy "p" permit`)
	questions := map[string]func(*http.Request) (any, error){
		"none":            func(*http.Request) (any, error) { return nil, nil },
		"an error":        func(*http.Request) (any, error) { return json.RawMessage(`{}`), errors.New("on purpose") },
		"no subscription": func(*http.Request) (any, error) { return 7, nil },
		"no JSON":         func(*http.Request) (any, error) { return durward.Subscription{Subject: make(chan int)}, nil },
	}
	for name, subscription := range questions {
		status, _, _ := serve(t, permits, durwardhttp.Options{Subscription: subscription})("anna", "/")
		is(t, name, status, http.StatusForbidden)
	}
	closed := pdpOf(t, `policy "p" permit`)
	closed.Close()
	for _, pdp := range []*durward.DecisionPoint{closed, nil, {}} {
		status, _, _ := serve(t, pdp, durwardhttp.Options{})("anna", "/")
		is(t, "closed", status, http.StatusForbidden)
	}
	recorder := httptest.NewRecorder()
	durwardhttp.Guard(nil, permits, durwardhttp.Options{Log: quiet}).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/", nil))
	is(t, "nothing to guard", recorder.Code, http.StatusForbidden)
}

func TestDenyAnswersInPlaceOf403(t *testing.T) {
	ask := serve(t, pdpOf(t, `policy "p" deny`), durwardhttp.Options{
		Deny: http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
			decision, _ := durwardhttp.DecisionOf(request.Context())
			http.Error(response, decision.Outcome.String(), http.StatusNotFound)
		}),
	})
	status, body, _ := ask("anna", "/")
	is(t, "a deny", status, http.StatusNotFound)
	if body != "DENY" {
		t.Error(body)
	}
}

func TestFailuresAreLoggedAndDeniesAreNot(t *testing.T) {
	var log strings.Builder
	options := durwardhttp.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}
	serve(t, pdpOf(t, `policy "p" deny`), options)("anna", "/")
	if log.Len() > 0 {
		t.Error(log.String())
	}
	serve(t, pdpOf(t, `policy "p" permit obligation "unknown"`), options)("anna", "/")
	if !strings.Contains(log.String(), "no handler for the obligation") {
		t.Error(log.String())
	}
}

func TestManyAskAtOnceWhilePoliciesChange(t *testing.T) {
	pdp := pdpOf(t, `policy "p" permit subject.name == "anna";`)
	ask := serve(t, pdp, durwardhttp.Options{})
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 20 {
				status, _, _ := ask("anna", "/")
				is(t, "anna", status, http.StatusOK)
				status, _, _ = ask("bob", "/")
				is(t, "bob", status, http.StatusForbidden)
			}
		})
	}
	for range 20 {
		if err := pdp.Replace(map[string]string{"p.sapl": `policy "q" permit subject.name == "anna";`}); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
}
