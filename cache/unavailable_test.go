package cache_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reflector"
)

type widgetView struct {
	metav1.ObjectMeta `json:"metadata"`
}

// readers returns all ways to read a kind, by name. Each returns the number of objects found.
func (w *watched) readers(name string, even bool) map[string]func() (int, error) {
	ctx, key := w.t.Context(), object.Key{Namespace: "ns", Name: name}
	get := []client.GetOption{client.OfKind(w.gvk)}
	list := []client.ListOption{client.OfKind(w.gvk)}
	var opts []informer.ReadOption
	if even {
		get, list = append(get, client.GetOptions{EvenUnavailable: true}), append(list, client.ListOptions{EvenUnavailable: true})
		opts = append(opts, informer.EvenUnavailable)
	}
	in := w.handle.Informer()
	one := func(err error) (int, error) {
		if err != nil {
			return 0, err
		}
		return 3, nil
	}
	lister := func() informer.Lister[unstructured.Unstructured] {
		l, err := informer.NewLister[unstructured.Unstructured](in)
		if err != nil {
			w.t.Fatal(err)
		}
		return l.With(opts...)
	}
	return map[string]func() (int, error){
		"Get": func() (int, error) {
			_, err := client.Get[unstructured.Unstructured](ctx, w.cache, key, get...)
			return one(err)
		},
		"List": func() (n int, err error) {
			for _, err := range client.List[unstructured.Unstructured](ctx, w.cache, list...) {
				if err != nil {
					return n, err
				}
				n++
			}
			return n, nil
		},
		"List by index": func() (n int, err error) {
			for _, err := range client.List[unstructured.Unstructured](ctx, w.cache, append(list, client.MatchingFields{"metadata.uid": "u1"})...) {
				if err != nil {
					return n, err
				}
				n += 3
			}
			return n, nil
		},
		"Page": func() (int, error) {
			p, err := client.ListPage[unstructured.Unstructured](ctx, w.cache, list...)
			return len(p.Items), err
		},
		"Header": func() (int, error) {
			_, err := cache.Header[unstructured.Unstructured](ctx, w.cache, key, get...)
			return one(err)
		},
		"Headers": func() (n int, err error) {
			for _, err := range cache.Headers[unstructured.Unstructured](ctx, w.cache, list...) {
				if err != nil {
					return n, err
				}
				n++
			}
			return n, nil
		},
		"Project": func() (int, error) {
			proto := &unstructured.Unstructured{}
			proto.SetGroupVersionKind(w.gvk)
			return one(w.cache.Project(ctx, key, proto, &widgetView{}, client.GetOptions{EvenUnavailable: even}))
		},
		"ProjectList": func() (n int, err error) {
			proto := &unstructured.Unstructured{}
			proto.SetGroupVersionKind(w.gvk)
			for err := range w.cache.ProjectList(ctx, proto, &widgetView{}, client.ListOptions{EvenUnavailable: even}) {
				if err != nil {
					return n, err
				}
				n++
			}
			return n, nil
		},
		"Snapshot": func() (int, error) {
			s, err := in.Snapshot(opts...)
			if err != nil {
				return 0, err
			}
			return s.Len(), nil
		},
		"Entry":           func() (int, error) { _, err := in.Entry(key, opts...); return one(err) },
		"informer.Header": func() (int, error) { _, err := in.Header(key, opts...); return one(err) },
		"Entries": func() (int, error) {
			all, err := in.Entries(informer.Query{EvenUnavailable: even})
			if err != nil {
				return 0, err
			}
			return len(slices.Collect(all)), nil
		},
		"Lister.Get":    func() (int, error) { _, err := lister().Get(key); return one(err) },
		"Lister.Header": func() (int, error) { _, err := lister().Header(key); return one(err) },
		"Lister.List":   func() (int, error) { all, err := lister().List("", nil); return len(all), err },
		"Lister.Headers": func() (n int, err error) {
			for _, err := range lister().Headers("", nil) {
				if err != nil {
					return n, err
				}
				n++
			}
			return n, nil
		},
	}
}

