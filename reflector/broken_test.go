package reflector_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/reflector"
)

// A connection that breaks says nothing about the version of the watch: it is watched again from
// there, however often that happens.
func TestConnectionThatBreaksIsNoReasonToList(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if req.URL.Query().Get("watch") == "" {
			io.WriteString(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[]}`)
			return
		}
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(server.Close)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(configMaps, meta.RESTScopeNamespace)
	c, err := client.New(&rest.Config{Host: server.URL}, client.Options{Mapper: mapper})
	must(t, err)
	t.Cleanup(c.Close)
	sink, r := follow(t, c, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "", reflector.Options{
		Paged: true, MaxBackoff: time.Millisecond,
	})
	sink.await(t, "breaks", r, func(_ map[string]string, s reflector.State) bool { return s.Restarts["broken"] >= 10 })
	if s := r.State(); len(s.Relists) != 1 || s.Restarts["failed"] != 0 || !strings.Contains(s.Err.Error(), "EOF") {
		t.Errorf("%+v", s)
	}
}
