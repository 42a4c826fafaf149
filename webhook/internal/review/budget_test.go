package review

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/internal/heap/heaptest"
	"github.com/flyball-io/flyball/internal/tier"
)

// A waiting request continues when bytes are returned, and gives up after a bounded time or with its caller.
func TestWaitForMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(400 << 10)
		ctx := t.Context()
		if no := b.take(ctx, 300<<10); no != nil {
			t.Fatal(no)
		}
		start := time.Now()
		if no := b.take(ctx, 101<<10); no == nil || no.Code != http.StatusTooManyRequests || time.Since(start) != patience {
			t.Errorf("%v after %v", no, time.Since(start))
		}
		got := make(chan *RefusalError, 1)
		go func() { got <- b.take(ctx, 101<<10) }()
		synctest.Wait()
		b.free.Release(300 << 10)
		if no := <-got; no != nil {
			t.Error(no)
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if no := b.take(ended, 300<<10); no == nil || no.Code != http.StatusServiceUnavailable {
			t.Errorf("%v", no)
		}
		b.free.Release(101 << 10)
		if !b.free.TryAcquire(b.size) {
			t.Error("some bytes are still counted")
		}
	})
}

// Clients that send large bodies and never finish them hold no more than the budget, as it counts. They block
// nobody: good calls are answered meanwhile.
func TestUnfinishedBodiesStayWithinTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{make(chan net.Conn), make(chan struct{})}
		unfinishedBodies(t, l, l.dial, func() int64 { return 0 })
		time.Sleep(time.Minute) // virtual: until net/http has closed its connections
	})
}

// What such clients hold of the heap is no more than the budget, either.
func TestMemoryOfUnfinishedBodies(t *testing.T) {
	tier.Audit(t, "measures the heap")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unfinishedBodies(t, l, func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) }, heaptest.Live)
}

// pipes is a listener whose connections are pipes.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l *pipes) dial() (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error   { close(l.done); return nil }
func (l *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func unfinishedBodies(t *testing.T, l net.Listener, dial func() (net.Conn, error), live func() int64) {
	const budget, body, strangers = 136 << 20, 63 << 20, 16 // one of them fits in, with its answer, and a call of 1 MiB does not any more
	e := NewEndpoint(Options{Parse: echo{}.Parse, Name: "test", Logger: slog.New(slog.DiscardHandler), DefaultBody: 64 << 20, Budget: NewBudget(budget), AnswersBodies: true})
	var all sync.WaitGroup
	defer all.Wait()
	server := &http.Server{Handler: e}
	all.Go(func() { _ = server.Serve(l) })
	defer server.Close()
	before := live()
	for range strangers {
		c, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		all.Go(func() {
			_, _ = fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", body)
			piece := make([]byte, 64<<10)
			for sent := 0; sent < body-len(piece); sent += len(piece) { // all but the end
				if _, err := c.Write(piece); err != nil {
					return
				}
			}
		})
	}
	grown := func() int64 { return live() - before }
	most := grown()
	for _, size := range []int{100, 60 << 10, 1 << 20} {
		text := `"` + strings.Repeat("x", size) + `"`
		var code int
		for end := time.Now().Add(5 * time.Minute); code == 0 || code == http.StatusTooManyRequests && time.Now().Before(end); { // the answer says when to retry
			c, err := dial()
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				_, _ = fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
			})
			r, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			if code = r.StatusCode; code == http.StatusOK {
				if got, err := io.ReadAll(r.Body); err != nil || string(got) != text {
					t.Errorf("the answer to %d bytes has %d: %v", size, len(got), err)
				}
			}
			c.Close()
			most = max(most, grown())
		}
		if code != http.StatusOK {
			t.Errorf("a good call of %d bytes: %d", size, code)
		}
	}
	if most > budget+(8<<20) {
		t.Errorf("%d MiB were live, the budget is %d MiB", most>>20, budget>>20)
	}
}

// What can never fit into the budget is refused before any of it is read.
func TestBodiesBeyondTheBudgetAreRefused(t *testing.T) {
	for _, answers := range []bool{false, true} {
		e := NewEndpoint(Options{Parse: echo{}.Parse, Name: "test", Logger: slog.New(slog.DiscardHandler), DefaultBody: 64 << 20, Budget: NewBudget(17 << 20), AnswersBodies: answers})
		want := int64(17 << 20)
		if answers {
			want = 8 << 20
		}
		r := post(untouched{t})
		r.ContentLength = want + 1
		if w := ask(e, r); w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), fmt.Sprint(want)) {
			t.Errorf("%d %s, want %d bytes", w.Code, w.Body, want)
		}
		text := `"` + strings.Repeat("x", int(want)-2) + `"`
		if w := ask(e, post(strings.NewReader(text))); w.Code != http.StatusOK || w.Body.String() != text {
			t.Errorf("%d: %d bytes", w.Code, w.Body.Len())
		}
		if !unused(e) {
			t.Error("some bytes are still counted")
		}
	}
}

func TestDefaultBudgetIsAShareOfMemory(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	for limit, want := range map[int64]int64{math.MaxInt64: 256 << 20, 256 << 20: 64 << 20, 16 << 20: 16 << 20, 64 << 30: 256 << 20} {
		debug.SetMemoryLimit(limit)
		if got := NewBudget(0).size; got != want {
			t.Errorf("of %d: %d, want %d", limit, got, want)
		}
	}
	if got := NewBudget(-1); got.take(t.Context(), 1<<50) != nil {
		t.Error("a budget without a bound is exhausted")
	}
}
