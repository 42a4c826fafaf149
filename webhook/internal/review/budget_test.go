package review

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/internal/heap/heaptest"
	"github.com/flyball-io/flyball/internal/tier"
)

// A budget decides by the age of bodies and the bytes that requests hold.
func TestBudgetEvictsTheOldestBody(t *testing.T) {
	now := time.Now()
	b := NewBudget(400 << 10) // 300 KiB for large requests
	evicted := ""
	begin := func(name string, age time.Duration, bytes int64) *reservation {
		h := &reservation{}
		b.begin(h, func() { evicted += name }, now.Add(-age))
		if bytes > 0 {
			if s := b.stepLocked(h, bytes, now); !s.done || s.err != nil {
				t.Fatalf("%s: %+v", name, s)
			}
		}
		return h
	}
	first, second := begin("first ", 3*time.Second, 150<<10), begin("second ", 2*time.Second, 150<<10)
	smallOne, large := begin("small ", 0, 0), begin("large ", 0, 0)
	if s := b.stepLocked(smallOne, 64<<10, now); !s.done || s.err != nil {
		t.Errorf("a small one has no room beside large ones: %+v", s)
	}
	if s := b.stepLocked(large, 301<<10, now); s.err != errTooLarge {
		t.Errorf("what never fits: %+v", s)
	}
	s := b.stepLocked(large, 100<<10, now)
	if s.done || s.victim == nil {
		t.Fatalf("nobody gives way: %+v", s)
	}
	s.victim()
	if s = b.stepLocked(large, 100<<10, now); s.done || s.victim == nil { // 364 - 150 + 100 > 300
		t.Fatalf("one is not enough: %+v", s)
	}
	s.victim()
	if s = b.stepLocked(large, 100<<10, now); s.done || s.victim != nil || evicted != "first second " {
		t.Errorf("too many give way: %+v, %s", s, evicted)
	}
	if err := b.arrived(first); err != errEvicted {
		t.Errorf("the first arrived: %v", err)
	}
	b.release(first)
	b.release(second)
	if s = b.stepLocked(large, 100<<10, now); !s.done || s.err != nil {
		t.Errorf("no room although there is: %+v", s)
	}
	// Young bodies are not evicted, and neither are complete ones.
	if err := b.arrived(large); err != nil {
		t.Error(err)
	}
	begin("young ", 100*time.Millisecond, 60<<10)
	last := begin("last ", 0, 0)
	if s = b.stepLocked(last, 200<<10, now); s.done || s.victim != nil || s.wait <= 0 || s.wait > minEvictAge {
		t.Errorf("who is young gives way: %+v", s)
	}
	if s = NewBudget(-1).stepLocked(last, 1<<40, now); !s.done || s.err != nil {
		t.Errorf("without a bound: %+v", s)
	}
}

// A waiting request continues when bytes are returned, and gives up after a bounded time.
func TestWaitForMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(400 << 10)
		var working, waits, tooLate reservation
		b.begin(&working, func() {}, time.Now())
		b.begin(&tooLate, func() {}, time.Now())
		ctx := t.Context()
		if err := b.take(ctx, &working, 300<<10); err != nil {
			t.Fatal(err)
		}
		if err := b.arrived(&working); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := b.take(ctx, &tooLate, 100<<10); err != errExhausted || time.Since(start) != maxWait {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		b.release(&tooLate)
		b.begin(&waits, func() {}, time.Now())
		got := make(chan error, 1)
		go func() { got <- b.take(ctx, &waits, 100<<10) }()
		synctest.Wait()
		b.release(&working)
		synctest.Wait()
		if err := <-got; err != nil {
			t.Error(err)
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if err := b.take(ended, &tooLate, 250<<10); err != context.Canceled {
			t.Errorf("%v", err)
		}
		b.release(&waits)
		if b.used != 0 {
			t.Errorf("%d bytes are still counted", b.used)
		}
	})
}

// Clients that send large bodies and never finish them hold no more than the budget, as it counts. They block
// nobody: good calls are answered meanwhile.
func TestUnfinishedBodiesStayWithinTheBudget(t *testing.T) {
	unfinishedBodies(t, func() int64 { return 0 })
}

