package client

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/wire"
)

const widgetJSON = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"web","uid":"u"},"spec":{"n":9007199254740993}}`

func TestGetForms(t *testing.T) {
	f := newFake(t)
	c := f.client(Options{})
	f.on("GET /api/v1/namespaces/web/pods/x", func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
			m := &metav1.PartialObjectMetadata{ObjectMeta: pod("x").ObjectMeta}
			reply(m, metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))(w, r)
			return
		}
		reply(pod("x"), podGVK)(w, r)
	})
	f.on("GET /apis/example.com/v1/namespaces/web/widgets/w", text(200, "application/json", widgetJSON))

	p, err := Get[corev1.Pod](t.Context(), c, key("x"))
	if err != nil || p.Name != "x" || p.Kind != "Pod" {
		t.Errorf("typed: %v, %v", p, err)
	}
	if a := f.last().header.Get("Accept"); a != wire.AcceptProtobuf {
		t.Errorf("typed: Accept %q", a)
	}
	u, err := Get[unstructured.Unstructured](t.Context(), c, key("x"), OfKind(podGVK))
	if err != nil || u.GetName() != "x" || u.GetKind() != "Pod" {
		t.Errorf("unstructured: %v, %v", u, err)
	}
	if a := f.last().header.Get("Accept"); a != "application/json" {
		t.Errorf("unstructured: Accept %q", a)
	}
	m, err := Get[metav1.PartialObjectMetadata](t.Context(), c, key("x"), OfKind(podGVK))
	if err != nil || m.Name != "x" || m.GroupVersionKind() != podGVK {
		t.Errorf("metadata: %v, %v", m, err)
	}
	w, err := Get[unstructured.Unstructured](t.Context(), c, key("w"), OfKind(widgetGVK))
	if err != nil {
		t.Fatal(err)
	}
	if n, _, _ := unstructured.NestedInt64(w.Object, "spec", "n"); n != 9007199254740993 {
		t.Errorf("a large number came as %d", n)
	}
}

func TestKindErrors(t *testing.T) {
	f := newFake(t)
	c := f.client(Options{})
	_, err := Get[unstructured.Unstructured](t.Context(), c, key("x"))
	if !is[*UnknownKind](err) {
		t.Errorf("no kind: got %v", err)
	}
	_, err = Get[corev1.Pod](t.Context(), c, key("x"), OfKind(widgetGVK))
	if !is[*UnknownKind](err) {
		t.Errorf("kind of another type: got %v", err)
	}
	_, err = Get[unstructured.Unstructured](t.Context(), c, key("x"), OfKind(schema.GroupVersionKind{Group: "nowhere.io", Version: "v1", Kind: "Thing"}))
	if e, ok := asType[*NotServed](err); !ok || e.GVK.Kind != "Thing" || e.Verb != "get" {
		t.Errorf("kind that is not served: got %v", err)
	}
	if err := c.Get(t.Context(), key("x"), nil, GetOptions{}); !is[*UnknownKind](err) {
		t.Errorf("nil: got %v", err)
	}
	if f.count() != 0 {
		t.Errorf("%d requests were sent", f.count())
	}
}

func TestKeys(t *testing.T) {
	f := newFake(t)
	c := f.client(Options{})
	for name, k := range map[string]object.Key{
		"no name": {Namespace: "web"}, "no namespace": {Name: "x"}, "bad UTF-8": key("a\xff"), "bad namespace": {Namespace: "\xff", Name: "x"},
		"slash": key("a/b"), "dots": key(".."), "percent": key("a%2fb"),
	} {
		_, err := Get[corev1.Pod](t.Context(), c, k)
		if e, ok := asType[*InvalidKey](err); !ok || e.Kind != "Pod" || e.Key != k {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if f.count() != 0 {
		t.Errorf("%d requests were sent", f.count())
	}
	f.on("GET /api/v1/nodes/n", reply(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, corev1.SchemeGroupVersion.WithKind("Node")))
	if _, err := Get[corev1.Node](t.Context(), c, key("n")); err != nil {
		t.Errorf("the namespace of a cluster-scoped kind is not ignored: %v", err)
	}
}

// Protobuf that is refused is not asked for again.
func TestProtobufFallback(t *testing.T) {
	for _, code := range []int{http.StatusNotAcceptable, http.StatusUnsupportedMediaType} {
		f := newFake(t)
		only := func(next http.HandlerFunc) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.Header.Get("Accept")+r.Header.Get("Content-Type"), "protobuf") {
					text(code, "text/plain", "only JSON here")(w, r)
					return
				}
				next(w, r)
			}
		}
		f.on("GET /api/v1/namespaces/web/pods/x", only(reply(pod("x"), podGVK)))
		f.on("POST /api/v1/namespaces/web/pods", only(reply(pod("x"), podGVK)))
		c := f.client(Options{})
		if _, err := Create(t.Context(), c, pod("x")); err != nil || f.count() != 2 {
			t.Errorf("%d: create, %d requests: %v", code, f.count(), err)
		}
		if _, err := Get[corev1.Pod](t.Context(), c, key("x")); err != nil || f.count() != 3 {
			t.Errorf("%d: get, %d requests: %v", code, f.count(), err)
		}
	}
}

func TestGetQuery(t *testing.T) {
	f := newFake(t)
	c := f.client(Options{UserAgent: "me/1"})
	f.on("GET /api/v1/namespaces/web/pods/x/status", reply(pod("x"), podGVK))
	if _, err := Get[corev1.Pod](t.Context(), c, key("x"), AtVersion("0"), Sub("status")); err != nil {
		t.Fatal(err)
	}
	if got := f.last(); got.query.Get("resourceVersion") != "0" || got.header.Get("User-Agent") != "me/1" {
		t.Errorf("sent %v", got)
	}
}

func TestListPages(t *testing.T) {
	f := newFake(t)
	f.on("GET /api/v1/namespaces/web/pods", inTurn(podList("5", "t1", "a", "b"), podList("5", "t2", "c"), podList("5", "", "d")))
	c := f.client(Options{})
	got, errs := names(t, List[corev1.Pod](t.Context(), c, InNamespace("web"), AtVersion("3"), MatchingLabels{"app": "x"}))
	equal(t, "names", got, []string{"a", "b", "c", "d"})
	if len(errs) != 0 || f.count() != 3 {
		t.Errorf("%d requests, errors %v", f.count(), errs)
	}
	first, second := f.asked[0].query, f.asked[1].query
	if first.Get("limit") != "500" || first.Get("resourceVersion") != "3" || first.Get("labelSelector") != "app=x" {
		t.Errorf("first page asked for %v", first)
	}
	if second.Get("continue") != "t1" || second.Has("resourceVersion") || second.Has("resourceVersionMatch") || second.Get("labelSelector") != "app=x" {
		t.Errorf("second page asked for %v", second)
	}
}

func TestListStopsEarly(t *testing.T) {
	f := newFake(t)
	f.on("GET /api/v1/pods", podList("5", "more", "a", "b"))
	for range List[corev1.Pod](t.Context(), f.client(Options{})) {
		break
	}
	if f.count() != 1 {
		t.Errorf("%d requests", f.count())
	}
}

func TestListExpires(t *testing.T) {
	s := failureStatus(410, metav1.StatusReasonExpired)
	s.Continue = "newer"
	gone := answer(410, s)
	for _, tt := range []struct {
		name  string
		pages []http.HandlerFunc
		opts  []ListOption
		want  []string
		gone  bool
	}{
		{"after objects were yielded", []http.HandlerFunc{podList("5", "t", "a"), gone}, nil, []string{"a"}, true},
		{"and newer ones may follow", []http.HandlerFunc{podList("5", "t", "a"), gone, podList("9", "", "b")}, []ListOption{AllowInconsistent{}}, []string{"a", "b"}, false},
		{"before any was", []http.HandlerFunc{podList("5", "t"), gone, podList("9", "", "a", "b")}, nil, []string{"a", "b"}, false},
		{"the token of the caller", []http.HandlerFunc{gone}, []ListOption{Continue("old")}, nil, true},
		{"for ever", []http.HandlerFunc{podList("5", "t", "a"), gone}, []ListOption{AllowInconsistent{}}, []string{"a"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t)
			f.on("GET /api/v1/pods", inTurn(tt.pages...))
			got, errs := names(t, List[corev1.Pod](t.Context(), f.client(Options{}), tt.opts...))
			equal(t, "names", got, tt.want)
			if tt.gone != (len(errs) == 1 && IsExpired(errs[0])) {
				t.Errorf("errors %v", errs)
			}
		})
	}
}

// One object that cannot be decoded is reported; the others come.
func TestListBadObject(t *testing.T) {
	f := newFake(t)
	f.on("GET /api/v1/pods", text(200, "application/json", `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[
		{"metadata":{"name":"a","namespace":"web"}},
		{"metadata":{"name":"b","namespace":"web"},"spec":{"containers":"none"}},
		{"metadata":{"name":"c","namespace":"web"}}]}`))
	c := f.client(Options{})
	got, errs := names(t, List[corev1.Pod](t.Context(), c))
	equal(t, "names", got, []string{"a", "c"})
	if len(errs) != 1 {
		t.Fatalf("errors %v", errs)
	}
	if e, ok := asType[*wire.DecodeError](errs[0]); !ok || e.Key != key("b") {
		t.Errorf("got %v", errs[0])
	}
	page, err := ListPage[corev1.Pod](t.Context(), c)
	if len(page.Items) != 2 || page.ResourceVersion != "5" || !is[*wire.DecodeError](err) {
		t.Errorf("page %v, %v", page, err)
	}
}

func TestListBadAnswers(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"a Table":        text(200, "application/json", `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`),
		"other kind":     text(200, "application/json", `{"kind":"NodeList","apiVersion":"v1","items":[]}`),
		"HTML":           text(200, "text/html", `<html>`),
		"truncated":      text(200, "application/json", `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":`),
		"garbage":        text(200, "application/json", `{]`),
		"garbage (pb)":   text(200, "application/vnd.kubernetes.protobuf", "k8s\x00\xff\xff\xff"),
		"a single Pod":   reply(pod("x"), podGVK),
		"not even bytes": text(200, "application/json", ""),
	} {
		f := newFake(t)
		f.on("GET /api/v1/pods", h)
		_, errs := names(t, List[corev1.Pod](t.Context(), f.client(Options{})))
		if len(errs) != 1 || !is[*BadAnswer](errs[0]) {
			t.Errorf("%s: got %v", name, errs)
		}
	}
	f := newFake(t)
	f.on("GET /api/v1/pods", answer(200, failureStatus(410, metav1.StatusReasonExpired)))
	if _, errs := names(t, List[corev1.Pod](t.Context(), f.client(Options{}))); len(errs) != 1 || !IsExpired(errs[0]) {
		t.Errorf("a Status: got %v", errs)
	}
}

