package informer_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/ledger"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

func TestHandlersAreToldWhatChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.Put(configMap("b", "1"))
		s.Put(configMap("a", "1"))
		in := newInformer(t, s)
		var early, late story
		handle(t, in, &early)
		stop := start(t, in)
		early.want(t, "first list", "add a=1 initial", "add b=1 initial")

		s.Put(configMap("c", "1"))
		s.Put(configMap("a", "2"))
		early.want(t, "live", "add c=1", "update a=1→2")

		handle(t, in, &late)
		late.want(t, "joined", "add a=2 initial", "add b=1 initial", "add c=1 initial")
		early.want(t, "another joined")

		s.Delete(key("a"))
		early.want(t, "delete", "delete a=2@6")
		late.want(t, "delete", "delete a=2@6")

		s.Cut()
		s.Put(configMap("b", "2"))
		time.Sleep(time.Minute)
		early.want(t, "after a cut", "update b=1→2")

		s.Forget(func() {
			s.Delete(key("c"))
			s.Delete(key("b"))
			s.Put(configMap("b", "3"))
			s.Put(configMap("d", "1"))
		})
		time.Sleep(2 * time.Minute)
		want := []string{"delete c=1@4 missed", "update b=2→3 another uid", "add d=1"}
		early.want(t, "relist", want...)
		late.take()

		s.Put(configMap("e", "1"))
		synctest.Wait()
		if err := stop(); !errors.Is(err, errEnd) {
			t.Errorf("Run = %v", err)
		}
		if _, _, open := s.Counts(); open != 0 {
			t.Errorf("%d watches still open", open)
		}
	})
}

// TestRestoredServerIsShownAgain: after a restore from a backup everything is shown again, whatever its version.
func TestRestoredServerIsShownAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.Put(configMap("a", "1"))
		s.Put(configMap("b", "1"))
		backup := s.Save()
		s.Put(configMap("a", "2"))
		s.Put(configMap("c", "1"))
		in := newInformer(t, s)
		var st story
		handle(t, in, &st)
		resets := 0
		if _, err := in.Subscribe("source", func(c store.Change) {
			if c.Reset {
				resets++
			}
		}); err != nil {
			t.Fatal(err)
		}
		stop := start(t, in)
		st.want(t, "list", "add a=2 initial", "add b=1 initial", "add c=1 initial")
		s.Restore(backup)
		time.Sleep(10 * time.Minute)
		st.want(t, "restored", "delete c=1@5 missed", "update a=2→1", "update b=1→1")
		if resets != 3 {
			t.Errorf("%d changes marked", resets)
		}
		s.Put(configMap("a", "3"))
		st.want(t, "live again", "update a=1→3")
		_ = stop()
		if err := ledger.Same(metas(t, in), slices.Values(s.Objects())); err != nil {
			t.Error(err)
		}
	})
}

func TestStoreAndIndexesComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		in := newInformer(t, s)
		if err := in.AddIndex("value", informer.IndexFunc(func(o *corev1.ConfigMap) []string { return []string{o.Data["value"]} })); err != nil {
			t.Fatal(err)
		}
		seen := 0
		if _, err := in.Subscribe("source", func(c store.Change) {
			snapshot, err := in.Snapshot()
			if err != nil {
				t.Error(err)
				return
			}
			if c.New == nil {
				return
			}
			value := c.New.Header().Labels["value"]
			found, err := snapshot.Index("value", value)
			if err != nil || !slices.ContainsFunc(slices.Collect(found), c.New.Same) {
				t.Errorf("%s: not in the index under %s (%v)", c.Key, value, err)
			}
			seen++
		}); err != nil {
			t.Fatal(err)
		}
		s.Put(configMap("a", "1"))
		stop := start(t, in)
		synctest.Wait()
		s.Put(configMap("a", "2"))
		s.Put(configMap("b", "2"))
		synctest.Wait()
		_ = stop()
		if seen != 3 {
			t.Errorf("%d changes", seen)
		}
		if err := ledger.Same(metas(t, in), slices.Values(s.Objects())); err != nil {
			t.Error(err)
		}
	})
}

func TestSyncedWaitsForTheInitialCallbacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.Put(configMap("a", "1"))
		s.Put(configMap("b", "1"))
		in := newInformer(t, s)
		release := make(chan struct{})
		slow, err := informer.AddHandler(in, informer.Handler[corev1.ConfigMap]{
			OnAdd: func(o *corev1.ConfigMap, _ bool) {
				if o.Name == "b" {
					<-release
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		source, err := in.Subscribe("source", func(store.Change) {})
		if err != nil {
			t.Fatal(err)
		}
		if in.HasSynced() || slow.HasSynced() || in.State().Watch.Phase != reflector.Idle {
			t.Error("synced before it was run")
		}
		stop := start(t, in)
		synctest.Wait()
		if !in.HasSynced() || !source.HasSynced() || slow.HasSynced() {
			t.Errorf("synced: informer %v, source %v, slow handler %v", in.HasSynced(), source.HasSynced(), slow.HasSynced())
		}
		// What comes meanwhile is not part of it.
		s.Put(configMap("c", "1"))
		late := handle(t, in, &story{})
		synctest.Wait()
		if !late.HasSynced() || slow.HasSynced() {
			t.Errorf("synced: late %v, slow %v", late.HasSynced(), slow.HasSynced())
		}
		close(release)
		synctest.Wait()
		if !slow.HasSynced() {
			t.Error("the slow handler has returned, but is not synced")
		}
		if st := in.State(); !st.Synced || st.Watch.Phase != reflector.Synced || st.Objects != 3 || st.String() != "synced" {
			t.Errorf("state %+v", st)
		}
		_ = stop()
	})
}

func TestAnEmptyListSyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newInformer(t, newServer())
		r := handle(t, in, &story{})
		stop := start(t, in)
		synctest.Wait()
		if !in.HasSynced() || !r.HasSynced() {
			t.Error("not synced")
		}
		_ = stop()
	})
}

func TestResyncOnlyForThoseWhoAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.Put(configMap("a", "1"))
		s.Put(configMap("b", "1"))
		in := newInformer(t, s, func(o *informer.Options) { o.Resync = time.Hour })
		add := func(resync time.Duration) *story {
			st := &story{}
			h := st.handler()
			h.Resync = resync
			if _, err := informer.AddHandler(in, h); err != nil {
				t.Fatal(err)
			}
			return st
		}
		often, byDefault, never := add(10*time.Minute), add(0), add(-1)
		stop := start(t, in)
		synctest.Wait()
		for _, st := range []*story{often, byDefault, never} {
			st.want(t, "first", "add a=1 initial", "add b=1 initial")
		}
		time.Sleep(10*time.Minute + time.Second)
		often.want(t, "10 min", "update a=1→1", "update b=1→1")
		byDefault.want(t, "10 min")
		time.Sleep(50 * time.Minute)
		synctest.Wait()
		if n := len(often.lines); n != 10 {
			t.Errorf("%d resyncs in 50 min", n)
		}
		byDefault.want(t, "1 h", "update a=1→1", "update b=1→1")
		never.want(t, "1 h")
		_ = stop()
	})
}

func TestEndedInformerStillReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.Put(configMap("a", "1"))
		in := newInformer(t, s)
		reg := handle(t, in, &story{})
		stop := start(t, in)
		synctest.Wait()
		if err := in.Run(t.Context()); !errors.Is(err, run.ErrRunning) {
			t.Errorf("second Run = %v", err)
		}
		_ = stop()
		if err := in.Run(t.Context()); !errors.Is(err, run.ErrRunning) {
			t.Errorf("Run after the end = %v", err)
		}
		if _, err := informer.AddHandler(in, informer.Handler[corev1.ConfigMap]{}); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("AddHandler = %v", err)
		}
		if _, err := in.Subscribe("x", func(store.Change) {}); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("Subscribe = %v", err)
		}
		if err := in.AddIndex("metadata.name", informer.IndexPath("metadata.name")); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("IndexPath = %v", err)
		}
		if p := in.State().Watch.Phase; p != reflector.Stopped {
			t.Errorf("phase %v", p)
		}
		if err := reg.RemoveAndWait(t.Context()); err != nil {
			t.Errorf("RemoveAndWait = %v", err)
		}
		l, err := informer.NewLister[corev1.ConfigMap](in)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Get(key("a")); err != nil {
			t.Errorf("a read from the last state: %v", err)
		}
	})
}

