// Code generated from controlplane/rules/listen.go by TestProtocolIsThatOfTheProgram. DO NOT EDIT.

//go:build linux || darwin

package rules

import (
	"errors"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// listen serves the clients that connect to the socket path, whose listener is the standard input. It returns when
// there has been no client for the time idle.
func (p *program) listen(path string, idle time.Duration) error {
	closeInherited()
	l, err := net.FileListener(os.Stdin)
	os.Stdin.Close() // l has a copy
	if err != nil {
		return err
	}
	u, ok := l.(*net.UnixListener)
	if !ok {
		return errors.New("the standard input is no listener of a unix socket")
	}
	return p.accept(u, path, idle)
}

// farewell is how long the listener stays open when its name is gone, for clients that have found it before.
const farewell = 100 * time.Millisecond

func (p *program) accept(l *net.UnixListener, path string, idle time.Duration) error {
	own, err := os.Lstat(path)
	if err != nil {
		return err
	}
	all := clients{listener: l, idle: idle}
	defer all.wait()
	defer l.Close()
	all.rest()
	for named := true; ; {
		conn, err := l.AcceptUnix()
		if err == nil {
			all.begin()
			go func() {
				defer all.end()
				defer conn.Close()
				_ = p.serve(conn, conn) // garbage ends one connection
			}()
			continue
		}
		if now, err := os.Lstat(path); named && err == nil && os.SameFile(own, now) {
			os.Remove(path) // from here on a client that comes starts another process
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err // those who are there are served
		}
		if !named {
			return nil
		}
		named = false
		if err := l.SetDeadline(time.Now().Add(farewell)); err != nil {
			return err
		}
	}
}

// clients counts the open connections of a listener. While there are none, its deadline is running.
type clients struct {
	listener *net.UnixListener
	idle     time.Duration
	group    sync.WaitGroup

	mu   sync.Mutex
	open int
}

func (c *clients) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.group.Add(1)
	c.open++
	_ = c.listener.SetDeadline(time.Time{}) // an error shows in Accept
}

func (c *clients) end() {
	defer c.group.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open--; c.open == 0 {
		_ = c.listener.SetDeadline(time.Now().Add(c.idle))
	}
}

// rest starts the time without a client.
func (c *clients) rest() { _ = c.listener.SetDeadline(time.Now().Add(c.idle)) }

func (c *clients) wait() { c.group.Wait() }

// closeInherited closes the files that the process that started this one has left open: somebody may wait for their
// end. Files that this process has opened itself are closed on exec.
func closeInherited() {
	names, err := os.ReadDir("/dev/fd")
	if err != nil {
		return // no such folder in this container
	}
	for _, name := range names {
		fd, err := strconv.Atoi(name.Name())
		if err != nil || fd <= 2 {
			continue
		}
		flags, _, failed := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if failed == 0 && flags&syscall.FD_CLOEXEC == 0 {
			_ = syscall.Close(fd)
		}
	}
}
