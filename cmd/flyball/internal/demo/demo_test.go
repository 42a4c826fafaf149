package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/examples/podscaler/scaler"
	"github.com/flyball-io/flyball/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(apiserver.Wrap(m)) }

func yes() *bool { held := true; return &held }
func no() *bool  { held := false; return &held }

var lines = []Line{
	{Kind: Story, Text: "Pods come."},
	{Time: 0.25, Kind: Event, Object: "pod/visitor-01", Action: "updated", Text: "Pending → Running"},
	{Time: 0.25, Kind: Event, Object: "pod/web-69d576d598-25svd", Action: "deleted", minor: true},
	{Time: 0.5, Kind: Log, Object: "deployment/web", Text: "scaling pods=6", minor: true},
	{Time: 1.75, Kind: Write, Object: "deployment/web", Action: "patch", Text: "deployments/scale: 200, 2.0ms", Code: 200, Took: 2},
	{Time: 12.5, Kind: Reconcile, Object: "deployment/web", Action: "success", Text: "a full re-check: wrote, 5.0ms", Took: 5, Cause: &Cause{Trigger: "requeued", Count: 1}},
	{Time: 12.5, Kind: Expect, Text: "3 replicas", OK: yes()},
	{Time: 12.5, Kind: Expect, Text: "expected 3 replicas, but it has 2", OK: no()},
	{Time: 123.5, Kind: Summary, Text: "All expectations held.", OK: yes()},
}

const golden = `
   0.00s  story      Pods come.
   0.25s  event      pod/visitor-01            updated  Pending → Running
   0.25s  event      pod/web-69d576d598-25svd  deleted
   0.50s  log        deployment/web            scaling pods=6
   1.75s  write      deployment/web            patch    deployments/scale: 200, 2.0ms
  12.50s  reconcile  deployment/web            a full re-check: wrote, 5.0ms
  12.50s  expect     ✓ 3 replicas
  12.50s  expect     ✗ expected 3 replicas, but it has 2
 123.50s  summary    All expectations held.
`

func TestText(t *testing.T) {
	var plain, coloured bytes.Buffer
	for _, l := range lines {
		newScreen(Options{}).format(&plain, l)
		newScreen(Options{Colour: true}).format(&coloured, l)
	}
	if plain.String() != golden {
		t.Errorf("plain:\n%s", &plain)
	}
	for _, code := range []string{bold, dim, red, green, yellow, magenta, cyan} {
		if !strings.Contains(coloured.String(), "\x1b["+code+"m") {
			t.Errorf("colour %s is not used:\n%q", code, &coloured)
		}
	}
	stripped := coloured.String()
	for _, code := range []string{"0", bold, dim, red, green, yellow, magenta, cyan} {
		stripped = strings.ReplaceAll(stripped, "\x1b["+code+"m", "")
	}
	if stripped != golden {
		t.Errorf("coloured:\n%s", stripped)
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	for _, l := range lines {
		newScreen(Options{JSON: true, Colour: true}).format(&b, l)
	}
	const reconcile = `{"time":12.5,"kind":"reconcile","object":"deployment/web","action":"success","text":"a full re-check: wrote, 5.0ms","cause":{"trigger":"requeued","count":1},"took":5}`
	if !strings.Contains(b.String(), "\n"+reconcile+"\n") {
		t.Errorf("%s", &b)
	}
	dec := json.NewDecoder(&b)
	dec.DisallowUnknownFields()
	for i := range lines {
		var l Line
		if err := dec.Decode(&l); err != nil || l.Kind != lines[i].Kind || l.Text != lines[i].Text {
			t.Errorf("line %d: %+v, %v", i, l, err)
		}
	}
}

// Lines are printed in order, the story waits for them, and nothing is printed after the end.
func TestScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		s := newScreen(Options{Out: w, JSON: true})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.run(ctx) }()
		if err := s.printed(ctx); err != nil {
			t.Errorf("nothing to print: %v", err)
		}
		s.show(Line{Kind: Event, Text: "1"})
		s.show(Line{Kind: Event, Text: "2"})
		waited := make(chan error, 1)
		go func() { waited <- s.printed(ctx) }()
		synctest.Wait()
		s.show(Line{Kind: Summary, Text: "3"})
		select {
		case <-waited:
			t.Error("printed, though nobody reads")
		default:
		}
		dec := json.NewDecoder(r)
		for _, want := range []string{"1", "2", "3"} {
			var l Line
			if err := dec.Decode(&l); err != nil || !strings.HasPrefix(l.Text, want) {
				t.Errorf("%+v, %v; want %s", l, err, want)
			}
			if l.Kind == Summary && l.Counts[Event] != 2 {
				t.Errorf("counts %v", l.Counts)
			}
		}
		if err := <-waited; err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		s.show(Line{Kind: Event, Text: "late"})
		if len(s.waiting) > 0 {
			t.Errorf("kept %v", s.waiting)
		}
	})
}

func TestScreenCannotPrint(t *testing.T) {
	r, w := io.Pipe()
	r.CloseWithError(io.ErrClosedPipe)
	s := newScreen(Options{Out: w})
	s.show(Line{Kind: Event})
	if err := s.run(t.Context()); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v", err)
	}
}

