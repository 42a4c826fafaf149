// Package ledger checks that no change was lost. Writers record the server's answers with
// [Ledger.Wrote] and [Ledger.Deleted]. Handlers, reconcilers and stores record the states they see
// in a [View]. In the end [Ledger.Check] compares both.
//
//	writer ──► server ──► answer ──► Ledger ◄─── Check, Wait
//	             │                     ▲
//	             └─► watch ─► … ─► View per handler, reconciler or store
//
// It is for tests, of this module and of programs that inject faults.
package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/object"
)

// Ledger holds, for each key, the last state that the server confirmed. Make one with New. All
// methods may be called from any goroutine.
type Ledger struct {
	mu      sync.Mutex
	last    map[object.Key]record
	writes  int
	deletes int
	views   []*View
	changed chan struct{} // capacity 1
}

type record struct {
	uid     types.UID
	version string
	deleted bool
}

// New returns an empty ledger.
func New() *Ledger {
	return &Ledger{last: make(map[object.Key]record), changed: make(chan struct{}, 1)}
}

// Wrote records an object as the server returned it after a create, update, patch or apply. Answers
// may be recorded in any order: the highest resourceVersion counts.
func (l *Ledger) Wrote(o metav1.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.signal()
	l.writes++
	key, new := object.KeyOf(o), record{uid: o.GetUID(), version: o.GetResourceVersion()}
	old, ok := l.last[key]
	switch {
	case !ok:
	case old.deleted && old.uid == new.uid:
		return // the answer of the delete arrived first
	case newer(old.version, new.version):
		return
	}
	l.last[key] = new
}

// Deleted records that the server confirmed the end of this object. The uid tells it from others of
// the same name.
func (l *Ledger) Deleted(key object.Key, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.signal()
	l.deletes++
	if r, ok := l.last[key]; !ok || r.uid == uid {
		l.last[key] = record{uid: uid, version: r.version, deleted: true}
	}
}

// Counts returns the number of recorded writes and deletes, and how many objects should exist.
func (l *Ledger) Counts() (writes, deletes, live int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.last {
		if !r.deleted {
			live++
		}
	}
	return l.writes, l.deletes, live
}

// View adds an observer; Check compares it with the ledger from then on.
func (l *Ledger) View(name string) *View {
	v := &View{name: name, ledger: l, seen: make(map[object.Key]record)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.views = append(l.views, v)
	return v
}

// Check compares every view with the ledger. For each key the view's last state must be the last
// confirmed one, or newer. No view may ever have gone back in time. The error names at most ten
// differences for each view.
func (l *Ledger) Check() error {
	l.mu.Lock()
	views, last := slices.Clone(l.views), maps.Clone(l.last)
	l.mu.Unlock()
	var all []error
	for _, v := range views {
		all = append(all, v.check(last))
	}
	return errors.Join(all...)
}

// Wait runs Check after each record, and returns nil as soon as all agree. If ctx ends first it
// returns the remaining differences.
func (l *Ledger) Wait(ctx context.Context) error {
	for {
		err := l.Check()
		if err == nil {
			return nil
		}
		select {
		case <-l.changed:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// signal wakes a Wait.
func (l *Ledger) signal() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// View records the states that one handler, reconciler or store saw. All methods may be called from
// any goroutine.
type View struct {
	name   string
	ledger *Ledger

	mu          sync.Mutex
	seen        map[object.Key]record
	regressions []error
	deletes     int
}

// Saw records that the observer saw this state of an object.
func (v *View) Saw(o metav1.Object) {
	v.add(object.KeyOf(o), record{uid: o.GetUID(), version: o.GetResourceVersion()})
}

// SawHeader is Saw for a header.
func (v *View) SawHeader(h *object.Header) {
	v.add(h.Key, record{uid: h.UID, version: h.ResourceVersion})
}

// Gone records that the observer saw the deletion of the object, or found none.
func (v *View) Gone(key object.Key) {
	v.mu.Lock()
	defer v.mu.Unlock()
	defer v.ledger.signal()
	r := v.seen[key]
	if !r.deleted && r.uid != "" {
		v.deletes++
	}
	r.deleted = true
	v.seen[key] = r
}

// Deletes counts the objects that the observer saw first existing and then deleted.
func (v *View) Deletes() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.deletes
}

func (v *View) add(key object.Key, new record) {
	v.mu.Lock()
	defer v.mu.Unlock()
	defer v.ledger.signal()
	old, ok := v.seen[key]
	if ok && old.uid == new.uid && newer(old.version, new.version) && len(v.regressions) < 10 {
		v.regressions = append(v.regressions, fmt.Errorf("%s: %s went back from version %s to %s",
			v.name, key, old.version, new.version))
	}
	v.seen[key] = new
}

func (v *View) check(last map[object.Key]record) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := slices.Clone(v.regressions)
	missing := 0
	for _, key := range slices.SortedFunc(maps.Keys(last), object.Key.Compare) {
		want, got := last[key], v.seen[key]
		problem := ""
		switch {
		case want.deleted && (got.deleted || got.uid == ""):
		case want.deleted && got.uid == want.uid:
			problem = "is gone, last seen at version " + got.version
		case want.deleted: // another object of the name, which the ledger does not know
		case got.uid == "":
			problem = "was never seen"
		case got.deleted:
			problem = "was seen deleted, but exists"
		case got.uid != want.uid:
			if newer(want.version, got.version) {
				problem = fmt.Sprintf("is another object now (%s), last seen was %s", want.uid, got.uid)
			}
		case newer(want.version, got.version):
			problem = fmt.Sprintf("is at version %s, last seen at %s", want.version, got.version)
		}
		if problem == "" {
			continue
		}
		if missing++; missing <= 10 {
			all = append(all, fmt.Errorf("%s: %s %s", v.name, key, problem))
		}
	}
	if missing > 10 {
		all = append(all, fmt.Errorf("%s: and %d more", v.name, missing-10))
	}
	return errors.Join(all...)
}

// newer reports whether a is a later version than b. It is false for versions that are not numbers.
func newer(a, b string) bool {
	order, ok := object.CompareVersions(a, b)
	return ok && order > 0
}

// Same compares the content of a store with a fresh list: equal keys, each with equal uid and
// version. The error names at most ten differences.
func Same[A, B metav1.Object](store iter.Seq[A], list iter.Seq[B]) error {
	have := make(map[object.Key]record)
	for o := range store {
		have[object.KeyOf(o)] = record{uid: o.GetUID(), version: o.GetResourceVersion()}
	}
	type difference struct {
		key  object.Key
		text string
	}
	var all []difference
	for o := range list {
		key, want := object.KeyOf(o), record{uid: o.GetUID(), version: o.GetResourceVersion()}
		got, ok := have[key]
		switch {
		case !ok:
			all = append(all, difference{key, "is missing in the store"})
		case got != want:
			all = append(all, difference{key, fmt.Sprintf("is at %s (%s), in the store at %s (%s)",
				want.version, want.uid, got.version, got.uid)})
		}
		delete(have, key)
	}
	for key := range have {
		all = append(all, difference{key, "is in the store, but not in the list"})
	}
	slices.SortFunc(all, func(a, b difference) int {
		return cmp.Or(a.key.Compare(b.key), cmp.Compare(a.text, b.text))
	})
	var errs []error
	for i, d := range all {
		if i == 10 {
			errs = append(errs, fmt.Errorf("and %d more", len(all)-i))
			break
		}
		errs = append(errs, fmt.Errorf("%s %s", d.key, d.text))
	}
	return errors.Join(errs...)
}
