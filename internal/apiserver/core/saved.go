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

// Saved is the part of a state that is saved beside its objects. The history is not saved: after a return older
// versions can be neither listed nor watched.
type Saved struct {
	Version uint64
	// Created counts the objects that were created, by collection. Later uids and generated names depend on it.
	Created map[string]uint64
}

// Saved returns the part of the snapshot to save beside [Snapshot.Objects]. The caller owns it.
func (s *Snapshot) Saved() Saved { return Saved{s.view.version, maps.Clone(s.made)} }

// View returns the view of the snapshot.
func (s *Snapshot) View() View { return s.view }

// Objects returns all objects as they are stored, sorted by key, but for definitions of custom resources: these come
// first, since a reader needs them for the others.
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

// Recall returns an object from its saved text. path is the path of the object, in any served version; with
// ?fieldValidation=Strict, fields that a built-in kind does not have are an error. For a custom resource the view must
// have the definition. exact says that the text is the stored one, byte for byte; any other
// text is converted to the form of the storage. The error says what is wrong with the object.
func (v View) Recall(now time.Time, path string, text []byte, exact bool) (*Object, error) {
	call := &rules.Request{Restore: true, URL: path, Accept: contentJSON, User: "restore", Now: now.UnixNano(), Version: v.version, Objects: map[string]json.RawMessage{}, Body: text}
	d := v.defined(parsePath(path))
	if d != nil {
		call.Objects[d.Key] = d.JSON
	}
	answer, err := v.rules(call)
	if err == nil && answer.Code != http.StatusOK && d != nil {
		if own := storing(d.JSON, text); own != nil {
			call.Objects[d.Key] = own
			answer, err = v.rules(call)
		}
	}
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

// Fill adds saved objects. They replace those with the same keys. The history is dropped.
func (s *State) Fill(objects ...*Object) {
	for _, o := range objects {
		s.objects.Set(o.Key, o)
		s.version = max(s.version, o.Version)
	}
	s.Compact()
}

// Resume continues from a saved state: no later object gets a version, a uid or a generated name of an earlier one.
// The history is dropped.
func (s *State) Resume(saved Saved) {
	s.version = max(s.version, saved.Version)
	for _, collection := range slices.Sorted(maps.Keys(saved.Created)) {
		s.made[collection] = max(s.made[collection], saved.Created[collection])
	}
	s.Compact()
}