// Between the end of ctx and the end of Run, which waits for a callback, nothing is taken in that
// would never be called.
func TestStoppingInformerTakesNothingIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.Put(configMap("a", "1"))
		in := newInformer(t, s)
		release := make(chan struct{})
		if _, err := in.Subscribe("slow", func(store.Change) { <-release }); err != nil {
			t.Fatal(err)
		}
		stop := start(t, in)
		synctest.Wait()
		go stop()
		synctest.Wait()
		if _, err := in.Subscribe("x", func(store.Change) {}); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("Subscribe = %v", err)
		}
		if _, err := informer.AddHandler(in, informer.Handler[corev1.ConfigMap]{}); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("AddHandler = %v", err)
		}
		select {
		case <-in.Done():
			t.Error("done while a callback runs")
		default:
		}
		close(release)
		<-in.Done()
		_ = stop()
	})
}

func TestNewSaysWhatIsWrong(t *testing.T) {
	for name, make := range map[string]func() (*informer.Informer, error){
		"no source": func() (*informer.Informer, error) { return informer.New(nil, informer.Options{Kind: configMaps}) },
		"no kind":   func() (*informer.Informer, error) { return informer.New(newServer(), informer.Options{}) },
	} {
		if in, err := make(); err == nil || in != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	in := newInformer(t, newServer())
	if _, err := in.Subscribe("nothing", nil); err == nil {
		t.Error("a nil source was taken")
	}
	var mismatch *informer.TypeMismatchError
	if _, err := informer.AddHandler(in, informer.Handler[corev1.Secret]{}); !errors.As(err, &mismatch) {
		t.Errorf("a handler of another type: %v", err)
	}
}

func TestRemovedHandlerIsNotCalledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		in := newInformer(t, s)
		release, entered := make(chan struct{}), make(chan struct{}, 8)
		named := func(name string) informer.Handler[corev1.ConfigMap] {
			return informer.Handler[corev1.ConfigMap]{Name: name, OnAdd: func(*corev1.ConfigMap, bool) {
				entered <- struct{}{}
				<-release
			}}
		}
		first, err := informer.AddHandler(in, named("one"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = informer.AddHandler(in, named("two")); err != nil {
			t.Fatal(err)
		}
		stop := start(t, in)
		s.Put(configMap("a", "1"))
		s.Put(configMap("b", "1"))
		synctest.Wait()
		if len(entered) != 2 {
			t.Fatalf("%d calls: the same handler added twice is two registrations", len(entered))
		}
		if st := first.Stats(); st.Pending != 1 || first.Name() != "one" {
			t.Errorf("stats %+v of %s", st, first.Name())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := first.RemoveAndWait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("RemoveAndWait with a callback running = %v", err)
		}
		first.Remove()
		waited := make(chan error, 1)
		go func() { waited <- first.RemoveAndWait(context.Background()) }()
		synctest.Wait()
		if len(waited) != 0 {
			t.Error("RemoveAndWait returned before the callback")
		}
		close(release)
		if err := <-waited; err != nil {
			t.Errorf("RemoveAndWait = %v", err)
		}
		synctest.Wait()
		if len(entered) != 3 {
			t.Errorf("%d calls, want the first of the removed and both of the other", len(entered))
		}
		if st := first.Stats(); st.Pending != 0 || st.Delivered != 1 {
			t.Errorf("stats %+v", st)
		}
		_ = stop()
	})
}

func TestHandlerMayRemoveItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.Put(configMap("a", "1"))
		in := newInformer(t, s)
		var source *informer.Registration
		calls := 0
		source, err := in.Subscribe("once", func(store.Change) { calls++; source.Remove() })
		if err != nil {
			t.Fatal(err)
		}
		s.Put(configMap("b", "1"))
		stop := start(t, in)
		synctest.Wait()
		if err := source.RemoveAndWait(t.Context()); err != nil || calls != 1 {
			t.Errorf("%d calls, %v", calls, err)
		}
		_ = stop()
	})
}
