package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	corev1informers "k8s.io/client-go/informers/core/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/adapter/clientgo"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/test/servertest"
)

// running returns an informer of ConfigMaps in a new namespace, which runs until the end of the test.
func running(t testing.TB, ns string, resync time.Duration, indexers toolscache.Indexers, before func(*clientgo.Informer), options ...clientgo.Option) *clientgo.Informer {
	t.Helper()
	options = append(options, clientgo.WithNamespace(ns), clientgo.WithFieldSelector(notRoot))
	in, err := clientgo.NewSharedIndexInformer(config(t), &corev1.ConfigMap{}, resync, indexers, options...)
	must(t, err)
	if before != nil {
		before(in)
	}
	ctx, cancel := context.WithCancel(bounded(t))
	done := make(chan struct{})
	go func() { defer close(done); in.RunWithContext(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	synced(t, ctx, in.HasSyncedChecker())
	return in
}

// create creates ConfigMaps: "a k=v" is one with a label.
func create(t testing.TB, ns string, all ...string) {
	t.Helper()
	for _, text := range all {
		name, label, _ := strings.Cut(text, " ")
		o := testobj.ConfigMap(ns + "/" + name)
		if label != "" {
			o = testobj.ConfigMap(ns+"/"+name, testobj.Labels(label))
		}
		created(t, o)
	}
}

func names(objs []any) string {
	var all []string
	for _, o := range objs {
		all = append(all, o.(metav1.Object).GetName())
	}
	return strings.Join(all, " ")
}

// handler writes what it is told.
func (s *story) handler() toolscache.ResourceEventHandler {
	name := func(o any) string { return o.(*corev1.ConfigMap).Name }
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, initial bool) { s.say(fmt.Sprintf("add %s %v", name(o), initial)) },
		UpdateFunc: func(old, new any) {
			if old.(*corev1.ConfigMap).ResourceVersion == new.(*corev1.ConfigMap).ResourceVersion {
				s.say("resync " + name(new))
				return
			}
			s.say("update " + name(new))
		},
		DeleteFunc: func(o any) { s.say("delete " + name(o)) },
	}
}

// Handlers are added and removed before and while the informer runs.
func TestHandlers(t *testing.T) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	create(t, ns, "a")
	var early, late, gone, abandoned story
	var mu sync.Mutex
	var problems []informer.Problem
	var handles []toolscache.ResourceEventHandlerRegistration
	in := running(t, ns, 0, nil, func(in *clientgo.Informer) {
		for _, s := range []*story{&early, &gone} {
			h, err := in.AddEventHandler(s.handler())
			must(t, err)
			handles = append(handles, h)
		}
		must(t, in.RemoveEventHandler(handles[1]))
		must(t, toolscache.ShutDownEventHandler(in, handles[1]))
		if handles[0].HasSynced() || in.HasStarted() || in.IsStopped() || in.Packed() != nil {
			t.Error("it runs before it is started")
		}
	}, clientgo.With(clientgo.Options{Logger: slog.New(slog.DiscardHandler), OnProblem: func(p informer.Problem) {
		mu.Lock()
		defer mu.Unlock()
		problems = append(problems, p)
	}}))
	ctx := bounded(t)
	synced(t, ctx, handles[0].HasSyncedChecker())
	early.await(t, "add a true")
	create(t, ns, "b")
	early.await(t, "add b false")
	second, err := in.AddEventHandlerWithOptions(late.handler(), toolscache.HandlerOptions{})
	must(t, err)
	synced(t, ctx, second.HasSyncedChecker())
	if got := late.all(); !slices.Equal(got, []string{"add a true", "add b true"}) {
		t.Errorf("a late handler was told %q", got)
	}
	if _, err := in.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(any) { panic("no") }}); err != nil {
		t.Fatal(err)
	}
	third, err := in.AddEventHandler(abandoned.handler())
	must(t, err)
	synced(t, ctx, third.HasSyncedChecker())
	must(t, toolscache.ShutDownEventHandler(in, third))
	must(t, in.RemoveEventHandler(third))
	told := len(abandoned.all())
	must(t, client.Delete(ctx, live(t), testobj.ConfigMap(ns+"/a")))
	for _, s := range []*story{&early, &late} {
		s.await(t, "delete a")
	}
	if len(abandoned.all()) != told || len(gone.all()) != 0 {
		t.Errorf("removed handlers were told %q and %q", abandoned.all()[told:], gone.all())
	}
	if n := len(in.Handlers()); n != 3 {
		t.Errorf("%d handlers", n)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(problems) != 2 || !strings.Contains(problems[0].Handler, "ResourceEventHandlerFuncs") {
		t.Errorf("problems %v", problems)
	}
	other := running(t, ns, 0, nil, nil)
	must(t, other.RemoveEventHandler(handles[0]))
	if n := len(in.Handlers()); n != 3 {
		t.Error("another informer removed a handler")
	}
	if err := in.RemoveEventHandler(foreign{}); err == nil {
		t.Error("a foreign handle is accepted")
	}
	if _, err := in.AddEventHandler(nil); err == nil {
		t.Error("no handler is accepted")
	}
}

