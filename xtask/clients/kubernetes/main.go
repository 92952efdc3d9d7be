// Asks durward as an API server of Kubernetes does: with its own webhook authorizer, its own reader of AuthorizationConfiguration and its own
// match conditions, set up by the files of the manual. Arguments: the program, and a folder that it may fill. A line for each case.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/load"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/plugin/pkg/authorizer/webhook"
	"k8s.io/apiserver/plugin/pkg/authorizer/webhook/metrics"
)

// Where the manual has its files, and where it listens.
const (
	manualFolder = "/etc/kubernetes/durward"
	manualPort   = "8443"
	patience     = 60 * time.Second
)

var failures int

func told(name string, problem string) {
	if problem == "" {
		fmt.Println("ok " + name)
		return
	}
	failures++
	fmt.Printf("FAILED %s: %s\n", name, problem)
}

func must(err error) {
	if err != nil {
		fmt.Printf("FAILED set up: %v\n", err)
		os.Exit(1)
	}
}

func main() {
	binary, folder := os.Args[1], os.Args[2]
	folder, err := filepath.Abs(folder)
	must(err)
	must(os.MkdirAll(folder, 0o700))
	port := freePort()
	must(setUp(folder, port))
	server := start(binary, folder, port)
	judge(folder)
	must(os.WriteFile(filepath.Join(folder, "policies/production.sapl"),
		[]byte("policy \"broken\"\npermit\n  1 / subject.id == 1;\n"), 0o600))
	// The folder is watched.
	waitFor("the broken policy is in force", func() bool {
		decision, _, _ := authorize(folder, nil, attributes("ada", "delete", "other", "pods"))
		return decision == authorizer.DecisionDeny
	})
	decision, reason, _ := authorize(folder, nil, attributes("ada", "get", "other", "pods"))
	told("a policy that fails denies", is(decision, reason, authorizer.DecisionDeny, "nothing could be decided"))
	must(server.Process.Kill())
	_ = server.Wait()
	conditions := configuration(folder).MatchConditions
	decision, _, err = authorize(folder, conditions, attributes("ada", "get", "other", "pods"))
	told("durward is down: failurePolicy denies", wanted(decision == authorizer.DecisionDeny && err != nil, decision, err))
	for _, exempt := range exempts() {
		decision, _, err = authorize(folder, conditions, exempt)
		told("durward is down: no opinion of "+exempt.User.GetName(),
			wanted(decision == authorizer.DecisionNoOpinion && err == nil, decision, err))
	}
	if failures > 0 {
		os.Exit(1)
	}
}

// Runs what the manual says, with other places.
func setUp(folder, port string) error {
	page, err := os.ReadFile(os.Getenv("MANUAL"))
	if err != nil {
		return err
	}
	text := strings.NewReplacer(manualFolder, folder, manualPort, port).Replace(string(page))
	for _, part := range strings.Split(text, "\n```sh\n")[1:] {
		script, _, _ := strings.Cut(part, "\n```")
		command := exec.Command("sh", "-e", "-c", script)
		command.Dir = folder
		if output, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s\n%s", err, output, script)
		}
	}
	return nil
}

func start(binary, folder, port string) *exec.Cmd {
	log, err := os.Create(filepath.Join(folder, "durward.log"))
	must(err)
	server := exec.Command(binary, "serve", "--config", filepath.Join(folder, "durward.toml"))
	server.Dir, server.Stdout, server.Stderr = folder, log, log
	must(server.Start())
	waitFor("durward listens", func() bool {
		connection, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
	})
	return server
}

func waitFor(what string, isSo func() bool) {
	for end := time.Now().Add(patience); !isSo(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			must(fmt.Errorf("never: %s", what))
		}
	}
}

func freePort() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	must(err)
	return port
}

// The webhook of the manual's AuthorizationConfiguration.
func configuration(folder string) *apiserver.WebhookConfiguration {
	config, err := load.LoadFromFile(filepath.Join(folder, "authorization.yaml"))
	must(err)
	return config.Authorizers[0].Webhook
}

// Asks once, without a cache of an earlier question.
func authorize(folder string, conditions []apiserver.WebhookMatchCondition, asked authorizer.AttributesRecord) (authorizer.Decision, string, error) {
	webhookConfig := configuration(folder)
	client, err := webhookutil.LoadKubeconfig(*webhookConfig.ConnectionInfo.KubeConfigFile, nil)
	must(err)
	client.Timeout = webhookConfig.Timeout.Duration
	onError := authorizer.DecisionNoOpinion
	if webhookConfig.FailurePolicy == apiserver.FailurePolicyDeny {
		onError = authorizer.DecisionDeny
	}
	door, err := webhook.New(client, webhookConfig.SubjectAccessReviewVersion, webhookConfig.AuthorizedTTL.Duration,
		webhookConfig.UnauthorizedTTL.Duration, wait.Backoff{Duration: time.Millisecond, Factor: 1, Steps: 2}, onError, conditions,
		"durward", metrics.NoopAuthorizerMetrics{}, authorizationcel.NewDefaultCompiler())
	must(err)
	return door.Authorize(context.Background(), asked)
}

func attributes(name, verb, namespace, resource string, groups ...string) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: name, UID: "7", Groups: append(groups, "system:authenticated"),
			Extra: map[string][]string{"example.org/scopes": {"a"}}},
		Verb: verb, Namespace: namespace, APIVersion: "v1", Resource: resource, ResourceRequest: true,
	}
}

