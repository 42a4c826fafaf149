// Package garbage has the controller that deletes objects whose owners are gone.
//
//	owner is gone                 ──▶ a dependent without another owner is deleted; others lose the reference
//	owner is deleted, foreground  ──▶ dependents that block it are deleted ──▶ its finalizer is removed
//	owner is deleted, orphan      ──▶ dependents lose the reference        ──▶ its finalizer is removed
package garbage

import (
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/core"
)

var user = control.ServiceAccount("generic-garbage-collector")

// New returns the garbage collector.
func New(control.Options) control.Controller {
	c := &collector{gone: map[types.UID]*control.Meta{}}
	return &control.Keyed{Title: "garbage-collector-controller", Map: c.mapChange, Reconcile: c.collect}
}

// collector knows which owners were seen to go, until nothing names them any more: their kinds may go with them.
type collector struct{ gone map[types.UID]*control.Meta }

// mapChange adds the keys to judge after a change: objects that may be garbage now, and owners that wait for dependents.
func (g *collector) mapChange(s *control.State, c control.Change, add func(string)) {
	if c.Is != nil && (len(c.Is.OwnerReferences) > 0 || c.Is.DeletionTimestamp != nil) {
		add(c.Key)
	}
	if c.Was != nil && (c.Is == nil || c.Is.UID != c.Was.UID) {
		if addOwned(s, c.Was.UID, add) {
			g.gone[c.Was.UID] = c.Was
		}
	}
	if c.Is != nil && inForeground(c.Is) && (c.Was == nil || !inForeground(c.Was)) {
		addOwned(s, c.Is.UID, add)
	}
	for m := range c.Metas() {
		for _, ref := range m.OwnerReferences {
			if key := s.Find(ref.UID); key != "" && s.Meta(key).DeletionTimestamp != nil {
				add(key)
			}
			if g.gone[ref.UID] != nil && len(s.Owned(ref.UID)) == 0 {
				delete(g.gone, ref.UID)
			}
		}
	}
}

// addOwned adds the dependents of an owner, and reports whether there are any.
func addOwned(s *control.State, owner types.UID, add func(string)) bool {
	owned := s.Owned(owner)
	for _, key := range owned {
		add(key)
	}
	return len(owned) > 0
}

func has(m *control.Meta, finalizer string) bool { return slices.Contains(m.Finalizers, finalizer) }

// inForeground reports whether an object is being deleted and waits until its dependents are gone.
func inForeground(m *control.Meta) bool {
	return m.DeletionTimestamp != nil && has(m, metav1.FinalizerDeleteDependents)
}

func (g *collector) collect(_ time.Time, s *control.State, key string) (r control.Result) {
	o, m := s.Get(key), s.Meta(key)
	switch {
	case m == nil:
	case m.DeletionTimestamp == nil:
		r.Requests = g.judge(s, o, m)
	case has(m, metav1.FinalizerOrphanDependents):
		r.Requests = orphan(s, o, m)
	case inForeground(m):
		r.Requests = release(s, o, m)
	}
	return r
}

// judge deletes an object all of whose owners are gone. If only some are gone, it removes the references to them.
func (g *collector) judge(s *control.State, o *core.Object, m *control.Meta) []core.Request {
	var solid, rest []metav1.OwnerReference
	waiting := false
	for _, ref := range m.OwnerReferences {
		switch g.stateOf(s, ref, m) {
		case unknown:
			return nil // its kind may be defined later
		case there:
			solid = append(solid, ref)
		case leaving:
			waiting = true
			rest = append(rest, ref)
		default:
			rest = append(rest, ref)
		}
	}
	switch {
	case len(rest) == 0:
		return nil
	case len(solid) > 0:
		return []core.Request{patch(s, o, m, map[string]any{"ownerReferences": solid})}
	}
	policy := metav1.DeletePropagationBackground
	var out []core.Request
	dependents := s.Owned(m.UID)
	switch {
	case waiting && len(dependents) > 0:
		policy = metav1.DeletePropagationForeground
		if slices.ContainsFunc(dependents, func(key string) bool { return inForeground(s.Meta(key)) }) { // else the two would wait for each other
			refs := slices.Clone(m.OwnerReferences)
			for i := range refs {
				refs[i].BlockOwnerDeletion = new(bool)
			}
			out = append(out, patch(s, o, m, map[string]any{"ownerReferences": refs}))
		}
	case has(m, metav1.FinalizerOrphanDependents):
		policy = metav1.DeletePropagationOrphan
	case has(m, metav1.FinalizerDeleteDependents):
		policy = metav1.DeletePropagationForeground
	}
	return append(out, user.Delete(s.Path(o), metav1.DeleteOptions{PropagationPolicy: &policy, Preconditions: metav1.NewUIDPreconditions(string(m.UID))}))
}

// orphan removes the references to an object, and then the finalizer "orphan" of the object.
func orphan(s *control.State, o *core.Object, m *control.Meta) (out []core.Request) {
	for _, key := range s.Owned(m.UID) {
		d := s.Meta(key)
		rest := slices.DeleteFunc(slices.Clone(d.OwnerReferences), func(r metav1.OwnerReference) bool { return r.UID == m.UID })
		out = append(out, patch(s, s.Get(key), d, map[string]any{"ownerReferences": rest}))
	}
	return append(out, without(s, o, m, metav1.FinalizerOrphanDependents))
}

// release removes the finalizer of an object that waits for its dependents, unless one still blocks it.
func release(s *control.State, o *core.Object, m *control.Meta) []core.Request {
	for _, key := range s.Owned(m.UID) {
		for _, ref := range s.Meta(key).OwnerReferences {
			if ref.UID == m.UID && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion {
				return nil
			}
		}
	}
	return []core.Request{without(s, o, m, metav1.FinalizerDeleteDependents)}
}

// without returns the request that removes a finalizer of an object.
func without(s *control.State, o *core.Object, m *control.Meta, finalizer string) core.Request {
	rest := slices.DeleteFunc(slices.Clone(m.Finalizers), func(f string) bool { return f == finalizer })
	return patch(s, o, m, map[string]any{"finalizers": rest})
}

// patch returns the request that merges metadata into an object. It fails if the object has changed meanwhile.
func patch(s *control.State, o *core.Object, m *control.Meta, metadata map[string]any) core.Request {
	metadata["uid"], metadata["resourceVersion"] = m.UID, strconv.FormatUint(o.Version, 10)
	return user.Do("PATCH", s.Path(o), "application/merge-patch+json", map[string]any{"metadata": metadata})
}
