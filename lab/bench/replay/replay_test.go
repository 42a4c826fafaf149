package replay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"reflect"
	"slices"
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

	flycache "github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/lab/bench/corpus"
	"github.com/flyball-io/flyball/object"

	"k8s.io/client-go/kubernetes"
)

const objects, events = 80, 60

func served(t *testing.T, s corpus.Spec, events int, forms ...Form) (*Server, *rest.Config) {
	t.Helper()
	var tapes []*Tape
	for _, f := range forms {
		tape, err := Record(t.Context(), t.TempDir(), s, events, f, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { tape.Close() })
		tapes = append(tapes, tape)
	}
	server := NewServer(Streaming, tapes...)
	h := httptest.NewServer(server)
	t.Cleanup(h.Close)
	return server, &rest.Config{Host: h.URL}
}

// mapper returns a mapper for the one kind of a spec.
func mapper(s corpus.Spec) meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	scope := meta.RESTScopeNamespace
	if !s.Namespaced() {
		scope = meta.RESTScopeRoot
	}
	m.AddSpecific(s.GVK(), s.GVR(), s.GVR(), scope)
	return m
}

// want returns the objects after the first n changes.
func want(s corpus.Spec, n int) map[string]corpus.Object {
	all := map[string]corpus.Object{}
	put := func(o corpus.Object) { all[o.GetNamespace()+"/"+o.GetName()] = o }
	for i := range s.Objects {
		put(s.At(i))
	}
	churn := s.Churn(n)
	for k := range n {
		o := churn.Object(k)
		o.SetResourceVersion(fmt.Sprint(corpus.Version(s) + 1 + k))
		put(o)
	}
	return all
}

