package handlers

import (
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/object"
)

// calls turns events into calls of a handler. It belongs to one goroutine.
type calls struct {
	handler toolscache.ResourceEventHandler
	// call calls a function of the handler, and reports a panic.
	call func(key object.Key, f func())
	// unusable has the keys whose present state cannot be decoded, with the state that the handler knows; nil
	// for none.
	unusable map[object.Key]*state
}

// deliver makes the calls for an event. Every incarnation that the handler knows, or that came and went, has
// one delete.
func (h *calls) deliver(e *event) {
	if known, ok := h.unusable[e.key]; ok {
		delete(h.unusable, e.key)
		if e.resync {
			e.resync, e.old = false, e.new
		}
		if e.old != nil && !sameUID(e.old, known) && !sameUID(e.old, e.after()) {
			e.ended = append([]types.UID{e.old.entry.UID()}, e.ended...)
		}
		e.old = known
	}
	if e.resync {
		h.update(e, e.new, e.new)
		return
	}
	if e.old != nil && sameUID(e.old, e.after()) {
		h.ended(e)
		if e.new == nil {
			h.delete(e, e.old)
		} else {
			h.update(e, e.old, e.new)
		}
		return
	}
	if e.old != nil {
		h.tombstone(e, e.old)
	}
	h.ended(e)
	switch {
	case e.new != nil:
		h.add(e, e.new)
	case e.last != nil:
		h.add(e, e.last)
		h.delete(e, e.last)
	}
}

func (h *calls) add(e *event, s *state) {
	obj, err := s.object()
	if err != nil {
		h.reject(e.key, nil)
		return
	}
	h.call(e.key, func() { h.handler.OnAdd(obj, e.initial) })
}

func (h *calls) update(e *event, old, new *state) {
	is, err := new.object()
	if err != nil {
		h.reject(e.key, old)
		return
	}
	was, err := old.object()
	if err != nil { // no call has shown it
		h.call(e.key, func() { h.handler.OnAdd(is, false) })
		return
	}
	h.call(e.key, func() { h.handler.OnUpdate(was, is) })
}

func (h *calls) reject(key object.Key, known *state) {
	if h.unusable == nil {
		h.unusable = map[object.Key]*state{}
	}
	h.unusable[key] = known
}

// delete reports the end of the last incarnation. known is a state of it that the handler knows.
func (h *calls) delete(e *event, known *state) {
	delete(h.unusable, e.key)
	if e.last == nil || e.missed {
		h.tombstone(e, known)
		return
	}
	obj, err := e.last.object()
	if err != nil {
		h.tombstone(e, known)
		return
	}
	h.call(e.key, func() { h.handler.OnDelete(obj) })
}

// tombstone reports the end of an incarnation whose final state is not known, with the state that the handler
// knows.
func (h *calls) tombstone(e *event, known *state) {
	obj, err := known.object()
	if err != nil {
		obj = e.from.bare(known.entry.Header())
	}
	h.gone(e, obj)
}

// ended reports the end of incarnations. Only their UIDs are known.
func (h *calls) ended(e *event) {
	for _, uid := range e.ended {
		header := object.Header{Key: e.key, UID: uid}
		if s := e.after(); s != nil {
			header.ResourceVersion = s.entry.ResourceVersion()
		}
		h.gone(e, e.from.bare(&header))
	}
}

func (h *calls) gone(e *event, obj object.Object) {
	key := e.key.Name
	if e.key.Namespace != "" {
		key = e.key.Namespace + "/" + key
	}
	h.call(e.key, func() { h.handler.OnDelete(toolscache.DeletedFinalStateUnknown{Key: key, Obj: obj}) })
}
