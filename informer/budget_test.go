package informer

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/internal/feedtest"
	"github.com/flyball-io/flyball/internal/wire"
)

// weighed is an informer that can be told what it holds.
type weighed struct {
	*Informer
	log      bytes.Buffer
	problems []Problem
}

func newWeighed(t *testing.T, b *Budget) *weighed {
	t.Helper()
	w := &weighed{}
	gvk := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	var err error
	w.Informer, err = New(feedtest.New(&wire.Kind{GVK: gvk}), Options{
		Kind: Kind{GVK: gvk}, Budget: b,
		OnProblem: func(p Problem) { w.problems = append(w.problems, p) },
		Logger: slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// said is what was logged since it was asked last, and how many problems were reported.
func (w *weighed) said() string {
	text := strings.TrimSpace(w.log.String())
	for range w.problems {
		text += " problem"
	}
	w.log.Reset()
	w.problems = nil
	return text
}

// Each crossing is told once, however much happens between two of them.
func TestBudgetIsToldOnce(t *testing.T) {
	over := func(held int) string {
		return fmt.Sprintf(`level=WARN msg="memory budget exceeded" kind=ConfigMap held=%d budget=1000 problem`, held)
	}
	again := func(held int) string {
		return fmt.Sprintf(`level=INFO msg="memory is within its budget again" kind=ConfigMap held=%d budget=1000`, held)
	}
	b := &Budget{Bytes: 1000}
	in := newWeighed(t, b)
	for i, step := range []struct {
		held int
		want string
		over bool
	}{
		{0, "", false}, {999, "", false}, {1000, "", false}, {1001, over(1001), true}, {1002, "", true}, {5000, "", true},
		{1000, "", true}, {1001, "", true}, {901, "", true}, {1500, "", true}, // at the edge it is not told over and over
		{900, again(900), false}, {1000, "", false}, {10, "", false}, {1200, over(1200), true}, {1200, "", true}, {0, again(0), false},
	} {
		in.account(int64(step.held))
		if got := in.said(); got != step.want {
			t.Errorf("step %d, %d held: said %q, want %q", i, step.held, got, step.want)
		}
		if s := b.State(); s != (BudgetState{Bytes: 1000, Held: int64(step.held), Over: step.over}) || in.Figures().Budget != s {
			t.Errorf("step %d: %+v, figures %+v", i, s, in.Figures().Budget)
		}
	}
}

// Those who share a budget are counted together, and one that ends goes without a word.
func TestBudgetIsShared(t *testing.T) {
	b := &Budget{Bytes: 1000}
	one, two := newWeighed(t, b), newWeighed(t, b)
	one.account(600)
	two.account(500)
	if one.said() != "" || two.said() == "" {
		t.Error("who passed it should have said so, and nobody else")
	}
	one.account(700)
	two.account(400)
	if one.said() != "" || two.said() != "" {
		t.Error("they are over it still")
	}
	one.unweigh()
	if s := b.State(); s.Held != 400 || s.Over || one.said() != "" {
		t.Errorf("one has ended: %+v", s)
	}
	two.account(1001)
	if two.said() == "" {
		t.Error("passed again, and nobody said so")
	}
}

// Many informers that pass it at once tell it once.
func TestSharedBudgetIsReportedOnce(t *testing.T) {
	b := &Budget{Bytes: 1000}
	var all []*weighed
	for range 16 {
		all = append(all, newWeighed(t, b))
	}
	var wait sync.WaitGroup
	for _, in := range all {
		wait.Go(func() {
			for held := range int64(1000) {
				in.account(held)
			}
		})
	}
	wait.Wait()
	told := 0
	for _, in := range all {
		told += strings.Count(in.said(), "exceeded")
	}
	if s := b.State(); told != 1 || s.Held != 16*999 || !s.Over {
		t.Errorf("told %d times, %+v", told, s)
	}
}

func TestBudgetErrorNamesKindAndBytes(t *testing.T) {
	in := newWeighed(t, &Budget{Bytes: 10})
	in.account(11)
	p := in.problems[0]
	e, ok := errors.AsType[*BudgetError](p.Err)
	if !ok || e.Kind != in.o.Kind.GVK || e.Budget != 10 || e.Held != 11 || p.Kind != e.Kind || p.Key.Name != "" {
		t.Errorf("%+v", p)
	}
	if want := "memory budget of ConfigMap: 11 bytes are held, it is 10"; p.Err.Error() != want {
		t.Errorf("%v, want %s", p.Err, want)
	}
}

func TestWithoutABudgetNothingIsReported(t *testing.T) {
	for _, b := range []*Budget{nil, {}, {Bytes: -1}} {
		in := newWeighed(t, b)
		in.weigh()
		in.unweigh()
		if in.Figures().Budget != (BudgetState{}) || in.said() != "" {
			t.Errorf("%+v, %+v", b, in.Figures().Budget)
		}
	}
}

// A round of the applier counts what memory was given back, whether anything came or not.
func TestBudgetIsLookedAtWhenNothingComes(t *testing.T) {
	b := &Budget{Bytes: 1000}
	in := newWeighed(t, b)
	a := in.applier
	a.start()
	t.Cleanup(a.stop)
	in.account(5000)
	a.round() // the store is empty
	if s := b.State(); s.Over || s.Held != in.store.Stats().Held {
		t.Errorf("%+v, the store holds %d", s, in.store.Stats().Held)
	}
}
