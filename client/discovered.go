package client

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/discovery"
	"github.com/flyball-io/flyball/run"
)

// discovered is the result of one discovery, with caches of answers. The lock of the mapper guards it.
type discovered struct {
	*discovery.Served
	mappings map[schema.GroupVersionKind]*meta.RESTMapping // answers so far
	full     meta.RESTMapper                               // nil until it is needed
	lists    map[schema.GroupVersion]chan struct{}         // held by the list of a group version that runs
	failed   map[schema.GroupVersion]uint64                // the numbers of the lists that failed
}

func newDiscovered(s *discovery.Served) *discovered {
	d := &discovered{lists: map[schema.GroupVersion]chan struct{}{}, failed: map[schema.GroupVersion]uint64{}}
	d.set(s)
	return d
}

// set replaces what is known. Answers are made anew.
func (d *discovered) set(s *discovery.Served) {
	d.Served, d.full, d.mappings = s, nil, map[schema.GroupVersionKind]*meta.RESTMapping{}
}

// lost reports whether a wanted group version was not found when its resources were listed.
func (d *discovered) lost(want scope) bool {
	for _, g := range d.Groups {
		for _, v := range g.Versions {
			_, gone := errors.AsType[*NotServedError](v.Err)
			if gone && want(schema.GroupVersion{Group: g.Name, Version: v.Name}) {
				return true
			}
		}
	}
	return false
}

// failedSince reports whether the list of a wanted group version has failed after that number of failures.
// One that was not found does not count: it may have been removed since the groups were read.
func (d *discovered) failedSince(number uint64, want scope) bool {
	for gv, n := range d.failed {
		if n > number && want(gv) && !d.lost(func(other schema.GroupVersion) bool { return other == gv }) {
			return true
		}
	}
	return false
}

// scope tells which group versions a question is about.
type scope func(schema.GroupVersion) bool

func everything(schema.GroupVersion) bool { return true }

func inGroup(group string) scope {
	return func(gv schema.GroupVersion) bool { return gv.Group == group }
}

// about is the scope of a question about a kind: its group version, or all versions of its group if it names none.
func about(gvk schema.GroupVersionKind) scope {
	if unversioned(gvk) {
		return inGroup(gvk.Group)
	}
	return func(gv schema.GroupVersion) bool { return gv == gvk.GroupVersion() }
}

func unversioned(gvk schema.GroupVersionKind) bool {
	return gvk.Version == "" || gvk.Version == runtime.APIVersionInternal
}

// only maps a kind in its version. Without a version it takes the one that the server prefers.
func (d *discovered) only(gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	if m := d.mappings[gvk]; m != nil {
		return m, nil
	}
	var m *meta.RESTMapping
	if unversioned(gvk) {
		var err error
		if m, err = d.all().RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
			return nil, err
		}
	} else if m = d.Mapping(gvk); m == nil {
		return nil, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	}
	d.mappings[gvk] = m
	return m, nil
}

// all returns the mapper for the questions that only cannot answer. It is made at the first of them.
func (d *discovered) all() meta.RESTMapper {
	if d.full == nil {
		d.full = d.Mapper()
	}
	return d.full
}

// fill lists the resources of group versions, all at the same time. One that cannot be listed has the error; the
// error of fill is the end of ctx. The caller holds the lock of m; fill releases it while it waits.
func (m *mapper) fill(ctx context.Context, d *discovered, all []schema.GroupVersion) error {
	if len(all) == 0 {
		return nil
	}
	locks := make([]chan struct{}, len(all))
	for i, gv := range all {
		if d.lists[gv] == nil {
			d.lists[gv] = make(chan struct{}, 1)
		}
		locks[i] = d.lists[gv]
	}
	m.mu.Unlock()
	defer m.mu.Lock()
	g, _ := run.New(ctx)
	slots := make(chan struct{}, listsAtOnce)
	for i, gv := range all {
		slots <- struct{}{}
		g.Go("", func(ctx context.Context) error {
			defer func() { <-slots }()
			m.listOnce(ctx, locks[i], d, gv)
			return nil
		})
	}
	err := g.Wait()
	if ctx.Err() != nil {
		return ended(ctx, Call{Verb: verbDiscover})
	}
	return err
}

// listOnce lists the resources of one group version for d, unless another call does, which has the lock. A list
// that ends with the ctx of its call says nothing about the server, and does not count.
func (m *mapper) listOnce(ctx context.Context, lock chan struct{}, d *discovered, gv schema.GroupVersion) {
	select {
	case lock <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-lock }()
	unlisted := func(d *discovered) bool {
		v := d.Version(gv)
		return v != nil && v.Err == discovery.ErrUnlisted
	}
	m.mu.Lock()
	listed := !unlisted(d)
	m.mu.Unlock()
	if listed {
		return
	}
	resources, err := m.list(ctx, gv)
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	d.set(d.With(gv, resources, err))
	if err != nil {
		m.failures++
		d.failed[gv] = m.failures
	}
	switch now := m.known; {
	case now == d:
		m.trust()
	case err == nil && now != nil && unlisted(now): // of a later discovery, which may find more
		now.set(now.With(gv, resources, discovery.ErrUnlisted))
	}
}
