package client

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/flyball-io/flyball/internal/wire"
)

// feedFrames is a watch as a server sends it.
const feedFrames = `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"web","resourceVersion":"1"}}}
{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"web","resourceVersion":"2"},"spec":{"containers":"none"}}}
{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"3","annotations":{"k8s.io/initial-events-end":"true"}}}}
{"type":"DELETED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"web","resourceVersion":"4"}}}
`

const goneFrame = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old resource version"}}
`

func TestFeedSendsItsQueries(t *testing.T) {
	f := newFake(t)
	var hooked []Call
	c := f.serve(Options{Hook: func(d Done) { hooked = append(hooked, d.Call) }})
	feed := c.Feed(podGVK, Selection{Namespace: "web", Labels: labels.SelectorFromSet(labels.Set{"a": "b"}), Fields: fields.OneTermEqualSelector("spec.nodeName", "n")})
	f.on("GET /api/v1/namespaces/web/pods", podList("5", "", "a", "b"))
	l, err := feed.List(t.Context(), wire.ListQuery{ResourceVersion: "0", Match: metav1.ResourceVersionMatchNotOlderThan, Limit: 7})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 2 {
		raw, err := l.Next()
		if err != nil || raw.Kind != feed.kind || raw.Encoding != wire.Protobuf {
			t.Errorf("got %v, %v", raw, err)
		}
	}
	if _, err := l.Next(); err != io.EOF || l.Meta().ResourceVersion != "5" {
		t.Errorf("end: %v, %v", err, l.Meta())
	}
	q := f.last().query
	if want := "fieldSelector=spec.nodeName%3Dn&labelSelector=a%3Db&limit=7&resourceVersion=0&resourceVersionMatch=NotOlderThan"; q.Encode() != want {
		t.Errorf("list asked for %s", q.Encode())
	}

	f.on("GET /api/v1/namespaces/web/pods", text(200, "application/json;stream=watch", feedFrames+goneFrame))
	w, err := feed.Watch(t.Context(), wire.WatchQuery{ResourceVersion: "5", SendInitialEvents: true, Timeout: 90 * 1e9})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, want := range []wire.EventType{wire.Added, wire.Modified, wire.Bookmark, wire.Deleted, wire.Error} {
		fr, err := w.Next()
		if err != nil || fr.Type != want {
			t.Errorf("got %v, %v, want %v", fr.Type, err, want)
		}
		if fr.Type == wire.Error && fr.Status.Reason != metav1.StatusReasonExpired {
			t.Errorf("status %v", fr.Status)
		}
	}
	if _, err := w.Next(); err != io.EOF {
		t.Errorf("end: %v", err)
	}
	q = f.last().query
	if want := "allowWatchBookmarks=true&fieldSelector=spec.nodeName%3Dn&labelSelector=a%3Db&resourceVersion=5&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeoutSeconds=90&watch=true"; q.Encode() != want {
		t.Errorf("watch asked for %s", q.Encode())
	}
	if a := f.last().header.Get("Accept"); a != wire.AcceptProtobuf {
		t.Errorf("watch: Accept %q", a)
	}

	plain, err := feed.Watch(t.Context(), wire.WatchQuery{ResourceVersion: "5"})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if len(hooked) != 3 || hooked[0].Initial || !hooked[1].Initial || hooked[2].Initial {
		t.Errorf("only the second begins with all there is: %+v", hooked)
	}
}

func TestFeedAccept(t *testing.T) {
	f := newFake(t)
	c := f.client(Options{})
	f.on("GET /apis/example.com/v1/widgets", text(200, "text/html", ""))
	f.on("GET /api/v1/pods", text(200, "text/html", ""))
	for _, tt := range []struct {
		gvk  schema.GroupVersionKind
		o    Selection
		want string
	}{
		{podGVK, Selection{}, wire.AcceptProtobuf},
		{widgetGVK, Selection{}, wire.AcceptJSON},
		{podGVK, Selection{MetadataOnly: true}, wire.AcceptMetadataList},
		{widgetGVK, Selection{MetadataOnly: true}, wire.AcceptMetadataList},
	} {
		_, err := c.Feed(tt.gvk, tt.o).List(t.Context(), wire.ListQuery{})
		if !is[*ResponseError](err) {
			t.Errorf("HTML: got %v", err)
		}
		if a := f.last().header.Get("Accept"); a != tt.want {
			t.Errorf("%v %+v: Accept %q", tt.gvk.Kind, tt.o, a)
		}
	}
	_, err := c.Feed(podGVK, Selection{MetadataOnly: true}).Watch(t.Context(), wire.WatchQuery{})
	if a := f.last().header.Get("Accept"); a != wire.AcceptMetadata || !is[*ResponseError](err) {
		t.Errorf("metadata watch: Accept %q, %v", a, err)
	}
}

func TestWatchYieldsEventsAndErrors(t *testing.T) {
	f := newFake(t)
	c := f.serve(Options{})
	events := func(body string) (types []watch.EventType, versions []string, errs []error) {
		f.on("GET /api/v1/namespaces/web/pods", text(200, "application/json;stream=watch", body))
		w, err := Watch[corev1.Pod](t.Context(), c, InNamespace("web"), AtVersion("1"))
		if err != nil {
			t.Fatal(err)
		}
		for ev, err := range w.Events() {
			if err != nil {
				errs = append(errs, err)
				continue
			}
			if (ev.Object == nil) != (ev.Type == watch.Bookmark) {
				t.Errorf("%v with object %v", ev.Type, ev.Object)
			}
			types, versions = append(types, ev.Type), append(versions, ev.ResourceVersion)
		}
		return types, versions, errs
	}

	types, versions, errs := events(feedFrames)
	equal(t, "types", types, []watch.EventType{watch.Added, watch.Bookmark, watch.Deleted})
	equal(t, "versions", versions, []string{"1", "3", "4"})
	if len(errs) != 2 || !is[*wire.DecodeError](errs[0]) {
		t.Fatalf("errors %v", errs)
	}
	if e, ok := asType[*WatchClosedError](errs[1]); !ok || e.ResourceVersion != "4" || !errors.Is(errs[1], io.EOF) {
		t.Errorf("end: %v", errs[1])
	}
	if q := f.last().query; q.Get("resourceVersion") != "1" || q.Get("watch") != "true" || q.Has("limit") || q.Get("timeoutSeconds") == "" {
		t.Errorf("asked for %v", q)
	}

	if _, _, errs = events(goneFrame); len(errs) != 1 || !is[*GoneError](errs[0]) {
		t.Errorf("410: %v", errs)
	}
	if _, _, errs = events(feedFrames[:60]); len(errs) != 1 || !is[*ResponseError](errs[0]) || !errors.Is(errs[0], io.ErrUnexpectedEOF) {
		t.Errorf("cut: %v", errs)
	}
	if _, _, errs = events("{]"); len(errs) != 1 || !is[*ResponseError](errs[0]) {
		t.Errorf("garbage: %v", errs)
	}
	f.on("GET /api/v1/namespaces/web/pods", text(200, "text/html", "<html>"))
	if _, err := Watch[corev1.Pod](t.Context(), c, InNamespace("web")); !is[*ResponseError](err) {
		t.Errorf("HTML: %v", err)
	}
}

// Stop ends a blocked loop without an error; the end of ctx ends it with one.
func TestStopEndsABlockedLoop(t *testing.T) {
	f := newFake(t)
	c := f.serve(Options{})
	f.on("GET /api/v1/pods", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json;stream=watch")
		io.WriteString(w, feedFrames[:strings.IndexByte(feedFrames, '\n')+1])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	w, err := Watch[corev1.Pod](t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for ev, err := range w.Events() {
		if err != nil {
			t.Errorf("after Stop: %v", err)
		}
		if ev.Type == watch.Added {
			go w.Stop()
		}
	}
	w.Stop()

	ctx, cancel := contextWithCause(t)
	w, err = Watch[corev1.Pod](ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range w.Events() {
		if err == nil {
			go cancel(errTest)
		}
		last = err
	}
	if !errors.Is(last, errTest) {
		t.Errorf("after the end of ctx: %v", last)
	}
}

// A watch that the server does not end in time ends with a timeout.
func TestWatchOfDeadConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c := f.over(&stuck{f, "/api/v1/pods", []byte(feedFrames[:strings.IndexByte(feedFrames, '\n')+1])}, Options{})
		w, err := Watch[corev1.Pod](t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		start, n := time.Now(), 0
		for _, err := range w.Events() {
			if n++; n == 2 && !is[*TimeoutError](err) {
				t.Errorf("got %v", err)
			}
		}
		if d := time.Since(start); n != 2 || d < 5*time.Minute || d > 10*time.Minute+30*time.Second {
			t.Errorf("%d events, after %v", n, d)
		}
	})
}