// Those of whom there is never an opinion, doing what is denied to others.
func exempts() []authorizer.AttributesRecord {
	return []authorizer.AttributesRecord{
		attributes("root", "delete", "prod", "pods", "system:masters"),
		attributes("system:kube-scheduler", "delete", "prod", "pods"),
		attributes("system:node:n1", "delete", "prod", "pods", "system:nodes"),
		attributes("system:serviceaccount:kube-system:job-controller", "delete", "prod", "pods", "system:serviceaccounts"),
	}
}

func judge(folder string) {
	config, err := load.LoadFromFile(filepath.Join(folder, "authorization.yaml"))
	must(err)
	problems := validation.ValidateAuthorizationConfiguration(authorizationcel.NewDefaultCompiler(), nil, config,
		sets.New("Webhook", "Node", "RBAC"), sets.New("Webhook"))
	told("the AuthorizationConfiguration is valid", wanted(len(problems) == 0, problems))
	conditions := configuration(folder).MatchConditions
	exec := attributes("olga", "create", "other", "pods", "operators")
	exec.Subresource = "exec"
	list := attributes("olga", "list", "", "pods", "operators")
	list.FieldSelectorRequirements = fields.Requirements{{Operator: "=", Field: "spec.nodeName", Value: "n1"}}
	path := authorizer.AttributesRecord{User: attributes("olga", "", "", "", "operators").User, Verb: "get", Path: "/metrics"}
	other := attributes("eve", "get", "other", "configmaps")
	other.APIGroup = "example.org"
	for _, it := range []struct {
		name     string
		asked    authorizer.AttributesRecord
		decision authorizer.Decision
		reason   string
	}{
		{"a permit allows", attributes("olga", "get", "prod", "pods", "operators"), authorizer.DecisionAllow, ""},
		{"a list with a selector", list, authorizer.DecisionAllow, ""},
		{"a path", path, authorizer.DecisionAllow, ""},
		{"no policy applies: secrets", attributes("olga", "get", "prod", "secrets", "operators"), authorizer.DecisionNoOpinion, ""},
		{"no policy applies: a subresource", exec, authorizer.DecisionNoOpinion, ""},
		{"no policy applies: somebody else", other, authorizer.DecisionNoOpinion, ""},
		{"a deny is final, with its reason", attributes("olga", "delete", "prod", "pods", "operators"), authorizer.DecisionDeny, "only prod-owners change prod"},
		{"all namespaces are also that one", attributes("dev", "deletecollection", "", "pods"), authorizer.DecisionDeny, "only prod-owners change prod"},
		{"owners are not denied", attributes("paula", "delete", "prod", "pods", "prod-owners"), authorizer.DecisionNoOpinion, ""},
	} {
		decision, reason, err := authorize(folder, conditions, it.asked)
		problem := is(decision, reason, it.decision, it.reason)
		if err != nil {
			problem = err.Error()
		}
		told(it.name, problem)
	}
	before := decisions(folder, 9)
	for _, exempt := range exempts() {
		for _, by := range []struct {
			name       string
			conditions []apiserver.WebhookMatchCondition
		}{{"match conditions", conditions}, {"durward alone", nil}} {
			decision, reason, err := authorize(folder, by.conditions, exempt)
			problem := is(decision, reason, authorizer.DecisionNoOpinion, "")
			if err != nil {
				problem = err.Error()
			}
			told(fmt.Sprintf("no opinion of %s, by %s", exempt.User.GetName(), by.name), problem)
		}
	}
	// One more decision, so that whatever came before it is in the log.
	_, _, _ = authorize(folder, conditions, other)
	after := decisions(folder, before+1)
	told("no policy was asked about those", wanted(after == before+1, before, after))
	stranger(folder)
}

// Without a certificate nobody is answered.
func stranger(folder string) {
	file := filepath.Join(folder, "webhook.kubeconfig")
	whole, err := os.ReadFile(file)
	must(err)
	lines := strings.Split(string(whole), "\n")
	kept := []string{}
	for _, line := range lines {
		switch {
		case strings.Contains(line, "client-key"):
		case strings.Contains(line, "client-certificate"):
			kept = append(kept, "      token: nobody")
		default:
			kept = append(kept, line)
		}
	}
	must(os.WriteFile(file, []byte(strings.Join(kept, "\n")), 0o600))
	decision, _, err := authorize(folder, nil, attributes("olga", "get", "prod", "pods", "operators"))
	told("an API server without a certificate is not answered", wanted(decision == authorizer.DecisionDeny && err != nil, decision, err))
	must(os.WriteFile(file, whole, 0o600))
}

// How many decisions there are in the log, once there are as many.
func decisions(folder string, count int) int {
	found := 0
	waitFor(fmt.Sprintf("%d decisions in the log", count), func() bool {
		text, _ := os.ReadFile(filepath.Join(folder, "decisions.jsonl"))
		found = strings.Count(string(text), `"surface":"kubernetes"`)
		return found >= count
	})
	return found
}

func is(decision authorizer.Decision, reason string, wantedDecision authorizer.Decision, wantedReason string) string {
	return wanted(decision == wantedDecision && reason == wantedReason, decision, reason)
}

func wanted(isSo bool, found ...any) string {
	if isSo {
		return ""
	}
	return "found " + fmt.Sprint(found...)
}
