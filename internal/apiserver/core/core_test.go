package core

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// object is an object of the toy rules.
type object struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Metadata   struct {
		Name            string            `json:"name"`
		GenerateName    string            `json:"generateName,omitempty"`
		UID             string            `json:"uid,omitempty"`
		ResourceVersion string            `json:"resourceVersion,omitempty"`
		Labels          map[string]string `json:"labels,omitempty"`
	} `json:"metadata"`
	Data string `json:"data,omitempty"`
}

// toy are rules for one kind, whose objects have a text and labels. The real ones have tests of their own.
func toy(req *rules.Request) (*rules.Answer, error) {
	t := parsePath(req.URL)
	_, query, _ := strings.Cut(req.URL, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, err
	}
	if t.name == "" && req.Method == "GET" && req.Collection == nil {
		var limit int64
		_, _ = fmt.Sscan(values.Get("limit"), &limit) // none is zero
		return &rules.Answer{Code: 200, List: &rules.List{Kind: "Toy", APIVersion: "v1", Prefix: t.collection(), Watch: values.Has("watch"), Labels: values.Get("labelSelector"),
			Limit: limit, Continue: values.Get("continue"), Version: values.Get("resourceVersion"), Match: values.Get("resourceVersionMatch"), Bookmarks: true}}, nil
	}
	var o object
	if len(req.Body) > 0 {
		if err := json.Unmarshal(req.Body, &o); err != nil {
			return nil, err
		}
	}
	if o.Metadata.Name == "" && o.Metadata.GenerateName != "" {
		o.Metadata.Name = o.Metadata.GenerateName + req.Suffix
	}
	key := t.collection() + o.Metadata.Name
	if t.name != "" {
		key = t.key()
	}
	old, known := req.Objects[key]
	if string(old) == "null" {
		old = nil
	}
	answer := &rules.Answer{Code: 200}
	if !known {
		answer.Missing = []string{key}
	}
	w := rules.Write{Key: key, Version: req.Version + 1}
	var was object
	if old != nil {
		if err := json.Unmarshal(old, &was); err != nil {
			return nil, err
		}
	}
	switch {
	case req.Method == "POST" && old != nil:
		answer.Code = 409
		return answer, nil
	case req.Method != "POST" && old == nil:
		answer.Code = 404
		return answer, nil
	case req.Method == "GET":
		answer.Body = old
		return answer, nil
	case req.Method == "DELETE":
		w.Delete, o = true, was
	case req.Method == "PUT" && o.Data == was.Data && maps.Equal(o.Metadata.Labels, was.Metadata.Labels):
		answer.Body = old
		return answer, nil
	}
	o.Kind, o.APIVersion = "Toy", "v1"
	if o.Metadata.UID = was.Metadata.UID; req.Method == "POST" {
		o.Metadata.UID = req.UID
	}
	o.Metadata.ResourceVersion = fmt.Sprint(w.Version)
	if w.Object, err = json.Marshal(o); err != nil {
		return nil, err
	}
	w.Labels = o.Metadata.Labels
	answer.Writes, answer.Body = []rules.Write{w}, w.Object
	return answer, nil
}

const toys = "/api/v1/namespaces/ns/toys"

var start = time.Unix(1_700_000_000, 0)

func newState() *State { return New(Options{Rules: toy}) }

func toyBody(name, label, data string) []byte {
	return fmt.Appendf(nil, `{"metadata":{"name":%q,"labels":{"on":%q}},"data":%q}`, name, label, data)
}

// fataler is a test of testing or of rapid.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func step(t fataler, s *State, method, url string, body []byte, want int) Answer {
	t.Helper()
	a := s.Step(start, Request{Method: method, URL: url, Body: body})
	if a.Code != want {
		t.Fatalf("%s %s: %d %s, want %d", method, url, a.Code, a.Body, want)
	}
	return a
}

type list struct {
	Metadata struct {
		ResourceVersion, Continue string
		RemainingItemCount        int
	}
	Items []object
}

func read(t fataler, v View, query string) list {
	t.Helper()
	a := v.Read(start, Request{Method: "GET", URL: toys + query})
	var l list
	if err := json.Unmarshal(a.Body, &l); err != nil || a.Code != 200 {
		t.Fatalf("%s: %d %s: %v", query, a.Code, a.Body, err)
	}
	return l
}

func names(l list) (out []string) {
	for _, o := range l.Items {
		out = append(out, o.Metadata.Name+"="+o.Data)
	}
	return out
}