type foreign struct {
	toolscache.ResourceEventHandlerRegistration
}

// Resyncs follow the rules of client-go: none without a period of the informer, and a later handler none more often
// than the informer.
func TestResync(t *testing.T) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	create(t, ns, "a")
	var own, never, short, without story
	in := running(t, ns, time.Hour, nil, func(in *clientgo.Informer) {
		for s, period := range map[*story]time.Duration{&never: 0, &short: time.Millisecond} {
			if _, err := in.AddEventHandlerWithResyncPeriod(s.handler(), period); err != nil {
				t.Fatal(err)
			}
		}
	})
	if _, err := in.AddEventHandlerWithResyncPeriod(own.handler(), time.Second); err != nil {
		t.Fatal(err)
	}
	plain := running(t, ns, 0, nil, nil)
	if _, err := plain.AddEventHandlerWithResyncPeriod(without.handler(), time.Second); err != nil {
		t.Fatal(err)
	}
	short.await(t, "resync a")
	own.await(t, "resync a")
	if all := append(never.all(), without.all()...); slices.Contains(all, "resync a") {
		t.Errorf("resynced for nothing: %q", all)
	}
}

// No index has an object on which an index function fails: reads of all indexes return that, beside the others.
func TestIndexFunctionThatFails(t *testing.T) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	create(t, ns, "a", "bad")
	in := running(t, ns, 0, toolscache.Indexers{
		"any": func(any) ([]string, error) { return []string{"x"}, nil },
		"picky": func(o any) ([]string, error) {
			if name := o.(*corev1.ConfigMap).Name; name == "bad" {
				return nil, errors.New("it is bad")
			}
			return []string{"x"}, nil
		},
	}, nil)
	x := in.GetIndexer()
	for _, index := range []string{"any", "picky"} {
		objs, err := x.ByIndex(index, "x")
		keys, err2 := x.IndexKeys(index, "x")
		others, err3 := x.Index(index, testobj.ConfigMap(ns+"/a"))
		if names(objs) != "a" || names(others) != "a" || !slices.Equal(keys, []string{ns + "/a"}) {
			t.Errorf("%s: %s, %s, %q: want the others", index, names(objs), names(others), keys)
		}
		for _, err := range []error{err, err2, err3} {
			rejected, ok := errors.AsType[*store.RejectedError](err)
			if !ok || rejected.Key.Name != "bad" || !errors.Is(err, object.ErrNoAnswer) || !strings.Contains(err.Error(), "it is bad") {
				t.Errorf("%s: %v", index, err)
			}
		}
	}
}

