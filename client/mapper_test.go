package client

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/wire"
)

// discoveries counts the requests for the list of groups: one for each discovery.
func discoveries(f *fake) *atomic.Int32 {
	n := new(atomic.Int32)
	f.mu.Lock()
	next := f.routes["GET /apis"]
	f.mu.Unlock()
	f.on("GET /apis", func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		next(w, r)
	})
	return n
}

var gadgetGVK = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}

func TestMapperIsCached(t *testing.T) {
	f := newFake(t)
	n := discoveries(f)
	m := f.client(Options{}).mapper.(*mapper)
	for range 5 {
		for _, gvk := range []schema.GroupVersionKind{podGVK, widgetGVK} {
			if _, err := m.Mapping(t.Context(), gvk); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n.Load() != 1 {
		t.Errorf("%d discoveries", n.Load())
	}
	m.Reset()
	if _, err := m.Mapping(t.Context(), podGVK); err != nil || n.Load() != 2 {
		t.Errorf("after Reset: %d discoveries, %v", n.Load(), err)
	}
}

// The next call finds a kind that was added. Calls for an absent kind are limited to a rate.
func TestMapperRefreshes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		n := discoveries(f)
		m := f.client(Options{}).mapper.(*mapper)
		if _, err := m.Mapping(t.Context(), podGVK); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			_, err := m.Mapping(t.Context(), gadgetGVK)
			if e, ok := asType[*NotServedError](err); !ok || e.GVK != gadgetGVK || !meta.IsNoMatchError(err) {
				t.Fatalf("got %v", err)
			}
		}
		if n.Load() != 11 {
			t.Errorf("%d discoveries for 100 questions at once, want 1 and 10", n.Load())
		}
		f.on("GET /apis/example.com/v1", answer(200, resourceList("example.com/v1", resource("gadgets", "Gadget", true))))
		time.Sleep(time.Second)
		got, err := m.Mapping(t.Context(), gadgetGVK)
		if err != nil || got.Resource.Resource != "gadgets" {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

// Concurrent calls share one discovery. If its caller cancels, another call runs the next.
func TestCallsShareADiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		n := discoveries(f)
		slow := func(next http.HandlerFunc) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(time.Second)
				next(w, r)
			}
		}
		f.on("GET /api", slow(f.routes["GET /api"]))
		m := f.client(Options{}).mapper.(*mapper)
		first, cancel := context.WithCancelCause(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := m.Mapping(first, podGVK); !errors.Is(err, errTest) {
				t.Errorf("the one who left: %v", err)
			}
		})
		synctest.Wait()
		for range 20 {
			wg.Go(func() {
				if _, err := m.Mapping(t.Context(), podGVK); err != nil {
					t.Errorf("one who waits: %v", err)
				}
			})
		}
		time.Sleep(500 * time.Millisecond)
		cancel(errTest)
		wg.Wait()
		if n.Load() > 2 {
			t.Errorf("%d discoveries", n.Load())
		}
	})
}

// Calls that wait for one discovery all get its error.
func TestMapperSharesFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var n atomic.Int32
		f.on("GET /api", func(w http.ResponseWriter, r *http.Request) {
			n.Add(1)
			time.Sleep(time.Second)
			status(500, metav1.StatusReasonInternalError, "")(w, r)
		})
		f.on("GET /apis", text(500, "text/plain", "no"))
		m := f.client(Options{}).mapper.(*mapper)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := m.Mapping(t.Context(), podGVK); !is[*InternalError](err) {
					t.Errorf("got %v", err)
				}
			})
		}
		wg.Wait()
		if n.Load() != 1 {
			t.Errorf("asked %d times", n.Load())
		}
	})
}

// An aggregated API server that is down affects only its own group, which keeps its known resources.
func TestDownGroupAffectsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		m := f.client(Options{}).mapper.(*mapper)
		f.on("GET /apis/example.com/v1", text(503, "text/plain", "the backend is down"))
		if _, err := m.Mapping(t.Context(), podGVK); err != nil {
			t.Errorf("another group: %v", err)
		}
		if _, err := m.Mapping(t.Context(), widgetGVK); !is[*NotServedError](err) {
			t.Errorf("its group: %v", err)
		}
		f.on("GET /apis/example.com/v1", answer(200, resourceList("example.com/v1", resource("widgets", "Widget", true))))
		if _, err := m.Mapping(t.Context(), widgetGVK); err != nil {
			t.Errorf("once it is back: %v", err)
		}
		f.on("GET /apis/example.com/v1", text(503, "text/plain", "the backend is down"))
		if _, err := m.Mapping(t.Context(), gadgetGVK); !is[*NotServedError](err) {
			t.Errorf("a kind it never had: %v", err)
		}
		if _, err := m.Mapping(t.Context(), widgetGVK); err != nil {
			t.Errorf("a kind it had: %v", err)
		}
	})
}

