package reflector

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/wire"
)

// FuzzStream has a server send anything at all, as a list and as a watch. The sink must be told a
// consistent story, and Run must end when it is asked to.
func FuzzStream(f *testing.F) {
	f.Add(list(9, "", pod("a", 3)), frame("ADDED", pod("b", 10))+bookmark(12, false))
	f.Add(list(9, "p2", pod("a", 3)), frame("DELETED", pod("a", 10)))
	f.Add(list(9, ""), bookmark(9, true)+frame("ERROR", `{"kind":"Status","apiVersion":"v1","status":"Failure","code":410}`))
	f.Add(`{"kind":"Table"}`, `{"type":"ADDED"`)
	f.Add(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":403}`, frame("MODIFIED", pod("", 3)))
	f.Add("", "\x00\xff}{")
	f.Fuzz(func(t *testing.T, page, watch string) {
		ctx, cancel := context.WithCancelCause(t.Context())
		requests := 0
		enough := func() {
			if requests++; requests > 6 {
				cancel(errEnough)
			}
		}
		src := &scripted{
			onList: func(int, wire.ListQuery) (string, error) { enough(); return page, nil },
			onWatch: func(_ int, _ wire.WatchQuery, s *stream) error {
				enough()
				s.send(watch).finish(io.EOF)
				return nil
			},
		}
		told := &brackets{}
		r, err := New(src, told, Options{
			Paged: strings.HasPrefix(page, "{"), Absent: 1,
			Logger: slog.New(slog.DiscardHandler), Rand: func() float64 { return 0.999999 },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Run(ctx); err != errEnough {
			t.Fatal(err)
		}
		if told.open || told.bad != "" {
			t.Fatalf("a replacement is open: %v; %s", told.open, told.bad)
		}
	})
}

// brackets is a Sink that checks that replacements begin and end as they must, and that what has
// no name does not come through.
type brackets struct {
	open bool
	bad  string
}

func (b *brackets) is(open bool, call string) {
	if b.open != open {
		b.bad = call
	}
}

func (b *brackets) Apply(u *Update) {
	switch u.What {
	case Replace:
		b.is(false, "Replace")
		b.open = true
	case Sweep, Discard:
		b.is(true, "the end of a list")
		b.open = false
	case Put, Delete:
		if u.Entry.Key().Name == "" {
			b.bad = "an object without a name"
		}
	}
}

func (b *brackets) Commit() {}
