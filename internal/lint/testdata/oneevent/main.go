// Command oneevent runs a manager with one For controller against a server of one ConfigMap, and writes
// which code of Flyball runs for one MODIFIED frame: two directories of coverage counters, "nothing" for
// a while in which nothing happens, and "event" for the time from the frame to the end of Reconcile.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/coverage"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/reconcile"
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
	m, err := flyball.New(flyball.Options{
		Config: &rest.Config{Host: server.URL}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	reconciled := make(chan struct{}, 16)
	_, err = controller.New(m, "one", func(context.Context, reconcile.Request) (reconcile.Result, error) {
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
	select {
	case <-reconciled:
	case err := <-ended:
		return err
	}
	for version := 6; version < 10; version++ { // what happens once in a while has happened
		frames <- fmt.Sprintf(object, version)
		<-reconciled
	}
	time.Sleep(3 * time.Second) // idle memory was released
	for _, window := range []struct {
		name string
		do   func()
	}{
		{"nothing", func() { time.Sleep(time.Second) }},
		{"event", func() { frames <- fmt.Sprintf(object, 11); <-reconciled; time.Sleep(20 * time.Millisecond) }},
	} {
		if err := coverage.ClearCounters(); err != nil {
			return err
		}
		window.do()
		out := filepath.Join(dir, window.name)
		if err := os.Mkdir(out, 0o755); err != nil {
			return err
		}
		if err := coverage.WriteMetaDir(out); err != nil {
			return err
		}
		if err := coverage.WriteCountersDir(out); err != nil {
			return err
		}
	}
	cancel()
	return <-ended
}

// serve is an API server of one ConfigMap. Each value of frames is a new state of it.
func serve(frames <-chan string) http.Handler {
	answer := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, text)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/version", answer(`{"major":"1","minor":"36","gitVersion":"v1.36.0"}`))
	mux.HandleFunc("/api", answer(`{"kind":"APIVersions","versions":["v1"]}`))
	mux.HandleFunc("/apis", answer(`{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`))
	mux.HandleFunc("/api/v1", answer(`{"kind":"APIResourceList","groupVersion":"v1","resources":[
		{"name":"configmaps","singularName":"configmap","namespaced":true,"kind":"ConfigMap","verbs":["get","list","watch"]}]}`))
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
