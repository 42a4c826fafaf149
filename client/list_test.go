package client

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/paging"
	"github.com/flyball-io/flyball/internal/wire"
)

func TestListFollowsItsPages(t *testing.T) {
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

// Pages that repeat are an error.
func TestListThatDoesNotEnd(t *testing.T) {
	for name, page := range map[string]http.HandlerFunc{
		"one token": podList("5", "t1", "a"),
		"a cycle":   inTurn(podList("5", "t1", "a"), podList("5", "t2", "b"), podList("5", "t1", "a"), podList("5", "t2", "b")),
	} {
		f := newFake(t)
		f.on("GET /api/v1/pods", page)
		_, errs := names(t, List[corev1.Pod](t.Context(), f.client(Options{})))
		if len(errs) != 1 || !errors.Is(errs[0], paging.ErrEndless) || f.count() > 3 {
			t.Errorf("%s: %d requests, %v", name, f.count(), errs)
		}
	}
}

// A second range over the sequence starts from the first page.
func TestListStartsAgainInASecondLoop(t *testing.T) {
	f := newFake(t)
	f.on("GET /api/v1/pods", inTurn(podList("5", "t1", "a"), podList("5", "", "b"), podList("5", "", "all")))
	seq := f.client(Options{}).List(t.Context(), &corev1.Pod{}, ListOptions{})
	for range 2 {
		for _, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if q := f.asked[2].query; q.Has("continue") {
		t.Errorf("the second time started at %v", q)
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

// Objects of long pages come in order. A page is requested when the one before it has been read.
func TestLongPagesAreReadInOrder(t *testing.T) {
	var want []string
	for i := range 250 {
		want = append(want, fmt.Sprintf("pod-%03d", i))
	}
	f := newFake(t)
	f.on("GET /api/v1/pods", inTurn(podList("5", "t1", want[:100]...), podList("5", "t2", want[100:200]...), podList("5", "", want[200:]...)))
	i := 0
	for p, err := range List[corev1.Pod](t.Context(), f.client(Options{})) {
		if err != nil || p.Name != want[i] {
			t.Fatalf("%d is %v, %v", i, p, err)
		}
		if pages := i/100 + 1; f.count() != pages {
			t.Fatalf("%d requests at object %d", f.count(), i)
		}
		i++
	}
	if i != len(want) {
		t.Errorf("%d of %d", i, len(want))
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
		{"and newer ones may follow", []http.HandlerFunc{podList("5", "t", "a"), gone, podList("9", "", "b")}, []ListOption{ListOptions{Inconsistent: true}}, []string{"a", "b"}, false},
		{"before any was", []http.HandlerFunc{podList("5", "t"), gone, podList("9", "", "a", "b")}, nil, []string{"a", "b"}, false},
		{"the token of the caller", []http.HandlerFunc{gone}, []ListOption{ListOptions{Continue: "old"}}, nil, true},
		{"for ever", []http.HandlerFunc{podList("5", "t", "a"), gone}, []ListOption{ListOptions{Inconsistent: true}}, []string{"a"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t)
			f.on("GET /api/v1/pods", inTurn(tt.pages...))
			got, errs := names(t, List[corev1.Pod](t.Context(), f.client(Options{}), tt.opts...))
			equal(t, "names", got, tt.want)
			if tt.gone != (len(errs) == 1 && is[*GoneError](errs[0])) {
				t.Errorf("errors %v", errs)
			}
		})
	}
}

// An object that cannot be decoded is reported, and the others are yielded.
func TestListReportsAnUndecodableObject(t *testing.T) {
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

func TestUnreadableListIsAnError(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"a Table":        text(200, "application/json", `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`),
		"other kind":     text(200, "application/json", `{"kind":"NodeList","apiVersion":"v1","items":[]}`),
		"HTML":           text(200, "text/html", `<html>`),
		"truncated":      text(200, "application/json", `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":`),
		"garbage":        text(200, "application/json", `{]`),
		"garbage (pb)":   text(200, "application/vnd.kubernetes.protobuf", "k8s\x00\xff\xff\xff"),
		"a single Pod":   reply(pod("x"), podGVK),
		"not even bytes": text(200, "application/json", ""),
		"a Status":       answer(200, failureStatus(410, metav1.StatusReasonExpired)),
	} {
		f := newFake(t)
		f.on("GET /api/v1/pods", h)
		_, errs := names(t, List[corev1.Pod](t.Context(), f.client(Options{})))
		if len(errs) != 1 || !is[*ResponseError](errs[0]) {
			t.Errorf("%s: got %v", name, errs)
		}
	}
}

func TestListPageReadsOnePage(t *testing.T) {
	f := newFake(t)
	f.on("GET /api/v1/pods", inTurn(podList("5", "t", "a", "b"), podList("5", "", "c")))
	c := f.client(Options{})
	p, err := ListPage[corev1.Pod](t.Context(), c, ListOptions{Limit: 2})
	if err != nil || len(p.Items) != 2 || p.Continue != "t" || p.ResourceVersion != "5" || p.Remaining != 3 {
		t.Errorf("first: %+v, %v", p, err)
	}
	p, err = ListPage[corev1.Pod](t.Context(), c, ListOptions{Limit: 2, Continue: p.Continue})
	if err != nil || len(p.Items) != 1 || p.Continue != "" || p.Remaining != 0 {
		t.Errorf("second: %+v, %v", p, err)
	}
	p, err = ListPage[corev1.Pod](t.Context(), struct{ Reader }{c}) // a reader that is no PartialReader
	if err != nil || len(p.Items) != 1 {
		t.Errorf("no pages: %+v, %v", p, err)
	}
}
