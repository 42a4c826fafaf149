package informer_test

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/feedtest"
	"github.com/flyball-io/flyball/internal/wire"
)

// silent opens watches that show no event and end when they should. They have bookmarks of their first version,
// in a pace; zero: none. Lists work.
type silent struct {
	*feedtest.Server
	heals atomic.Bool
	pace  time.Duration
	opens atomic.Int32
}

func (d *silent) Watch(ctx context.Context, q wire.WatchQuery) (*wire.Watch, error) {
	if d.heals.Load() || q.SendInitialEvents {
		return d.Server.Watch(ctx, q)
	}
	d.opens.Add(1)
	r, w := io.Pipe()
	ended := make(chan struct{})
	end := time.AfterFunc(q.Timeout, func() { close(ended); w.Close() })
	context.AfterFunc(ctx, func() {
		if end.Stop() {
			close(ended)
		}
		w.CloseWithError(context.Cause(ctx))
	})
	if d.pace > 0 {
		go func() {
			for {
				select {
				case <-ended:
					return
				case <-time.After(d.pace):
				}
				fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"resourceVersion":%q}}}`+"\n", q.ResourceVersion)
			}
		}()
	}
	return wire.NewWatch(r, "application/json", d.Kind(), wire.Limits{})
}

// A watch that opens and shows nothing, while lists show that things change, is found out: the store
// follows by lists, and the state does not say that it is in sync. Bookmarks of an unchanged version are no
// events: they change nothing, in whatever pace they come.
func TestWatchThatShowsNothingIsFoundOut(t *testing.T) {
	for _, seconds := range []int{0, 1, 3, 10, 15, 24, 29, 30, 31, 45, 59, 61, 300} {
		pace := time.Duration(seconds) * time.Second
		t.Run(pace.String(), func(t *testing.T) { foundOut(t, pace) })
	}
}

func foundOut(t *testing.T, pace time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		src := &silent{Server: newServer(), pace: pace}
		src.Put(configMap("a", "1"))
		in, err := informer.New(src, informer.Options{Kind: configMaps, Scheme: types})
		if err != nil {
			t.Fatal(err)
		}
		stop := start(t, in)
		defer stop()
		<-in.Synced()
		late := 0
		for i := range 60 {
			src.Put(configMap(fmt.Sprint("b", i), "1"))
			time.Sleep(2 * time.Minute)
			s, err := in.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			if s.Len() != i+2 {
				late++
			}
			if i > 5 && in.State().Watch.Phase.Good() {
				t.Fatalf("%d: the state is %v", i, in.State())
			}
		}
		if late > 10 {
			t.Errorf("two minutes after a change it was not there, %d times of 60: %v", late, in.State())
		}
		lists, _, _ := src.Counts()
		if lists > 3*130 {
			t.Errorf("%d lists in two hours", lists)
		}
		src.heals.Store(true)
		time.Sleep(2 * time.Minute)
		src.Put(configMap("c", "1"))
		time.Sleep(2 * time.Minute)
		if state := in.State(); !state.Watch.Phase.Good() || state.Err != nil {
			t.Errorf("once the watch works: %v", state)
		}
	})
}

// An idle kind costs the same, whether its watch has bookmarks of an unchanged version or none: some two watches a
// minute, and few lists.
func TestIdleKindCostsLittle(t *testing.T) {
	for _, seconds := range []int{0, 1, 10, 29, 31, 60} {
		pace := time.Duration(seconds) * time.Second
		t.Run(pace.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := &silent{Server: newServer(), pace: pace}
				src.Put(configMap("a", "1"))
				in := newInformer(t, src)
				stop := start(t, in)
				defer stop()
				<-in.Synced()
				time.Sleep(24 * time.Hour)
				lists, _, _ := src.Counts()
				if opened := src.opens.Load() / 24; opened > 150 || lists > 24*20 || !in.State().Watch.Phase.Good() {
					t.Errorf("%d watches an hour, %d lists a day: %v", opened, lists, in.State())
				}
			})
		})
	}
}

// Where nothing of the kind changes, a newer version of the server costs a list an hour at most.
func TestQuietWatchWithoutBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newServer()
		src.Put(configMap("a", "1"))
		in := newInformer(t, src)
		stop := start(t, in)
		defer stop()
		<-in.Synced()
		begun, _, _ := src.Counts()
		probes := in.State().Watch.Probes
		for range 24 * 60 {
			src.Advance()
			time.Sleep(time.Minute)
		}
		lists, _, _ := src.Counts()
		lists -= begun + in.State().Watch.Probes - probes
		if lists > 30 || !in.State().Watch.Phase.Good() {
			t.Errorf("%d lists in a day: %v", lists, in.State())
		}
	})
}
