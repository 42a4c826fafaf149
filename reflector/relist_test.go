package reflector

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/internal/wire"
)

// A list that somebody asks for ends the open watch, and comes at once.
func TestRequestedRelistComesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &scripted{
			onList: func(n int, _ wire.ListQuery) (string, error) {
				if n == 1 {
					return list(9, "", pod("a", 3), pod("b", 4)), nil
				}
				return list(12, "", pod("a", 11)), nil
			},
			onWatch: func(int, wire.WatchQuery, *stream) error { return nil },
		}
		sink := newContent()
		r, stop := running(t, src, sink, Options{Paged: true})
		defer stop()
		synctest.Wait()
		sink.has(t, "a@3", "b@4")
		r.Relist(whyAudited)
		r.Relist(whyAudited)
		synctest.Wait()
		sink.has(t, "a@11")
		lists, watches := src.counts()
		if s := r.State(); lists != 2 || watches != 2 || s.Relists[whyAudited] != 1 || s.Phase != Synced || s.Err != nil || src.lists[1].ResourceVersion != "" {
			t.Errorf("%d lists, %d watches, %+v", lists, watches, s)
		}
	})
}

// While content is being listed, another list follows it: one for all who have asked.
func TestRelistWhileListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &scripted{
			onList:  func(n int, _ wire.ListQuery) (string, error) { time.Sleep(time.Second); return list(8+n, ""), nil },
			onWatch: func(int, wire.WatchQuery, *stream) error { return nil },
		}
		r, stop := running(t, src, newContent(), Options{Paged: true})
		defer stop()
		synctest.Wait()
		r.Relist(whyAudited)
		r.Relist(whyAudited)
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		lists, watches := src.counts()
		if s := r.State(); lists != 2 || watches > 2 || s.Relists[whyAudited] != 1 || s.Phase != Synced || s.Episode != 0 {
			t.Errorf("%d lists, %d watches, %+v", lists, watches, s)
		}
	})
}
