package audit_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/audit"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/scheme"
)

type held map[object.Key]audit.State

func (h held) State(k object.Key) audit.State          { return h[k] }
func (h held) All() iter.Seq2[object.Key, audit.State] { return maps.All(h) }

type permit struct{ progress, open int }

func (t *permit) Progress() { t.progress++ }
func (t *permit) Release()  { t.open-- }

// server answers lists of metadata, and records the requests.
type server struct {
	mu     sync.Mutex
	asked  []*http.Request
	answer http.HandlerFunc
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r)
	s.mu.Unlock()
	s.answer(w, r)
}

// run audits Pods with a client.
func run(t *testing.T, s *server, o client.Selection, h held) (audit.Action, *permit, *client.Feed) {
	t.Helper()
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	gvk, gvr := corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithResource("pods")
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.AddSpecific(gvk, gvr, gvr, meta.RESTScopeNamespace)
	c, err := client.New(&rest.Config{Host: web.URL}, client.Options{Scheme: scheme.New(), Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	feed, permits := c.Feed(gvk, o), &permit{}
	w := audit.Watch{Good: true, Lists: 1, Version: "9"}
	a := audit.Run(t.Context(), audit.Options{
		Core: &audit.Core{}, Source: feed, Objects: len(h),
		Acquire: func(context.Context) (audit.Permit, error) { permits.open++; return permits, nil },
		Key:     func(k object.Key) (object.Key, bool) { return k, k.Namespace != "elsewhere" },
		Held:    h.State, Observe: func() (audit.Watch, audit.Holding) { return w, h },
	})
	if permits.open != 0 {
		t.Errorf("%d permits were not released", permits.open)
	}
	return a, permits, feed
}

const head = `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9"`

// The list has the selection of the watch, is of metadata, of the newest state, and in pages.
// Objects with only a readable name, and objects that are not stored, are no findings.
func TestRunListsTheSelectionInPages(t *testing.T) {
	s := &server{answer: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("continue") == "" {
			io.WriteString(w, head+`,"continue":"next"},"items":[
				{"metadata":{"namespace":"ns","name":"a","uid":"1","resourceVersion":"3"}},
				{"metadata":{"namespace":"elsewhere","name":"a","uid":"2","resourceVersion":"4"}}]}`)
			return
		}
		io.WriteString(w, head+`},"items":[{"metadata":{"namespace":"ns","name":"odd","uid":"3","resourceVersion":"5","labels":7}},
			{"metadata":{"namespace":"ns","name":"b","uid":"4","resourceVersion":"6"}}]}`)
	}}
	a, permits, _ := run(t, s, client.Selection{Namespace: "ns", Labels: labels.SelectorFromSet(labels.Set{"x": "y"})}, held{
		{Namespace: "ns", Name: "a"}:   {There: true, UID: "1", Version: "3"},
		{Namespace: "ns", Name: "odd"}: {There: true, Named: true},
		{Namespace: "ns", Name: "c"}:   {There: true, UID: "5", Version: "7"},
	})
	if a.Do != audit.Repair || len(a.Lost) != 2 || a.Lost[0].String() != "ns/b (added)" || a.Lost[1].String() != "ns/c (deleted)" {
		t.Errorf("%+v", a)
	}
	if permits.progress != 8 || len(s.asked) != 4 {
		t.Errorf("progress %d, %d requests", permits.progress, len(s.asked))
	}
	for i, r := range s.asked {
		q := r.URL.Query()
		if r.URL.Path != "/api/v1/namespaces/ns/pods" || q.Get("labelSelector") != "x=y" || q.Has("resourceVersion") || q.Get("limit") != "500" ||
			!strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList") || (q.Get("continue") == "next") != (i%2 == 1) {
			t.Errorf("request %d: %v, %v", i, r.URL, r.Header)
		}
	}
}

// A server that answers without a list of metadata is unfit; any other failure ends only this
// audit.
func TestRunTellsUnfitServersFromFailures(t *testing.T) {
	text := func(code int, contentType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(code)
			io.WriteString(w, body)
		}
	}
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		unfit  bool
	}{
		"406":           {text(406, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotAcceptable","code":406}`), true},
		"406, a page":   {text(406, "text/html", "no"), false}, // of a proxy
		"whole objects": {text(200, "application/json", `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[]}`), true},
		"another kind":  {text(200, "application/json", `{"kind":"Whatever","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[]}`), true},
		"a page":        {text(200, "text/html", "<html>"), false},
		"403":           {text(403, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`), false},
		"404":           {text(404, "text/html", "no"), false},
		"503":           {text(503, "text/plain", "no"), false},
		"cut":           {text(200, "application/json", head+`},"items":[`), false},
		"no version":    {text(200, "application/json", `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{},"items":[]}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{answer: tt.answer}
			a, _, feed := run(t, s, client.Selection{}, held{})
			if a.Do != audit.Done || a.Err == nil || audit.Unfit(a.Err) != tt.unfit || audit.Void(a.Err) {
				t.Errorf("%+v", a)
			}
			n := len(s.asked)
			feed.List(t.Context(), wire.ListQuery{})
			if accept := s.asked[n].Header.Get("Accept"); !strings.Contains(accept, "protobuf") {
				t.Errorf("lists of the content are asked for as %q from then on", accept)
			}
		})
	}
}

// A hanging list ends with the ctx.
func TestRunEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("the program stops")
	s := &server{answer: func(w http.ResponseWriter, r *http.Request) {
		cancel(stop)
		<-r.Context().Done()
	}}
	web := httptest.NewServer(s)
	defer web.Close()
	mapper := meta.NewDefaultRESTMapper(nil)
	gvk, gvr := corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithResource("pods")
	mapper.AddSpecific(gvk, gvr, gvr, meta.RESTScopeNamespace)
	c, err := client.New(&rest.Config{Host: web.URL}, client.Options{Scheme: scheme.New(), Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	a := audit.Run(ctx, audit.Options{
		Core: &audit.Core{}, Source: c.Feed(gvk, client.Selection{}),
		Acquire: func(context.Context) (audit.Permit, error) { return &permit{}, nil },
		Key:     func(k object.Key) (object.Key, bool) { return k, true },
		Held:    held{}.State, Observe: func() (audit.Watch, audit.Holding) { return audit.Watch{Good: true}, held{} },
	})
	if !errors.Is(a.Err, stop) || time.Since(began) > audit.MaxPage/2 {
		t.Errorf("%+v after %v", a, time.Since(began))
	}
}
