package core

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// Saved is a state as it goes into a file, but for its objects. The history is not saved: older versions can
// neither be listed nor watched after the return.
type Saved struct {
	Version uint64
	// Created counts the objects that were created, by collection. Uids and generated names come of it.
	Created map[string]uint64
}

// Saved returns what is to be saved beside [Snapshot.Objects]. The caller owns it.
func (s *Snapshot) Saved() Saved { return Saved{s.view.version, maps.Clone(s.made)} }

// View returns the version of the state that the snapshot is of.
func (s *Snapshot) View() View { return s.view }

// Objects returns all objects as they are stored, by key. Definitions of custom resources come first: who
// reads the others needs them.
func (s *Snapshot) Objects() iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		for _, defines := range []bool{true, false} {
			more := true
			s.view.objects.Scan(func(key string, o *Object) bool {
				if strings.HasPrefix(key, definitionKeys) == defines {
					more = yield(o)
				}
				return more
			})
			if !more {
				return
			}
		}
	}
}

// restore is the method of a question about an object that was saved; see the rules program.
const restore = "RESTORE"

// Recall returns an object from its stored text. path is that of the object, in any version that is served.
// The view has the definition of a custom resource. exact says that the text is the stored one, byte for byte;
// another one is brought into the form of the storage. An error says what is wrong with the object.
func (v View) Recall(now time.Time, path string, text []byte, exact bool) (*Object, error) {
	call := &rules.Request{Method: restore, URL: path, Accept: contentJSON, User: "restore", Now: now.UnixNano(), Version: v.version, Objects: map[string]json.RawMessage{}, Body: text}
	if d := v.defined(parsePath(path)); d != nil {
		call.Objects[d.Key] = d.JSON
	}
	answer, err := v.rules(call)
	switch {
	case err != nil:
		return nil, err
	case answer.Code != http.StatusOK || len(answer.Writes) != 1:
		var status metav1.Status
		if json.Unmarshal(answer.Body, &status) != nil || status.Message == "" {
			status.Message = string(answer.Body)
		}
		return nil, fmt.Errorf("it cannot be read: %s", status.Message)
	}
	w := answer.Writes[0]
	o := newObject(w)
	if o.shown != nil && !exact {
		o.JSON, o.shown = o.shown, nil
	}
	return o, nil
}

// Fill adds objects that were saved, in the place of those that have the same keys.
func (s *State) Fill(objects ...*Object) {
	for _, o := range objects {
		s.objects.Set(o.Key, o)
		s.version = max(s.version, o.Version)
	}
	s.Compact()
}

// Resume goes on from what was saved: no later object gets a version, a uid or a generated name that an
// earlier one had.
func (s *State) Resume(saved Saved) {
	s.version = max(s.version, saved.Version)
	for _, collection := range slices.Sorted(maps.Keys(saved.Created)) {
		s.made[collection] = max(s.made[collection], saved.Created[collection])
	}
	s.Compact()
}
