package replay

import (
	"context"
	"fmt"
	"maps"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/google/go-cmp/cmp"

	"github.com/flyball-io/flyball/bench/corpus"
	flycache "github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"

	"k8s.io/client-go/kubernetes"
)

const objects, events = 80, 60

func served(t *testing.T, s corpus.Spec, p Plan, forms ...Form) (*Server, *rest.Config) {
	t.Helper()
	var tapes []*Tape
	for _, f := range forms {
		tape, err := Record(t.Context(), t.TempDir(), s, p, f, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { tape.Close() })
		tapes = append(tapes, tape)
	}
	server := NewServer(tapes...)
	h := httptest.NewServer(server)
	t.Cleanup(h.Close)
	return server, &rest.Config{Host: h.URL}
}

// mapper knows the one kind of a spec.
func mapper(s corpus.Spec) meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	scope := meta.RESTScopeNamespace
	if !s.Namespaced() {
		scope = meta.RESTScopeRoot
	}
	m.AddSpecific(s.GVK(), s.GVR(), s.GVR(), scope)
	return m
}

// want is what the corpus and the first n events of the plan come to.
func want(s corpus.Spec, p Plan, n int) map[string]corpus.Object {
	all := map[string]corpus.Object{}
	name := func(o corpus.Object) string { return o.GetNamespace() + "/" + o.GetName() }
	for i := range s.Objects {
		all[name(s.At(i))] = s.At(i)
	}
	for k := range n {
		event, i, changes := p.step(s, k)
		o := s.Changed(i, changes)
		o.SetResourceVersion(fmt.Sprint(s.Version() + 1 + k))
		if event == "DELETED" {
			delete(all, name(o))
		} else {
			all[name(o)] = o
		}
	}
	return all
}

// A client-go informer sees the corpus, and what is played, in each form.
func TestClientGo(t *testing.T) {
	for _, form := range []Form{JSON, Protobuf} {
		for _, p := range []Plan{{Events: events}, {Events: events, Keys: 7}, {Events: events, Churn: true}} {
			s := corpus.Spec{Kind: "pods", Objects: objects, ManagedFields: true}
			server, cfg := served(t, s, p, form)
			cfg.ContentType, cfg.AcceptContentTypes = form.contentType(false), form.contentType(false)
			pods := kubernetes.NewForConfigOrDie(cfg).CoreV1().Pods("")
			inf := cache.NewSharedIndexInformer(&cache.ListWatch{
				ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
					return pods.List(ctx, o)
				},
				WatchFuncWithContext: pods.Watch,
			}, &corev1.Pod{}, 0, cache.Indexers{})
			changed := make(chan struct{}, 1000)
			tell := func() { changed <- struct{}{} }
			inf.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { tell() }, UpdateFunc: func(any, any) { tell() }, DeleteFunc: func(any) { tell() }})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { inf.RunWithContext(ctx); close(ended) }()
			if !cache.WaitForCacheSync(ctx.Done(), inf.HasSynced) {
				t.Fatal("no sync")
			}
			if err := server.Play(ctx, events, 0); err != nil {
				t.Fatal(err)
			}
			for range objects + events {
				<-changed
			}
			got := map[string]corpus.Object{}
			for _, o := range inf.GetStore().List() {
				pod := o.(*corev1.Pod)
				pod.TypeMeta = metav1.TypeMeta{}
				got[pod.Namespace+"/"+pod.Name] = pod
			}
			same(t, want(s, p, events), got)
			cancel()
			<-ended
		}
	}
}

// Flyball sees the same, also after a 410.
func TestFlyball(t *testing.T) {
	for _, form := range []Form{JSON, Protobuf} {
		s, p := corpus.Spec{Kind: "pods", Objects: objects, ManagedFields: true}, Plan{Events: events, Churn: true}
		server, cfg := served(t, s, p, form)
		live, err := client.New(cfg, client.Options{Mapper: mapper(s)})
		if err != nil {
			t.Fatal(err)
		}
		c, err := flycache.New(informer.Connect(live), flycache.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		h, err := c.Open(ctx, &corev1.Pod{}, informer.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.WaitForSync(ctx); err != nil {
			t.Fatal(err)
		}
		expect := func(played int) {
			t.Helper()
			all := want(s, p, played)
			for {
				got := map[string]corpus.Object{}
				for pod, err := range client.List[corev1.Pod](ctx, c) {
					if err != nil {
						t.Fatal(err)
					}
					pod.TypeMeta = metav1.TypeMeta{}
					got[object.KeyOf(pod).String()] = pod
				}
				if maps.EqualFunc(all, got, func(a, b corpus.Object) bool { return a.GetResourceVersion() == b.GetResourceVersion() }) {
					same(t, all, got)
					return
				}
				select {
				case <-time.After(10 * time.Millisecond):
				case <-ctx.Done():
					same(t, all, got)
					return
				}
			}
		}
		expect(0)
		server.Play(ctx, events/2, 1000)
		expect(events / 2)
		server.Forget()
		server.Play(ctx, events/2, 0)
		server.Forget()
		expect(events)
		if lists, _ := server.Counts(); lists == 0 && form == JSON {
			t.Log("everything came by streaming lists")
		}
		h.Close()
		cancel()
		<-ended
	}
}

func same(t *testing.T, want, got map[string]corpus.Object) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%d objects, want %d: %s", len(got), len(want), diff[:min(len(diff), 2000)])
	}
}

// Metadata-only answers, and pages.
func TestForms(t *testing.T) {
	s := corpus.Spec{Kind: "deployments", Objects: objects}
	_, cfg := served(t, s, Plan{}, MetadataJSON, MetadataProtobuf, JSON)
	for name, accept := range map[Form]string{
		MetadataJSON: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", MetadataProtobuf: "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
	} {
		if f, ok := negotiate(accept+",application/json", true); !ok || f != name {
			t.Errorf("%s is %s", accept, f)
		}
	}
	live, err := client.New(cfg, client.Options{Mapper: mapper(s)})
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int64{0, 1, 7, objects, objects + 1} {
		n := 0
		for m, err := range client.List[metav1.PartialObjectMetadata](t.Context(), live, client.OfKind(s.GVK()), client.Limit(limit)) {
			if err != nil || m.Name != s.At(n).GetName() || m.UID != s.At(n).GetUID() {
				t.Fatalf("limit %d, %d: %v %v", limit, n, m, err)
			}
			n++
		}
		if n != objects {
			t.Errorf("limit %d: %d", limit, n)
		}
	}
}

func TestCustomResources(t *testing.T) {
	s := corpus.Spec{Kind: "widgets", Objects: 20}
	_, cfg := served(t, s, Plan{}, JSON)
	live, err := client.New(cfg, client.Options{Mapper: mapper(s)})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for u, err := range client.List[unstructured.Unstructured](t.Context(), live, client.OfKind(s.GVK())) {
		if err != nil || !reflect.DeepEqual(u.Object, s.At(n).(*unstructured.Unstructured).Object) {
			t.Fatalf("%d: %v %s", n, err, cmp.Diff(s.At(n), u))
		}
		n++
	}
}
