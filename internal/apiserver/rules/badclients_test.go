//go:build linux || darwin

package rules_test

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// A client that has ended two programs does not end a third one that others need.
func TestAClientThatCrashesKeepsApart(t *testing.T) {
	binary := role(t, fakeName)
	c, bad := share(t, binary, rules.Options{Idle: time.Minute}), share(t, binary, rules.Options{Idle: time.Minute})
	ask(t, c, "/a")
	ask(t, bad, "/a")
	for range 2 {
		if _, err := bad.Do(&rules.Request{URL: "/crash"}); err == nil {
			t.Fatal("there is an answer")
		}
	}
	ask(t, c, "/a")
	pid := get(t, c, "/pid")
	if _, err := bad.Do(&rules.Request{URL: "/crash"}); err == nil {
		t.Fatal("there is an answer")
	}
	if got := get(t, c, "/pid"); got != pid {
		t.Errorf("another client has ended the program: %s is now %s", pid, got)
	}
	ask(t, bad, "/a")
}

// One client sends what is no request, another one reads no answers. Many others are served.
func TestBadClients(t *testing.T) {
	binary := role(t, fakeName)
	c := share(t, binary, rules.Options{Idle: time.Minute})
	pid := get(t, c, "/pid")
	dial := func() net.Conn {
		conn, err := net.Dial("unix", socketOf(binary))
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	for _, text := range []string{"GET / HTTP/1.1\r\n\r\n", "\x00\x00\x00\x09123456789", strings.Repeat("\x00", 1<<12)} {
		garbage := dial()
		fmt.Fprint(garbage, text)
		if _, err := io.ReadAll(garbage); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%.5q: %v", text, err)
		}
		garbage.Close()
	}
	silent := dial()
	defer silent.Close()
	full := make(chan struct{})
	go func() {
		defer close(full)
		// More than the program works on at once.
		for i := range uint64(100 * runtime.NumCPU()) {
			if rules.WriteFrame(silent, i, &rules.Request{URL: "/large", Body: make([]byte, 1<<16)}, rules.MaxFrame) != nil {
				return
			}
		}
	}()
	var wg sync.WaitGroup
	for range 200 {
		one := rules.New(binary, rules.Options{Socket: socketOf(binary)})
		wg.Go(func() {
			defer one.Close()
			for range 5 {
				if answer, err := one.Do(&rules.Request{URL: "/pid"}); err != nil || string(answer.Body) != pid {
					t.Errorf("%v, want the answer of %s", err, pid)
				}
			}
		})
	}
	wg.Wait()
	select {
	case <-full:
		t.Error("the program takes any number of requests of a client that reads nothing")
	default:
	}
	silent.Close()
	<-full
}
