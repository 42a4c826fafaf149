package leader

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
)

// server is an API server with one Lease and without a network, for virtual time.
type server struct {
	mu      sync.Mutex
	lease   *coordinationv1.Lease
	version int
	watches map[*stream]bool
	refuse  map[string]int // verb → status code
	asked   []string       // verbs, in order
}

func newServer() *server {
	return &server{watches: map[*stream]bool{}, refuse: map[string]int{}}
}

// client returns a client of the server. Once cut is closed, its requests block without an error.
// nil never cuts.
func (s *server) client(t *testing.T, cut <-chan struct{}) *client.Live {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(coordinationv1.SchemeGroupVersion.WithKind("Lease"), meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
	rt := roundTripper(func(r *http.Request) (*http.Response, error) {
		select {
		case <-cut:
			<-r.Context().Done()
			return nil, r.Context().Err()
		default:
			return s.serve(r, cut)
		}
	})
	c, err := client.New(&rest.Config{Host: "http://server.test", Transport: rt}, client.Options{Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (s *server) serve(r *http.Request, cut <-chan struct{}) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	verb := map[string]string{"GET": "get", "POST": "create", "PUT": "update"}[r.Method]
	if r.URL.Query().Get("watch") != "" {
		verb = "watch"
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/vnd.kubernetes.protobuf") {
		return reply(http.StatusUnsupportedMediaType, failure(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType)), nil
	}
	s.asked = append(s.asked, verb)
	if code := s.refuse[verb]; code != 0 {
		return reply(code, failure(code, metav1.StatusReasonForbidden)), nil
	}
	if !strings.Contains(r.URL.Path, "/leases") { // a write of the work
		return reply(200, metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "x"}}), nil
	}
	var body coordinationv1.Lease
	if r.Body != nil {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return nil, err
		}
	}
	switch {
	case verb == "watch":
		st := &stream{ctx: r.Context(), cut: cut, frames: make(chan []byte, 1000)}
		s.watches[st] = true
		if s.lease != nil {
			st.send("ADDED", s.lease)
		}
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: st}, nil
	case s.lease == nil && verb != "create":
		return reply(404, failure(404, metav1.StatusReasonNotFound)), nil
	case verb == "create" && s.lease != nil:
		return reply(409, failure(409, metav1.StatusReasonAlreadyExists)), nil
	case verb == "update" && body.ResourceVersion != s.lease.ResourceVersion:
		return reply(409, failure(409, metav1.StatusReasonConflict)), nil
	case verb != "get":
		s.putLocked(&body)
	}
	return reply(200, s.lease), nil
}

func (s *server) putLocked(l *coordinationv1.Lease) {
	event := "MODIFIED"
	if s.lease == nil {
		event = "ADDED"
	}
	s.version++
	s.lease = l
	l.ResourceVersion = strconv.Itoa(s.version)
	l.TypeMeta = metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
	for w := range s.watches {
		w.send(event, l)
	}
}

// silenceWatches makes the open watches report nothing any more.
func (s *server) silenceWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.watches)
}

// edit changes the Lease by hand. nil deletes it.
func (s *server) edit(change func(*coordinationv1.Lease)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lease.DeepCopy()
	if change != nil {
		change(l)
		s.putLocked(l)
		return
	}
	s.version++
	s.lease = nil
	l.ResourceVersion = strconv.Itoa(s.version)
	for w := range s.watches {
		w.send("DELETED", l)
	}
}

// put stores a Lease with a holder.
func (s *server) put(holder string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putLocked(held("", holder, 15))
}

func (s *server) holder() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil {
		return "none"
	}
	return value(s.lease.Spec.HolderIdentity)
}

func (s *server) setRefuse(code int, verbs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range verbs {
		s.refuse[v] = code
	}
}

// count returns the number of requests with a verb.
func (s *server) count(verb string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(s.asked), func(v string) bool { return v != verb }))
}

// stream is the body of a watch.
type stream struct {
	ctx    context.Context
	cut    <-chan struct{}
	frames chan []byte
	rest   bytes.Buffer
}

func (st *stream) send(event string, l *coordinationv1.Lease) {
	data, err := json.Marshal(map[string]any{"type": event, "object": l})
	if err != nil {
		panic(err)
	}
	st.frames <- append(data, '\n')
}

func (st *stream) Read(p []byte) (int, error) {
	for st.rest.Len() == 0 {
		cut := false
		select {
		case <-st.cut:
			cut = true
		default:
		}
		if cut {
			<-st.ctx.Done()
			return 0, st.ctx.Err()
		}
		select {
		case f := <-st.frames:
			st.rest.Write(f)
		case <-st.cut:
		case <-st.ctx.Done():
			return 0, st.ctx.Err()
		}
	}
	return st.rest.Read(p)
}

func (st *stream) Close() error { return nil }

func reply(code int, v any) *http.Response {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(data)),
	}
}

func failure(code int, reason metav1.StatusReason) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: fmt.Sprint("refused with ", code),
		Details: &metav1.StatusDetails{Name: "operator", Kind: "leases"},
	}
}

// elector returns an elector for virtual time.
func (s *server) elector(t *testing.T, identity string, cut <-chan struct{}, o Options) *Elector {
	t.Helper()
	o.Namespace, o.Name, o.Identity = "shop", "operator", identity
	e, err := New(s.client(t, cut), o)
	if err != nil {
		t.Fatal(err)
	}
	e.now = time.Now
	return e
}
