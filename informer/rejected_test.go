package informer_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

func TestTransformRunsOncePerVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.Put(configMap("a", "1"))
		s.Put(configMap("b", "1"))
		runs := map[string]int{}
		fail := errors.New("no")
		var bad problems
		in := newInformer(t, s, func(o *informer.Options) {
			o.OnProblem = bad.add
			o.Transform = informer.Transform(func(c *corev1.ConfigMap) error {
				runs[c.Name+"@"+c.ResourceVersion]++
				switch c.Data["value"] {
				case "fail":
					return fail
				case "panic":
					panic("transform")
				case "identity":
					c.Name = "other"
				}
				c.Data["value"] += "'"
				return nil
			})
		})
		var st story
		handle(t, in, &st)
		stop := start(t, in)
		st.want(t, "list", "add a=1' initial", "add b=1' initial")
		s.Put(configMap("a", "2"))
		st.want(t, "update", "update a=1'→2'")
		s.Put(configMap("a", "fail"))
		st.want(t, "a failure")
		s.Put(configMap("b", "panic"))
		st.want(t, "a panic")
		s.Put(configMap("c", "identity"))
		st.want(t, "another identity")
		if rejected := in.Rejected(); len(rejected) != 3 || rejected[0].Key != key("a") || !errors.Is(rejected[0].Err, fail) ||
			!errors.Is(rejected[2].Err, informer.ErrIdentity) || in.State().Rejected != 3 {
			t.Errorf("rejected: %+v", rejected)
		}
		if p, ok := errors.AsType[*run.PanicError](in.Rejected()[1].Err); !ok || p.Value != "transform" {
			t.Errorf("the panic: %v", in.Rejected()[1].Err)
		}
		// A list shows every version again, and no transform runs for those that are known.
		s.Forget(func() { s.Put(configMap("d", "1")) })
		time.Sleep(time.Minute)
		st.want(t, "relist", "add d=1'")
		s.Put(configMap("a", "3"))
		st.want(t, "mended", "update a=2'→3'")
		s.Forget(func() { s.Delete(key("a")) })
		time.Sleep(2 * time.Minute)
		st.want(t, "missed delete", "delete a=3'@9 missed")
		_ = stop()
		for version, n := range runs {
			if n != 1 {
				t.Errorf("%d runs for %s", n, version)
			}
		}
		if len(runs) != 8 || bad.len() != 3 {
			t.Errorf("%d versions, problems:\n%s", len(runs), &bad)
		}
	})
}

func TestManagedFieldsAreCutUnlessKept(t *testing.T) {
	for _, keep := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			o := configMap("a", "1")
			o.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
			s.Put(o)
			in := newInformer(t, s, func(o *informer.Options) {
				o.KeepManagedFields = keep
				o.Transform = informer.Transform(func(m *corev1.ConfigMap) error {
					m.Data["managers"] = fmt.Sprint(len(m.ManagedFields))
					return nil
				})
			})
			stop := start(t, in)
			synctest.Wait()
			got, err := lister(t, in).Get(key("a"))
			want := map[bool]string{false: "0", true: "1"}[keep]
			if err != nil || fmt.Sprint(len(got.ManagedFields)) != want || got.Data["managers"] != want || got.Data["value"] != "1" {
				t.Errorf("keep %v: %v, %v", keep, got, err)
			}
			_ = stop()
		})
	}
}

func TestUndecodableIsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.PutJSON(key("bad"), "", `"data":7`)
		s.Put(configMap("good", "1"))
		var bad problems
		in := newInformer(t, s, func(o *informer.Options) { o.OnProblem = bad.add })
		var first, second story
		reg := handle(t, in, &first)
		handle(t, in, &second)
		stop := start(t, in)
		first.want(t, "list", "add good=1 initial")
		second.want(t, "list", "add good=1 initial")
		if !reg.HasSynced() {
			t.Error("one bad object keeps the handler from syncing")
		}
		if bad.len() != 1 || len(in.Rejected()) != 1 || in.Rejected()[0].Key != key("bad") {
			t.Errorf("problems, once for each version:\n%s", &bad)
		}
		l := lister(t, in)
		var rejected *store.RejectedError
		if _, err := l.Get(key("bad")); !errors.As(err, &rejected) || rejected.Key != key("bad") {
			t.Errorf("Get = %v", err)
		}
		if objs, err := l.List("", nil); len(objs) != 1 || !errors.As(err, &rejected) {
			t.Errorf("List = %v, %v", objs, err)
		}
		s.PutJSON(key("bad"), "", `"data":8`)
		first.want(t, "still bad")
		if bad.len() != 2 {
			t.Errorf("problems:\n%s", &bad)
		}
		s.Put(configMap("bad", "1"))
		first.want(t, "mended", "add bad=1")
		if len(in.Rejected()) != 0 {
			t.Errorf("still rejected: %v", in.Rejected())
		}
		s.PutJSON(key("good"), "", `"data":9`)
		first.want(t, "a good one turns bad")
		s.Put(configMap("good", "3"))
		first.want(t, "and good again", "update good=1→3")
		s.PutJSON(key("good"), "", `"data":9`)
		s.Delete(key("good"))
		first.want(t, "deleted while bad", "delete good=3@7")
		s.PutJSON(key("new"), "", `"data":9`)
		s.Delete(key("new"))
		first.want(t, "never shown")
		_ = stop()
	})
}

