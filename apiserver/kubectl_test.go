//go:build unix

package apiserver_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/test/plane"
	"github.com/flyball-io/flyball/test/planetest"
)

// commandBound bounds the time of a command that hangs. Most take a tenth of a second.
const commandBound = 5 * time.Minute

// people is a user at a shell with kubectl.
type people struct {
	t    *testing.T
	dir  string
	env  []string
	text []string // the output of each command
}

// newPeople returns a user with a kubeconfig and files.
func newPeople(t *testing.T, kubeconfig []byte, files map[string]string) *people {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for name, text := range files {
		write(name, text)
	}
	env := append(os.Environ(), "KUBECONFIG="+write("kubeconfig", string(kubeconfig)), "HOME="+dir, "TZ=UTC")
	return &people{t: t, dir: dir, env: env}
}

// do runs a command, and writes down its output and exit status.
func (p *people) do(line string) {
	ctx, cancel := context.WithTimeout(p.t.Context(), commandBound)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // with its children
	cmd.WaitDelay = time.Second
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		out = append(out, (err.Error() + "\n")...)
	}
	p.text = append(p.text, p.hide(string(out)))
}

var (
	serverURL   = regexp.MustCompile(`https?://127\.0\.0\.1:\d+`)
	uidText     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	ageText     = regexp.MustCompile(`\b([2-9]m)?\d+(\.\d+)?m?s\b|\b[2-9]m\b|<unknown>`)
	dateText    = regexp.MustCompile(`(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}`)
	nameEnd     = regexp.MustCompile(`-[a-f0-9]{8,10}-[a-z0-9]{5}\b`)
	servicePort = regexp.MustCompile(`\b3[0-2]\d{3}\b`) // of a node
	columnSpace = regexp.MustCompile(`(?m)[ \t]+`)
	versionText = regexp.MustCompile(`(resourceVersion: |Resource Version: +)"?\d+"?`)
)

// hide replaces values of chance and of the clock. Spaces of columns are shortened, since their width depends on these.
func (p *people) hide(text string) string {
	text = strings.ReplaceAll(text, p.dir, "DIR")
	for _, r := range []struct {
		what *regexp.Regexp
		by   string
	}{
		{serverURL, "URL"}, {uidText, "UID"}, {timestamp, "TIME"}, {dateText, "TIME"}, {versionText, "${1}N"}, {servicePort, "PORT"}, {address, "ADDRESS"}, {ageText, "AGE"}, {nameEnd, "-NAME"},
		{columnSpace, " "},
	} {
		text = r.what.ReplaceAllString(text, r.by)
	}
	return noEvents.ReplaceAllString(repaired.ReplaceAllString(text, "Events: <none>\n"), "no events\n")
}

// repaired matches Events of the real server's repair loop for addresses, which sometimes is faster than their
// allocation, and noEvents a list of such Events only, or of none.
var (
	repaired = regexp.MustCompile(`Events:\n Type Reason Age From Message\n[- ]+\n(.*ClusterIPNotAllocated.*\n)+`)
	noEvents = regexp.MustCompile(`LAST SEEN TYPE REASON OBJECT MESSAGE\n(.*ClusterIPNotAllocated.*\n)+|No events found in \w+ namespace\.\n`)
)

// commands reads a script: commands, and files after lines such as "-- name --".
func commands(t *testing.T, name string) (lines []string, files map[string]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "kubectl", name))
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	file := ""
	for line := range strings.Lines(string(text)) {
		bare := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "-- ") && strings.HasSuffix(bare, " --"):
			file = bare[3 : len(bare)-3]
		case file != "":
			files[file] += line
		case bare != "" && bare[0] != '#':
			lines = append(lines, bare)
		}
	}
	return lines, files
}

// kubectlIsHere skips a test where there is no kubectl.
func kubectlIsHere(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Skip("there is no kubectl on this machine")
	}
}

// kubectl says the same of both servers, line by line: tables, descriptions, errors and exit statuses. The commands of a
// script go to both at the same time.
func TestKubectlSaysTheSame(t *testing.T) {
	kubectlIsHere(t)
	if v := os.Getenv(plane.KubernetesEnv); v != "" {
		t.Skipf("the rules are those of the module's Kubernetes, the real server is %s", v)
	}
	t.Parallel() // it mostly waits for the real server
	differ := kubectlDiffers(t)
	if len(differ) > 0 { // see repeats
		t.Logf("once more, since they differ:\n%s", strings.Join(differ, "\n"))
		differ = kubectlDiffers(t)
	}
	for _, d := range differ {
		t.Error(d)
	}
}