func TestListPage(t *testing.T) {
	f := newFake(t)
	f.on("GET /api/v1/pods", inTurn(podList("5", "t", "a", "b"), podList("5", "", "c")))
	c := f.client(Options{})
	p, err := ListPage[corev1.Pod](t.Context(), c, Limit(2))
	if err != nil || len(p.Items) != 2 || p.Continue != "t" || p.ResourceVersion != "5" || p.Remaining != 3 {
		t.Errorf("first: %+v, %v", p, err)
	}
	p, err = ListPage[corev1.Pod](t.Context(), c, Limit(2), Continue(p.Continue))
	if err != nil || len(p.Items) != 1 || p.Continue != "" || p.Remaining != 0 {
		t.Errorf("second: %+v, %v", p, err)
	}
	p, err = ListPage[corev1.Pod](t.Context(), struct{ Reader }{c}) // a reader without pages
	if err != nil || len(p.Items) != 1 {
		t.Errorf("no pages: %+v, %v", p, err)
	}
}

// Selectors that match nothing must not reach the server, to which they would mean everything.
func TestNothing(t *testing.T) {
	for name, o := range map[string]SelectorOption{
		"labels": MatchingSelector(labels.Nothing()), "fields": MatchingFieldSelector(fields.Nothing()),
	} {
		f := newFake(t)
		c := f.client(Options{})
		got, errs := names(t, List[corev1.Pod](t.Context(), c, MatchingLabels{"a": "b"}, MatchingFields{"metadata.name": "x"}, o, MatchingLabels{"c": "d"}))
		if len(got)+len(errs) > 0 {
			t.Errorf("%s: list: %v, %v", name, got, errs)
		}
		if err := DeleteAll[corev1.Pod](t.Context(), c, InNamespace("web"), o); err != nil {
			t.Errorf("%s: delete: %v", name, err)
		}
		if _, err := Watch[corev1.Pod](t.Context(), c, o); !is[*InvalidSelector](err) {
			t.Errorf("%s: watch: %v", name, err)
		}
		if _, err := c.Feed(podGVK, FeedOptions{Labels: o.labels, Fields: o.fields}).List(t.Context(), ListQuery{}); !is[*InvalidSelector](err) {
			t.Errorf("%s: feed: %v", name, err)
		}
		if f.count() != 0 {
			t.Errorf("%s: %d requests were sent", name, f.count())
		}
	}
}

