package apiserver_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/memo"
	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// A server of another process starts from the file of answers, without rules.
func TestSecondProcessStartsWithoutRules(t *testing.T) {
	name := filepath.Join(t.TempDir(), "answers")
	direct := apiserver.Direct(t)
	for process, most := range []int64{1000, 0} {
		for _, rbac := range []bool{false, true} {
			f, err := memo.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			m := memo.New(8 << 20)
			m.Use(f)
			var asked atomic.Int64
			ask := m.Over(func(req *rules.Request) (*rules.Answer, error) {
				asked.Add(1)
				return direct(req)
			}, memo.First)
			begin := beginningWithToys(t, core.Rules(ask), rbac)
			f.Close()
			if n := asked.Load(); n > most {
				t.Errorf("process %d, roles %v: rules were asked %d times, want at most %d", process, rbac, n, most)
			}
			want := beginningWithToys(t, direct, rbac)
			now := time.Now()
			got, wanted := core.New(core.Options{Rules: direct}), core.New(core.Options{Rules: direct})
			got.Begin(now, begin)
			wanted.Begin(now, want)
			if got, want := stored(got), stored(wanted); got != want {
				t.Errorf("process %d, roles %v: the state begins with\n%s\nwant\n%s", process, rbac, got, want)
			}
		}
	}
}

// beginningWithToys returns a beginning with a definition whose answer is too long to be remembered if it is not the
// first of a process.
func beginningWithToys(t *testing.T, ask core.Rules, rbac bool) *core.Beginning {
	t.Helper()
	begin, err := core.NewBeginning(ask, rbac)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(toyCRD, "default: blue", "default: blue, description: "+strings.Repeat("x", 300_000), 1)
	body, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if begin, err = begin.With(ask, func(step func(core.Request) core.Answer) error {
		a := step(core.Request{Method: "POST", URL: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", ContentType: "application/json", Accept: "application/json",
			User: core.Administrator.Name, Groups: core.Administrator.Groups, Body: body})
		if a.Code != http.StatusCreated {
			return fmt.Errorf("%d %s", a.Code, a.Body)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return begin
}

// firstServer lets this program start one server and end.
const firstServer = "FLYBALL_FIRST_SERVER"

// The first server of a process, when the rules are built and do not run.
func BenchmarkFirstServer(b *testing.B) {
	if os.Getenv(firstServer) != "" {
		begin := time.Now()
		apiserver.Start(b, apiserver.Options{})
		os.Stdout.WriteString("started in " + time.Since(begin).String() + "\n")
		os.Exit(0)
	}
	var total time.Duration
	for b.Loop() {
		cmd := exec.Command(os.Args[0], "-test.run=^$", "-test.bench=^BenchmarkFirstServer$")
		cmd.Env = append(os.Environ(), firstServer+"=1")
		out, err := cmd.Output()
		_, after, _ := strings.Cut(string(out), "started in ")
		took, _, _ := strings.Cut(after, "\n")
		d, bad := time.ParseDuration(took)
		if err != nil || bad != nil {
			b.Fatalf("%v: %s", err, out)
		}
		total += d
	}
	b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "ms/start")
}

// stored is all that a state has.
func stored(s *core.State) string {
	var out strings.Builder
	for o := range s.Now().All("/") {
		out.WriteString(o.Key + " " + string(o.JSON) + "\n")
	}
	return out.String()
}
