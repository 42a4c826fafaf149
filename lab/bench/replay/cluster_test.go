package replay

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/lab/bench/corpus"
	"github.com/flyball-io/flyball/object"
)

// After the churn of a cluster the server has what the churn left of each kind, and the final events
// are the last ones of these objects, or deletions.
func TestCluster(t *testing.T) {
	const events = 3000
	c, err := corpus.NewCluster(300, false, 1)
	if err != nil {
		t.Fatal(err)
	}
	tape, err := Record(t.Context(), t.TempDir(), c, events, JSON, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tape.Close()
	server := NewServer(Streaming, tape)
	h := httptest.NewServer(server)
	defer h.Close()
	if err := server.Play(events); err != nil {
		t.Fatal(err)
	}
	want := map[int]corpus.Object{}
	versions := map[int]string{} // by object, of those that are left
	for i := range c.Len() {
		want[i], versions[i] = c.At(i), fmt.Sprint(corpus.FirstVersion+i)
	}
	churn := c.Churn(events)
	for k, step := range churn.Steps {
		want[step.Object], versions[step.Object] = churn.Object(k), fmt.Sprint(corpus.Version(c)+1+k)
		if step.Deleted {
			delete(want, step.Object)
			delete(versions, step.Object)
		}
	}
	m := meta.NewDefaultRESTMapper(nil)
	for _, r := range c.Resources() {
		m.AddSpecific(r.GVK, r.GVR, r.GVR, map[bool]meta.RESTScope{true: meta.RESTScopeNamespace, false: meta.RESTScopeRoot}[r.Namespaced])
	}
	live, err := client.New(&rest.Config{Host: h.URL}, client.Options{Mapper: m})
	if err != nil {
		t.Fatal(err)
	}
	for kind, r := range c.Resources() {
		got, left := map[object.Key]string{}, map[object.Key]string{}
		for u, err := range client.List[unstructured.Unstructured](t.Context(), live, client.OfKind(r.GVK)) {
			if err != nil {
				t.Fatal(err)
			}
			got[object.KeyOf(u)] = u.GetResourceVersion()
		}
		for number, o := range want {
			if int(tape.of[number]) == kind {
				left[object.KeyOf(o)] = versions[number]
			}
		}
		if !maps.Equal(got, left) {
			t.Errorf("%s: %d objects, want %d", r.GVR.Resource, len(got), len(left))
		}
	}
	final, last := server.Final(0, true)
	if !slices.IsSorted(final) || len(last) != len(c.Resources()) || len(final) == 0 {
		t.Fatalf("%d final events, %v", len(final), last)
	}
	for _, k := range final {
		if next, ok := server.Next(k); ok {
			t.Errorf("event %d has event %d behind it", k, next)
		}
	}
	for _, k := range slices.DeleteFunc(last, func(k int) bool { return k < 0 }) {
		if !slices.Contains(final, k) {
			t.Errorf("the last event %d is not final", k)
		}
	}
	if kept, _ := server.Final(0, false); len(kept) >= len(final) {
		t.Errorf("%d final events without deletions, %d with them", len(kept), len(final))
	}
}
