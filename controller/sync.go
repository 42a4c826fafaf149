package controller

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
)

const (
	// syncCheck is how often the watches that have not synced are looked at.
	syncCheck = time.Second
	// failingWait is how long workers wait for watches that fail, once there is something to reconcile. A watch
	// often works at its next try: permissions and definitions are applied one after another.
	failingWait = 10 * time.Second
)

// syncing decides when the workers of a run start, and follows what starts later; see ADR 41.
type syncing[R comparable] struct {
	*running[R]
	reported reports
	late     bool      // CacheSyncTimeout has passed
	possible time.Time // when there was something to reconcile; zero: there is not
	synced   int       // watches that had synced when the workers started, or at the latest resync
}

// start returns nil when the workers may start, or when stop ends first. With Options.RequireSync it returns a
// *SyncError after the timeout.
func (s *syncing[R]) start(stop context.Context) error {
	check := time.NewTicker(syncCheck)
	defer check.Stop()
	var timeout <-chan time.Time
	if s.o.CacheSyncTimeout > 0 {
		t := time.NewTimer(s.o.CacheSyncTimeout)
		defer t.Stop()
		timeout = t.C
	}
	for wait := s.wait(time.Now()); wait != nil; wait = s.wait(time.Now()) {
		select {
		case <-wait:
		case <-check.C:
			if err := s.unsynced(true); err != nil {
				s.set(Syncing, err)
				s.report()
			}
		case <-timeout:
			s.late = true
			err := s.unsynced(false)
			s.set(Syncing, err)
			if s.o.RequireSync {
				return err
			}
			s.logger.Error("sources have not synced in time", "timeout", s.o.CacheSyncTimeout, "err", err)
		case <-stop.Done():
			return nil
		}
	}
	s.synced = s.countSynced() // no reconcile has run without these
	for _, f := range s.feeds {
		f.initial.complete()
		f.synced()
	}
	return nil
}

// wait returns nil when the workers may start, else a channel that is closed at a step towards that.
func (s *syncing[R]) wait(now time.Time) <-chan struct{} {
	if s.possible.IsZero() && slices.ContainsFunc(s.feeds, func(f *feed[R]) bool { return f.isMain() && f.begun() }) {
		s.possible = now
	}
	for _, f := range s.feeds {
		if wait := f.wait(); wait != nil && s.waitsFor(f, now) {
			return wait
		}
	}
	return nil
}

// waitsFor reports whether the workers wait for a source that has not synced.
func (s *syncing[R]) waitsFor(f *feed[R], now time.Time) bool {
	l := f.lacks()
	switch {
	case s.possible.IsZero():
		return true
	case len(l.waiting) == 0: // a call of the handler has not returned, or an optional kind is missing
		return !s.late && l.handling
	case s.o.RequireSync:
		return true
	case s.late:
		return false
	}
	return l.silent || l.handling || now.Sub(s.possible) < failingWait
}

// follow reports the watches that work later than the workers, until all do or stop ends. When one has synced
// everything is reconciled again: a reconcile may have failed without it, or may have read from the server what has
// changed since then.
func (s *syncing[R]) follow(stop context.Context) {
	check := time.NewTicker(syncCheck)
	defer check.Stop()
	for s.countSynced() > s.synced || slices.ContainsFunc(s.feeds, (*feed[R]).incomplete) {
		select {
		case <-check.C:
		case <-stop.Done():
			return
		}
		s.report()
		if now := s.countSynced(); now > s.synced {
			s.logger.Info("a further watch has synced, reconciling everything again", "watches", now-s.synced)
			s.synced = now
			for _, f := range s.feeds {
				if f.isMain() {
					f.resync()
				}
			}
		}
	}
}

func (s *syncing[R]) countSynced() (n int) {
	for _, f := range s.feeds {
		n += f.lacks().synced
	}
	return n
}

// lack is what a source has not brought yet.
type lack struct {
	synced   int      // watches
	waiting  []string // the namespaces of the other watches, but for those of an optional kind that is not served
	silent   bool     // one of these has no known error
	err      error    // the known errors of these, and a call that has not returned
	handling bool     // the handler was not called for all that has come
}

