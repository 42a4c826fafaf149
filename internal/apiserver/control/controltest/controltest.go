// Package controltest steps controllers in tests, over objects that no rules have validated.
package controltest

import (
	"encoding/json"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// Now is the time of a world.
var Now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// World is a state, and controllers that see it. Requests are looked at and not made.
type World struct {
	t     testing.TB
	state *core.State
	set   *control.Set
	next  *rules.Write
}

// New returns a world without objects.
func New(t testing.TB, controllers ...func(control.Options) control.Controller) *World {
	var known []control.Known
	for _, c := range controllers {
		known = append(known, control.Known{New: c})
	}
	w := &World{t: t, set: control.NewSet(known, control.Options{})}
	w.state = core.New(core.Options{Rules: func(r *rules.Request) (*rules.Answer, error) {
		if w.next == nil {
			return nil, errors.New("a world has no rules")
		}
		w.next.Version = r.Version + 1
		return &rules.Answer{Code: 200, Writes: []rules.Write{*w.next}}, nil
	}})
	return w
}

// Put writes an object.
func (w *World) Put(key string, object any) {
	w.t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(rules.Write{Key: key, Object: text})
}

// Delete deletes an object.
func (w *World) Delete(key string) {
	w.t.Helper()
	o := w.state.Now().Get(key)
	if o == nil {
		w.t.Fatalf("there is no %s", key)
	}
	w.write(rules.Write{Key: key, Object: o.JSON, Delete: true})
}

func (w *World) write(x rules.Write) {
	w.next = &x
	w.state.Step(Now, core.Request{Method: "PUT", URL: "/api/v1/nodes/any"})
	w.next = nil
}

// Requests steps the controllers at a time, and returns what they ask for.
func (w *World) Requests(now time.Time) []control.Request {
	requests, _ := w.set.Step(now, w.state.Now())
	return requests
}

// Answer answers a request, if it is made.
func (w *World) Answer(now time.Time, r control.Request, a core.Answer) {
	if !w.set.Void(r) {
		w.set.Answer(now, r, a)
	}
}

// Step steps the controllers. It returns its requests as method, path and what of the body is in some fields of its
// metadata and options.
func (w *World) Step() (out []string) {
	w.t.Helper()
	for _, r := range w.Requests(Now) {
		var body struct {
			Metadata          map[string]any `json:"metadata"`
			PropagationPolicy string         `json:"propagationPolicy"`
		}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			w.t.Fatal(err)
		}
		text := r.Method + " " + r.URL
		maps.DeleteFunc(body.Metadata, func(key string, _ any) bool { return key != "finalizers" && key != "ownerReferences" })
		if len(body.Metadata) > 0 {
			fields, err := json.Marshal(body.Metadata)
			if err != nil {
				w.t.Fatal(err)
			}
			text += " " + string(fields)
		}
		if body.PropagationPolicy != "" {
			text += " " + body.PropagationPolicy
		}
		out = append(out, text)
	}
	return out
}

// Parse returns the object in a JSON text. An error ends the test.
func Parse[T any](t testing.TB, text string) *T {
	t.Helper()
	o := new(T)
	if err := json.Unmarshal([]byte(text), o); err != nil {
		t.Fatal(err)
	}
	return o
}
