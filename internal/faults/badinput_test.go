package faults_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/faults"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/test/servertest"
)

// found reports whether such an error was reported, or shown in the state of the watch, since the
// marks.
func (r *rig) found(is func(error) bool, reported, shown int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.problems[reported:] {
		if is(p.Err) {
			return true
		}
	}
	return slices.ContainsFunc(r.shown[min(shown, len(r.shown)):], is)
}

func (r *rig) marks() (reported, shown int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.problems), len(r.shown)
}

func text(w http.ResponseWriter, contentType string, parts ...string) bool {
	w.Header().Set("Content-Type", contentType)
	for _, s := range parts {
		if _, err := io.WriteString(w, s); err != nil {
			return true // the client has received enough
		}
	}
	return true
}

const jsonType = "application/json"

// badEvent is what a watch receives in place of events.
type badEvent struct {
	name string
	// body writes events for the current version of the watch
	body func(w http.ResponseWriter, version string) bool
	is   func(error) bool
	key  string // of the object that the error names, if any
}

// A watch receives invalid events. Each is one error that names the problem, and the watch
// continues.
func TestBadInputOnAWatch(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		badInput(t, p, []badEvent{
			{"truncated", func(w http.ResponseWriter, _ string) bool {
				return text(w, jsonType, `{"type":"MODIFIED","object":{"kind":"ConfigMap","metadata":{"name":"x"`)
			}, nil, ""},
			{"garbage", func(w http.ResponseWriter, _ string) bool { return text(w, jsonType, "\x00\x01]]\n") }, is[*wire.SyntaxError], ""},
			{"wrong content type", func(w http.ResponseWriter, _ string) bool { return text(w, "text/html", "<html>") }, is[*wire.ContentTypeError], ""},
			{"unknown event", func(w http.ResponseWriter, v string) bool {
				return text(w, jsonType, frame("SHRUNK", v, `"name":"x"`, ""))
			}, is[*wire.EventTypeError], ""},
			{"another kind", func(w http.ResponseWriter, v string) bool {
				return text(w, jsonType, strings.Replace(frame("ADDED", v, `"name":"x"`, ""), "ConfigMap", "Secret", 1))
			}, is[*wire.KindError], ""},
			{"no name", func(w http.ResponseWriter, v string) bool {
				return text(w, jsonType, frame("ADDED", v, `"labels":{}`, ""))
			}, is[*wire.DecodeError], ""},
			{"empty name", func(w http.ResponseWriter, v string) bool {
				return text(w, jsonType, frame("ADDED", v, `"name":""`, ""))
			}, is[*wire.DecodeError], ""},
			{"invalid UTF-8 in the name", func(w http.ResponseWriter, v string) bool {
				return text(w, jsonType, frame("ADDED", v, `"name":"x`+"\xff"+`"`, ""))
			}, is[*wire.DecodeError], ""},
			{"invalid UTF-8 in a label", func(w http.ResponseWriter, v string) bool {
				return text(w, jsonType, frame("ADDED", v, `"name":"x","labels":{"a":"`+"\xff"+`"}`, ""))
			}, is[*wire.DecodeError], "x"},
			{"invalid UTF-8 in the body", func(w http.ResponseWriter, v string) bool {
				return text(w, jsonType, frame("ADDED", v, `"name":"x"`, `,"data":{"a":"`+"\xff"+`"}`))
			}, is[*wire.DecodeError], "x"},
			{"labels that are none", func(w http.ResponseWriter, v string) bool {
				return text(w, jsonType, frame("ADDED", v, `"name":"x","labels":7`, ""))
			}, is[*wire.DecodeError], "x"},
			{"data that is none", func(w http.ResponseWriter, v string) bool {
				return text(w, jsonType, frame("ADDED", v, `"name":"x"`, `,"data":7`))
			}, is[*wire.DecodeError], "x"},
		})
	})
}

// The same with an event of 34 MB.
func TestOversizedEventOnAWatch(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		big := strings.Repeat("x", 1<<20)
		badInput(t, p, []badEvent{
			{"oversized", func(w http.ResponseWriter, v string) bool {
				start := `{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","resourceVersion":"` + v + `"},"data":{"a":"`
				return text(w, jsonType, append([]string{start}, slices.Repeat([]string{big}, 34)...)...)
			}, is[*wire.TooLargeError], ""},
		})
	})
}

func badInput(t *testing.T, p *servertest.Server, events []badEvent) {
	t.Helper()
	g, r := behind(t, p, setup{tune: func(c *reflector.Options) {
		steady(c)
		c.Silence = -1 // on a busy machine an event of 34 MiB takes longer than a watch may be silent
	}})
	for _, tc := range events {
		part(t, tc.name, func(t *testing.T) {
			reported, shown := r.marks()
			broken := r.watch().Restarts["broken"]
			g.Renew(times(1, isWatch, func(w http.ResponseWriter) bool { return tc.body(inNamespace{w, r.ns}, r.watch().ResourceVersion) }))
			r.churn(20)
			r.await(tc.name, func(s reflector.State) bool {
				if tc.is == nil {
					return s.Restarts["broken"] >= broken+2 && s.Phase == reflector.Synced
				}
				return r.found(tc.is, reported, shown) && s.Phase == reflector.Synced
			})
			named := false
			for _, p := range r.reported()[reported:] {
				named = named || p.Key.Name == tc.key && p.Key.Namespace == r.ns
				if tc.is == nil {
					t.Errorf("reported: %+v", p)
				}
			}
			if tc.key != "" && !named {
				t.Errorf("not named: %+v", r.reported()[reported:])
			}
			relists := r.watch().Relists["expired"]
			forget(g) // an object that an event named, but that does not exist, disappears with a list
			r.await("list", func(s reflector.State) bool {
				return s.Relists["expired"] > relists && s.Phase == reflector.Synced
			})
			r.nothingLost()
		})
	}
}