// lacks is the zero lack for a source of events from outside.
func (f *feed[R]) lacks() (l lack) {
	waiting, of := f.watches()
	l.synced = of - len(waiting)
	var errs []error
	for _, namespace := range slices.Sorted(maps.Keys(waiting)) {
		if err := waiting[namespace]; !f.isOptional(err) {
			l.waiting = append(l.waiting, namespace)
			l.silent = l.silent || err == nil
			errs = append(errs, err)
		}
	}
	if l.err = errors.Join(errs...); len(errs) == 1 {
		l.err = errs[0]
	}
	l.handling = f.initial.waits()
	if c, began, ok := f.watch.Overdue(); ok {
		l.err = &OverdueError{Part: c.part, Key: c.key, For: time.Since(began)}
	}
	return l
}

// isOptional reports whether err says that the server does not serve an optional kind of the cluster. Mostly it is the
// kind of the source; it may be that of the owners to which the handler maps.
func (f *feed[R]) isOptional(err error) bool {
	kind, unserved := unservedKind(err)
	return unserved && slices.ContainsFunc(f.sources, func(s Source[R]) bool {
		return s.optional && s.from == f.source.from && s.gvk.GroupKind() == kind
	})
}

// unservedKind returns the kind that the server does not serve, if that is what err says.
func unservedKind(err error) (schema.GroupKind, bool) {
	if e, ok := errors.AsType[*client.NotServedError](err); ok {
		return e.GVK.GroupKind(), true
	}
	if e, ok := errors.AsType[*meta.NoKindMatchError](err); ok {
		return e.GroupKind, true
	}
	return schema.GroupKind{}, false
}

// incomplete reports whether a watch has not synced, be its kind optional or not.
func (f *feed[R]) incomplete() bool {
	waiting, _ := f.watches()
	return len(waiting) > 0
}

// begun reports whether the source may cause requests, or never will: its kind is optional and not served.
func (f *feed[R]) begun() bool {
	l := f.lacks()
	return l.synced > 0 || len(l.waiting) == 0
}

// resync shows every object of the source once more.
func (f *feed[R]) resync() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sub != nil {
		f.sub.Resync()
	}
}

// busyChecks is how many checks may find a server busy before that is logged. A server answers 429 for a moment
// after each change of a resource definition, also when the CA of a webhook is written into one.
const busyChecks = 10

// reports counts, for each source, the checks that found an error.
type reports map[any]int

// due reports whether the error of a source is to be logged now. That is so once for each source.
func (r reports) due(source any, err error) bool {
	if r[source] > busyChecks {
		return false
	}
	r[source]++
	if apierrors.IsTooManyRequests(err) && r[source] <= busyChecks {
		return false
	}
	r[source] = busyChecks + 1
	return true
}

// report logs the sources that cannot sync for a known cause, each once.
func (s *syncing[R]) report() {
	for _, f := range s.feeds {
		if e, waits := f.unsynced(true); waits && s.reported.due(f, e.Err) {
			logger := s.logger.With("source", e.Source)
			if in := e.in(); in != "" {
				logger = logger.With("waiting", in)
			}
			logger.Error("source cannot sync, trying again", "err", e.Err)
		}
	}
}

// unsynced is a *SyncError with the sources that have not synced; if known is set, with those that have a known
// error. It is nil if there are none.
func (r *running[R]) unsynced(known bool) error {
	e := &SyncError{Controller: r.name}
	for _, f := range r.feeds {
		if failure, waits := f.unsynced(known); waits {
			e.Sources = append(e.Sources, failure)
		}
	}
	if len(e.Sources) == 0 {
		return nil
	}
	return e
}

// unsynced describes a source for a *SyncError. It reports false if the source has synced or, if known is set, has no
// known error.
func (f *feed[R]) unsynced(known bool) (SourceFailure, bool) {
	if f.wait() == nil {
		return SourceFailure{}, false
	}
	l := f.lacks()
	return SourceFailure{Source: f.source.String(), Waiting: l.waiting, Err: l.err},
		(len(l.waiting) > 0 || l.handling) && (l.err != nil || !known)
}