// What such clients hold of the heap is no more than the budget, either.
func TestMemoryOfUnfinishedBodies(t *testing.T) {
	tier.Audit(t, "measures the heap")
	unfinishedBodies(t, heaptest.Live)
}

func unfinishedBodies(t *testing.T, live func() int64) {
	const budget, body, strangers = 16 << 20, 63 << 20, 16
	e := NewEndpoint(Options{Parse: echo{}.Parse, Name: "test", Logger: slog.New(slog.DiscardHandler), DefaultBody: 64 << 20, Budget: NewBudget(budget), AnswersBodies: true})
	srv := httptest.NewServer(e)
	defer srv.Close()
	before := live()
	var all sync.WaitGroup
	defer all.Wait()
	var conns []net.Conn
	for range strangers {
		c, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns = append(conns, c)
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
	for _, size := range []int{100, 60 << 10, 1 << 20} {
		text := `"` + strings.Repeat("x", size) + `"`
		var code int
		for end := time.Now().Add(5 * time.Minute); code == 0 || code == http.StatusTooManyRequests && time.Now().Before(end); { // the answer says when to retry
			r, err := http.Post(srv.URL, "application/json", strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, r.Body)
			r.Body.Close()
			code = r.StatusCode
		}
		if code != http.StatusOK {
			t.Errorf("a good call of %d bytes: %d", size, code)
		}
	}
	// A body that grows, or whose call was just evicted, holds a second buffer for a moment.
	grown := live() - before
	for end := time.Now().Add(5 * time.Minute); grown > budget+(8<<20) && time.Now().Before(end); {
		grown = live() - before
	}
	if grown > budget+(8<<20) {
		t.Errorf("%d MiB are live, the budget is %d MiB", grown>>20, budget>>20)
	}
	if u := used(e); u > budget {
		t.Errorf("%d bytes are counted, the budget is %d", u, budget)
	}
	for _, c := range conns {
		_ = c.Close()
	}
}

func TestDefaultBudgetIsAShareOfMemory(t *testing.T) {
	for limit, want := range map[int64]int64{0: 256 << 20, 256 << 20: 64 << 20, 16 << 20: 8 << 20, 64 << 30: 256 << 20} {
		if got := share(limit); got != want {
			t.Errorf("of %d: %d, want %d", limit, got, want)
		}
	}
	if n := NewBudget(0).limit; n < 8<<20 || n > 256<<20 {
		t.Errorf("default %d", n)
	}
}

func TestLowestCgroupLimitApplies(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	for _, tt := range []struct {
		name string
		fs   fstest.MapFS
		want int64
	}{
		{"no cgroup", fstest.MapFS{}, 0},
		{"version 2, a container", fstest.MapFS{"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("268435456\n")}, 268435456},
		{"version 2, no limit", fstest.MapFS{"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("max\n")}, 0},
		{"version 2, of a parent", fstest.MapFS{"proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/b/memory.max": file("900\n"), "sys/fs/cgroup/a/memory.max": file("800\n")}, 800},
		{"version 2, paths of the host", fstest.MapFS{"proc/self/cgroup": file("0::/../../kubepods/x\n"), "sys/fs/cgroup/memory.max": file("700\n")}, 700},
		{"version 1", fstest.MapFS{"proc/self/cgroup": file("5:cpu,cpuacct:/\n4:memory:/docker/x\n"), "sys/fs/cgroup/memory/memory.limit_in_bytes": file("600\n")}, 600},
		{"version 1, no limit", fstest.MapFS{"proc/self/cgroup": file("4:memory:/\n"), "sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712\n")}, 0},
		{"both", fstest.MapFS{"proc/self/cgroup": file("4:memory:/\n0::/\n"), "sys/fs/cgroup/memory/memory.limit_in_bytes": file("600\n")}, 600},
		{"rubbish", fstest.MapFS{"proc/self/cgroup": file("x\n::\n0::/\n"), "sys/fs/cgroup/memory.max": file("-1")}, 0},
	} {
		if got := cgroupLimit(tt.fs); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}
