package controller

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// syncCheck is how often a controller that waits for its sources looks for what keeps them.
const syncCheck = time.Second

// waitForSync returns nil when every source has handed over what existed at the start, or when
// stop ends first; it fails only if the options ask for it.
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

// shortPause is how many checks in a row may find a server busy before that is reported. It is for a
// moment whenever a resource definition changes, and so when a webhook's CA is written into one.
const shortPause = 10

// reports counts for each source the checks that found something that keeps it.
type reports map[string]int

// due reports whether a source's error is to be logged now: once for each source.
func (r reports) due(source string, err error) bool {
	if r[source] > shortPause {
		return false
	}
	r[source]++
	if apierrors.IsTooManyRequests(err) && r[source] <= shortPause {
		return false
	}
	r[source] = shortPause + 1
	return true
}

// report makes known what keeps sources from syncing: in the state as it is now, in the log once
// for each source.
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

// unsynced is a *SyncError with the sources that have not synced, or only with those of them that
// something is known to keep; nil if there are none.
func (r *running[R]) unsynced(known bool) error {
	e := &SyncError{Controller: r.name}
	for _, f := range r.feeds {
		if f.wait() == nil {
			continue
		}
		if err := f.err(); err != nil || !known {
			e.Sources = append(e.Sources, Unsynced{Source: f.source.String(), Err: err})
		}
	}
	if len(e.Sources) == 0 {
		return nil
	}
	return e
}