// An indexer reads as that of client-go, and takes no writes.
func TestIndexer(t *testing.T) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	create(t, ns, "a app=web", "b app=web", "c app=db")
	byApp := func(o any) ([]string, error) { return []string{o.(*corev1.ConfigMap).Labels["app"], "any"}, nil }
	in := running(t, ns, 0, toolscache.Indexers{"app": byApp, toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc}, nil)
	x := in.GetIndexer()
	must(t, in.AddIndexers(toolscache.Indexers{"late": byApp}))
	must(t, x.AddIndexers(toolscache.Indexers{"first letter": func(o any) ([]string, error) {
		return []string{o.(*corev1.ConfigMap).Name[:1]}, nil
	}}))
	for _, index := range []string{"app", "late"} {
		if got, err := x.ByIndex(index, "web"); names(got) != "a b" || err != nil {
			t.Errorf("%s: %s, %v", index, names(got), err)
		}
		if got, err := x.IndexKeys(index, "any"); !slices.Equal(got, []string{ns + "/a", ns + "/b", ns + "/c"}) || err != nil {
			t.Errorf("%s: keys %v, %v", index, got, err)
		}
		if got, err := x.Index(index, testobj.ConfigMap(ns+"/x", testobj.Labels("app=none"))); names(got) != "a b c" || err != nil {
			t.Errorf("%s of an object: %s, %v", index, names(got), err)
		}
		if got := x.ListIndexFuncValues(index); !slices.Equal(got, []string{"any", "db", "web"}) {
			t.Errorf("%s: values %v", index, got)
		}
	}
	if got, err := x.ByIndex("first letter", "c"); names(got) != "c" || err != nil {
		t.Errorf("first letter: %s, %v", names(got), err)
	}
	if got, err := x.Index(toolscache.NamespaceIndex, &metav1.ObjectMeta{Namespace: ns}); names(got) != "a b c" || err != nil {
		t.Errorf("namespace: %s, %v", names(got), err)
	}
	for _, none := range []string{"", "other"} {
		if got, err := x.ByIndex(toolscache.NamespaceIndex, none); len(got) != 0 || err != nil {
			t.Errorf("namespace %q: %s, %v", none, names(got), err)
		}
	}
	if got := x.ListIndexFuncValues(toolscache.NamespaceIndex); !slices.Equal(got, []string{ns}) {
		t.Errorf("namespaces %v", got)
	}
	if got := x.ListIndexFuncValues("none"); got != nil {
		t.Errorf("values of no index: %v", got)
	}
	if _, err := x.ByIndex("none", "x"); err == nil {
		t.Error("no index is read")
	}
	if _, err := x.Index("none", nil); err == nil {
		t.Error("no index is read")
	}
	if n := len(x.GetIndexers()); n != 4 {
		t.Errorf("%d indexers", n)
	}
	if err := in.AddIndexers(toolscache.Indexers{"new": byApp, "app": byApp}); err == nil || len(x.GetIndexers()) != 4 {
		t.Errorf("an index twice: %v", err)
	}
	if err := in.AddIndexers(toolscache.Indexers{"new": nil}); err == nil {
		t.Error("an index without a function is accepted")
	}

	if got := x.ListKeys(); !slices.Equal(got, []string{ns + "/a", ns + "/b", ns + "/c"}) {
		t.Errorf("keys %v", got)
	}
	got, ok, err := x.Get(toolscache.DeletedFinalStateUnknown{Key: ns + "/a"})
	if err != nil || !ok || got.(*corev1.ConfigMap).Name != "a" {
		t.Errorf("%v, %v, %v", got, ok, err)
	}
	got.(*corev1.ConfigMap).Labels["app"] = "mine"
	if again, _, err := x.GetByKey(ns + "/a"); err != nil || again.(*corev1.ConfigMap).Labels["app"] != "web" {
		t.Errorf("a reader changed what others read: %v, %v", again, err)
	}
	if _, ok, err := x.GetByKey("no/such/key"); ok || err == nil {
		t.Error("a bad key is accepted")
	}
	if _, ok, err := x.GetByKey(ns + "/none"); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if _, _, err := x.Get(7); err == nil {
		t.Error("a number is accepted as an object")
	}
	cm := testobj.ConfigMap(ns + "/new")
	for verb, err := range map[string]error{
		"Add": x.Add(cm), "Update": x.Update(cm), "Delete": x.Delete(cm), "Replace": x.Replace(nil, ""), "Resync": x.Resync(),
	} {
		if !errors.Is(err, clientgo.ErrReadOnly) || !strings.Contains(err.Error(), verb) {
			t.Errorf("%s: %v", verb, err)
		}
	}
	x.Bookmark("7")
	if in.LastSyncResourceVersion() == "7" || names(x.List()) != "a b c" {
		t.Error("a write has an effect")
	}
}

// A store of a kind without namespaces has client-go's answers, too.
func TestIndexerOfAClusterScopedKind(t *testing.T) {
	f := newFactory(t, clientgo.WithNamespace("default")) // it is for other kinds
	in := f.Core().V1().Namespaces().Informer()
	synced(t, start(t, f), in.HasSyncedChecker())
	x := in.GetIndexer()
	all := len(x.List())
	if got, err := x.ByIndex(toolscache.NamespaceIndex, ""); len(got) != all || all < 2 || err != nil {
		t.Errorf("%d of %d, %v", len(got), all, err)
	}
	if got, err := x.ByIndex(toolscache.NamespaceIndex, "default"); len(got) != 0 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if _, ok, err := x.GetByKey("default"); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if _, ok, err := x.GetByKey("x/default"); ok || err != nil {
		t.Errorf("in a namespace: %v, %v", ok, err)
	}
	if got := x.ListIndexFuncValues(toolscache.NamespaceIndex); !slices.Equal(got, []string{""}) {
		t.Errorf("values %q", got)
	}
}

