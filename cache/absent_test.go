package cache_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/cache"
)

const crdName = "widgets.example.com"

func answer(code int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}
}

// definition answers with the CustomResourceDefinition of the widgets.
func definition(uid string) http.HandlerFunc {
	return answer(200, "application/json", `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"`+crdName+`","uid":"`+uid+`","resourceVersion":"1"}}`)
}

// missing answers as an API server without the definition of a name.
func missing(name string) http.HandlerFunc {
	return answer(404, "application/json", `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"not found","reason":"NotFound","details":{"name":"`+name+`","group":"apiextensions.k8s.io","kind":"customresourcedefinitions"},"code":404}`)
}

func forbidden() http.HandlerFunc {
	return answer(403, "application/json", `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no","reason":"Forbidden","code":403}`)
}

// Absence is never deletion, in whatever form and however long. The one proof is the definition of a kind,
// read before, that the API server itself says is not there.
func TestAbsenceIsNeverDeletion(t *testing.T) {
	kinds := map[string]struct {
		gvk    schema.GroupVersionKind
		object string
		before http.HandlerFunc // the definition before the kind goes
	}{
		"built in":                   {configMapGVK, "cm-1", nil},
		"custom":                     {widgetV1, "widget-1", definition("first")},
		"custom, without the right":  {widgetV1, "widget-1", forbidden()},
		"custom, never read":         {widgetV1, "widget-1", answer(500, "text/plain", "later")},
		"of an aggregated server":    {widgetV1, "widget-1", missing(crdName)},
		"of a server without CRDs":   {widgetV1, "widget-1", answer(404, "text/plain", "404 page not found")},
		"custom, another definition": {widgetV1, "widget-1", definition("other")},
	}
	lists := map[string]func(s *apiServer){
		"not served": func(s *apiServer) { s.absent = true },
		"a page": func(s *apiServer) {
			s.fault = only("/v1/widgets", "/configmaps", page(404, "text/html", "<html>nginx</html>"))
		},
		"405": func(s *apiServer) {
			s.fault = only("/v1/widgets", "/configmaps", page(405, "text/plain", "method not allowed"))
		},
	}
	definitions := map[string]http.HandlerFunc{
		"there":            definition("first"),
		"made again":       definition("second"),
		"gone":             missing(crdName),
		"another gone":     missing("gadgets.example.com"),
		"a Status":         answer(404, "application/json", notFoundStatus),
		"a page":           answer(404, "text/html", "<html>nginx</html>"),
		"JSON":             answer(404, "application/json", `{"name":"`+crdName+`"}`),
		"a page with 200":  answer(200, "text/html", "<html>back soon</html>"),
		"forbidden":        forbidden(),
		"an error":         answer(500, "text/plain", "etcd"),
		"an empty object":  answer(200, "application/json", `{}`),
		"410 in its place": answer(410, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Gone","details":{"name":"`+crdName+`"},"code":410}`),
	}
	for kind, k := range kinds {
		for list, absent := range lists {
			for crd, during := range definitions {
				proven := crd == "gone" && k.before != nil && (kind == "custom" || kind == "custom, another definition")
				t.Run(fmt.Sprintf("%s, lists: %s, definition: %s", kind, list, crd), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := &apiServer{versions: []string{"v1"}, crd: k.before}
						w := watchKind(t, s, k.gvk, cache.Options{})
						defer w.stop()
						time.Sleep(time.Minute)
						s.change(func() { absent(s); s.crd = during })
						for _, wait := range []time.Duration{45 * time.Second, 2 * time.Minute, 10 * time.Minute} {
							time.Sleep(wait)
							get, listed, list := w.read(k.object)
							told, empty := w.deleted(), apierrors.IsNotFound(get) || list == nil && listed == 0
							if proven != (told == 3) || proven != empty {
								t.Fatalf("%d deletes were told; Get: %v; List: %d, %v", told, get, listed, list)
							}
						}
						s.change(func() { s.fault, s.absent, s.crd = nil, false, k.before })
						time.Sleep(time.Minute)
						if get, listed, list := w.read(k.object); get != nil || listed != 3 || list != nil {
							t.Errorf("once it is back: Get: %v; List: %d, %v", get, listed, list)
						}
						if told := w.deleted(); !proven && told != 0 {
							t.Errorf("%d deletes were told", told)
						}
					})
				})
			}
		}
	}
}
