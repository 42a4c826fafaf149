package serve_test

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/flyball-io/flyball/ops/serve"
)

// How do I serve on a free port of loopback, until ctx ends?
func Example() {
	s, err := serve.New(serve.Options{
		Name:    "pages",
		Logger:  quiet,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello") }),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	<-s.Listening()

	resp, err := http.Get("http://" + s.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	fmt.Println(resp.StatusCode, string(body))
	stop()
	fmt.Println(<-ended)
	// Output:
	// 200 hello
	// <nil>
}

// Plain HTTP is limited to loopback unless Insecure is set.
func ExampleNew() {
	_, err := serve.New(serve.Options{Name: "metrics", Addr: ":8080", Handler: http.NotFoundHandler()})
	fmt.Println(err)
	// Output:
	// server "metrics": Addr: :8080: plain HTTP on an address other than loopback: configure TLS, or set Insecure
}

// How do I serve only callers that the API server allows?
func ExampleAuthorized() {
	mayScrape := &authority{may: map[string]bool{"prometheus get /metrics": true}} // stands for a client
	h := serve.Authorized(mayScrape, ok, serve.AuthOptions{Logger: quiet})
	fmt.Println(ask(h, "GET", "/metrics").Code)
	fmt.Println(ask(h, "GET", "/metrics", "Bearer good:prometheus").Code)
	fmt.Println(ask(h, "GET", "/debug/pprof/heap", "Bearer good:prometheus").Code)
	// Output:
	// 401
	// 200
	// 403
}

// How do I serve profiles, their index, and a page of my own?
func ExampleDebug() {
	h, err := serve.Debug(serve.Page{Path: "/debug/caches", About: "what is held", Handler: ok})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ask(h, "GET", "/debug/caches").Body)
	fmt.Println(ask(h, "GET", "/debug/pprof/heap").Header().Get("Content-Type"))
	// Output:
	// ok
	// application/octet-stream
}
