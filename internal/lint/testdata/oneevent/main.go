// Command oneevent runs a manager with one For controller and an election against a small server, and writes which
// code of Flyball runs, as directories of coverage counters. "nothing" is for a while in which nothing happens,
// "event" for the time from one MODIFIED frame to the end of Reconcile. The others are for a write each, made by
// Reconcile: from the call until its answer is decoded.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/coverage"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/ops/leader"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/scheme"
)

const object = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"default","name":"a","uid":"u","resourceVersion":"%d"},"data":{"v":"%[1]d"}}`

func main() {
	if err := run(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(dir string) error {
	frames := make(chan string)
	server := httptest.NewServer(serve(frames))
	defer server.Close()
	types := scheme.New()
	types.AddKnownTypes(orders, &Order{})
	m, err := flyball.New(flyball.Options{
		Config: &rest.Config{Host: server.URL}, Logger: slog.New(slog.DiscardHandler), Client: client.Options{Scheme: types},
		Leader: &leader.Options{ // it renews nothing while code is counted
			Namespace: "default", Name: "one", LeaseDuration: 3 * time.Hour, RenewDeadline: 2 * time.Hour, RetryPeriod: time.Hour,
		},
	})
	if err != nil {
		return err
	}
	work := make(chan func(context.Context)) // what the next Reconcile does
	reconciled := make(chan struct{})
	_, err = controller.New(m, "one", func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		(<-work)(ctx)
		reconciled <- struct{}{}
		return reconcile.Result{}, nil
	}, controller.For[corev1.ConfigMap]())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	nothing := func(context.Context) {}
	select {
	case work <- nothing:
		<-reconciled
	case err := <-ended:
		return err
	}
	version := 5
	event := func(do func(context.Context)) {
		version++
		frames <- fmt.Sprintf(object, version)
		work <- do
		<-reconciled
		time.Sleep(20 * time.Millisecond)
	}
	for range 4 { // what happens once in a while has happened
		event(nothing)
	}
	count := func(name string, do func() error) {
		err = errors.Join(err, counted(filepath.Join(dir, name), do))
	}
	event(func(ctx context.Context) {
		all := writes(m.Client())
		for range 2 {
			for _, w := range all {
				err = errors.Join(err, w.do(ctx))
			}
		}
		time.Sleep(5 * time.Second) // idle memory was released
		count("nothing", func() error { time.Sleep(time.Second); return nil })
		for _, w := range all {
			count(w.name, func() error { return w.do(ctx) })
		}
	})
	count("event", func() error { event(nothing); return nil })
	cancel()
	return errors.Join(err, <-ended)
}

// counted writes the counters of what runs during do into a new directory.
func counted(dir string, do func() error) error {
	runtime.GC()
	runtime.GC() // pools are empty
	time.Sleep(50 * time.Millisecond)
	if err := errors.Join(os.Mkdir(dir, 0o755), coverage.ClearCounters()); err != nil {
		return err
	}
	return errors.Join(do(), coverage.WriteMetaDir(dir), coverage.WriteCountersDir(dir))
}

// serve is an API server of one ConfigMap. Each value of frames is a new state of it.
func serve(frames <-chan string) http.Handler {
	mux := http.NewServeMux()
	serveWrites(mux)
	mux.HandleFunc("/version", answer(`{"major":"1","minor":"36","gitVersion":"v1.36.0"}`))
	mux.HandleFunc("/api", answer(`{"kind":"APIVersions","versions":["v1"]}`))
	mux.HandleFunc("/apis", answer(`{"kind":"APIGroupList","apiVersion":"v1","groups":[
		{"name":"coordination.k8s.io","versions":[{"groupVersion":"coordination.k8s.io/v1","version":"v1"}]},
		{"name":"shop.example.com","versions":[{"groupVersion":"shop.example.com/v1","version":"v1"}]}]}`))
	resources := func(groupVersion, resource, kind string) http.HandlerFunc {
		return answer(`{"kind":"APIResourceList","groupVersion":"` + groupVersion + `","resources":[{"name":"` + resource + `","kind":"` + kind + `",
			"namespaced":true,"verbs":["get","list","watch","create","update","patch","delete"]}]}`)
	}
	mux.HandleFunc("/api/v1", resources("v1", "configmaps", "ConfigMap"))
	mux.HandleFunc("/apis/coordination.k8s.io/v1", resources("coordination.k8s.io/v1", "leases", "Lease"))
	mux.HandleFunc("/apis/shop.example.com/v1", resources("shop.example.com/v1", "orders", "Order"))
	mux.HandleFunc("/api/v1/configmaps", func(w http.ResponseWriter, req *http.Request) {
		q := req.URL.Query()
		switch {
		case q.Get("watch") == "":
			answer(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[`+fmt.Sprintf(object, 5)+`]}`)(w, req)
			return
		case strings.Contains(q.Get("sendInitialEvents"), "true"):
			http.Error(w, "no streaming lists", http.StatusUnprocessableEntity)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		http.NewResponseController(w).Flush()
		for {
			select {
			case o := <-frames:
				io.WriteString(w, `{"type":"MODIFIED","object":`+o+"}\n")
				http.NewResponseController(w).Flush()
			case <-req.Context().Done():
				return
			}
		}
	})
	return mux
}

func answer(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, text)
	}
}