// While a kind is unavailable, every read returns an error with the start and the reason. Only
// reads with EvenUnavailable answer. The state reports it, and it ends by itself.
func TestUnavailableKindAnswersNoRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &apiServer{versions: []string{"v1", "v2"}}
		w := watchKind(t, s, widgetV1, cache.Options{})
		defer w.stop()
		if err := w.cache.AddIndex(widgetV1, "metadata.uid", informer.IndexPath("metadata.uid")); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		s.change(func() { s.versions = []string{"v2"} })
		time.Sleep(time.Minute)
		for name, read := range w.readers("widget-1", false) {
			n, err := read()
			var u *informer.UnavailableError
			if n != 0 || !errors.As(err, &u) || !errors.Is(err, object.ErrNoAnswer) {
				t.Errorf("%s: %d, %v", name, n, err)
				continue
			}
			if u.Kind != widgetV1 || u.Since.Sub(began) > 10*time.Second || !slices.Equal(u.Served, []string{"v2"}) ||
				!strings.Contains(err.Error(), "discovery has the kind in v2 only") {
				t.Errorf("%s: %v (since %v)", name, err, u.Since.Sub(began))
			}
		}
		for name, read := range w.readers("widget-1", true) {
			if n, err := read(); n != 3 || err != nil {
				t.Errorf("%s of what is held: %d, %v", name, n, err)
			}
		}
		state := w.handle.Informer().State()
		if state.Watch.Phase != reflector.Unavailable || state.Watch.Phase.Good() || state.Err == nil || state.Unavailable == nil {
			t.Errorf("%+v", state)
		}
		s.change(func() { s.fault = page(503, "text/plain", "later") })
		time.Sleep(time.Minute)
		if _, err := w.readers("widget-1", false)["Get"](); !errors.Is(err, object.ErrNoAnswer) {
			t.Errorf("while the server is away: %v", err)
		}
		s.change(func() { s.fault, s.versions = nil, []string{"v1", "v2"} })
		time.Sleep(time.Minute)
		for name, read := range w.readers("widget-1", false) {
			if n, err := read(); n != 3 || err != nil {
				t.Errorf("%s, served again: %d, %v", name, n, err)
			}
		}
		if state := w.handle.Informer().State(); state.Unavailable != nil || state.Watch.Phase != reflector.Synced || w.deleted() != 0 {
			t.Errorf("%+v, %d deletes", state, w.deleted())
		}
	})
}

// A kind that is not served at the start reports why it has not synced. Once it is served, it syncs
// by itself.
func TestUnservedKindTellsWhyAndSyncsLater(t *testing.T) {
	html := page(404, "text/html", "<html>nginx</html>")
	for name, test := range map[string]struct {
		server *apiServer
		want   string
	}{
		"another version": {&apiServer{versions: []string{"v2"}}, "discovery has the kind in v2 only"},
		"no version":      {&apiServer{}, "in no version"},
		"a page":          {&apiServer{fault: html}, "discovery cannot tell"},
		"a page for one path": {&apiServer{versions: []string{"v1"}, fault: func(r *http.Request) *http.Response {
			if strings.Contains(r.URL.Path, "widgets") {
				return html(r)
			}
			return nil
		}}, "although discovery has the kind"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := openKind(t, test.server, widgetV1, cache.Options{})
				defer w.stop()
				time.Sleep(time.Minute)
				get, _, list := w.read("widget-1")
				for _, err := range []error{get, list} {
					var unsynced *informer.NotSyncedError
					if !errors.As(err, &unsynced) || !strings.Contains(err.Error(), test.want) {
						t.Errorf("%v", err)
					}
				}
				test.server.change(func() { test.server.fault, test.server.versions = nil, []string{"v1"} })
				time.Sleep(time.Minute)
				if get, listed, list := w.read("widget-1"); get != nil || listed != 3 || list != nil {
					t.Errorf("it came: Get: %v; List: %d, %v", get, listed, list)
				}
			})
		})
	}
}
