package weigh

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/scheme"
)

// stub is an API server of a few kinds. It has a list in pages of ConfigMaps, and an object of each other kind.
type stub struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int // requests by path, and by path and token
	// fault answers a request itself and returns true. n counts the requests for this path and token.
	fault func(w http.ResponseWriter, path, token string, n int) bool
}

const (
	stubPages    = 3
	stubPageSize = 4
)

// documents are what the server says without asking anybody.
var documents = map[string]string{
	"/version":                     `{"major": "1", "minor": "37", "gitVersion": "v1.37.0"}`,
	"/api":                         `{"kind": "APIVersions", "versions": ["v1"]}`,
	"/apis":                        `{"kind": "APIGroupList", "groups": [{"name": "down.example.com", "versions": [{"groupVersion": "down.example.com/v1", "version": "v1"}], "preferredVersion": {"groupVersion": "down.example.com/v1", "version": "v1"}}]}`,
	"/api/v1":                      `{"kind": "APIResourceList", "groupVersion": "v1", "resources": [` + served("configmaps", "ConfigMap", true) + "," + served("namespaces", "Namespace", false) + "," + served("nodes", "Node", false) + "," + served("secrets", "Secret", true) + `]}`,
	"/apis/down.example.com/v1":    "",
	"/api/v1/namespaces":           list("Namespace", "", `{"metadata": {"name": "n", "uid": "n"}}`),
	"/api/v1/nodes":                list("Node", "", `{"metadata": {"name": "o", "uid": "o"}}`),
	"/api/v1/secrets":              list("Secret", "", `{"metadata": {"name": "s", "namespace": "d", "uid": "s"}}`),
	"/api/v1/namespaces/d/secrets": list("Secret", "", `{"metadata": {"name": "s", "namespace": "d", "uid": "s"}}`),
}

func served(plural, kind string, namespaced bool) string {
	return fmt.Sprintf(`{"name": %q, "kind": %q, "namespaced": %t, "verbs": ["list", "watch"]}`, plural, kind, namespaced)
}

func list(kind, token string, items ...string) string {
	return fmt.Sprintf(`{"kind": "%sList", "apiVersion": "v1", "metadata": {"resourceVersion": "7", "continue": %q}, "items": [%s]}`, kind, token, strings.Join(items, ", "))
}

// page returns a page of the ConfigMaps, from 0 on.
func stubPage(n int) string {
	var items []string
	for i := range stubPageSize {
		name := fmt.Sprintf("map-%d-%d", n, i)
		items = append(items, fmt.Sprintf(`{"metadata": {"name": %q, "namespace": "d", "uid": %q}, "data": {"k": %q}}`, name, name, strings.Repeat(name, 20+i)))
	}
	token := ""
	if n+1 < stubPages {
		token = fmt.Sprint("t", n+1)
	}
	return list("ConfigMap", token, items...)
}

