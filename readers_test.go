package flyball

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// exactly sets all options of a list, or of the selection of a DeleteAll.
type exactly client.ListOptions

func (e exactly) ApplyToList(o *client.ListOptions) { *o = client.ListOptions(e) }
func (e exactly) ApplyToWrite(op *client.Op)        { op.Select = client.ListOptions(e) }

// exactlyGet sets all options of a Get.
type exactlyGet client.GetOptions

func (e exactlyGet) ApplyToGet(o *client.GetOptions) { *o = client.GetOptions(e) }

// podServer serves three Pods, selects and pages as an API server does, and keeps what it was asked.
type podServer struct {
	mu      sync.Mutex
	asked   []string
	expired bool // the second page of a list has expired
}

func (s *podServer) requests() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.asked = nil }()
	return strings.Join(s.asked, " ")
}

func (s *podServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch r.URL.Path {
	case "/api":
		answer(w, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
		return
	case "/apis":
		answer(w, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}})
		return
	case "/api/v1":
		answer(w, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "v1",
			APIResources: []metav1.APIResource{{Name: "pods", Kind: "Pod", Namespaced: true}}})
		return
	}
	s.mu.Lock()
	q.Del("timeoutSeconds") // it is random
	s.asked = append(s.asked, r.Method+" "+r.URL.Path+"?"+q.Encode())
	expired := s.expired
	s.mu.Unlock()
	namespace, rest := "", strings.TrimPrefix(r.URL.Path, "/api/v1/")
	if after, ok := strings.CutPrefix(rest, "namespaces/"); ok {
		namespace, rest, _ = strings.Cut(after, "/")
	}
	_, name, named := strings.Cut(rest, "/")
	name, _, _ = strings.Cut(name, "/")
	var found []corev1.Pod
	for i, p := range []*corev1.Pod{testobj.Pod("web/a", testobj.Labels("app=x")), testobj.Pod("web/b", testobj.Labels("app=y")), testobj.Pod("web/c", testobj.Labels("app=x"))} {
		if p.Name == "c" {
			p.Namespace = "ops"
		}
		p.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		p.UID, p.ResourceVersion = p.UID+"u", fmt.Sprint(10+i)
		byLabel, _ := labels.Parse(q.Get("labelSelector"))
		byField, _ := fields.ParseSelector(q.Get("fieldSelector"))
		if (namespace == "" || namespace == p.Namespace) && (!named || name == p.Name) &&
			byLabel.Matches(labels.Set(p.Labels)) && byField.Matches(fields.Set{"metadata.name": p.Name}) {
			found = append(found, *p)
		}
	}
	switch {
	case r.Method != http.MethodGet:
		answer(w, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess})
	case named && len(found) == 0:
		status(w, http.StatusNotFound, "not found", metav1.StatusReasonNotFound)
	case named:
		answer(w, found[0])
	case q.Get("watch") != "":
		w.Header().Set("Content-Type", "application/json")
		if q.Get("sendInitialEvents") != "" {
			for _, p := range found {
				json.NewEncoder(w).Encode(map[string]any{"type": "ADDED", "object": p})
			}
			json.NewEncoder(w).Encode(map[string]any{"type": "BOOKMARK", "object": map[string]any{"apiVersion": "v1", "kind": "Pod",
				"metadata": map[string]any{"resourceVersion": "20", "annotations": map[string]string{"k8s.io/initial-events-end": "true"}}}})
		}
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	default:
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "20"}, Items: found}
		from, limit := 0, 0
		fmt.Sscan(q.Get("limit"), &limit)
		if token := q.Get("continue"); token != "" {
			if expired && token == "1" {
				gone := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
					Code: http.StatusGone, Reason: metav1.StatusReasonExpired, ListMeta: metav1.ListMeta{Continue: "01"}}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusGone)
				json.NewEncoder(w).Encode(gone)
				return
			}
			fmt.Sscan(token, &from)
		}
		list.Items = found[min(from, len(found)):]
		if limit > 0 && len(list.Items) > limit {
			list.Items, list.Continue = list.Items[:limit], fmt.Sprint(from+limit)
		}
		answer(w, list)
	}
}

// podName is a view of a Pod.
type podName struct {
	Name string `field:"metadata.name"`
}

