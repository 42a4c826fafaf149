package informer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/heap/heaptest"
	"github.com/flyball-io/flyball/internal/ledger"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/store"
)

// TestHandlersJoinAndLeaveUnderLoad: 100 goroutines add and remove handlers while 10,000 events
// come in, with cuts and relists between. Each handler must be told of a history without gap or
// duplicate: an add only for what it does not have, an update and a delete only for what it has,
// from the very state that it was shown; those that stay end up with what there is.
func TestHandlersJoinAndLeaveUnderLoad(t *testing.T) {
	s := newServer()
	in := newInformer(t, s, func(o *informer.Options) { o.Reflector.MinBackoff = time.Millisecond })
	book := ledger.New()
	stop := start(t, in)

	var join sync.WaitGroup
	for n := range 100 {
		join.Go(func() {
			for round := range 5 {
				h := &replica{t: t, has: map[string]string{}}
				if round == 4 {
					h.view = book.View("handler that stays")
				}
				var r *informer.Registration
				var err error
				if n%2 == 0 {
					r, err = informer.AddHandler(in, h.handler())
				} else {
					r, err = in.Subscribe("source", h.source)
				}
				if err != nil {
					t.Error(err)
					return
				}
				<-r.Synced()
				if round == 4 {
					return
				}
				if err := r.RemoveAndWait(context.Background()); err != nil {
					t.Error(err)
				}
				h.gone()
			}
		})
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	change := func(i int) {
		name := fmt.Sprint(rnd.IntN(50))
		if rnd.IntN(3) == 0 {
			s.Delete(key(name))
			return
		}
		s.Put(configMap(name, fmt.Sprint(i)))
	}
	changes := 10_000
	if testing.Short() {
		changes = 3_000
	}
	for i := range changes {
		switch {
		case i%2500 == 2499:
			s.Forget(func() { change(i) })
		case i%1000 == 999:
			s.Cut()
			change(i)
		default:
			change(i)
		}
		if i%100 == 0 {
			runtime.Gosched()
		}
	}
	join.Wait()
	live := map[string]bool{}
	for _, o := range s.Objects() {
		book.Wrote(o)
		live[o.Name] = true
	}
	for i := range 50 {
		if name := fmt.Sprint(i); !live[name] {
			o := configMap(name, "last")
			s.Put(o)
			book.Wrote(o)
			s.Delete(key(name))
			book.Deleted(key(name), o.UID)
		}
	}
	last := configMap("last", "last") // who has seen it has seen all that came before
	s.Put(last)
	book.Wrote(last)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := book.Wait(ctx); err != nil {
		t.Error(err)
	}
	if err := ledger.Same(metas(t, in), slices.Values(s.Objects())); err != nil {
		t.Error(err)
	}
	_ = stop()
}

// replica builds up what a handler is told, and fails when that does not fit.
type replica struct {
	t    *testing.T
	view *ledger.View // may be nil

	mu   sync.Mutex
	has  map[string]string // name → version
	over bool
}

func (h *replica) gone() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
}

func (h *replica) step(what, name, old, new string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		h.t.Errorf("%s %s after the handler was removed", what, name)
	}
	if h.has[name] != old {
		h.t.Errorf("%s %s from version %q: the handler was shown %q", what, name, old, h.has[name])
	}
	if new == "" {
		delete(h.has, name)
		return
	}
	h.has[name] = new
}

func (h *replica) handler() informer.Handler[corev1.ConfigMap] {
	saw := func(o *corev1.ConfigMap) {
		if h.view != nil {
			h.view.Saw(o)
		}
	}
	return informer.Handler[corev1.ConfigMap]{
		OnAdd: func(o *corev1.ConfigMap, _ bool) {
			h.step("add", o.Name, "", o.ResourceVersion)
			saw(o)
		},
		OnUpdate: func(old, new *corev1.ConfigMap) {
			h.step("update", new.Name, old.ResourceVersion, new.ResourceVersion)
			saw(new)
		},
		OnDelete: func(last *corev1.ConfigMap, _ bool) {
			h.mu.Lock()
			old := h.has[last.Name]
			h.mu.Unlock()
			if old == "" {
				h.t.Errorf("delete of %s, which the handler was never shown", last.Name)
			}
			h.step("delete", last.Name, old, "")
			if h.view != nil {
				h.view.Gone(key(last.Name))
			}
		},
	}
}

// source is what handler is, for a source. It is told of everything, what came and went included.
func (h *replica) source(c store.Change) {
	old, new := "", ""
	if c.Old != nil {
		old = c.Old.Header().ResourceVersion
	}
	if c.New != nil {
		new = c.New.Header().ResourceVersion
	}
	h.step("change", c.Key.Name, old, new)
	switch {
	case h.view == nil:
	case c.New == nil:
		h.view.Gone(c.Key)
	default:
		h.view.SawHeader(c.New.Header())
	}
}

// TestBlockedForEverCostsAKeyEach: one handler blocks for ever while every object changes very
// often. It costs a slot for each object, and others see everything.
func TestBlockedForEverCostsAKeyEach(t *testing.T) {
	blockedForEver(t, func() int64 { return 0 })
}

// Memory stays where it was meanwhile.
func TestBlockedForEverCostsNoMemory(t *testing.T) {
	tier.Audit(t, "measures the heap")
	blockedForEver(t, heaptest.Live)
}

func blockedForEver(t *testing.T, live func() int64) {
	const keys = 1000
	rounds := updatesPerKey
	if testing.Short() {
		rounds = 10
	}
	if os.Getenv("FLYBALL_LONG") != "" {
		rounds *= 5
	}
	s := newServer()
	in := newInformer(t, s)
	release := make(chan struct{})
	blocked, err := informer.AddHandler(in, informer.Handler[corev1.ConfigMap]{
		Name:  "blocked",
		OnAdd: func(*corev1.ConfigMap, bool) { <-release },
	})
	if err != nil {
		t.Fatal(err)
	}
	quick, err := informer.AddHandler(in, informer.Handler[corev1.ConfigMap]{
		Name:     "quick",
		OnUpdate: func(*corev1.ConfigMap, *corev1.ConfigMap) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	applied := make(chan int, 1) // the highest version seen, latest only
	if _, err := in.Subscribe("source", func(c store.Change) {
		v, err := strconv.Atoi(c.New.Header().ResourceVersion)
		if err != nil {
			t.Error(err)
		}
		select {
		case <-applied:
		default:
		}
		applied <- v
	}); err != nil {
		t.Fatal(err)
	}
	stop := start(t, in)
	<-in.Synced()
	round := func(i int) {
		last := 0
		for k := range keys {
			last = s.PutJSON(key(strconv.Itoa(k)), "", `"data":{"value":"`+strconv.Itoa(i)+`"}`)
		}
		for v := range applied {
			if v >= last {
				return
			}
		}
	}
	for i := range 20 {
		round(i)
	}
	before := live()
	for i := range rounds {
		round(i)
	}
	if grown := live() - before; grown > 4<<20 {
		t.Errorf("the heap grew by %d KiB", grown>>10)
	}
	if st := blocked.Stats(); st.Pending > keys {
		t.Errorf("%d slots for %d keys", st.Pending, keys)
	}
	if quick.Stats().Delivered == 0 {
		t.Error("the other handler was held up")
	}
	close(release)
	_ = stop()
}
