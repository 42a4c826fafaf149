package probe_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/flyball-io/flyball/ops/probe"
)

// How do I add checks, and serve them to a kubelet and to people?
func Example() {
	ready, err := probe.New("readyz", probe.Options{Logger: quiet})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = ready.Add("ping", func(context.Context) error { return nil })
	remove, _ := ready.Add("cache-pods", func(context.Context) error { return errors.New("forbidden: list pods") })

	mux := http.NewServeMux()
	ready.Mount(mux)
	show := func(path string) {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		fmt.Printf("%d %s\n", w.Code, w.Body)
	}
	show("/readyz")
	show("/readyz/ping")
	remove()
	show("/readyz")
	// Output:
	// 503 [-]cache-pods failed: forbidden: list pods
	// [+]ping ok
	// readyz check failed
	//
	// 200 ok
	// 200 ok
}