// Pages of one list are of one version, whatever happens between them.
func TestPagesAreOneVersion(t *testing.T) {
	s := newState()
	for i := range 7 {
		step(t, s, "POST", toys, toyBody(fmt.Sprintf("a%d", i), "", "1"), 200)
	}
	first := read(t, s.Now(), "?limit=3")
	if first.Metadata.RemainingItemCount != 4 {
		t.Errorf("%d remain, want 4", first.Metadata.RemainingItemCount)
	}
	step(t, s, "DELETE", toys+"/a4", nil, 200)
	step(t, s, "PUT", toys+"/a5", toyBody("a5", "", "2"), 200)
	step(t, s, "POST", toys, toyBody("a55", "", "2"), 200)
	second := read(t, s.Now(), "?limit=3&continue="+first.Metadata.Continue)
	third := read(t, s.Now(), "?limit=3&continue="+second.Metadata.Continue)
	got := slices.Concat(names(first), names(second), names(third))
	if want := []string{"a0=1", "a1=1", "a2=1", "a3=1", "a4=1", "a5=1", "a6=1"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if third.Metadata.ResourceVersion != first.Metadata.ResourceVersion {
		t.Errorf("pages of versions %s and %s", first.Metadata.ResourceVersion, third.Metadata.ResourceVersion)
	}

	s.Compact()
	a := s.Step(start, Request{Method: "GET", URL: toys + "?limit=3&continue=" + first.Metadata.Continue})
	if a.Code != http.StatusGone || !strings.Contains(string(a.Body), `"continue"`) {
		t.Errorf("after compaction: %d %s, want 410 with another token", a.Code, a.Body)
	}
	step(t, s, "GET", toys+"?resourceVersionMatch=Exact&resourceVersion=2", nil, http.StatusGone)
	step(t, s, "GET", toys+"?resourceVersion=9999", nil, http.StatusGatewayTimeout)
}

func TestGeneratedNames(t *testing.T) {
	made := map[string]bool{}
	one, two := newState(), newState()
	for i := range 100 {
		body := []byte(`{"metadata":{"generateName":"a-"}}`)
		got := step(t, one, "POST", toys, body, 200)
		if i == 50 { // requests elsewhere shift nothing
			step(t, two, "POST", "/api/v1/namespaces/other/toys", body, 200)
		}
		var a, b object
		if err := json.Unmarshal(got.Body, &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(step(t, two, "POST", toys, body, 200).Body, &b); err != nil {
			t.Fatal(err)
		}
		if a.Metadata.Name != b.Metadata.Name || a.Metadata.UID != b.Metadata.UID {
			t.Fatalf("object %d: %+v and %+v", i, a.Metadata, b.Metadata)
		}
		if made[a.Metadata.Name] || made[a.Metadata.UID] {
			t.Fatalf("%+v was there before", a.Metadata)
		}
		made[a.Metadata.Name], made[a.Metadata.UID] = true, true
	}
}

func TestHistoryEnds(t *testing.T) {
	s := New(Options{Rules: toy, History: time.Minute})
	step(t, s, "POST", toys, toyBody("a", "", "1"), 200)
	w := s.Step(start, Request{Method: "GET", URL: toys + "?watch=1&resourceVersion=1"}).Watch
	late := start.Add(time.Hour)
	s.Step(late, Request{Method: "PUT", URL: toys + "/a", Body: toyBody("a", "", "2")})
	events := w.Poll(s.Now())
	if len(events) != 1 || events[0].Type != Failure || events[0].Status.Code != http.StatusGone {
		t.Errorf("a watch that is too old shows %+v", events)
	}
	w = s.Step(late, Request{Method: "GET", URL: toys + "?watch=1&resourceVersion=2"}).Watch
	if events := w.Poll(s.Now()); len(events) != 1 || events[0].Type != Modified {
		t.Errorf("a watch that is new enough shows %+v", events)
	}
}

func TestErrorsOfRules(t *testing.T) {
	s := New(Options{Rules: func(*rules.Request) (*rules.Answer, error) { return nil, fmt.Errorf("no compiler") }})
	a := s.Step(start, Request{Method: "POST", URL: toys})
	if a.Code != http.StatusInternalServerError || !strings.Contains(string(a.Body), "no compiler") {
		t.Errorf("got %d %s", a.Code, a.Body)
	}
}

// A random history, beside a plain map: every view stays what it was, watches that start anywhere arrive at the
// present, and a snapshot comes back.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newState()
		model := map[string]string{}
		type then struct {
			view View
			all  map[string]string
		}
		var views []then
		type watcher struct {
			w        *Watch
			selected map[string]string
			label    string
		}
		var watchers []*watcher
		var saved *Snapshot
		var savedModel map[string]string
		at := start
		check := func(v View, want map[string]string) {
			got := map[string]string{}
			for _, o := range read(t, v, "").Items {
				got[o.Metadata.Name] = o.Metadata.Labels["on"] + "/" + o.Data
			}
			if !maps.Equal(got, want) {
				t.Fatalf("version %d has %v, want %v", v.Version(), got, want)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				at = at.Add(time.Second)
				name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
				label := rapid.SampledFrom([]string{"yes", "no"}).Draw(t, "label")
				data := rapid.SampledFrom([]string{"1", "2"}).Draw(t, "data")
				method := rapid.SampledFrom([]string{"POST", "PUT", "DELETE"}).Draw(t, "method")
				req := Request{Method: method, URL: toys + "/" + name, Body: toyBody(name, label, data)}
				if method == "POST" {
					req.URL = toys
				}
				old, exists := model[name]
				before := s.Version()
				a := s.Step(at, req)
				changes := false
				switch {
				case (method == "POST") == exists:
					if a.Code == 200 {
						t.Fatalf("%s of %s: %d", method, name, a.Code)
					}
				case method == "DELETE":
					changes = true
					delete(model, name)
				default:
					changes = old != label+"/"+data
					model[name] = label + "/" + data
				}
				if (s.Version() > before) != changes {
					t.Fatalf("%s: version %d after %d, changed: %v", method, s.Version(), before, changes)
				}
			},
			"view": func(*rapid.T) { views = append(views, then{s.Now(), maps.Clone(model)}) },
			"watch": func(t *rapid.T) {
				label := rapid.SampledFrom([]string{"", "yes"}).Draw(t, "label")
				from := then{s.Now(), model}
				if len(views) > 0 && rapid.Bool().Draw(t, "old") {
					from = rapid.SampledFrom(views).Draw(t, "from")
				}
				query := fmt.Sprintf("?watch=1&resourceVersion=%d", from.view.Version())
				if label != "" {
					query += "&labelSelector=on%3D" + label
				}
				w := &watcher{s.Step(at, Request{Method: "GET", URL: toys + query}).Watch, map[string]string{}, label}
				for name, v := range from.all {
					if label == "" || strings.HasPrefix(v, label+"/") {
						w.selected[name] = v
					}
				}
				watchers = append(watchers, w)
			},
			"save": func(*rapid.T) { saved, savedModel = s.Snapshot(), maps.Clone(model) },
			"restore": func(t *rapid.T) {
				if saved == nil {
					t.Skip()
				}
				s.Restore(saved)
				model, watchers = maps.Clone(savedModel), nil
				views = slices.DeleteFunc(views, func(v then) bool { return v.view.Version() > s.Version() })
			},
			"": func(t *rapid.T) {
				check(s.Now(), model)
				for _, v := range views {
					check(v.view, v.all)
					check(s.Now().at(v.view.Version()), v.all)
				}
				for _, w := range watchers {
					last := uint64(0)
					for _, e := range w.w.Poll(s.Now()) {
						var o object
						if err := json.Unmarshal(e.Object.JSON, &o); err != nil {
							t.Fatal(err)
						}
						if e.Object.Version <= last || o.Metadata.ResourceVersion != fmt.Sprint(e.Object.Version) {
							t.Fatalf("event of version %d (%s) after %d", e.Object.Version, o.Metadata.ResourceVersion, last)
						}
						last = e.Object.Version
						_, had := w.selected[o.Metadata.Name]
						if had == (e.Type == Added) {
							t.Fatalf("%s of %s, which the watch has shown: %v", e.Type, o.Metadata.Name, had)
						}
						if e.Type == Deleted {
							delete(w.selected, o.Metadata.Name)
							continue
						}
						w.selected[o.Metadata.Name] = o.Metadata.Labels["on"] + "/" + o.Data
					}
					want := maps.Clone(model)
					maps.DeleteFunc(want, func(_, v string) bool { return w.label != "" && !strings.HasPrefix(v, w.label+"/") })
					if !maps.Equal(w.selected, want) {
						t.Fatalf("a watch of %q has shown %v, want %v", w.label, w.selected, want)
					}
				}
			},
		})
	})
}