// A transform is set before the start. Typed, unstructured and metadata objects go through it.
func TestTransforms(t *testing.T) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	create(t, ns, "a")
	mark := func(o any) (any, error) {
		o.(metav1.Object).SetAnnotations(map[string]string{"type": fmt.Sprintf("%T", o)})
		return o, nil
	}
	in := running(t, ns, 0, nil, func(in *clientgo.Informer) {
		if err := in.SetTransform(func(any) (any, error) { return &corev1.Secret{}, nil }); !errors.As(err, new(*clientgo.TransformTypeError)) {
			t.Errorf("another type: %v", err)
		}
		must(t, in.SetTransform(mark))
	}, clientgo.With(clientgo.Options{CutManagedFields: true}))
	if err := in.SetTransform(mark); !errors.Is(err, clientgo.ErrStarted) {
		t.Errorf("a late transform: %v", err)
	}
	kind := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	u, m := &unstructured.Unstructured{}, &metav1.PartialObjectMetadata{}
	for _, o := range []runtime.Object{u, m} {
		o.GetObjectKind().SetGroupVersionKind(kind)
	}
	for _, o := range []runtime.Object{&corev1.ConfigMap{}, u, m} {
		in, err := clientgo.NewSharedIndexInformer(config(t), o, 0, nil, clientgo.WithNamespace(ns), clientgo.WithTransform(mark), clientgo.With(clientgo.Options{CutManagedFields: true}))
		must(t, err)
		ctx, cancel := context.WithCancel(bounded(t))
		done := make(chan struct{})
		go func() { defer close(done); in.RunWithContext(ctx) }()
		synced(t, ctx, in)
		got, ok, err := in.GetStore().GetByKey(ns + "/a")
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		if want := fmt.Sprintf("%T", o); got.(metav1.Object).GetAnnotations()["type"] != want || len(got.(metav1.Object).GetManagedFields()) > 0 {
			t.Errorf("%T: %v, %d managedFields", got, got.(metav1.Object).GetAnnotations(), len(got.(metav1.Object).GetManagedFields()))
		}
		cancel()
		<-done
	}
}

// An index function that fails rejects its object: the others are read, and the problem is reported.
func TestObjectThatCannotBeUsed(t *testing.T) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	create(t, ns, "bad", "good")
	told := make(chan informer.Problem, 10)
	in := running(t, ns, 0, toolscache.Indexers{"fussy": func(o any) ([]string, error) {
		if o.(*corev1.ConfigMap).Name == "bad" {
			panic("no")
		}
		return []string{"fine"}, nil
	}}, nil, clientgo.With(clientgo.Options{Logger: slog.New(slog.DiscardHandler), OnProblem: func(p informer.Problem) { told <- p }}))
	if got := names(in.GetStore().List()); got != "good" {
		t.Errorf("read %s", got)
	}
	if _, _, err := in.GetStore().GetByKey(ns + "/bad"); err == nil {
		t.Error("a rejected object is read")
	}
	if p := <-told; p.Key.Name != "bad" {
		t.Errorf("%+v", p)
	}
}

// The type-safe informers of client-go wrap packed ones.
func TestTypedInformer(t *testing.T) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	create(t, ns, "a")
	f := newFactory(t, clientgo.WithNamespace(ns), clientgo.WithFieldSelector(notRoot))
	in := f.Core().V1().ConfigMaps().TypedInformer()
	var told story
	handle, err := in.AddTypedEventHandler(corev1informers.ConfigMapHandlerFuncs{AddFunc: func(o *corev1.ConfigMap) { told.say(o.Name) }}, toolscache.HandlerOptions{})
	must(t, err)
	ctx := start(t, f)
	synced(t, ctx, handle.HasSyncedChecker())
	told.await(t, "a")
	must(t, clientgo.Readable(in))
	packed, ok := clientgo.From(in)
	if !ok || packed.Packed().Kind().GVK.Kind != "ConfigMap" {
		t.Errorf("%v, %v", packed, ok)
	}
	all, err := packed.Packed().Entries(informer.Query{Labels: labels.Everything()})
	must(t, err)
	for e := range all {
		if e.Key().Name != "a" {
			t.Errorf("%v", e.Key())
		}
	}
}

// Readable takes informers of client-go, too.
func TestReadableOfAStockInformer(t *testing.T) {
	in := toolscache.NewSharedIndexInformer(&toolscache.ListWatch{}, &corev1.Pod{}, 0, nil)
	if err := clientgo.Readable(in); err == nil {
		t.Error("an informer that never ran is readable")
	}
	if _, ok := clientgo.From(in); ok {
		t.Error("an informer of client-go is packed")
	}
}
