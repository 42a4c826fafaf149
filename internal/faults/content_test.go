package faults_test

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/reflector"
)

// onceListed compares a rig's objects with those of another informer, which lists in another way:
// none is missing, none occurs twice.
func onceListed(t *testing.T, r *rig, cfg *rest.Config, tune func(*reflector.Options)) {
	t.Helper()
	f, err := cache.New(cache.Connect(dial(t, cfg)), cache.Options{
		Namespaces: []string{r.ns},
		Configure:  func(o *informer.Options) { tune(&o.Reflector) },
		Logger:     slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	must(t, err)
	kind, err := cache.Open[corev1.ConfigMap](t.Context(), f)
	must(t, err)
	var mu sync.Mutex
	added := map[string]int{}
	reg, err := kind.AddHandler(informer.Handler[corev1.ConfigMap]{OnAdd: func(o *corev1.ConfigMap, _ bool) {
		mu.Lock()
		defer mu.Unlock()
		added[o.Name]++
	}})
	must(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- f.Run(ctx) }()
	defer func() { cancel(); <-over }()
	late, done := context.WithTimeout(ctx, hung)
	defer done()
	select {
	case <-reg.Synced():
	case <-late.Done():
		t.Fatalf("not synced: %v", kind.Informer().State())
	}
	var failed error
	got := names(without(kind.Lister().All(r.ns, nil), &failed))
	want := names(without(client.List[corev1.ConfigMap](ctx, r.direct, client.InNamespace(r.ns)), &failed))
	if failed != nil || !slices.Equal(got, want) {
		t.Errorf("%v: has %v, want %v", failed, got, want)
	}
	mu.Lock()
	defer mu.Unlock()
	if told := slices.Sorted(maps.Keys(added)); !slices.Equal(told, want) {
		t.Errorf("the handler was told of %v, want %v", told, want)
	}
	for name, n := range added {
		if n != 1 {
			t.Errorf("the handler was told of %s %d times", name, n)
		}
	}
}

func names(all iter.Seq[*corev1.ConfigMap]) (out []string) {
	for o := range all {
		out = append(out, o.Name)
	}
	slices.Sort(out)
	return out
}

func writeStatus(w http.ResponseWriter, s metav1.Status) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(s.Code))
	json.NewEncoder(w).Encode(s)
}
