package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// Beginning has the first objects of a new state. It is made once for any number of states, never changes, and is safe
// for concurrent use.
type Beginning struct{ writes []rules.Write }

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
		b.writes = append(b.writes, rules.Write{Key: o.Key, Version: o.Version, Object: o.JSON, Shown: o.shown, Labels: o.labels.all(), Fields: selected{o}.all(), Delete: c.Deleted})
	}
	if !rbac {
		return b, nil
	}
	answer, err := s.ask(s.with(&rules.Request{Method: "POST", URL: "/", Bootstrap: true, Now: began.UnixNano(), Version: s.version, Objects: map[string]json.RawMessage{}}, "/core/namespaces/"))
	if err != nil {
		return nil, fmt.Errorf("apiserver: start: %w", err)
	}
	if answer.Code >= 300 {
		return nil, fmt.Errorf("apiserver: start: roles: %d %s", answer.Code, answer.Body)
	}
	b.writes = append(b.writes, answer.Writes...)
	return b, nil
}

// chosen matches the uid of an object. Its first match is in the metadata, before any text of a user.
var chosen = regexp.MustCompile(`"uid":"([-0-9a-f]{36})"`)

// Begin makes the objects of a Beginning, with the time now and uids by the seed of the state. The state must be
// empty.
func (s *State) Begin(now time.Time, b *Beginning) {
	s.apply(now, s.own(now, b.writes))
}

// BeginRoles makes those roles and bindings of a Beginning that a loaded state lacks, as a real server does when it
// starts.
func (s *State) BeginRoles(now time.Time, b *Beginning) {
	for _, w := range s.own(now, b.writes) {
		if strings.HasPrefix(w.Key, roleKeys) && s.get(w.Key) == nil {
			w.Version = s.version + 1
			w.Object = withVersion(w.Object, w.Version)
			if w.Shown != nil {
				w.Shown = withVersion(w.Shown, w.Version)
			}
			s.apply(now, []rules.Write{w})
		}
	}
}

// own returns copies of writes, with uids of this state and the time now.
func (s *State) own(now time.Time, of []rules.Write) []rules.Write {
	const form = time.RFC3339
	then, at := []byte(began.Format(form)), []byte(now.UTC().Format(form))
	writes := make([]rules.Write, len(of))
	for i, w := range of {
		uid := chosen.FindSubmatch(w.Object)
		for _, text := range []*[]byte{(*[]byte)(&w.Object), (*[]byte)(&w.Shown)} {
			if *text == nil {
				continue
			}
			*text = bytes.ReplaceAll(*text, then, at)
			if uid != nil {
				own, _ := s.names(target{resource: w.Key}, Request{}, 0, 0)
				*text = bytes.Replace(*text, uid[1], []byte(own), 1)
			}
		}
		writes[i] = w
	}
	return writes
}
