package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
)

func newClient(t testing.TB, s *apiserver.Server) *client.Live {
	t.Helper()
	c, err := client.New(s.RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"k": value}}
}

func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
		},
	}
}

// Every verb of the client, in the encodings that it chooses: protobuf for objects, JSON for patches.
func TestClient(t *testing.T) {
	ctx := t.Context()
	c := newClient(t, apiserver.Start(t, apiserver.Options{}))
	made, err := client.Create(ctx, c, deployment("web"))
	if err != nil {
		t.Fatal(err)
	}
	if made.Generation != 1 || made.UID == "" || *made.Spec.Replicas != 1 || made.Spec.Strategy.RollingUpdate == nil {
		t.Errorf("the server has set no defaults: %+v", made)
	}
	key := object.KeyOf(made)
	stale := made.DeepCopy()
	made.Spec.Paused = true
	if made, err = client.Update(ctx, c, made); err != nil || made.Generation != 2 {
		t.Fatalf("update: generation %d, %v", made.Generation, err)
	}
	if _, err := client.Update(ctx, c, stale); !apierrors.IsConflict(err) {
		t.Errorf("an update of an old state: %v, want a conflict", err)
	}
	made.Status.ObservedGeneration = 2
	if _, err := client.UpdateStatus(ctx, c, made); err != nil {
		t.Error(err)
	}
	if err := client.SetScale(ctx, c, made, 3); err != nil {
		t.Error(err)
	}
	if _, err := client.Patch(ctx, c, made, client.MergePatch(map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}})); err != nil {
		t.Error(err)
	}
	got, err := client.Get[appsv1.Deployment](ctx, c, key)
	if err != nil || *got.Spec.Replicas != 3 || got.Labels["a"] != "b" || got.Status.ObservedGeneration != 2 || got.Generation != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := client.Apply(ctx, c, configMap("applied", "1"), "test"); err != nil {
		t.Error(err)
	}
	if _, err := client.Create(ctx, c, configMap("Not Valid", "")); !apierrors.IsInvalid(err) {
		t.Errorf("a name that is not valid: %v", err)
	}
	if err := client.Delete(ctx, c, made); err != nil {
		t.Error(err)
	}
	if _, err := client.Get[appsv1.Deployment](ctx, c, key); !apierrors.IsNotFound(err) {
		t.Errorf("a deleted object: %v", err)
	}
}

