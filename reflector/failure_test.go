package reflector

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/internal/wire"
)

func TestForbiddenNamesVerbAndResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &scripted{
			onWatch: func(int, wire.WatchQuery, *stream) error { return status("403") },
			onList:  func(int, wire.ListQuery) (string, error) { return "", status("403") },
		}
		failures := 0
		r, stop := running(t, src, newContent(), Options{Resource: "deployments.apps", OnFailure: func(err error) {
			if err.Error() != "list deployments.apps: 403" {
				t.Errorf("told of %v", err)
			}
			failures++
		}})
		defer func() {
			stop()
			if lists, _ := src.counts(); failures != lists { // after a refused streaming list
				t.Errorf("told of %d failures of %d lists", failures, lists)
			}
		}()
		time.Sleep(time.Second)
		s := r.State()
		if s.Phase != Forbidden || s.Err == nil || s.Err.Error() != "list deployments.apps: 403" {
			t.Errorf("state: %+v", s)
		}
		time.Sleep(10 * time.Minute)
		if lists, watches := src.counts(); lists > 21 || lists < 18 || watches > 5 {
			t.Errorf("asked by %d lists and %d watches in ten minutes", lists, watches)
		}
	})
}

// committing is a content that counts the updates before and after a Commit.
type committing struct {
	*content
	open, committed int
}

func (c *committing) Apply(u *Update) { c.content.Apply(u); c.open++ }
func (c *committing) Commit()         { c.committed, c.open = c.committed+c.open, 0 }

// OnFailure is told of silence, too, and of a failure when the events before it are committed.
func TestOnFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &scripted{onWatch: func(n int, _ wire.WatchQuery, s *stream) error {
			if n == 1 {
				s.send(frame("ADDED", pod("a", 10))).finish(io.ErrUnexpectedEOF)
				return nil
			}
			<-s.ctx.Done() // it never opens
			return context.Cause(s.ctx)
		}}
		sink := &committing{content: newContent()}
		var told []error
		_, stop := running(t, src, sink, Options{Paged: true, OnFailure: func(err error) {
			if told = append(told, err); sink.open > 0 || sink.upserts != 1 {
				t.Errorf("told of %v before %d updates are committed; %d pods", err, sink.open, sink.upserts)
			}
		}})
		time.Sleep(time.Minute)
		stop()
		if len(told) < 2 || !errors.Is(told[0], io.ErrUnexpectedEOF) || !errors.Is(told[1], ErrStalled) {
			t.Errorf("told of %v", told)
		}
		for _, err := range told {
			if errors.Is(err, errEnough) {
				t.Error("told of the end")
			}
		}
	})
}
