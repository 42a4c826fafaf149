package storagekit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// bookmarks is the time between two bookmarks.
const bookmarks = 200 * time.Millisecond

// watcher sends the events of a watch of the core.
type watcher struct {
	events chan watch.Event
	once   sync.Once
	stop   chan struct{}
}

func (w *watcher) Stop() { w.once.Do(func() { close(w.stop) }) }

func (w *watcher) ResultChan() <-chan watch.Event { return w.events }

func (s *store) Watch(ctx context.Context, key string, o storage.ListOptions) (watch.Interface, error) {
	path, err := collection(key, o)
	if err != nil {
		return nil, err
	}
	view, _ := s.now()
	a := view.Read(time.Now(), core.Request{Method: "GET", URL: path + "&watch=true", Accept: "application/json"})
	if err := failure(key, a); err != nil {
		return nil, err
	}
	w := &watcher{events: make(chan watch.Event, 100), stop: make(chan struct{})}
	go w.run(ctx, s, a.Watch)
	return w, nil
}

// run sends events until the watch fails or is stopped.
func (w *watcher) run(ctx context.Context, s *store, of *core.Watch) {
	defer close(w.events)
	tick := time.NewTicker(bookmarks)
	defer tick.Stop()
	for due := false; ; {
		view, moved := s.now()
		events := of.Poll(view)
		if due && of.Bookmarks {
			events = append(events, core.Event{Type: core.Bookmark, Version: view.Version()})
		}
		due = false
		for _, e := range events {
			if ctx.Err() != nil {
				return
			}
			select {
			case w.events <- event(of, view, e):
			case <-w.stop:
				return
			case <-ctx.Done():
				return
			}
			if e.Type == core.Failure {
				return
			}
		}
		select {
		case <-moved:
		case <-tick.C:
			due = true
		case <-w.stop:
			return
		case <-ctx.Done():
			return
		}
	}
}

// event returns an event of the core in the form of storage.
func event(of *core.Watch, view core.View, e core.Event) watch.Event {
	if e.Type == core.Failure {
		return watch.Event{Type: watch.Error, Object: e.Status}
	}
	answer, err := of.Encode(view, time.Now(), e, nil)
	var obj runtime.Object = &example.Pod{}
	if err == nil {
		err = decode(answer.Body, obj)
	}
	if err != nil {
		panic(fmt.Errorf("the object of an event: %w", err))
	}
	return watch.Event{Type: watch.EventType(e.Type), Object: obj}
}