// A failed expectation is an error, is shown, and ends the story.
func TestExpectationFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := newScreen(Options{Out: io.Discard}), newBoard()
		two := int32(2)
		d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &two}}
		tell := &teller{o: Options{Pace: time.Second}, screen: s, board: b}
		go func() { time.Sleep(time.Second); b.change(func(s *state) { s.deployment = d }) }()
		tell.expect(t.Context(), 3*time.Second, "2 replicas", replicas(2))
		if tell.err != nil {
			t.Fatal(tell.err)
		}
		began := time.Now()
		tell.expect(t.Context(), 3*time.Second, "3 replicas", replicas(3))
		e, ok := errors.AsType[*ExpectationError](tell.err)
		if !ok || e.Expected != "3 replicas" || !strings.Contains(e.Error(), "it has 2") || time.Since(began) != 3*time.Second {
			t.Errorf("after %v: %v", time.Since(began), tell.err)
		}
		tell.expect(t.Context(), time.Second, "4 replicas", replicas(4)) // is skipped
		if got := s.waiting; len(got) != 2 || !*got[0].OK || *got[1].OK {
			t.Errorf("shown: %+v", got)
		}

		asked, cancel := context.WithCancel(t.Context())
		cancel()
		tell = &teller{screen: s, board: b}
		tell.expect(asked, time.Second, "3 replicas", replicas(3))
		if !errors.Is(tell.err, context.Canceled) || len(s.waiting) != 2 {
			t.Errorf("asked to stop: %v", tell.err)
		}
	})
}

// An unexpected write fails the expectation.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := newScreen(Options{Out: io.Discard}), newBoard()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.run(ctx) }()
		w := &watcher{screen: s, board: b}
		tell := &teller{o: Options{Pace: time.Second}, screen: s, board: b}
		w.requested(client.Done{Call: client.Call{Verb: "patch", Kind: "Deployment"}})
		tell.idle(ctx, 2)
		if tell.err != nil {
			t.Errorf("at rest: %v", tell.err)
		}
		go func() {
			time.Sleep(2 * time.Second)
			w.requested(client.Done{Call: client.Call{Verb: "create", Kind: "Event"}})
			w.requested(client.Done{Call: client.Call{Verb: "get", Kind: "Deployment"}})
		}()
		tell.idle(ctx, 2)
		if tell.err != nil {
			t.Errorf("a read and an Event: %v", tell.err)
		}
		go func() {
			time.Sleep(2 * time.Second)
			w.requested(client.Done{Call: client.Call{Verb: "patch", Kind: "Deployment"}})
		}()
		tell.idle(ctx, 2)
		if _, ok := errors.AsType[*ExpectationError](tell.err); !ok {
			t.Errorf("a write: %v", tell.err)
		}
		cancel()
		<-ended
	})
}

func TestDifferences(t *testing.T) {
	make := func(replicas *int32, each string, ready, all int32) *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{scaler.PodsPerReplica: each}},
			Spec:       appsv1.DeploymentSpec{Replicas: replicas},
			Status:     appsv1.DeploymentStatus{ReadyReplicas: ready, Replicas: all},
		}
	}
	three := int32(3)
	for _, tc := range []struct {
		old, now *appsv1.Deployment
		want     string
	}{
		{make(nil, "5", 1, 1), make(&three, "5", 1, 1), "replicas 1 → 3"},
		{make(nil, "5", 0, 1), make(nil, "5", 1, 1), "1 of 1 ready"},
		{make(nil, "5", 1, 1), make(nil, "5", 1, 2), "1 of 2 ready"},
		{make(nil, "5", 1, 1), make(&three, "", 0, 2), `replicas 1 → 3, pods-per-replica "5" → "", 0 of 2 ready`},
	} {
		if got := strings.Join(differences(tc.old, tc.now), ", "); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

func TestBecause(t *testing.T) {
	for want, c := range map[string]Cause{
		"pod/a was there":              {Trigger: "listed", Object: "pod/a", Count: 1},
		"pod/a was added (and 2 more)": {Trigger: "created", Object: "pod/a", Count: 3},
		"pod/a changed":                {Trigger: "updated", Object: "pod/a", Count: 1},
		"pod/a went":                   {Trigger: "deleted", Object: "pod/a", Count: 1},
		"a full re-check":              {Trigger: "requeued", Object: "pod/a", Count: 1},
		"tried again":                  {Trigger: "retried", Count: 1},
		"generic":                      {Trigger: "generic", Count: 1},
	} {
		if got := because(c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A cluster that cannot be used is reported at once, and nothing is left.
func TestNoCluster(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "config")
	text := "{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]}"
	if err := os.WriteFile(nowhere, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{nowhere: "connection refused", "/no/such/file": "no such file"} {
		err := Run(t.Context(), Options{Kubeconfig: path, Pace: time.Second, Out: io.Discard, Progress: io.Discard})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	asked, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Run(asked, Options{Kubeconfig: nowhere, Pace: time.Second, Out: io.Discard, Progress: io.Discard}); err != nil {
		t.Errorf("asked to stop: %v", err)
	}
}
