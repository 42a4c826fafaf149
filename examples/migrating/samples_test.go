// Package samples has known samples twice: as they are written with client-go or controller-runtime
// (before), and with Flyball (after). Its test builds both programs of each, and runs them on an API server
// through the same story. The steps of a move in between are flags of the old program.
package samples

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/flyball-io/flyball/client"
	cronjob "github.com/flyball-io/flyball/examples/migrating/cronjob/api"
	foo "github.com/flyball-io/flyball/examples/migrating/foo/api"
	memcached "github.com/flyball-io/flyball/examples/migrating/memcached/api"
	"github.com/flyball-io/flyball/internal/manifest"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/scheme"
	"github.com/flyball-io/flyball/test/servertest"
)

// bound ends what should take a second or two, on a machine that others use, too.
const bound = 3 * time.Minute

func TestMain(m *testing.M) { servertest.Main(m) }

// story is one run of a program on the control plane.
type story struct {
	*testing.T
	// c asks the server, with all permissions.
	c *client.Live
	// ns is a namespace for this run.
	ns string
	// log is what the program prints.
	log *output
}

// way is one way to run a sample.
type way struct {
	name, program string
	args          []string
}

// ways are the programs of a sample, and in between the old program with each step of a move.
func ways(steps ...string) []way {
	out := []way{{"before", "before", nil}}
	for _, step := range steps {
		out = append(out, way{step, "before", []string{"--" + step}})
	}
	return append(out, way{"after", "after", nil})
}

// each runs a sample in each way, on a control plane, and tells the story of each run.
func each(t *testing.T, sample string, all []way, tell func(s *story)) {
	tier.Audit(t, "runs the go command")
	t.Helper()
	p := servertest.Shared(t)
	types := scheme.New()
	for _, add := range []func(*runtime.Scheme) error{foo.AddToScheme, memcached.AddToScheme, cronjob.AddToScheme} {
		if err := add(types); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(p.RESTConfig(), client.Options{Scheme: types, FieldOwner: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	crds, err := manifest.Read(filepath.Join(sample, "config", "crd", "bases"))
	if err != nil {
		t.Fatal(err)
	}
	if err := manifest.Apply(t.Context(), c, "test", crds, nil); err != nil {
		t.Fatal(err)
	}
	programs := map[string]string{}
	for _, w := range all {
		if programs[w.program] == "" {
			programs[w.program] = build(t, sample+"/"+w.program)
		}
	}
	for _, w := range all {
		t.Run(w.name, func(t *testing.T) {
			s := &story{T: t, c: c, ns: servertest.Namespace(t, p)}
			s.log = start(t, programs[w.program], p.KubeconfigPath(), w.args...)
			tell(s)
		})
	}
}

// build builds a program without debug information, which is half of the time of a link, and returns its file.
func build(t *testing.T, pkg string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), filepath.Base(pkg))
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-o", file, "./"+pkg).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

// output is what a program has printed so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // is closed by the next Write
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.more)
	o.more = make(chan struct{})
	return o.text.Write(b)
}

// now returns the text, and what the next Write closes.
func (o *output) now() (text string, more <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String(), o.more
}

// await returns when the program has printed a line of which ok says so.
func (o *output) await(s *story, what string, ok func(line string) bool) {
	s.Helper()
	late := time.After(bound)
	for {
		text, more := o.now()
		for line := range strings.Lines(text) {
			if ok(line) {
				return
			}
		}
		select {
		case <-more:
		case <-late:
			s.Fatalf("the program does not say %s", what)
		}
	}
}

// start starts a program and returns what it prints. At the end of the test the program is told to stop,
// and must end in good order.
func start(t *testing.T, file, kubeconfig string, args ...string) *output {
	t.Helper()
	log := &output{more: make(chan struct{})}
	cmd := exec.Command(file, args...)
	cmd.Env = []string{"KUBECONFIG=" + kubeconfig, "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		late := time.AfterFunc(bound, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the program ended with: %v", err)
		}
		if t.Failed() {
			text, _ := log.now()
			t.Logf("its log:\n%s", text)
		}
	})
	return log
}

