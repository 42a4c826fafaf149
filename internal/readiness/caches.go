package readiness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/ops/probe"
)

// Watch is a watch of one of the clusters.
type Watch struct {
	cache.Watch
	Cluster Cluster
}

// Caches checks the watches of all clusters, by names of checks.
func (p Program) Caches(context.Context) map[string]error {
	all, now := map[string]error{}, time.Now()
	for name, w := range p.Watches() {
		err := w.Cluster.Explain(checkWatch(w.Watch))
		switch kind := w.Kind.GVK.GroupKind(); {
		case err == nil:
		case p.absentOptional(w):
			err = &probe.ExcusedError{Why: whyOptional, Err: err}
		case w.Cluster.Name != "" && p.Serves():
			err = &probe.ExcusedError{Why: whyWebhooks, Err: err}
		case w.Cluster.Name == "" && p.mayConvert(kind, w.State, now):
			err = &probe.ExcusedError{Why: whyConversion, Err: err}
		}
		all[CheckName("cache:"+name)] = err
	}
	return all
}

// Watches are those of all clusters, by distinct names.
func (p Program) Watches() map[string]Watch {
	all := map[string]Watch{}
	for _, c := range p.Clusters() {
		for name, w := range watchNames(c.Watches()) {
			all[strings.TrimPrefix(c.Name+":"+name, ":")] = Watch{w, c}
		}
	}
	return all
}

// watchNames maps distinct names to the watches of a cache. Watches of the same name are numbered in the
// order of the cache.
func watchNames(watches []cache.Watch) map[string]cache.Watch {
	all := make(map[string]cache.Watch, len(watches))
	same := map[string]int{}
	for _, w := range watches {
		name := w.Kind.Resource.GroupResource().String()
		if w.Selection.Namespace != "" {
			name += ":" + w.Selection.Namespace
		}
		if w.Selection.MetadataOnly {
			name += ":metadata"
		}
		own := name
		for {
			if same[name]++; same[name] > 1 {
				own = fmt.Sprintf("%s:%d", name, same[name])
			}
			if _, taken := all[own]; !taken { // a namespace may be a number
				break
			}
		}
		all[own] = w
	}
	return all
}

func checkWatch(w cache.Watch) error {
	switch {
	case w.State.Err != nil:
		return fmt.Errorf("%s: %w", w.State.Watch.Phase, w.State.Err)
	case !w.State.Synced:
		return ErrNotSynced
	case !w.State.Watch.Phase.Good():
		return errors.New(w.State.Watch.Phase.String())
	}
	return nil
}
