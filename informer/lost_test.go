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

// silent opens watches that show nothing and end when they should. Lists work.
type silent struct {
	*feedtest.Server
	heals atomic.Bool
}

func (d *silent) Watch(ctx context.Context, q wire.WatchQuery) (*wire.Watch, error) {
	if d.heals.Load() || q.SendInitialEvents {
		return d.Server.Watch(ctx, q)
	}
	r, w := io.Pipe()
	end := time.AfterFunc(q.Timeout, func() { w.Close() })
	context.AfterFunc(ctx, func() { end.Stop(); w.CloseWithError(context.Cause(ctx)) })
	return wire.NewWatch(r, "application/json", d.Kind(), wire.Limits{})
}

// A watch that opens and shows nothing, while lists show that things change, is found out: the store
// follows by lists, and the state does not say that it is in sync.
func TestWatchThatShowsNothingIsFoundOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &silent{Server: newServer()}
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
