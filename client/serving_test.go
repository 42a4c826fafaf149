package client

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	apidiscovery "k8s.io/api/apidiscovery/v2"
)

// Discovery says what one server serves. An answer that is not complete says nothing.
func TestDiscoverySaysWhatIsServed(t *testing.T) {
	widgets := resource("widgets", "Widget", true)
	core := aggregatedGroup("", aggregatedVersion("v1", resource("pods", "Pod", true)))
	example := func(v ...apidiscovery.APIVersionDiscovery) http.HandlerFunc {
		return aggregate(inV2, aggregatedGroup("apps", aggregatedVersion("v1", resource("deployments", "Deployment", true))), aggregatedGroup("example.com", v...))
	}
	v1, v2 := aggregatedVersion("v1", widgets), aggregatedVersion("v2", widgets)
	empty := aggregatedVersion("v1", resource("gadgets", "Gadget", true))
	whole := aggregate(inV2, core)
	page := text(200, "text/html", "<html>")
	for name, tt := range map[string]struct {
		api, apis http.HandlerFunc
		here      bool
		elsewhere []string
		unknown   bool
	}{
		"here":                        {whole, example(v1), true, nil, false},
		"here and elsewhere":          {whole, example(v2, v1), true, []string{"v2"}, false},
		"elsewhere":                   {whole, example(v2), false, []string{"v2"}, false},
		"the version has other kinds": {whole, example(empty), false, nil, false},
		"no group":                    {whole, aggregate(inV2), false, nil, false},
		"another group is stale":      {whole, aggregate(inV2, aggregatedGroup("other.test", stale(v1))), false, nil, false},
		"the group is stale":          {whole, example(stale(v1)), false, nil, true},
		"another version is stale":    {whole, example(empty, stale(v2)), false, nil, true},
		"no core":                     {aggregate(inV2), aggregate(inV2), false, nil, false},
		"an empty core":               {aggregate(inV2, aggregatedGroup("", aggregatedVersion("v1"))), aggregate(inV2), false, nil, false},
		"a stale core":                {aggregate(inV2, aggregatedGroup("", stale(v1))), aggregate(inV2), false, nil, false},
		"404 on /api":                 {text(404, "text/plain", "no"), aggregate(inV2), false, nil, false},
		"404 on /apis":                {whole, text(404, "text/plain", "no"), false, nil, true},
		"403 on /apis":                {whole, text(403, "text/plain", "no"), false, nil, true},
		"a page":                      {page, page, false, nil, true},
		"a page on /apis":             {whole, page, false, nil, true},
		"cut":                         {whole, text(200, inV2, `{"items":[`), false, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.on("GET /api", tt.api)
			f.on("GET /apis", tt.apis)
			here, elsewhere, err := f.client(Options{Retries: -1}).Feed(widgetGVK, Selection{}).Served(t.Context())
			if (err != nil) != tt.unknown || here != tt.here || !slices.Equal(elsewhere, tt.elsewhere) {
				t.Errorf("%v, %v, %v", here, elsewhere, err)
			}
		})
	}
}

// A discovery that began before the call does not answer it. Concurrent calls share one discovery.
func TestServedIsFreshAndShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var n atomic.Int32
		go1, began := make(chan struct{}), make(chan struct{}, 10)
		inner := aggregate(inV2, aggregatedGroup("example.com", aggregatedVersion("v1", resource("widgets", "Widget", true))))
		f.on("GET /apis", func(w http.ResponseWriter, r *http.Request) {
			n.Add(1)
			began <- struct{}{}
			<-go1
			inner(w, r)
		})
		feed := f.client(Options{}).Feed(widgetGVK, Selection{})
		done := make(chan error, 10)
		ask := func(ctx context.Context) {
			go func() { _, _, err := feed.Served(ctx); done <- err }()
		}
		ask(t.Context())
		<-began
		away, cancel := context.WithCancel(t.Context())
		ask(away)
		for range 5 {
			ask(t.Context())
		}
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("whoever gave up: %v", err)
		}
		close(go1)
		for range 6 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if n.Load() != 2 {
			t.Errorf("%d discoveries, want 2", n.Load())
		}
	})
}