// A client-go informer sees the corpus, and the played changes, in each form.
func TestClientGo(t *testing.T) {
	for _, form := range []Form{JSON, Protobuf} {
		for _, objects := range []int{objects, 7} {
			s := corpus.Spec{Kind: "pods", Objects: objects, ManagedFields: true}
			server, cfg := served(t, s, events, form)
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
			if err := server.Play(events); err != nil {
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
			same(t, want(s, events), got)
			cancel()
			<-ended
		}
	}
}

// listed returns a function that lists the objects in Flyball's cache, after its sync.
func listed(t *testing.T, s corpus.Spec, cfg *rest.Config) func() map[string]corpus.Object {
	t.Helper()
	live, err := client.New(cfg, client.Options{Mapper: mapper(s)})
	if err != nil {
		t.Fatal(err)
	}
	c, err := flycache.New(flycache.Connect(live), flycache.Options{KeepManagedFields: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	h, err := c.Open(ctx, &corev1.Pod{}, client.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close(); cancel(); <-ended })
	if err := c.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
	return func() map[string]corpus.Object {
		got := map[string]corpus.Object{}
		for pod, err := range client.List[corev1.Pod](ctx, c) {
			if err != nil {
				t.Fatal(err)
			}
			pod.TypeMeta = metav1.TypeMeta{}
			got[object.KeyOf(pod).String()] = pod
		}
		return got
	}
}

// eventually waits until a check holds.
func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !check(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

// Flyball sees the same, also after a 410, for every way of listing.
func TestFlyball(t *testing.T) {
	tier.Audit(t, "waits by the real clock")
	for _, form := range []Form{JSON, Protobuf} {
		for _, lists := range []Lists{Streaming, Whole, Paged} {
			s := corpus.Spec{Kind: "pods", Objects: objects, ManagedFields: true}
			server, cfg := served(t, s, events, form)
			server.mode = lists
			list := listed(t, s, cfg)
			expect := func(played int) {
				t.Helper()
				all := want(s, played)
				eventually(t, fmt.Sprint(played, " events"), func() bool {
					return maps.EqualFunc(all, list(), func(a, b corpus.Object) bool { return a.GetResourceVersion() == b.GetResourceVersion() })
				})
				same(t, all, list())
			}
			expect(0)
			began := time.Now()
			sent, err := server.PlayTimed(t.Context(), events/2, 1000)
			if err != nil || len(sent) != events/2 || sent[0].Before(began) || !slices.IsSortedFunc(sent, time.Time.Compare) {
				t.Fatal(sent, err)
			}
			expect(events / 2)
			if err := errors.Join(server.Play(events/2), server.Forget(0)); err != nil {
				t.Fatal(err)
			}
			expect(events)
			if n := server.Lists(); n == 0 != (lists == Streaming) {
				t.Errorf("%s: %d lists", lists, n)
			}
			if err := server.AwaitWatches(t.Context(), 2); err != nil || server.Watches() < 2 {
				t.Error(err, server.Watches())
			}
		}
	}
}

// Unrecorded events happen as well: recreated objects are others with the same content, touched
// ones have another version, and deleted ones are gone.
func TestRewritten(t *testing.T) {
	for _, form := range []Form{JSON, Protobuf} {
		s := corpus.Spec{Kind: "pods", Objects: objects, ManagedFields: true}
		server, cfg := served(t, s, 0, form)
		list := listed(t, s, cfg)
		first := list()
		if err := errors.Join(server.Churn(2), server.Touch(3*objects, objects/2), server.Forget(5)); err != nil {
			t.Fatal(err)
		}
		latest := func() bool {
			at := fmt.Sprint(corpus.Version(s) + server.Happened())
			for _, o := range list() {
				if o.GetResourceVersion() == at {
					return true
				}
			}
			return false
		}
		eventually(t, "churned", latest)
		got := list()
		uids, content := map[string]bool{}, map[string]bool{}
		for _, o := range first {
			uids[string(o.GetUID())] = true
			content[o.(*corev1.Pod).Status.ContainerStatuses[0].ContainerID] = true
		}
		for key, o := range got {
			uids[string(o.GetUID())] = true
			pod := o.(*corev1.Pod)
			if first[key] != nil || !content[pod.Status.ContainerStatuses[0].ContainerID] {
				t.Errorf("%s is not a new object of an old content", key)
			}
		}
		if len(got) != objects || len(uids) != 2*objects {
			t.Errorf("%d objects, %d uids", len(got), len(uids))
		}
		if err := server.Delete(objects * 9 / 10); err != nil {
			t.Fatal(err)
		}
		eventually(t, "deleted", func() bool { return len(list()) == objects/10 })
		if err := server.Play(1); err == nil {
			t.Error("played what is not on the tape")
		}
	}
}

func same(t *testing.T, want, got map[string]corpus.Object) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%d objects, want %d: %s", len(got), len(want), diff[:min(len(diff), 2000)])
	}
}

// asListed returns the objects in the order of an API server: by namespace, then by name.
func asListed(s corpus.Spec) []corpus.Object {
	all := make([]corpus.Object, s.Len())
	for i := range all {
		all[i] = s.At(i)
	}
	slices.SortFunc(all, func(a, b corpus.Object) int { return object.KeyOf(a).Compare(object.KeyOf(b)) })
	return all
}

// The server serves metadata-only answers, and pages.
func TestForms(t *testing.T) {
	s := corpus.Spec{Kind: "deployments", Objects: objects}
	_, cfg := served(t, s, 0, MetadataJSON, MetadataProtobuf, JSON)
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
	want := asListed(s)
	for _, limit := range []int64{0, 1, 7, objects, objects + 1} {
		n := 0
		for m, err := range client.List[metav1.PartialObjectMetadata](t.Context(), live, client.OfKind(s.GVK()), client.ListOptions{Limit: limit}) {
			if err != nil || m.Name != want[n].GetName() || m.UID != want[n].GetUID() {
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
	_, cfg := served(t, s, 0, JSON)
	live, err := client.New(cfg, client.Options{Mapper: mapper(s)})
	if err != nil {
		t.Fatal(err)
	}
	n, want := 0, asListed(s)
	for u, err := range client.List[unstructured.Unstructured](t.Context(), live, client.OfKind(s.GVK())) {
		if err != nil || !reflect.DeepEqual(u.Object, want[n].(*unstructured.Unstructured).Object) {
			t.Fatalf("%d: %v %s", n, err, cmp.Diff(want[n], u))
		}
		n++
	}
}
