package cache_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/reflector"
)

// A kind whose lists have no version, as PodMetrics, cannot be watched. Reads say so, it is asked for rarely, and it
// follows once its lists have one.
func TestKindWithoutVersionsIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &apiServer{versions: []string{"v1"}}
		s.fault = func(r *http.Request) *http.Response {
			switch {
			case !strings.HasSuffix(r.URL.Path, "/v1/widgets"):
				return nil
			case r.URL.Query().Get("watch") != "":
				return response(405, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"MethodNotAllowed","message":"no","code":405}`)
			}
			return response(200, "application/json", `{"apiVersion":"example.com/v1","kind":"WidgetList","metadata":{},"items":[{"metadata":{"namespace":"ns","name":"a"}}]}`)
		}
		w := openKind(t, s, widgetV1, cache.Options{})
		defer w.stop()
		time.Sleep(time.Minute)
		s.change(func() { s.requests = nil })
		time.Sleep(10 * time.Minute)
		get, _, list := w.read("widget-1")
		for _, err := range []error{get, list} {
			var unsynced *informer.NotSyncedError
			if !errors.As(err, &unsynced) || !errors.Is(unsynced.State.Err, reflector.ErrNoVersion) || !strings.Contains(err.Error(), "cannot be watched") {
				t.Errorf("%v", err)
			}
		}
		s.change(func() {
			if n := len(s.requests); n > 50 {
				t.Errorf("%d requests in 10 min", n)
			}
			s.fault = nil
		})
		time.Sleep(time.Minute)
		if get, listed, list := w.read("widget-1"); get != nil || listed != 3 || list != nil {
			t.Errorf("once it has versions: %v; %d, %v", get, listed, list)
		}
	})
}