// said is the names that a read has found and its error, as a text.
func said[V any](all iter.Seq2[V, error], name func(V) string) string {
	var b strings.Builder
	for v, err := range all {
		if err != nil {
			fmt.Fprintf(&b, " %v", err)
			break
		}
		b.WriteString(" " + name(v))
	}
	return b.String()
}

func saidOne(name string, err error) string {
	return said(func(yield func(string, error) bool) { yield(name, err) }, func(s string) string { return s })
}

func saidPage(p client.Page[*corev1.Pod], err error) string {
	if err != nil {
		return saidOne("", err)
	}
	return said(func(yield func(*corev1.Pod, error) bool) {
		for _, o := range p.Items {
			yield(o, nil)
		}
	}, (*corev1.Pod).GetName) + " then " + p.Continue
}

// readers are all that read by options, on one server and one cache.
type readers struct {
	server *podServer
	list   map[string]func(context.Context, client.ListOptions) string
	get    map[string]func(context.Context, client.GetOptions) string
	token  map[string]string // of the second page, by the first word of a reader's name
}

func newReaders(t *testing.T) *readers {
	ctx := t.Context()
	s := &podServer{}
	srv := httptest.NewServer(s)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	live, err := client.New(&rest.Config{Host: srv.URL}, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(live.Close)
	held, err := cache.New(cache.Connect(live), cache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.Open(ctx, &corev1.Pod{}, client.Selection{}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	running, stop := context.WithCancel(ctx)
	go func() { defer close(ended); _ = held.Run(running) }()
	t.Cleanup(func() { stop(); <-ended })
	bound, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if err := held.WaitForSync(bound); err != nil {
		t.Fatal(err)
	}
	fenced := live.Fenced(func(client.Call) error { return nil })
	manager := &reads{Client: live, live: live, cache: held}

	r := &readers{server: s, list: map[string]func(context.Context, client.ListOptions) string{}, get: map[string]func(context.Context, client.GetOptions) string{}, token: map[string]string{"live": "1", "fenced": "1"}}
	key := object.Key{Namespace: "web", Name: "a"}
	for name, c := range map[string]client.Reader{"live": live, "fenced": fenced, "cache": held, "manager": manager} {
		r.list[name+" List"] = func(ctx context.Context, o client.ListOptions) string {
			return said(client.List[corev1.Pod](ctx, c, exactly(o)), (*corev1.Pod).GetName)
		}
		r.list[name+" ListPage"] = func(ctx context.Context, o client.ListOptions) string {
			return saidPage(client.ListPage[corev1.Pod](ctx, c, exactly(o)))
		}
		r.list[name+" ProjectList"] = func(ctx context.Context, o client.ListOptions) string {
			return said(client.ProjectList[corev1.Pod, podName](ctx, c, exactly(o)), func(v podName) string { return v.Name })
		}
		r.get[name+" Get"] = func(ctx context.Context, o client.GetOptions) string {
			p, err := client.Get[corev1.Pod](ctx, c, key, exactlyGet(o))
			return saidOne((*corev1.Pod).GetName(cmpPod(p)), err)
		}
		r.get[name+" Project"] = func(ctx context.Context, o client.GetOptions) string {
			v, err := client.Project[corev1.Pod, podName](ctx, c, key, exactlyGet(o))
			return saidOne(v.Name, err)
		}
	}
	r.list["cache Headers"] = func(ctx context.Context, o client.ListOptions) string {
		return said(cache.Headers[corev1.Pod](ctx, held, exactly(o)), (*object.Header).GetName)
	}
	r.get["cache Header"] = func(ctx context.Context, o client.GetOptions) string {
		h, err := cache.Header[corev1.Pod](ctx, held, key, exactlyGet(o))
		if err != nil {
			return saidOne("", err)
		}
		return saidOne(h.Name, nil)
	}
	r.list["live Watch"] = func(ctx context.Context, o client.ListOptions) string {
		w, err := client.Watch[corev1.Pod](ctx, live, exactly(o))
		if err != nil {
			return saidOne("", err)
		}
		w.Stop()
		return ""
	}
	r.list["live DeleteAll"] = func(ctx context.Context, o client.ListOptions) string {
		return saidOne("", client.DeleteAll[corev1.Pod](ctx, live, exactly(o)))
	}
	page, err := client.ListPage[corev1.Pod](ctx, held, client.ListOptions{Limit: 1})
	if err != nil || page.Continue == "" {
		t.Fatalf("no token of a cache: %v", err)
	}
	r.token["cache"], r.token["manager"] = page.Continue, page.Continue
	s.requests()
	return r
}

func cmpPod(p *corev1.Pod) *corev1.Pod {
	if p == nil {
		return &corev1.Pod{}
	}
	return p
}

// optionsOf are the names of all options of a struct, those of embedded ones included.
func optionsOf[T any]() []string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if !f.Anonymous && f.IsExported() {
			names = append(names, f.Name)
		}
	}
	return names
}

// TestNoReaderIgnoresAnOption reads with each option and without it. A reader honors the option, so that
// the answer or the request is another one, or it fails. An option that has no meaning for a reader by
// its documentation is listed here, with the reason. A new option fails the test until it is here.
func TestNoReaderIgnoresAnOption(t *testing.T) {
	const (
		bounds  = "Limit bounds pages and memory, never what a list yields"
		forever = "a token of a cache never expires"
		onePage = "a page is one request"
		isLive  = "the server is asked anyway"
		covered = "TestUnavailable in package cache reads through every door"
	)
	r := newReaders(t)
	wrong := appsv1.SchemeGroupVersion.WithKind("Deployment")
	lists := map[string]struct {
		set     func(reader string, o *client.ListOptions)
		base    client.ListOptions // what it is added to
		excused map[string]string  // the reason, by reader
	}{
		"Kind":         {set: func(_ string, o *client.ListOptions) { o.Kind = wrong }},
		"Namespace":    {set: func(_ string, o *client.ListOptions) { o.Namespace = "ops" }},
		"Labels":       {set: func(_ string, o *client.ListOptions) { o.Labels = labels.SelectorFromSet(labels.Set{"app": "y"}) }},
		"Fields":       {set: func(_ string, o *client.ListOptions) { o.Fields = fields.OneTermEqualSelector("metadata.name", "b") }},
		"MetadataOnly": {set: func(_ string, o *client.ListOptions) { o.MetadataOnly = true }},
		"Limit": {set: func(_ string, o *client.ListOptions) { o.Limit = 1 }, excused: map[string]string{
			"cache List": bounds, "cache ProjectList": bounds, "cache Headers": bounds, "manager List": bounds, "manager ProjectList": bounds,
		}},
		"Continue": {set: func(reader string, o *client.ListOptions) {
			o.Continue = r.token[strings.Fields(reader)[0]]
		}},
		"ResourceVersion": {set: func(_ string, o *client.ListOptions) { o.ResourceVersion = "77" }},
		"Match":           {set: func(_ string, o *client.ListOptions) { o.Match = metav1.ResourceVersionMatchExact }},
		"Inconsistent": {set: func(_ string, o *client.ListOptions) { o.Inconsistent = true }, base: client.ListOptions{Limit: 1}, excused: map[string]string{
			"live ListPage": onePage, "fenced ListPage": onePage,
			"cache List": forever, "cache ListPage": forever, "cache ProjectList": forever, "cache Headers": forever,
			"manager List": forever, "manager ListPage": forever, "manager ProjectList": forever,
		}},
		"EvenUnavailable": {set: func(_ string, o *client.ListOptions) { o.EvenUnavailable = true }, excused: map[string]string{
			"live List": isLive, "live ListPage": isLive, "live ProjectList": isLive, "live Watch": isLive,
			"fenced List": isLive, "fenced ListPage": isLive, "fenced ProjectList": isLive,
			"cache List": covered, "cache ListPage": covered, "cache ProjectList": covered, "cache Headers": covered,
			"manager List": covered, "manager ListPage": covered, "manager ProjectList": covered,
		}},
	}
	for _, field := range optionsOf[client.ListOptions]() {
		tc, ok := lists[field]
		if !ok {
			t.Errorf("ListOptions.%s: say here how a reader honors it", field)
			continue
		}
		r.server.expired = field == "Inconsistent"
		for name, read := range r.list {
			base := tc.base
			if name == "live Watch" || name == "live DeleteAll" {
				base = client.ListOptions{}
			}
			with := base
			tc.set(name, &with)
			compare(t, "ListOptions."+field, name, tc.excused[name], r.server, func() string { return read(t.Context(), base) }, func() string { return read(t.Context(), with) })
		}
	}
	gets := map[string]struct {
		set     func(*client.GetOptions)
		excused map[string]string
	}{
		"Kind":            {set: func(o *client.GetOptions) { o.Kind = wrong }},
		"ResourceVersion": {set: func(o *client.GetOptions) { o.ResourceVersion = "77" }},
		"Live": {set: func(o *client.GetOptions) { o.Live = true }, excused: map[string]string{
			"live Get": isLive, "live Project": isLive, "fenced Get": isLive, "fenced Project": isLive,
		}},
		"Subresource": {set: func(o *client.GetOptions) { o.Subresource = "status" }},
		"Parent":      {set: func(o *client.GetOptions) { o.Parent = wrong }},
		"EvenUnavailable": {set: func(o *client.GetOptions) { o.EvenUnavailable = true }, excused: map[string]string{
			"live Get": isLive, "live Project": isLive, "fenced Get": isLive, "fenced Project": isLive,
			"cache Get": covered, "cache Project": covered, "cache Header": covered, "manager Get": covered, "manager Project": covered,
		}},
	}
	for _, field := range optionsOf[client.GetOptions]() {
		tc, ok := gets[field]
		if !ok {
			t.Errorf("GetOptions.%s: say here how a reader honors it", field)
			continue
		}
		for name, read := range r.get {
			var with client.GetOptions
			tc.set(&with)
			compare(t, "GetOptions."+field, name, tc.excused[name], r.server, func() string { return read(t.Context(), client.GetOptions{}) }, func() string { return read(t.Context(), with) })
		}
	}
}

// compare fails where a read with an option is as one without it, but for an excuse, and where an
// excused one is not.
func compare(t *testing.T, option, reader, excuse string, s *podServer, without, with func() string) {
	t.Helper()
	s.requests()
	plain := without() + " " + s.requests()
	changed := with() + " " + s.requests()
	if excuse == "" && plain == changed {
		t.Errorf("%s ignores %s: %s", reader, option, plain)
	} else if excuse != "" && plain != changed {
		t.Errorf("%s does not ignore %s, although %s: %s, then %s", reader, option, excuse, plain, changed)
	}
}

// A feed lists and watches what its selection says: each part of it is in the request.
func TestNoFeedIgnoresItsSelection(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "pods") {
			mu.Lock()
			asked = append(asked, r.URL.String()+" "+r.Header.Get("Accept"))
			mu.Unlock()
		}
		(&podServer{}).ServeHTTP(w, r)
	}))
	defer srv.Close()
	live, err := client.New(&rest.Config{Host: srv.URL}, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	ask := func(sel client.Selection) []string {
		feed := live.Feed(corev1.SchemeGroupVersion.WithKind("Pod"), sel)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if l, err := feed.List(ctx, wire.ListQuery{}); err == nil {
			l.Close()
		}
		if w, err := feed.Watch(ctx, wire.WatchQuery{ResourceVersion: "20"}); err == nil {
			w.Close()
		}
		mu.Lock()
		defer mu.Unlock()
		defer func() { asked = nil }()
		return asked
	}
	all := ask(client.Selection{})
	settings := map[string]client.Selection{
		"Namespace":    {Namespace: "ops"},
		"Labels":       {Labels: labels.SelectorFromSet(labels.Set{"app": "y"})},
		"Fields":       {Fields: fields.OneTermEqualSelector("metadata.name", "b")},
		"MetadataOnly": {MetadataOnly: true},
	}
	for _, field := range optionsOf[client.Selection]() {
		sel, ok := settings[field]
		if !ok {
			t.Errorf("Selection.%s: say here what it is", field)
			continue
		}
		got := ask(sel)
		if len(got) != 2 || len(all) != 2 || got[0] == all[0] || got[1] == all[1] {
			t.Errorf("%s: asked %q, without it %q", field, got, all)
		}
		if sel.String() == "" {
			t.Errorf("%s is not in the text of a selection", field)
		}
	}
	if !slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, "watch=true") }) {
		t.Error("nothing was watched: the test is blind")
	}
}