// TestUnreadableHeaderIsRejected: not even the header can be read, so that nothing but the name is
// known of the object.
func TestUnreadableHeaderIsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.PutJSON(key("bad"), `,"labels":7`, `"data":{}`)
		s.Put(configMap("good", "1"))
		var bad problems
		in := newInformer(t, s, func(o *informer.Options) { o.OnProblem = bad.add })
		var st story
		handle(t, in, &st)
		stop := start(t, in)
		st.want(t, "list", "add good=1 initial")
		if rejected := in.Rejected(); len(rejected) != 1 || rejected[0].Key != key("bad") || bad.len() != 1 {
			t.Errorf("rejected %v, problems:\n%s", rejected, &bad)
		}
		// Nobody can say whether its labels match, so it is not passed over in silence.
		sel := labels.SelectorFromSet(labels.Set{"value": "1"})
		var rejected *store.RejectedError
		if objs, err := lister(t, in).List("", sel); len(objs) != 1 || !errors.As(err, &rejected) {
			t.Errorf("List = %v, %v", objs, err)
		}
		s.Put(configMap("bad", "1"))
		st.want(t, "mended", "add bad=1")
		s.PutJSON(key("bad"), `,"ownerReferences":7`, `"data":{}`)
		s.Delete(key("bad"))
		st.want(t, "deleted while bad", "delete bad=1@4")
		_ = stop()
	})
}

func TestFailingIndexRejects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.Put(configMap("a", "panic"))
		s.Put(configMap("b", "1"))
		var bad problems
		in := newInformer(t, s, func(o *informer.Options) { o.OnProblem = bad.add })
		var st story
		handle(t, in, &st)
		stop := start(t, in)
		st.want(t, "list", "add a=panic initial", "add b=1 initial")
		// The index is added late, and what it cannot take is reported all the same.
		if err := in.AddIndex("value", informer.IndexFunc(func(o *corev1.ConfigMap) []string {
			if o.Data["value"] == "panic" {
				panic("index")
			}
			return []string{o.Data["value"]}
		})); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		s.Put(configMap("b", "panic"))
		st.want(t, "nothing usable")
		var ie *store.IndexError
		if rejected := in.Rejected(); len(rejected) != 2 || !errors.As(rejected[0].Err, &ie) || ie.Index != "value" {
			t.Errorf("rejected: %v", rejected)
		}
		s.Put(configMap("a", "2"))
		st.want(t, "mended", "update a=panic→2")
		var found, unknown []string
		for o, err := range lister(t, in).Select(store.Is("value", "2")) {
			if rejected, ok := errors.AsType[*store.RejectedError](err); ok {
				unknown = append(unknown, rejected.Key.Name)
			} else if err == nil {
				found = append(found, o.Name)
			} else {
				t.Error(err)
			}
		}
		if !slices.Equal(found, []string{"a"}) || !slices.Equal(unknown, []string{"b"}) {
			t.Errorf("index finds %q; %q are unknown", found, unknown)
		}
		if bad.len() != 2 {
			t.Errorf("problems:\n%s", &bad)
		}
		_ = stop()
	})
}