func newStub(t *testing.T, fault func(w http.ResponseWriter, path, token string, n int) bool) *stub {
	s := &stub{asked: map[string]int{}, fault: fault}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, token := r.URL.Path, r.URL.Query().Get("continue")
		w.Header().Set("Content-Type", "application/json")
		s.mu.Lock() // the faults may have state, too
		defer s.mu.Unlock()
		s.asked[path+token]++
		n := s.asked[path+token]
		if s.fault != nil && s.fault(w, path, token, n) {
			return
		}
		text, ok := documents[path]
		if strings.HasSuffix(path, "/configmaps") {
			page := 0
			_, _ = fmt.Sscanf(token, "t%d", &page)
			text, ok = stubPage(page), true
		}
		switch {
		case !ok:
			fails(w, http.StatusNotFound, "NotFound", "")
		case text == "":
			fails(w, http.StatusServiceUnavailable, "ServiceUnavailable", "")
		default:
			_, _ = w.Write([]byte(text))
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// fails answers with a Status.
func fails(w http.ResponseWriter, code int, reason, token string) {
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {"continue": %q}, "reason": %q, "message": "by the test", "code": %d}`, token, reason, code)
}

// cuts sends the beginning of a text and breaks the connection.
func cuts(w http.ResponseWriter, text string, objects int) {
	end := len(text)
	for range stubPageSize - objects {
		end = strings.LastIndex(text[:end], `{"metadata"`)
	}
	_, _ = w.Write([]byte(text[:end+20]))
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// weigh weighs what the server has, and returns what was said meanwhile.
func (s *stub) weigh(t *testing.T, what Selection) (r *Report, said []string, waits []time.Duration, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // only a hanging test takes so long
	defer cancel()
	r, err = Cluster(ctx, &rest.Config{Host: s.URL}, scheme.New(), Options{
		Selection: what,
		Problem:   func(err error) { said = append(said, err.Error()) },
		Progress: func(p Progress) {
			if p.Wait > 0 {
				waits = append(waits, p.Wait)
				said = append(said, p.String())
			}
		},
	})
	return r, said, waits, err
}

// A list that breaks off goes on where it was, or begins anew, and says so. No object is counted twice. What
// breaks off again and again is left out.
func TestListsThatBreakOff(t *testing.T) {
	what := Selection{Kinds: []string{"configmaps", "namespaces"}}
	r, said, _, err := newStub(t, nil).weigh(t, what)
	if err != nil || len(said) > 0 {
		t.Fatalf("undisturbed: %v, %q", err, said)
	}
	want := find(t, r, "configmaps")
	if want.Objects != stubPages*stubPageSize {
		t.Fatalf("%+v", want)
	}
	const goesOn, anew = "the list broke off after %s objects and goes on there, try 2 of 3", "configmaps: after %s objects: "
	for _, c := range []struct {
		name  string
		fault func(w http.ResponseWriter, token string, n int) bool
		said  string
		left  string
		most  int // requests for one page
	}{
		{"cut in a page", func(w http.ResponseWriter, token string, n int) bool {
			if token == "t1" && n == 1 {
				cuts(w, stubPage(1), 2)
			}
			return false
		}, fmt.Sprintf(goesOn, "6"), "", 2},
		{"cut twice in a page", func(w http.ResponseWriter, token string, n int) bool {
			if token == "t1" && n < 3 {
				cuts(w, stubPage(1), n)
			}
			return false
		}, fmt.Sprintf(goesOn, "5"), "", 3},
		{"cut at the begin of a page", func(w http.ResponseWriter, token string, n int) bool {
			if token == "t2" && n == 1 {
				cuts(w, stubPage(2), 0)
			}
			return false
		}, fmt.Sprintf(goesOn, "8"), "", 2},
		{"forgotten, to go on with newer objects", func(w http.ResponseWriter, token string, n int) bool {
			if token == "t1" {
				fails(w, http.StatusGone, "Expired", "t1-newer")
				return true
			}
			return false
		}, fmt.Sprintf(goesOn, "4"), "", 1},
		{"forgotten", func(w http.ResponseWriter, token string, n int) bool {
			if token == "t2" && n == 1 {
				fails(w, http.StatusGone, "Expired", "")
				return true
			}
			return false
		}, fmt.Sprintf(anew, "8"), "", 2},
		{"cut in the first page", func(w http.ResponseWriter, token string, n int) bool {
			if token == "" && n == 1 {
				cuts(w, stubPage(0), 3)
			}
			return false
		}, fmt.Sprintf(anew, "3"), "", 2},
		{"cut always", func(w http.ResponseWriter, token string, n int) bool {
			if token == "t1" {
				cuts(w, stubPage(1), 2)
			}
			return false
		}, "try 3 of 3", "configmaps", 3},
		{"forgotten always", func(w http.ResponseWriter, token string, n int) bool {
			if token == "t1" {
				fails(w, http.StatusGone, "Expired", "")
				return true
			}
			return false
		}, "the list begins anew, try 3 of 3", "by the test", 3},
		{"forgotten always, to go on", func(w http.ResponseWriter, token string, n int) bool {
			if strings.HasPrefix(token, "t1") {
				fails(w, http.StatusGone, "Expired", "t1-newer")
				return true
			}
			return false
		}, "goes on there, try 3 of 3", "by the test", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStub(t, func(w http.ResponseWriter, path, token string, n int) bool {
				return strings.HasSuffix(path, "/configmaps") && c.fault(w, token, n)
			})
			r, said, _, err := s.weigh(t, what)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(said, "\n"), c.said) {
				t.Errorf("it said %q, want %q", said, c.said)
			}
			find(t, r, "namespaces")
			s.mu.Lock()
			defer s.mu.Unlock()
			for of, n := range s.asked {
				if strings.Contains(of, "configmaps") && n > c.most {
					t.Errorf("%d requests for %s", n, of)
				}
			}
			if c.left != "" {
				if len(r.LeftOut) != 1 || !strings.Contains(r.LeftOut[0].Resource+r.LeftOut[0].Reason, c.left) {
					t.Errorf("left out: %+v", r.LeftOut)
				}
				return
			}
			got := find(t, r, "configmaps")
			if got.Objects != want.Objects || got.Wire != want.Wire || got.Packed != want.Packed || got.Sampled != want.Sampled || len(r.LeftOut) > 0 {
				t.Errorf("%+v, undisturbed %+v", got, want)
			}
		})
	}
}

// One kind that the server refuses without knowing the user is left out. If it refuses everything, there is
// one error, and the report of what was weighed before.
func TestUnauthorized(t *testing.T) {
	refuse := func(w http.ResponseWriter) bool {
		fails(w, http.StatusUnauthorized, "Unauthorized", "")
		return true
	}
	t.Run("one kind", func(t *testing.T) {
		r, said, _, err := newStub(t, func(w http.ResponseWriter, path, _ string, _ int) bool {
			return strings.HasSuffix(path, "/configmaps") && refuse(w)
		}).weigh(t, Selection{})
		if err != nil || len(r.Kinds) != 3 {
			t.Fatalf("%+v, %v", r, err)
		}
		if !slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, "configmaps is not weighed: ") }) {
			t.Errorf("%q", said)
		}
	})
	t.Run("from some time on", func(t *testing.T) {
		expired := false
		r, _, _, err := newStub(t, func(w http.ResponseWriter, path, _ string, _ int) bool {
			expired = expired || path == "/api/v1/nodes"
			return expired && refuse(w)
		}).weigh(t, Selection{})
		if err == nil || !strings.HasPrefix(err.Error(), "not all was weighed: nodes, secrets: the server does not take the credentials: ") {
			t.Errorf("%v", err)
		}
		if r == nil || len(r.Kinds) != 2 || len(r.LeftOut) != 3 {
			t.Errorf("%+v", r)
		}
	})
	for _, from := range []string{"/version", "/api", "/api/v1/configmaps"} {
		t.Run("from "+from+" on", func(t *testing.T) {
			expired := false
			r, said, _, err := newStub(t, func(w http.ResponseWriter, path, _ string, _ int) bool {
				expired = expired || path == from
				return expired && refuse(w)
			}).weigh(t, Selection{Kinds: []string{"configmaps", "secrets"}})
			if r != nil || err == nil || !strings.Contains(err.Error(), "the server does not take the credentials: ") || len(said) > 0 {
				t.Errorf("%+v, %v, %q", r, err, said)
			}
		})
	}
}

// A server that ends while it is asked leaves the report of what was weighed before.
func TestServerEnds(t *testing.T) {
	var s *stub
	s = newStub(t, func(w http.ResponseWriter, path, _ string, _ int) bool {
		if path == "/api/v1/nodes" {
			s.Listener.Close()
			panic(http.ErrAbortHandler)
		}
		return false
	})
	r, _, _, err := s.weigh(t, Selection{})
	if err == nil || !strings.HasPrefix(err.Error(), "not all was weighed: nodes, secrets: ") || r == nil || len(r.Kinds) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// What is excluded is named: by a namespace, by roles, and since its API server is down.
func TestExcluded(t *testing.T) {
	const nodes = "namespaces, nodes are not weighed: the objects are in no namespace, and --namespace is given"
	program := func(rules string) *Program {
		p, err := ParseProgram([]byte("kind: ClusterRole\nrules: ["+rules+"]"), "")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	all := `{apiGroups: [""], resources: ["*"], verbs: [list, watch]}`
	const down = "the group down.example.com/v1 is not weighed: "
	for _, c := range []struct {
		name string
		what Selection
		want []string
	}{
		{"a namespace", Selection{Namespace: "d"}, []string{nodes, down}},
		{"a namespace, and kinds", Selection{Namespace: "d", Kinds: []string{"nodes", "secrets"}}, []string{"nodes is not weighed: the objects are in no namespace"}},
		{"a namespace, and roles", Selection{Namespace: "d", Program: program(all)}, []string{nodes}},
		{"roles", Selection{Program: program(`{apiGroups: [""], resources: [secrets, nodes], verbs: [get, list]}, {apiGroups: [""], resources: [configmaps], verbs: ["*"]}`)},
			[]string{"nodes, secrets are not weighed: the roles permit list without watch"}},
		{"kinds that the roles do not have", Selection{Kinds: []string{"cm", "configmap", "secrets"}[2:], Program: program(`{apiGroups: [""], resources: [nodes], verbs: ["*"]}`)},
			[]string{"secrets is not weighed: the roles of --program do not permit list and watch"}},
		{"a kind of a group that is down", Selection{Program: program(all + `, {apiGroups: [down.example.com], resources: [widgets], verbs: [list, watch]}`)}, []string{down}},
		{"all groups", Selection{Program: program(`{apiGroups: ["*"], resources: ["*"], verbs: [list, watch]}`)}, []string{down}},
		{"no kind of the group that is down", Selection{Program: program(all)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, said, _, err := newStub(t, nil).weigh(t, c.what)
			if r == nil && !strings.Contains(fmt.Sprint(err), "has nothing to weigh") {
				t.Fatal(err)
			}
			if len(said) != len(c.want) {
				t.Errorf("it said %q, want %q", said, c.want)
			}
			for i := range min(len(said), len(c.want)) {
				if !strings.HasPrefix(said[i], c.want[i]) {
					t.Errorf("it said %q, want %q", said[i], c.want[i])
				}
			}
		})
	}
}

// Waits that the server asks for are shown, with the objects that there are so far.
func TestWaitsAreShown(t *testing.T) {
	r, said, waits, err := newStub(t, func(w http.ResponseWriter, path, token string, n int) bool {
		if n == 1 && (path == "/api" || token == "t1") {
			w.Header().Set("Retry-After", "1")
			fails(w, http.StatusTooManyRequests, "TooManyRequests", "")
			return true
		}
		return false
	}).weigh(t, Selection{Kinds: []string{"configmaps"}})
	if err != nil || find(t, r, "configmaps").Objects != stubPages*stubPageSize {
		t.Fatalf("%+v, %v", r, err)
	}
	want := []string{
		"asking which kinds there are; the server is busy and asks to wait 1s",
		"weighing configmaps, 1 of 1 kinds: 4 objects; the server is busy and asks to wait 1s",
	}
	if !slices.Equal(said, want) || !slices.Equal(waits, []time.Duration{time.Second, time.Second}) {
		t.Errorf("%q, %v", said, waits)
	}
}

// Credentials in the URL of a server are used and not printed.
func TestCredentialsAreNotPrinted(t *testing.T) {
	const user, password = "weigher", "hunter2"
	secretive := func(of string, v any) {
		t.Helper()
		if text := fmt.Sprintf("%+v", v); strings.Contains(text, user) || strings.Contains(text, password) {
			t.Errorf("%s: %s", of, text)
		}
	}
	with := func(s *stub) *rest.Config {
		return &rest.Config{Host: strings.Replace(s.URL, "://", "://"+user+":"+password+"@", 1)}
	}
	var unknown atomic.Bool
	s := newStub(t, nil)
	inner := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, p, _ := r.BasicAuth()
		if u != user || p != password {
			unknown.Store(true)
		}
		inner.ServeHTTP(w, r)
	})
	r, err := Cluster(t.Context(), with(s), scheme.New(), Options{})
	if err != nil || unknown.Load() {
		t.Fatalf("%v, without credentials: %t", err, unknown.Load())
	}
	secretive("the report", *r)
	for _, path := range []string{"/version", "/api", "/api/v1/configmaps"} {
		for name, answer := range map[string]func(w http.ResponseWriter){
			"no HTTP": func(w http.ResponseWriter) {
				if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
					_, _ = c.Write([]byte("garbage\r\n\r\n"))
					c.Close()
				}
			},
			"refused": func(w http.ResponseWriter) { fails(w, http.StatusUnauthorized, "Unauthorized", "") },
			"no API":  func(w http.ResponseWriter) { w.WriteHeader(http.StatusTeapot) },
		} {
			s := newStub(t, func(w http.ResponseWriter, at, _ string, _ int) bool {
				if at == path {
					answer(w)
				}
				return at == path
			})
			_, err := Cluster(t.Context(), with(s), scheme.New(), Options{
				Selection: Selection{Kinds: []string{"configmaps"}},
				Problem:   func(err error) { secretive(name+" at "+path, err) },
			})
			if err == nil {
				t.Errorf("%s at %s: no error", name, path)
			}
			secretive(name+" at "+path, err)
		}
	}
	for _, host := range []string{"http://" + user + ":" + password + "@127.0.0.1:1", "https://" + user + ":" + password + "@%zz", user + ":" + password + "@127.0.0.1:1"} {
		_, err := Cluster(t.Context(), &rest.Config{Host: host}, scheme.New(), Options{})
		if err == nil {
			t.Errorf("%s: no error", host)
		}
		secretive(host, errors.Join(err))
	}
}