// inNamespace replaces NS by the namespace.
type inNamespace struct {
	http.ResponseWriter
	ns string
}

func (w inNamespace) Write(b []byte) (int, error) {
	_, err := w.ResponseWriter.Write(bytes.Replace(b, []byte("NS"), []byte(w.ns), 1))
	return len(b), err
}

// frame returns an event of a ConfigMap of the namespace, with additional members of metadata and
// of the object.
func frame(event, version, meta, members string) string {
	return fmt.Sprintf(`{"type":%q,"object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"NS","uid":"u-bad","resourceVersion":%q,%s}%s}}`+"\n",
		event, version, meta, members)
}

// A list is invalid. It is requested again, and its valid objects are kept.
func TestBadInputInAList(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		g, r := behind(t, p, setup{tune: func(c *reflector.Options) { steady(c); c.Paged = true }})
		path := "/api/v1/namespaces/" + r.ns + "/configmaps"
		list := func(change func(l *bigList)) func(http.ResponseWriter) bool {
			return func(w http.ResponseWriter) bool {
				var l bigList
				must(t, json.Unmarshal(ask(t, g, path, jsonType).body, &l))
				change(&l)
				body, err := json.Marshal(l)
				must(t, err)
				return text(w, jsonType, string(body))
			}
		}
		item := func(text string) json.RawMessage { return json.RawMessage(strings.ReplaceAll(text, "NS", r.ns)) }
		for _, tc := range []struct {
			name string
			body func(w http.ResponseWriter) bool
			is   func(error) bool
		}{
			{"a Table", func(w http.ResponseWriter) bool {
				return text(w, jsonType, string(ask(t, g, path, jsonType+";as=Table;v=v1;g=meta.k8s.io").body))
			}, is[*wire.KindError]},
			{"a list of another kind", list(func(l *bigList) { l.Kind = "SecretList" }), is[*wire.KindError]},
			{"no list", func(w http.ResponseWriter) bool { return text(w, jsonType, `{"kind":"ConfigMap","apiVersion":"v1"}`) }, is[*wire.KindError]},
			{"a Status", func(w http.ResponseWriter) bool {
				return text(w, jsonType, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":500,"message":"oh"}`)
			}, func(err error) bool { return strings.Contains(err.Error(), "oh") }},
			{"truncated", func(w http.ResponseWriter) bool {
				body := ask(t, g, path, jsonType).body
				return text(w, jsonType, string(body[:len(body)*2/3]))
			}, is[*wire.TruncatedError]},
			{"garbage", func(w http.ResponseWriter) bool { return text(w, jsonType, `{"kind":"ConfigMapList",}}`) }, is[*wire.SyntaxError]},
			{"wrong content type", func(w http.ResponseWriter) bool { return text(w, "text/html", "<html>") }, is[*wire.ContentTypeError]},
			{"no version", list(func(l *bigList) { l.Metadata = item(`{}`) }), isError(reflector.ErrNoVersion)},
			{"an item without a name", list(func(l *bigList) {
				l.Items = append(l.Items, item(`{"metadata":{"namespace":"NS","uid":"u","resourceVersion":"7"}}`))
			}), is[*wire.DecodeError]},
			{"an item of another kind", list(func(l *bigList) {
				l.Items = append(l.Items, item(`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"NS","name":"x","uid":"u","resourceVersion":"7"}}`))
			}), is[*wire.KindError]},
			{"an item that cannot be decoded", list(func(l *bigList) {
				l.Items = append(l.Items, item(`{"metadata":{"namespace":"NS","name":"x","uid":"u","resourceVersion":"7","labels":[]}}`))
			}), is[*wire.DecodeError]},
			{"each item twice", list(func(l *bigList) { l.Items = append(l.Items, l.Items...) }), nil},
		} {
			part(t, tc.name, func(t *testing.T) {
				relist := func(seen func() bool, faults ...faults.Fault) {
					t.Helper()
					relists := r.watch().Relists["expired"]
					forget(g, faults...)
					r.await(tc.name, func(s reflector.State) bool {
						return s.Relists["expired"] > relists && s.Phase == reflector.Synced && seen()
					})
				}
				reported, shown := r.marks()
				fromProgram := func(req *http.Request) bool { return isList(req) && req.URL.Query().Get("limit") != "" }
				// Problems of single objects are reported once the list is in the store.
				relist(func() bool { return tc.is == nil || r.found(tc.is, reported, shown) }, times(1, fromProgram, tc.body))
				if tc.is == nil && r.found(func(error) bool { return true }, reported, shown+2) {
					t.Errorf("reported: %+v", r.reported()[reported:])
				}
				r.churn(20)
				relist(func() bool { return true })
				r.nothingLost()
			})
		}
	})
}

// bigList is the list of any kind.
type bigList struct {
	Kind       string            `json:"kind"`
	APIVersion string            `json:"apiVersion"`
	Metadata   json.RawMessage   `json:"metadata"`
	Items      []json.RawMessage `json:"items"`
}

func isError(want error) func(error) bool {
	return func(err error) bool { return errors.Is(err, want) }
}