func TestPanicsAreIsolated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		for _, name := range []string{"a", "b", "c"} {
			s.Put(configMap(name, "1"))
		}
		var bad problems
		in := newInformer(t, s, func(o *informer.Options) {
			o.OnProblem = func(p informer.Problem) { bad.add(p); panic("the hook, too") }
		})
		var good story
		handle(t, in, &good)
		calls := 0
		reg, err := informer.AddHandler(in, informer.Handler[corev1.ConfigMap]{Name: "h", OnAdd: func(o *corev1.ConfigMap, _ bool) {
			if calls++; o.Name == "b" {
				panic("handler")
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		source, err := in.Subscribe("s", func(c store.Change) {
			if c.Key == key("c") {
				panic("source")
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		stop := start(t, in)
		good.want(t, "list", "add a=1 initial", "add b=1 initial", "add c=1 initial")
		if calls != 3 || !reg.HasSynced() || !source.HasSynced() || reg.Stats().Panics != 1 || source.Stats().Panics != 1 {
			t.Errorf("%d calls, handler %+v, source %+v", calls, reg.Stats(), source.Stats())
		}
		got := bad.String()
		if bad.len() != 2 || !strings.Contains(got, "h b h: panic: handler") || !strings.Contains(got, "s c s: panic: source") {
			t.Errorf("problems:\n%s", got)
		}
		_ = stop()
	})
}

func TestBlockedHandlerDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		in := newInformer(t, s)
		release := make(chan struct{})
		var slow, quick story
		h := slow.handler()
		add := h.OnAdd
		h.OnAdd = func(o *corev1.ConfigMap, initial bool) { <-release; add(o, initial) }
		reg, err := informer.AddHandler(in, h)
		if err != nil {
			t.Fatal(err)
		}
		handle(t, in, &quick)
		stop := start(t, in)
		synctest.Wait()
		s.Put(configMap("first", "1"))
		synctest.Wait()
		quick.take()
		for i := range 100 {
			s.Put(configMap("a", fmt.Sprint(i)))
			s.Put(configMap("b", fmt.Sprint(i)))
			synctest.Wait()
			if n := len(quick.lines); n != 2 {
				t.Fatalf("round %d: the quick handler had %d calls", i, n)
			}
			quick.take()
		}
		for _, happens := range []func(){
			func() { s.Put(configMap("c", "1")) }, func() { s.Delete(key("c")) },
			func() { s.Delete(key("b")) }, func() { s.Put(configMap("b", "new")) },
		} {
			happens()
			synctest.Wait() // so that the quick one has nothing to merge
		}
		if st := reg.Stats(); st.Pending > 3 || st.Merged < 190 {
			t.Errorf("stats %+v", st)
		}
		if one, all := reg.Stats(), in.Figures().Handlers; all.Pending != one.Pending || all.Oldest != one.Oldest ||
			all.Merged != one.Merged || all.Delivered < 200 {
			t.Errorf("of this handler %+v, of all %+v", one, all)
		}
		close(release)
		slow.want(t, "released", "add first=1", "add a=99", "add b=new", "add c=1", "delete c=1@204")
		_ = stop()
	})
}

func TestNilCallbacksDecodeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.PutJSON(key("bad"), "", `"data":7`)
		in := newInformer(t, s)
		if _, err := informer.AddHandler(in, informer.Handler[corev1.ConfigMap]{}); err != nil {
			t.Fatal(err)
		}
		var st story
		if _, err := informer.AddHandler(in, informer.Handler[corev1.ConfigMap]{OnUpdate: st.handler().OnUpdate}); err != nil {
			t.Fatal(err)
		}
		stop := start(t, in)
		synctest.Wait()
		if rejected := in.Rejected(); len(rejected) != 0 {
			t.Errorf("somebody decoded: %v", rejected)
		}
		s.Put(configMap("bad", "1"))
		st.want(t, "from a state that nobody was shown")
		s.Put(configMap("bad", "2"))
		st.want(t, "from one that can be shown", "update bad=1→2")
		_ = stop()
	})
}

func TestHandlersGetTheirOwnCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.Put(configMap("a", "1"))
		in := newInformer(t, s)
		var mu sync.Mutex
		var seen []string
		spoil := informer.Handler[corev1.ConfigMap]{
			OnAdd: func(o *corev1.ConfigMap, _ bool) {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, o.Data["value"])
				o.Data["value"], o.Labels["value"] = "spoiled", "spoiled"
			},
			OnUpdate: func(old, new *corev1.ConfigMap) {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, old.Data["value"]+new.Data["value"])
				old.Data["value"], new.Data["value"] = "spoiled", "spoiled"
			},
		}
		for range 2 {
			if _, err := informer.AddHandler(in, spoil); err != nil {
				t.Fatal(err)
			}
		}
		stop := start(t, in)
		synctest.Wait()
		s.Put(configMap("a", "2"))
		synctest.Wait()
		if got := fmt.Sprint(seen); got != "[1 1 12 12]" {
			t.Errorf("seen %s", got)
		}
		if o, err := lister(t, in).Get(object.Key{Namespace: "ns", Name: "a"}); err != nil || o.Data["value"] != "2" {
			t.Errorf("%v, %v", o, err)
		}
		_ = stop()
	})
}