// A resource that answers 404 causes a discovery: its CRD may have changed.
func TestResourceThatAnswers404IsDiscoveredAgain(t *testing.T) {
	f := newFake(t)
	n := discoveries(f)
	c := f.client(Options{})
	get := func() error {
		_, err := Get[unstructured.Unstructured](t.Context(), c, key("w"), OfKind(widgetGVK))
		return err
	}
	if err := get(); !is[*NotServedError](err) || n.Load() != 1 {
		t.Fatalf("%d discoveries, got %v", n.Load(), err)
	}
	// The kind is served again, as cluster-scoped.
	f.on("GET /apis/example.com/v1", answer(200, resourceList("example.com/v1", resource("widgets", "Widget", false))))
	f.on("GET /apis/example.com/v1/widgets/w", text(200, "application/json", strings.Replace(widgetJSON, `"namespace":"web"`, `"namespace":""`, 1)))
	if err := get(); err != nil || n.Load() != 2 {
		t.Errorf("%d discoveries, got %v", n.Load(), err)
	}
}

// A feed of an absent kind works when the kind is served.
func TestFeedOfAbsentKind(t *testing.T) {
	f := newFake(t)
	feed := f.client(Options{}).Feed(gadgetGVK, Selection{})
	if _, err := feed.Watch(t.Context(), wire.WatchQuery{}); !is[*NotServedError](err) {
		t.Errorf("got %v", err)
	}
	f.on("GET /apis/example.com/v1", answer(200, resourceList("example.com/v1", resource("gadgets", "Gadget", false))))
	f.on("GET /apis/example.com/v1/gadgets", text(200, "application/json", `{"kind":"GadgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"1"},"items":[]}`))
	l, err := feed.List(t.Context(), wire.ListQuery{})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestMapperMapsKindsAndResources(t *testing.T) {
	f := newFake(t)
	m := f.client(Options{}).Mapper()
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	if k, err := m.KindFor(pods); err != nil || k != podGVK {
		t.Errorf("KindFor: %v, %v", k, err)
	}
	if k, err := m.KindsFor(pods); err != nil || len(k) != 1 {
		t.Errorf("KindsFor: %v, %v", k, err)
	}
	if r, err := m.ResourceFor(pods); err != nil || r != pods {
		t.Errorf("ResourceFor: %v, %v", r, err)
	}
	if r, err := m.ResourcesFor(pods); err != nil || len(r) != 1 {
		t.Errorf("ResourcesFor: %v, %v", r, err)
	}
	if r, err := m.RESTMappings(podGVK.GroupKind()); err != nil || len(r) != 1 {
		t.Errorf("RESTMappings: %v, %v", r, err)
	}
	if s, err := m.ResourceSingularizer("pods"); err != nil || s != "pod" {
		t.Errorf("ResourceSingularizer: %v, %v", s, err)
	}
	if _, err := m.KindFor(corev1.SchemeGroupVersion.WithResource("nothings")); !meta.IsNoMatchError(err) {
		t.Errorf("unknown: %v", err)
	}
}

// New uses the caller's mapper.
func TestGivenMapperIsUsed(t *testing.T) {
	f := newFake(t)
	own := meta.NewDefaultRESTMapper(nil)
	own.AddSpecific(podGVK, corev1.SchemeGroupVersion.WithResource("pods"), corev1.SchemeGroupVersion.WithResource("pod"), meta.RESTScopeNamespace)
	n := discoveries(f)
	c := f.client(Options{Mapper: own})
	f.on("GET "+podPath, reply(pod("x"), podGVK))
	if _, err := Get[corev1.Pod](t.Context(), c, key("x")); err != nil {
		t.Error(err)
	}
	if _, err := Get[corev1.Node](t.Context(), c, key("x")); !is[*NotServedError](err) {
		t.Errorf("got %v", err)
	}
	if n.Load() != 0 {
		t.Errorf("%d discoveries", n.Load())
	}
}
