package core

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// Beginning has the first objects of a new state. It is made once for any number of states, and is safe for concurrent
// use.
type Beginning struct {
	own []rules.Write // writes of objects that each state has a copy of, with uids of its own
	// common has writes of objects that do not depend on a state, and more those of [Beginning.With]. States share the
	// objects; see [sharedObjects].
	common, more []rules.Write

	commonObjects, moreObjects sharedObjects
}

// sharedObjects has the objects of the last states that began in one second, with one seed.
type sharedObjects struct {
	mu      sync.Mutex
	at      int64 // the Unix time in the objects
	seed    string
	objects []*Object
}

// of returns the objects for a state. It calls make to make them.
func (h *sharedObjects) of(now time.Time, seed string, make func() []*Object) []*Object {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.objects == nil || h.at != now.Unix() || h.seed != seed {
		h.at, h.seed, h.objects = now.Unix(), seed, make()
	}
	return h.objects
}

// began is the placeholder for creation times in the objects of a Beginning. No text of these objects contains it
// otherwise, so every occurrence is replaced.
var began = time.Date(1971, 2, 3, 4, 5, 6, 0, time.UTC)

// NewBeginning makes the objects that every cluster has; with rbac also the roles and bindings.
func NewBeginning(r Rules, rbac bool) (*Beginning, error) {
	s := New(Options{Rules: r})
	if err := s.boot(began); err != nil {
		return nil, err
	}
	b := &Beginning{}
	for _, c := range s.log {
		w := c.Object.write()
		w.Delete = c.Deleted
		b.own = append(b.own, w)
	}
	call := &rules.Request{Method: "POST", URL: "/", Bootstrap: true, RBAC: rbac, Now: began.UnixNano(), Version: s.version, Objects: map[string]json.RawMessage{}}
	answer, err := s.ask(s.with(call, "/core/namespaces/"))
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	if answer.Code >= 300 {
		return nil, fmt.Errorf("start: %d %s", answer.Code, answer.Body)
	}
	b.common = answer.Writes
	for i := range b.common {
		s.rename(&b.common[i])
	}
	return b, nil
}

// chosen matches the uid of an object. Its first match is in the metadata, before any text of a user.
var chosen = regexp.MustCompile(`"uid":"([-0-9a-f]{36})"`)

// Begin makes the objects of a Beginning, with the time now and uids by the seed of the state. The state must be
// empty.
func (s *State) Begin(now time.Time, b *Beginning) {
	writes := s.renamed(b.own)
	for i := range writes {
		retime(&writes[i], now)
	}
	common := b.commonObjects.of(now, "", func() []*Object { return objectsAt(now, slices.Clone(b.common)) })
	more := b.moreObjects.of(now, s.opts.Seed, func() []*Object { return objectsAt(now, s.renamed(b.more)) })
	s.log = slices.Grow(s.log, len(writes)+len(common)+len(more))
	s.apply(now, writes)
	for _, o := range slices.Concat(common, more) {
		s.put(now, o, false)
	}
}

// With returns a beginning that also has the objects that make creates, each in its last state: step answers a request
// to a state of this beginning. It returns the error of make. No object may have a text with a [Reserved] time.
func (b *Beginning) With(r Rules, make func(step func(Request) Answer) error) (*Beginning, error) {
	s := New(Options{Rules: r})
	s.Begin(began, b)
	first := s.version
	if err := make(func(req Request) Answer { return s.Step(began, req) }); err != nil {
		return nil, err
	}
	out := &Beginning{own: b.own, common: b.common}
	for o := range s.Now().All("/") {
		if o.Version > first {
			out.more = append(out.more, o.write())
		}
	}
	slices.SortFunc(out.more, func(a, b rules.Write) int { return cmp.Compare(a.Version, b.Version) })
	return out, nil
}

// Reserved reports whether a text contains the time that a Beginning replaces in its objects.
func Reserved(text []byte) bool { return bytes.Contains(text, []byte(began.Format(time.RFC3339))) }

// write returns a write that makes the object.
func (o *Object) write() rules.Write {
	return rules.Write{Key: o.Key, Version: o.Version, Object: o.JSON, Shown: o.shown, Labels: o.labels.all(), Fields: selected{o}.all()}
}

// Complete makes those common objects of a Beginning that a loaded state lacks, as a real server does when it starts.
func (s *State) Complete(now time.Time, b *Beginning) {
	lacks := map[string]bool{}
	for _, w := range b.common {
		lacks[w.Key] = s.get(w.Key) == nil
	}
	for _, w := range b.common {
		if lacks[w.Key] {
			retime(&w, now)
			w.Version = s.version + 1
			w.Object = withVersion(w.Object, w.Version)
			if w.Shown != nil {
				w.Shown = withVersion(w.Shown, w.Version)
			}
			s.apply(now, []rules.Write{w})
		}
	}
}

// objectsAt returns the objects of writes, with the time now.
func objectsAt(now time.Time, writes []rules.Write) []*Object {
	out := make([]*Object, len(writes))
	for i := range writes {
		retime(&writes[i], now)
		out[i] = newObject(writes[i])
	}
	return out
}

// renamed returns copies of writes, with uids of this state.
func (s *State) renamed(writes []rules.Write) []rules.Write {
	out := slices.Clone(writes)
	for i := range out {
		s.rename(&out[i])
	}
	return out
}

// rename replaces the uid in the object of a write by one of this state.
func (s *State) rename(w *rules.Write) {
	if uid := chosen.FindSubmatch(w.Object); uid != nil {
		own, _ := s.identity(target{resource: w.Key}, Request{}, 0, 0)
		w.Object = bytes.Replace(w.Object, uid[1], []byte(own), 1)
		w.Shown = bytes.Replace(w.Shown, uid[1], []byte(own), 1)
	}
}

// retime replaces the time began in the object of a write.
func retime(w *rules.Write, now time.Time) {
	then, at := []byte(began.Format(time.RFC3339)), []byte(now.UTC().Format(time.RFC3339))
	w.Object = bytes.ReplaceAll(w.Object, then, at)
	if w.Shown != nil {
		w.Shown = bytes.ReplaceAll(w.Shown, then, at)
	}
}