// await returns an object of the namespace when ok says so of it, in its present state or a later one. An
// empty name stands for any object of the kind.
func await[T any, P object.Ptr[T]](s *story, name, what string, ok func(P) bool) P {
	s.Helper()
	var found P
	follow(s, name, what, func(e client.Event[P]) bool {
		if e.Type == watch.Deleted || !ok(e.Object) {
			return false
		}
		found = e.Object
		return true
	})
	return found
}

// awaitGone returns when an object that was there is no more.
func awaitGone[T any, P object.Ptr[T]](s *story, was P) {
	s.Helper()
	now, err := client.Get[T, P](s.Context(), s.c, object.KeyOf(was))
	if client.IgnoreNotFound(err) != nil {
		s.Fatal(err)
	}
	if err != nil || now.GetUID() != was.GetUID() {
		return
	}
	follow(s, was.GetName(), "the end of "+was.GetName(), func(e client.Event[P]) bool {
		return e.Type == watch.Deleted || e.Object.GetUID() != was.GetUID()
	}, client.AtVersion(now.GetResourceVersion()))
}

// follow watches objects of the namespace until ok says so of an event.
func follow[T any, P object.Ptr[T]](s *story, name, what string, ok func(client.Event[P]) bool, opts ...client.ListOption) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), bound)
	defer cancel()
	opts = append(opts, client.InNamespace(s.ns))
	if name != "" {
		opts = append(opts, client.FieldSelector("metadata.name="+name))
	}
	w, err := client.Watch[T, P](ctx, s.c, opts...)
	if err != nil {
		s.Fatal(err)
	}
	defer w.Stop()
	for e, err := range w.Events() {
		if err != nil {
			s.Fatalf("waited in vain for %s: %v", what, err)
		}
		if e.Object != nil && ok(e) {
			return
		}
	}
	s.Fatalf("waited in vain for %s", what)
}

// awaitEvent returns when the program has told people of an object, for this reason.
func awaitEvent(s *story, obj object.Object, reason string) {
	s.Helper()
	await(s, "", "the event "+reason, func(e *eventsv1.Event) bool {
		return e.Reason == reason && e.Regarding.UID == obj.GetUID()
	})
}

// update changes an object as a user would.
func update[T any, P object.Ptr[T]](s *story, name string, change func(P)) P {
	s.Helper()
	obj, err := client.Get[T, P](s.Context(), s.c, object.Key{Namespace: s.ns, Name: name})
	if err != nil {
		s.Fatal(err)
	}
	before := obj.DeepCopyObject().(P)
	change(obj)
	if obj, err = client.Patch(s.Context(), s.c, obj, client.Diff(before, obj)); err != nil {
		s.Fatal(err)
	}
	return obj
}

// create creates an object.
func create[O object.Object](s *story, obj O) O {
	s.Helper()
	obj.SetNamespace(s.ns)
	got, err := client.Create(s.Context(), s.c, obj)
	if err != nil {
		s.Fatal(err)
	}
	return got
}

// remove deletes an object and waits for its end.
func remove[T any, P object.Ptr[T]](s *story, obj P) {
	s.Helper()
	if err := client.Delete(s.Context(), s.c, obj); err != nil {
		s.Fatal(err)
	}
	awaitGone[T, P](s, obj)
}

// replicas tells whether a Deployment is to have n Pods and has them.
func replicas(n int32, owner object.Object) func(*appsv1.Deployment) bool {
	return func(d *appsv1.Deployment) bool {
		return metav1.IsControlledBy(d, owner) && *d.Spec.Replicas == n && d.Status.ReadyReplicas == n
	}
}

// TestEachSampleIsTold fails for a sample without a story.
func TestEachSampleIsTold(t *testing.T) {
	programs, err := filepath.Glob("*/before/main.go")
	if err != nil || len(programs) < 3 {
		t.Fatalf("found %q: %v", programs, err)
	}
	text, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range text {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(src)
	}
	for _, p := range programs {
		sample, _, _ := strings.Cut(filepath.ToSlash(p), "/")
		if _, err := os.Stat(filepath.Join(sample, "after", "main.go")); err != nil {
			t.Error(err)
		}
		if !strings.Contains(all.String(), `each(t, "`+sample+`"`) {
			t.Errorf("nobody runs %s", sample)
		}
	}
}