// A cache lists, watches and reads; its handlers see what a client writes.
func TestCache(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s := apiserver.Start(t, apiserver.Options{})
	live := newClient(t, s)
	for _, name := range []string{"a", "b"} {
		if _, err := client.Create(ctx, live, configMap(name, "1")); err != nil {
			t.Fatal(err)
		}
	}
	c, err := cache.New(cache.Connect(live), cache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	maps, err := cache.Open[corev1.ConfigMap](ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	defer maps.Close()
	seen := make(chan string, 100)
	if _, err := maps.AddHandler(informer.Handler[corev1.ConfigMap]{
		OnAdd:    func(o *corev1.ConfigMap, first bool) { seen <- fmt.Sprintf("add %s %v %t", o.Name, o.Data, first) },
		OnUpdate: func(_, o *corev1.ConfigMap) { seen <- fmt.Sprintf("update %s %v", o.Name, o.Data) },
		OnDelete: func(o *corev1.ConfigMap, _ bool) { seen <- fmt.Sprint("delete ", o.Name) },
	}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	next := func(want ...string) {
		t.Helper()
		var got []string
		for range want {
			select {
			case x := <-seen:
				got = append(got, x)
			case <-time.After(5 * time.Minute): // only a server that hangs takes so long
				t.Fatalf("got %q, want %q", got, want)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	next("add a map[k:1] true", "add b map[k:1] true")
	if err := c.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
	b, err := client.Patch(ctx, live, configMap("b", ""), client.MergePatch(map[string]any{"data": map[string]any{"k": "2"}}))
	if err != nil {
		t.Fatal(err)
	}
	next("update b map[k:2]")
	if err := client.Delete(ctx, live, b); err != nil {
		t.Fatal(err)
	}
	next("delete b")

	// What happens while the history is lost is found by another list.
	s.Compact()
	if _, err := client.Create(ctx, live, configMap("c", "1")); err != nil {
		t.Fatal(err)
	}
	next("add c map[k:1] false")
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A snapshot can be restored any number of times.
func TestSnapshot(t *testing.T) {
	ctx := t.Context()
	s := apiserver.Start(t, apiserver.Options{})
	c := newClient(t, s)
	if _, err := client.Create(ctx, c, configMap("a", "1")); err != nil {
		t.Fatal(err)
	}
	snap := s.Snapshot()
	var versions []string
	for range 3 {
		if _, err := client.Update(ctx, c, configMap("a", "2")); err != nil {
			t.Fatal(err)
		}
		b, err := client.Create(ctx, c, configMap("b", "1"))
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, b.ResourceVersion+" "+string(b.UID))
		s.Restore(snap)
		a, err := client.Get[corev1.ConfigMap](ctx, c, object.Key{Namespace: "default", Name: "a"})
		if err != nil || a.Data["k"] != "1" {
			t.Errorf("got %v, %v", a, err)
		}
		if _, err := client.Get[corev1.ConfigMap](ctx, c, object.Key{Namespace: "default", Name: "b"}); !apierrors.IsNotFound(err) {
			t.Errorf("got %v, want no object", err)
		}
	}
	if versions[0] != versions[1] || versions[1] != versions[2] {
		t.Errorf("one state and one request gave %q", versions)
	}
}

// Two servers of one seed and one time give the same answers, byte for byte.
func TestAnswersAreDeterministic(t *testing.T) {
	talk := func() []string {
		at := time.Unix(1_700_000_000, 0)
		s := apiserver.Start(t, apiserver.Options{Now: func() time.Time { return at }, Seed: "x"})
		var out []string
		for n, c := range slices.Concat(few(casesOf("life")), few(casesOf("creates")), few(casesOf("deletions"))) {
			talk := &session{t: t, client: &http.Client{}, url: s.URL(), ns: fmt.Sprintf("c-%d", n), names: map[string]string{}}
			talk.send("POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+talk.ns+`"}}`)
			talk.note("%s", c.name)
			talk.verbatim = true
			c.run(talk)
			talk.client.CloseIdleConnections()
			out = append(out, talk.out...)
		}
		return out
	}
	one, two := talk(), talk()
	if len(one) < 100 || len(one) != len(two) {
		t.Fatalf("%d and %d answers", len(one), len(two))
	}
	for i := range one {
		if one[i] != two[i] {
			t.Errorf("answer %d:\n%s\n%s", i, one[i], two[i])
		}
	}
}

// The documents that a program reads first: health, version, discovery.
func TestDocuments(t *testing.T) {
	s := apiserver.Start(t, apiserver.Options{})
	for path, want := range map[string]string{
		"/readyz": "ok", "/version": `"gitVersion": "v1.36.`, "/api": `"versions"`, "/apis": `"apps"`, "/apis/apps": `"preferredVersion"`, "/apis/apps/v1": `"deployments/scale"`,
	} {
		resp, err := http.Get(s.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 200 || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s %.300s, want %q", path, resp.Status, text, want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// Each server lives until the benchmark ends, so that its memory can be measured.
func BenchmarkStart(b *testing.B) {
	apiserver.Start(b, apiserver.Options{}) // the first one starts the rules
	before, n := heap(), 0
	for b.Loop() {
		apiserver.Start(b, apiserver.Options{})
		n++
	}
	b.ReportMetric((heap()-before)/float64(n), "heap-B/server")
}

func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

func BenchmarkCreate(b *testing.B) {
	s := apiserver.Start(b, apiserver.Options{})
	c, err := client.New(s.RESTConfig(), client.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	n := 0
	for b.Loop() {
		n++
		if _, err := client.Create(b.Context(), c, configMap(fmt.Sprint("a", n), "1")); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	s := apiserver.Start(b, apiserver.Options{})
	c, err := client.New(s.RESTConfig(), client.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	if _, err := client.Create(b.Context(), c, configMap("a", "1")); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := client.Get[corev1.ConfigMap](b.Context(), c, object.Key{Namespace: "default", Name: "a"}); err != nil {
			b.Fatal(err)
		}
	}
}
