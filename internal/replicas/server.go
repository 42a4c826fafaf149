package replicas

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/flyball-io/flyball/object"
)

// Resource is a resource that servers may serve.
type Resource struct {
	Group, Version, Plural, Kind string
	Cluster                      bool // it has no namespaces
	Custom                       bool // it needs a definition in the state: an object of Definitions
}

// Definitions is the resource of CustomResourceDefinitions in a State.
const Definitions = "customresourcedefinitions"

// parse reads the path of a list, a watch or a get of the resource. ok is false for other paths, and for those of
// another scope.
func (r Resource) parse(path string) (key object.Key, ok bool) {
	prefix := "/apis/" + r.Group + "/" + r.Version + "/"
	if r.Group == "" {
		prefix = "/api/" + r.Version + "/"
	}
	rest, ok := strings.CutPrefix(path, prefix)
	parts := strings.Split(rest, "/")
	if ok && len(parts) > 2 && parts[0] == "namespaces" && !r.Cluster {
		key.Namespace, parts = parts[1], parts[2:]
	}
	switch {
	case !ok || parts[0] != r.Plural || len(parts) > 2:
		return key, false
	case len(parts) == 2:
		key.Name = parts[1]
	}
	return key, key.Name == "" || r.Cluster == (key.Namespace == "")
}

func (r Resource) key() object.Key { return object.Key{Name: r.Plural + "." + r.Group} }

// meta is the beginning of an object of the kind with suffix.
func (r Resource) meta(suffix string) string {
	return fmt.Sprintf(`"apiVersion":%q,"kind":%q`, strings.TrimPrefix(r.Group+"/"+r.Version, "/"), r.Kind+suffix)
}

// Manner is how a server behaves.
type Manner struct {
	Lag     time.Duration   // how far its memory is behind the storage
	Stuck   bool            // its memory stands still
	Lacks   map[string]bool // plurals that it does not serve
	Streams bool            // it knows streaming lists
	Busy    bool            // it answers 429 with a date
	Clock   time.Duration   // how far its clock is ahead
}

// Server is one API server. It can be called by any goroutine.
type Server struct {
	state     *State
	resources []Resource

	mu     sync.Mutex
	manner Manner
	since  int // the version at its start: it cannot serve watches from before
	seen   int // the version of its memory
	ctx    context.Context
	stop   context.CancelFunc // nil: it is down
}

// Start starts a server that is down. Its memory begins with what the storage has.
func (s *Server) Start(m Manner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.manner, s.since = m, s.state.Version()
	s.seen = s.since
	s.ctx, s.stop = context.WithCancel(context.Background())
}

// Stop ends the server with all of its requests and connections.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

// Serve replaces the resources. Connections stay.
func (s *Server) Serve(resources ...Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resources = resources
}

// Change changes the manner of a server that runs.
func (s *Server) Change(f func(*Manner)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	f(&s.manner)
}

// Up returns a context that ends with the server, or nil if it is down.
func (s *Server) Up() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop == nil {
		return nil
	}
	return s.ctx
}

// look returns the version of the memory. s.mu is held.
func (s *Server) look() int {
	if !s.manner.Stuck {
		s.seen = max(s.seen, s.state.before(time.Now().Add(-s.manner.Lag)))
	}
	return s.seen
}

func (s *Server) memory() (version, since int, m Manner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.look(), s.since, s.manner
}

// served returns what the server serves. A custom resource is served as long as the server's memory has its
// definition.
func (s *Server) served() []Resource {
	seen, _, m := s.memory()
	s.mu.Lock()
	resources := s.resources
	s.mu.Unlock()
	var all []Resource
	for _, r := range resources {
		if m.Lacks[r.Plural] {
			continue
		}
		if r.Custom {
			s.state.mu.Lock()
			_, ok := s.state.content(Definitions, seen)[r.key()]
			s.state.mu.Unlock()
			if !ok {
				continue
			}
		}
		all = append(all, r)
	}
	return all
}

// ServeHTTP answers a request. The connection is cut if the server stops meanwhile.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	up := s.Up()
	if up == nil {
		panic(http.ErrAbortHandler)
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(up, cancel)()
	_, _, m := s.memory()
	now := time.Now().Add(m.Clock).UTC()
	w.Header().Set("Date", now.Format(http.TimeFormat))
	switch {
	case m.Busy:
		w.Header().Set("Retry-After", now.Add(5*time.Second).Format(http.TimeFormat))
		status(w, http.StatusTooManyRequests, "TooManyRequests", "")
	case r.URL.Path == "/api" || r.URL.Path == "/apis":
		s.discovery(w, r.URL.Path)
	case strings.HasPrefix(r.URL.Path, definitionsPath):
		s.definition(w, strings.TrimPrefix(r.URL.Path, definitionsPath))
	default:
		s.resource(w, r.WithContext(ctx))
	}
	if up.Err() != nil {
		panic(http.ErrAbortHandler)
	}
}

const definitionsPath = "/apis/apiextensions.k8s.io/v1/" + Definitions + "/"

// definition answers from the storage.
func (s *Server) definition(w http.ResponseWriter, name string) {
	d, ok := s.state.Content(Definitions)[object.Key{Name: name}]
	if !ok {
		status(w, http.StatusNotFound, "NotFound", fmt.Sprintf(`"name":%q,"group":"apiextensions.k8s.io","kind":%q`, name, Definitions))
		return
	}
	write(w, http.StatusOK, d.JSON(`"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata"`))
}

// discovery answers as aggregated discovery.
func (s *Server) discovery(w http.ResponseWriter, path string) {
	type names struct{ group, version string }
	found := map[names][]string{}
	for _, r := range append(s.served(), Resource{Version: "v1", Plural: "pods", Kind: "Pod"}) {
		at := names{r.Group, r.Version}
		scope := map[bool]string{true: "Cluster", false: "Namespaced"}[r.Cluster]
		found[at] = append(found[at], fmt.Sprintf(`{"resource":%q,"responseKind":{"group":%q,"version":%q,"kind":%q},"scope":%q,"singularResource":"x","verbs":["list"]}`,
			r.Plural, r.Group, r.Version, r.Kind, scope))
	}
	versions := map[string][]string{}
	for at, resources := range found {
		versions[at.group] = append(versions[at.group], fmt.Sprintf(`{"version":%q,"freshness":"Current","resources":[%s]}`, at.version, strings.Join(resources, ",")))
	}
	var groups []string
	for group, all := range versions {
		if (group == "") == (path == "/api") {
			groups = append(groups, fmt.Sprintf(`{"metadata":{"name":%q},"versions":[%s]}`, group, strings.Join(all, ",")))
		}
	}
	w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	fmt.Fprintf(w, `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[%s]}`, strings.Join(groups, ","))
}

func write(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprint(w, body)
}

// status answers with a Status.
func status(w http.ResponseWriter, code int, reason, details string) {
	write(w, code, statusJSON(code, reason, details))
}

func statusJSON(code int, reason, details string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":%q,"reason":%q,"details":{%s},"code":%d}`, reason, reason, details, code)
}