func TestParsePath(t *testing.T) {
	for path, want := range map[string]target{
		"/api/v1/pods":                                      {version: "v1", resource: "pods"},
		"/api/v1/namespaces":                                {version: "v1", resource: "namespaces"},
		"/api/v1/namespaces/a":                              {version: "v1", resource: "namespaces", name: "a"},
		"/api/v1/namespaces/a/finalize?x=y":                 {version: "v1", resource: "namespaces", name: "a", subresource: "finalize"},
		"/api/v1/namespaces/a/pods":                         {version: "v1", resource: "pods", namespace: "a"},
		"/api/v1/namespaces/a/pods/b/status":                {version: "v1", resource: "pods", namespace: "a", name: "b", subresource: "status"},
		"/apis/apps/v1/namespaces/a/deployments/b":          {group: "apps", version: "v1", resource: "deployments", namespace: "a", name: "b"},
		"/apis/rbac.authorization.k8s.io/v1/clusterroles/a": {group: "rbac.authorization.k8s.io", version: "v1", resource: "clusterroles", name: "a"},
		"/apis/apps/v1":                                     {},
		"/version":                                          {},
		"/":                                                 {},
	} {
		if got := parsePath(path); got != want {
			t.Errorf("%s: got %+v, want %+v", path, got, want)
		}
	}
}
