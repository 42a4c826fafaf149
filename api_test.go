package flyball

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/object"
)

// api is an API server with discovery, and with Pods, Deployments and Secrets to read and watch. The test makes
// the objects.
type api struct {
	*memory

	mu        sync.Mutex
	version   int
	resources map[string]*resource // by plural name
	down      bool
	onList    func()   // before the first list or watch is answered; set before it runs
	asked     []string // "GET /path"
}

type resource struct {
	path    string
	kind    metav1.TypeMeta
	objects map[object.Key]object.Object
	log     []frame
	changed chan struct{} // closed at the next change
	denied  bool
}

type frame struct {
	version int
	text    string
}

func newAPI(t testing.TB) *api {
	a := &api{version: 1, resources: map[string]*resource{}}
	for name, kind := range map[string]metav1.TypeMeta{
		"pods":        {APIVersion: "v1", Kind: "Pod"},
		"secrets":     {APIVersion: "v1", Kind: "Secret"},
		"deployments": {APIVersion: "apps/v1", Kind: "Deployment"},
	} {
		path := "/api/v1/"
		if kind.APIVersion == "apps/v1" {
			path = "/apis/apps/v1/"
		}
		a.resources[name] = &resource{
			path: path, kind: kind,
			objects: map[object.Key]object.Object{}, changed: make(chan struct{}),
		}
	}
	a.memory = serveInMemory(t, a)
	return a
}

// manager makes a manager of this server.
func (a *api) manager(t testing.TB, o Options) *Manager {
	t.Helper()
	o.Config = a.config()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// put creates or updates an object.
func (a *api) put(name string, o object.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.resources[name]
	a.version++
	verb := "MODIFIED"
	if old := r.objects[object.KeyOf(o)]; old != nil {
		o.SetUID(old.GetUID())
	} else {
		verb = "ADDED"
		o.SetUID(types.UID(fmt.Sprint("uid-", a.version)))
	}
	o.SetResourceVersion(fmt.Sprint(a.version))
	o.GetObjectKind().SetGroupVersionKind(r.kind.GroupVersionKind())
	r.objects[object.KeyOf(o)] = o
	a.sendLocked(r, verb, o)
}

func (a *api) sendLocked(r *resource, verb string, o any) {
	text, err := json.Marshal(map[string]any{"type": verb, "object": o})
	if err != nil {
		panic(err)
	}
	r.log = append(r.log, frame{a.version, string(text) + "\n"})
	close(r.changed)
	r.changed = make(chan struct{})
}

// deny refuses all lists and watches of a resource, or none.
func (a *api) deny(name string, denied bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.resources[name].denied = denied
}

// count is the number of requests that began with this method and path.
func (a *api) count(prefix string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.asked {
		if strings.HasPrefix(r, prefix) {
			n++
		}
	}
	return n
}

func (a *api) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	a.mu.Lock()
	a.asked = append(a.asked, req.Method+" "+req.URL.Path)
	down := a.down
	a.mu.Unlock()
	switch path := req.URL.Path; {
	case down:
		status(w, http.StatusInternalServerError, "down", "")
	case path == "/version":
		answer(w, map[string]string{"major": "1", "minor": "36", "gitVersion": "v1.36.3"})
	case path == "/api":
		answer(w, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case path == "/apis":
		v := metav1.GroupVersionForDiscovery{GroupVersion: "apps/v1", Version: "v1"}
		answer(w, metav1.APIGroupList{
			TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
			Groups:   []metav1.APIGroup{{Name: "apps", Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v}},
		})
	case path == "/api/v1" || path == "/apis/apps/v1":
		list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
		list.GroupVersion = strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/")
		for name, r := range a.resources {
			if strings.HasPrefix(r.path, path) {
				list.APIResources = append(list.APIResources, metav1.APIResource{
					Name: name, Kind: r.kind.Kind, Namespaced: true, Verbs: metav1.Verbs{"get", "list", "watch"},
				})
			}
		}
		answer(w, list)
	default:
		a.serveObjects(w, req)
	}
}

func (a *api) serveObjects(w http.ResponseWriter, req *http.Request) {
	segments := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	var key object.Key
	if i := slices.Index(segments, "namespaces"); i > 0 && i+2 < len(segments) {
		key.Namespace = segments[i+1]
		segments = slices.Delete(segments, i, i+2)
	}
	var r *resource
	for i, s := range segments {
		if r = a.resources[s]; r != nil {
			if i+1 < len(segments) {
				key.Name = segments[i+1]
			}
			break
		}
	}
	a.mu.Lock()
	switch {
	case r == nil || req.Method != http.MethodGet:
		a.mu.Unlock()
		status(w, http.StatusNotFound, "the server could not find the requested resource", metav1.StatusReasonNotFound)
		return
	case r.denied && key.Name == "":
		a.mu.Unlock()
		status(w, http.StatusForbidden, `secrets is forbidden: User "test" cannot list resource "secrets" in API group "" at the cluster scope`, metav1.StatusReasonForbidden)
		return
	}
	q := req.URL.Query()
	if key.Name == "" && a.onList != nil {
		a.onList()
		a.onList = nil
	}
	switch {
	case key.Name != "":
		o := r.objects[key]
		a.mu.Unlock()
		if o == nil {
			status(w, http.StatusNotFound, "not found", metav1.StatusReasonNotFound)
			return
		}
		answer(w, o)
	case q.Get("watch") != "":
		a.mu.Unlock()
		a.serveWatch(w, req, r, q.Get("resourceVersion"), q.Get("sendInitialEvents") == "true")
	default:
		list := map[string]any{
			"apiVersion": r.kind.APIVersion, "kind": r.kind.Kind + "List",
			"metadata": map[string]any{"resourceVersion": fmt.Sprint(a.version)},
			"items":    r.all(),
		}
		a.mu.Unlock()
		answer(w, list)
	}
}

func (r *resource) all() []object.Object {
	out := []object.Object{}
	for _, o := range r.objects {
		out = append(out, o)
	}
	slices.SortFunc(out, func(x, y object.Object) int { return object.KeyOf(x).Compare(object.KeyOf(y)) })
	return out
}

func (a *api) serveWatch(w http.ResponseWriter, req *http.Request, r *resource, from string, initial bool) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	var since int
	fmt.Sscan(from, &since)
	if initial {
		a.mu.Lock()
		since = a.version
		var text strings.Builder
		for _, o := range r.all() {
			json.NewEncoder(&text).Encode(map[string]any{"type": "ADDED", "object": o})
		}
		json.NewEncoder(&text).Encode(map[string]any{"type": "BOOKMARK", "object": map[string]any{
			"apiVersion": r.kind.APIVersion, "kind": r.kind.Kind,
			"metadata": map[string]any{
				"resourceVersion": fmt.Sprint(since),
				"annotations":     map[string]string{"k8s.io/initial-events-end": "true"},
			},
		}})
		a.mu.Unlock()
		w.Write([]byte(text.String()))
	}
	for {
		http.NewResponseController(w).Flush()
		a.mu.Lock()
		changed := r.changed
		var text strings.Builder
		for _, f := range r.log {
			if f.version > since {
				text.WriteString(f.text)
				since = f.version
			}
		}
		a.mu.Unlock()
		if text.Len() > 0 {
			w.Write([]byte(text.String()))
			continue
		}
		select {
		case <-changed:
		case <-req.Context().Done():
			return
		}
	}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

func status(w http.ResponseWriter, code int, message string, reason metav1.StatusReason) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Message: message, Reason: reason, Code: int32(code),
	})
}