func TestSelectors(t *testing.T) {
	sel := labels.SelectorFromSet(labels.Set{"tier": "a"})
	o, err := NewListOptions(MatchingLabels{"app": "x"}, LabelSelector("env in (p, q)"), MatchingSelector(sel), MatchingSelector(nil),
		MatchingFields{"metadata.name": "n"}, FieldSelector("spec.nodeName!=m"))
	if err != nil {
		t.Fatal(err)
	}
	if got := o.Labels.String(); got != "app=x,env in (p,q),tier=a" {
		t.Errorf("labels %q", got)
	}
	if got := o.Fields.String(); got != "metadata.name=n,spec.nodeName!=m" {
		t.Errorf("fields %q", got)
	}
	f := newFake(t)
	for name, bad := range map[string]interface {
		ListOption
		WriteOption
	}{
		"label": LabelSelector("a in ("), "field": FieldSelector("a"), "label value": MatchingLabels{"a": "no spaces"}, "label key": MatchingLabels{"\xff": "x"},
	} {
		_, errs := names(t, List[corev1.Pod](t.Context(), f.client(Options{}), bad))
		if len(errs) != 1 || !is[*InvalidSelector](errs[0]) {
			t.Errorf("%s: got %v", name, errs)
		}
		if err := DeleteAll[corev1.Pod](t.Context(), f.client(Options{}), bad); !is[*InvalidSelector](err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if f.count() != 0 {
		t.Error("a request was sent")
	}
}

func FuzzSelectors(f *testing.F) {
	for _, s := range []string{"", "a=b", "a in (b, c)", "!a", "a notin (", "x\xff=y", "a=b,c!=d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, opt := range []ListOption{LabelSelector(s), FieldSelector(s)} {
			o, err := NewListOptions(opt)
			if err != nil && !is[*InvalidSelector](err) {
				t.Fatalf("got %T", err)
			}
			if err == nil && matchesNothing(&o) {
				t.Fatalf("%q matches nothing", s)
			}
		}
	})
}

