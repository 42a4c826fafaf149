package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
)

// A server and a cache run in a bubble. Hours pass in no time, and all that is due has happened when all goroutines
// wait.
func TestInABubble(t *testing.T) {
	apiserver.Start(t, apiserver.Options{}) // the rules are there
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		first := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		s := apiserver.Start(t, apiserver.Options{InMemory: true})
		live := newClient(t, s)
		made, err := client.Create(ctx, live, configMap("a", "1"))
		if err != nil {
			t.Fatal(err)
		}
		if !made.CreationTimestamp.Time.Equal(first) || time.Since(first) != 0 {
			t.Errorf("created at %v, %v after the begin, want no time", made.CreationTimestamp, time.Since(first))
		}
		c, err := cache.New(cache.Connect(live), cache.Options{})
		if err != nil {
			t.Fatal(err)
		}
		maps, err := cache.Open[corev1.ConfigMap](ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		defer maps.Close()
		var seen []string // by one goroutine; read when all wait
		if _, err := maps.AddHandler(informer.Handler[corev1.ConfigMap]{
			OnAdd:    func(o *corev1.ConfigMap, _ bool) { seen = append(seen, "add "+o.Name) },
			OnUpdate: func(_, o *corev1.ConfigMap) { seen = append(seen, "update "+o.Name) },
			OnDelete: func(o *corev1.ConfigMap, _ bool) { seen = append(seen, "delete "+o.Name) },
		}); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		if err := c.WaitForSync(ctx); err != nil {
			t.Fatal(err)
		}
		check := func(want string) {
			t.Helper()
			time.Sleep(time.Second) // virtual: batches are told
			synctest.Wait()
			if got := fmt.Sprint(seen); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			seen = nil
		}
		check("[add a]")
		if _, err := client.Update(ctx, live, configMap("a", "2")); err != nil {
			t.Fatal(err)
		}
		check("[update a]")

		// A day of silence, with its bookmarks and the ends of its watches, and a watch that is stuck in it.
		silence := s.Fail(apiserver.On("watch", "configmaps"), apiserver.SilentAfter(0))
		time.Sleep(24 * time.Hour)
		silence.End()
		if err := client.Delete(ctx, live, made); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		check("[delete a]")
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if d := time.Since(first); d < 24*time.Hour {
			t.Errorf("%v have passed", d)
		}
	})
	t.Logf("a day took %v", time.Since(began).Round(time.Millisecond))
}

// Options.InMemory also works outside of a bubble.
func TestInMemory(t *testing.T) {
	s := apiserver.Start(t, apiserver.Options{InMemory: true})
	c := newClient(t, s)
	if _, err := client.Create(t.Context(), c, configMap("a", "1")); err != nil {
		t.Fatal(err)
	}
	s.Restart() // closes pipes, too
	if _, err := client.Create(t.Context(), c, configMap("b", "1")); err != nil {
		t.Fatal(err)
	}
}

// A watch in memory passes on events that come together and are larger than what it may hold for its client.
func TestLargeEventsInMemory(t *testing.T) {
	inABubble(t, func(t *testing.T, s *apiserver.Server) {
		silence := s.Fail(apiserver.On("watch", "configmaps"), apiserver.SilentAfter(0))
		w := openWatch(t, s, "")
		names := []string{"a", "b", "c"}
		for _, name := range names {
			putLarge(t, s, name)
		}
		silence.End()
		for _, name := range names {
			if got := next(t, w); got != name {
				t.Errorf("got %s, want %s", got, name)
			}
		}
	})
}
