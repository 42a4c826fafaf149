package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// Beginning is what a new state has. It is made once for any number of states.
type Beginning struct {
	own []rules.Write // each state has its own copy
	// common has what states that begin in the same second share: nothing in it depends on a state.
	common []rules.Write

	mu      sync.Mutex
	at      int64 // the second of objects
	objects []*Object
}

// began is the time in the objects of a Beginning. It is so odd that each occurrence is a time to replace.
var began = time.Date(1971, 2, 3, 4, 5, 6, 0, time.UTC)

// NewBeginning makes the objects that every cluster has; with rbac also the roles and bindings.
func NewBeginning(r Rules, rbac bool) (*Beginning, error) {
	s := New(Options{Rules: r})
	if err := s.boot(began); err != nil {
		return nil, err
	}
	b := &Beginning{}
	for _, c := range s.log {
		o := c.Object
		b.own = append(b.own, rules.Write{Key: o.Key, Version: o.Version, Object: o.JSON, Shown: o.shown, Labels: o.labels.all(), Fields: selected{o}.all(), Delete: c.Deleted})
	}
	call := &rules.Request{Method: "POST", URL: "/", Bootstrap: true, RBAC: rbac, Now: began.UnixNano(), Version: s.version, Objects: map[string]json.RawMessage{}}
	answer, err := s.ask(s.with(call, "/core/namespaces/"))
	if err != nil {
		return nil, fmt.Errorf("apiserver: start: %w", err)
	}
	if answer.Code >= 300 {
		return nil, fmt.Errorf("apiserver: start: %d %s", answer.Code, answer.Body)
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
	writes := slices.Clone(b.own)
	for i := range writes {
		s.rename(&writes[i])
		retime(&writes[i], now)
	}
	common := b.commonAt(now)
	s.log = slices.Grow(s.log, len(writes)+len(common))
	s.apply(now, writes)
	for _, o := range common {
		s.put(now, o, false)
	}
}

// Complete makes what a Beginning has in common with others, as far as a state from elsewhere lacks it. A real
// server does so when it starts.
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

// commonAt returns the objects that are the same in all states that begin in a second.
func (b *Beginning) commonAt(now time.Time) []*Object {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.objects == nil || b.at != now.Unix() {
		b.at, b.objects = now.Unix(), make([]*Object, len(b.common))
		for i, w := range b.common {
			retime(&w, now)
			b.objects[i] = newObject(w)
		}
	}
	return b.objects
}

// rename gives the object of a write the uid that it has by the seed of the state.
func (s *State) rename(w *rules.Write) {
	if uid := chosen.FindSubmatch(w.Object); uid != nil {
		own, _ := s.names(target{resource: w.Key}, Request{}, 0, 0)
		w.Object = bytes.Replace(w.Object, uid[1], []byte(own), 1)
		w.Shown = bytes.Replace(w.Shown, uid[1], []byte(own), 1)
	}
}

// retime gives the object of a write a time.
func retime(w *rules.Write, now time.Time) {
	then, at := []byte(began.Format(time.RFC3339)), []byte(now.UTC().Format(time.RFC3339))
	w.Object = bytes.ReplaceAll(w.Object, then, at)
	if w.Shown != nil {
		w.Shown = bytes.ReplaceAll(w.Shown, then, at)
	}
}