// feedFrames is a watch as a server sends it.
const feedFrames = `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"web","resourceVersion":"1"}}}
{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"web","resourceVersion":"2"},"spec":{"containers":"none"}}}
{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"3","annotations":{"k8s.io/initial-events-end":"true"}}}}
{"type":"DELETED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"web","resourceVersion":"4"}}}
`

const goneFrame = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old resource version"}}
`

func TestFeed(t *testing.T) {
	f := newFake(t)
	c := f.serve(Options{})
	feed := c.Feed(podGVK, FeedOptions{Namespace: "web", Labels: labels.SelectorFromSet(labels.Set{"a": "b"}), Fields: fields.OneTermEqualSelector("spec.nodeName", "n")})
	f.on("GET /api/v1/namespaces/web/pods", podList("5", "", "a", "b"))
	l, err := feed.List(t.Context(), ListQuery{ResourceVersion: "0", Match: metav1.ResourceVersionMatchNotOlderThan, Limit: 7})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 2 {
		raw, err := l.Next()
		if err != nil || raw.Kind != feed.Kind() || raw.Encoding != wire.Protobuf {
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
	w, err := feed.Watch(t.Context(), WatchQuery{ResourceVersion: "5", SendInitialEvents: true, Timeout: 90 * 1e9})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, want := range []wire.EventType{wire.Added, wire.Modified, wire.Bookmark, wire.Deleted, wire.Error} {
		fr, err := w.Next()
		if err != nil || fr.Type != want {
			t.Errorf("got %v, %v, want %v", fr.Type, err, want)
		}
		if fr.Type == wire.Error && !IsExpired(feed.StatusError(fr.Status)) {
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
}

func TestFeedAccept(t *testing.T) {
	f := newFake(t)
	c := f.client(Options{})
	f.on("GET /apis/example.com/v1/widgets", text(200, "text/html", ""))
	f.on("GET /api/v1/pods", text(200, "text/html", ""))
	for _, tt := range []struct {
		gvk  schema.GroupVersionKind
		o    FeedOptions
		want string
	}{
		{podGVK, FeedOptions{}, wire.AcceptProtobuf},
		{widgetGVK, FeedOptions{}, wire.AcceptJSON},
		{podGVK, FeedOptions{Metadata: true}, wire.AcceptMetadataList},
		{widgetGVK, FeedOptions{Metadata: true}, wire.AcceptMetadataList},
	} {
		_, err := c.Feed(tt.gvk, tt.o).List(t.Context(), ListQuery{})
		if !is[*BadAnswer](err) {
			t.Errorf("HTML: got %v", err)
		}
		if a := f.last().header.Get("Accept"); a != tt.want {
			t.Errorf("%v %+v: Accept %q", tt.gvk.Kind, tt.o, a)
		}
	}
	_, err := c.Feed(podGVK, FeedOptions{Metadata: true}).Watch(t.Context(), WatchQuery{})
	if a := f.last().header.Get("Accept"); a != wire.AcceptMetadata || !is[*BadAnswer](err) {
		t.Errorf("metadata watch: Accept %q, %v", a, err)
	}
}

func TestWatch(t *testing.T) {
	f := newFake(t)
	c := f.serve(Options{})
	events := func(body string) (types []wire.EventType, versions []string, errs []error) {
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
			if (ev.Object == nil) != (ev.Type == wire.Bookmark) {
				t.Errorf("%v with object %v", ev.Type, ev.Object)
			}
			types, versions = append(types, ev.Type), append(versions, ev.ResourceVersion)
		}
		return types, versions, errs
	}

	types, versions, errs := events(feedFrames)
	equal(t, "types", types, []wire.EventType{wire.Added, wire.Bookmark, wire.Deleted})
	equal(t, "versions", versions, []string{"1", "3", "4"})
	if len(errs) != 2 || !is[*wire.DecodeError](errs[0]) {
		t.Fatalf("errors %v", errs)
	}
	if e, ok := asType[*WatchClosed](errs[1]); !ok || e.ResourceVersion != "4" || !errors.Is(errs[1], io.EOF) {
		t.Errorf("end: %v", errs[1])
	}
	if q := f.last().query; q.Get("resourceVersion") != "1" || q.Get("watch") != "true" || q.Has("limit") || q.Get("timeoutSeconds") == "" {
		t.Errorf("asked for %v", q)
	}

	if _, _, errs = events(goneFrame); len(errs) != 1 || !IsExpired(errs[0]) {
		t.Errorf("410: %v", errs)
	}
	if _, _, errs = events(feedFrames[:60]); len(errs) != 1 || !is[*BadAnswer](errs[0]) || !errors.Is(errs[0], io.ErrUnexpectedEOF) {
		t.Errorf("cut: %v", errs)
	}
	if _, _, errs = events("{]"); len(errs) != 1 || !is[*BadAnswer](errs[0]) {
		t.Errorf("garbage: %v", errs)
	}
	f.on("GET /api/v1/namespaces/web/pods", text(200, "text/html", "<html>"))
	if _, err := Watch[corev1.Pod](t.Context(), c, InNamespace("web")); !is[*BadAnswer](err) {
		t.Errorf("HTML: %v", err)
	}
}

// Stop ends a loop that waits, without an error; the end of ctx does with one.
func TestWatchStop(t *testing.T) {
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
		if ev.Type == wire.Added {
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