// kubectlDiffers runs the script on a pair of servers, and returns the differences.
func kubectlDiffers(t *testing.T) (differ []string) {
	t.Helper()
	real := planetest.Private(t, plane.Options{Bare: true, Progress: os.Stderr})
	config, err := os.ReadFile(real.KubeconfigPath())
	if err != nil {
		t.Fatal(err)
	}
	memory := apiserver.Start(t, apiserver.Options{})
	for _, script := range []string{"bare.txt", "odd.txt"} {
		lines, files := commands(t, script)
		files["all.yaml"] = ofAllKinds()
		a, b := newPeople(t, config, files), newPeople(t, memory.Kubeconfig(), files)
		for i, line := range lines {
			var both sync.WaitGroup
			both.Go(func() { a.do(line) })
			both.Go(func() { b.do(line) })
			both.Wait()
			if d := cmp.Diff(strings.Split(a.text[i], "\n"), strings.Split(b.text[i], "\n")); d != "" {
				differ = append(differ, fmt.Sprintf("%s: %s (-real +memory):\n%s", script, line, d))
			}
		}
	}
	return differ
}

// ofAllKinds returns a file with an object of each built-in kind in the namespace "shop". Objects that may refuse a Pod
// come last: the real server reads them late.
func ofAllKinds() string {
	var all, last strings.Builder
	for i, k := range kinds {
		apiVersion, kind, _ := strings.Cut(k.kind, " ")
		if apiVersion == "autoscaling/v1" {
			continue // the file has the kind in v2
		}
		namespace := ""
		if strings.HasPrefix(k.path, "~") || strings.Contains(k.path, "/NS/") {
			namespace = `,"namespace":"shop"`
		}
		to := &all
		if kind == "LimitRange" || kind == "ResourceQuota" {
			to = &last
		}
		fmt.Fprintf(to, "---\n"+`{"apiVersion":%q,"kind":%q,"metadata":{"name":"x%d"%s},%s}`+"\n", apiVersion, kind, i, namespace, strings.ReplaceAll(k.rest, "NS", "shop"))
	}
	return all.String() + last.String()
}

// With controllers, kubectl waits for rollouts, for running Pods, and for deletions with an owner.
func TestKubectlWithControllers(t *testing.T) {
	kubectlIsHere(t)
	s := apiserver.Start(t, apiserver.Options{Controllers: []string{"*"}})
	_, files := commands(t, "bare.txt")
	p := newPeople(t, s.Kubeconfig(), files)
	for i, step := range []struct{ line, want string }{
		{"kubectl create namespace shop", "created"},
		{"kubectl apply -f web.yaml", "deployment.apps/web created"},
		{"kubectl rollout status deployment web -n shop --timeout=4m", "successfully rolled out"},
		{"kubectl get deployment web -n shop", "web 1/1 1 1"},
		{"kubectl get pods -n shop", "1/1 Running 0"},
		{"kubectl wait deployment web -n shop --for=condition=Available --timeout=4m", "condition met"},
		{"kubectl set image deployment/web -n shop c=i:2", "image updated"},
		{"kubectl rollout status deployment web -n shop --timeout=4m", "successfully rolled out"},
		{"kubectl rollout history deployment web -n shop", "2 <none>"},
		{"kubectl rollout undo deployment web -n shop", "rolled back"},
		{"kubectl rollout status deployment web -n shop --timeout=4m", "successfully rolled out"},
		{"kubectl get deployment web -n shop -o jsonpath='{.spec.template.spec.containers[0].image}'", "i"},
		{"kubectl scale deployment web -n shop --replicas=3", "scaled"},
		{"kubectl wait deployment web -n shop --for=jsonpath='{.status.readyReplicas}'=3 --timeout=4m", "condition met"},
		{"kubectl logs -n shop deployment/web", "this API server is in memory, and there are no logs"},
		{"kubectl top pods -n shop", "Metrics API not available"},
		{"kubectl delete deployment web -n shop --cascade=foreground --timeout=4m", "deleted"},
		{"kubectl get all -n shop", "No resources found"},
		{"kubectl delete namespace shop --timeout=4m", "deleted"},
	} {
		p.do(step.line)
		if got := p.text[i]; !strings.Contains(got, step.want) {
			t.Errorf("%s\n%swant %q", step.line, got, step.want)
		}
	}
}
