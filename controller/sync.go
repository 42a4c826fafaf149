package controller

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// syncCheck is how often a controller that waits for its sources checks their errors.
const syncCheck = time.Second

// waitForSync returns nil when every source has synced, or when stop ends first. After the timeout it returns a
// *SyncError if Options.RequireSync is set, and goes on waiting otherwise.
func (r *running[R]) waitForSync(stop context.Context) error {
	check := time.NewTicker(syncCheck)
	defer check.Stop()
	var timeout <-chan time.Time
	if r.o.CacheSyncTimeout > 0 {
		t := time.NewTimer(r.o.CacheSyncTimeout)
		defer t.Stop()
		timeout = t.C
	}
	reported := reports{}
	for _, f := range r.feeds {
		for wait := f.wait(); wait != nil; wait = f.wait() {
			select {
			case <-wait:
			case <-check.C:
				r.report(reported)
			case <-timeout:
				err := r.unsynced(false)
				if r.o.RequireSync {
					r.set(Syncing, err)
					return err
				}
				r.logger.Error("sources have not synced in time, still waiting", "timeout", r.o.CacheSyncTimeout, "err", err)
				r.set(Syncing, err)
			case <-stop.Done():
				return nil
			}
		}
		f.synced()
	}
	return nil
}

// busyChecks is how many checks may find a server busy before that is logged. A server answers 429 for a moment
// after each change of a resource definition, also when the CA of a webhook is written into one.
const busyChecks = 10

// reports counts, for each source, the checks that found an error.
type reports map[string]int

// due reports whether the error of a source is to be logged now. That is so once for each source.
func (r reports) due(source string, err error) bool {
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

// report puts the known errors of sources that have not synced into the state, and each source once into the
// log.
func (r *running[R]) report(reported reports) {
	err := r.unsynced(true)
	if err == nil {
		return
	}
	r.set(Syncing, err)
	for _, s := range err.(*SyncError).Sources {
		if reported.due(s.Source, s.Err) {
			r.logger.Error("source cannot sync, the controller waits", "source", s.Source, "err", s.Err)
		}
	}
}

// unsynced is a *SyncError with the sources that have not synced; if known is set, with those that have a known
// error. It is nil if there are none.
func (r *running[R]) unsynced(known bool) error {
	e := &SyncError{Controller: r.name}
	for _, f := range r.feeds {
		if f.wait() == nil {
			continue
		}
		if err := f.err(); err != nil || !known {
			e.Sources = append(e.Sources, SourceFailure{Source: f.source.String(), Err: err})
		}
	}
	if len(e.Sources) == 0 {
		return nil
	}
	return e
}
