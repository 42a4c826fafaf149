//go:build linux || darwin

package rules_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
	"github.com/flyball-io/flyball/internal/tier"
)

// The other programs that this test binary is: a process that asks the rules program beside it, and ends.
const (
	pidName  = "print-pid"
	manyName = "ask-much"
)

func init() {
	listen, share = rules.Listen, shareProgram
	roles[pidName], roles[manyName] = printPID, askMuch
}

// shareProgram returns a client that shares the process of a binary with others. The process ends with the test.
func shareProgram(t *testing.T, binary string, o rules.Options) *rules.Client {
	t.Helper()
	socket := socketOf(binary)
	o.Socket = socket
	if _, err := os.Stat(filepath.Dir(socket)); err != nil { // it is the first one of the test
		t.Cleanup(func() {
			last := rules.New(binary, o)
			defer last.Close()
			ask(t, last, "/a") // a process that was killed just now may be dying
			kill(t, get(t, last, "/pid"))
		})
	}
	c := rules.New(binary, o)
	t.Cleanup(c.Close)
	return c
}

func socketOf(binary string) string { return filepath.Join(filepath.Dir(binary), "run", "socket") }

func kill(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil || n <= 1 {
		t.Fatalf("pid %q: %v", pid, err)
	}
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// life returns a function that waits until no process of a binary runs. It must be called before one is started.
func life(t *testing.T, binary string) (ended func()) {
	t.Helper()
	name := filepath.Join(filepath.Dir(binary), "life")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return func() {
		t.Helper()
		if err := f.SetReadDeadline(time.Now().Add(5 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(f); err != nil {
			t.Errorf("the program runs for ever: %v", err)
		}
	}
}

func printPID() int {
	binary := beside(fakeName)
	c := rules.New(binary, rules.Options{Socket: socketOf(binary), Idle: time.Minute})
	defer c.Close()
	answer, err := c.Do(&rules.Request{URL: "/pid"})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Print(string(answer.Body))
	return 0
}

// askMuch asks from many goroutines, and says when it has begun.
func askMuch() int {
	binary := beside(fakeName)
	c := rules.New(binary, rules.Options{Socket: socketOf(binary), Idle: time.Minute})
	defer c.Close()
	var wg sync.WaitGroup
	for g := range 50 {
		wg.Go(func() {
			for i := range 200 {
				url := fmt.Sprintf("/%d/%d", g, i)
				if answer, err := c.Do(&rules.Request{URL: url}); err != nil || string(answer.Body) != url {
					fmt.Println("failed:", url, err)
				}
				if g == 0 && i == 20 {
					fmt.Println("begun")
				}
			}
		})
	}
	wg.Wait()
	return 0
}

func other(t *testing.T, binary, name string) *exec.Cmd {
	t.Helper()
	file := filepath.Join(filepath.Dir(binary), name)
	if err := os.Symlink(binary, file); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	return exec.Command(file)
}

// The first process, which has started the program, has ended when the others ask. What it has open, as a test binary
// has the pipe for which "go test" waits, the program has not.
func TestProcessesShareTheProgram(t *testing.T) {
	binary := role(t, fakeName)
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	first := other(t, binary, pidName)
	first.ExtraFiles = []*os.File{out}
	first.Env = append(os.Environ(), "GOMAXPROCS=1", "GODEBUG=gctrace=1", "TEST_OF=rules")
	pid, err := first.CombinedOutput() // waits for the end of the output
	out.Close()
	if err != nil {
		t.Fatalf("%v: %s", err, pid)
	}
	if _, err := strconv.Atoi(string(pid)); err != nil {
		pid = bytes.TrimSpace(pid[bytes.LastIndexByte(pid, '\n')+1:]) // what gctrace writes is before it
	}
	if _, err := io.ReadAll(in); err != nil {
		t.Fatal(err)
	}
	c := share(t, binary, rules.Options{Idle: time.Minute})
	if got := get(t, c, "/pid"); got != string(pid) {
		t.Errorf("this process asks %s, the first one asked %s", got, pid)
	}
	second, err := other(t, binary, pidName).Output()
	if err != nil || string(second) != string(pid) {
		t.Errorf("the second process asks %s, the first one asked %s: %v", second, pid, err)
	}
	world := get(t, c, "/world")
	if !strings.HasPrefix(world, "/[") {
		t.Errorf("the program works in another folder than /: %s", world)
	}
	for _, name := range []string{"GOMAXPROCS", "GODEBUG", "TEST_OF", "HOME"} {
		if strings.Contains(world, name) {
			t.Errorf("%s of the first process reached the program: %s", name, world)
		}
	}
	n, err := strconv.Atoi(string(pid))
	if err != nil {
		t.Fatal(err)
	}
	if group, err := syscall.Getpgid(n); err != nil || group == syscall.Getpgrp() {
		t.Errorf("Ctrl-C in this process ends the program, too: group %d, %v", group, err)
	}
}

func TestItEndsWhenIdle(t *testing.T) {
	const idle = 50 * time.Millisecond
	binary := role(t, fakeName)
	ended := life(t, binary)
	o := rules.Options{Socket: socketOf(binary), Idle: idle}
	c, d := rules.New(binary, o), rules.New(binary, o)
	for get(t, c, "/pid") != get(t, d, "/pid") { // the first one was idle before it had a client
		c.Close()
		d.Close()
		c, d = rules.New(binary, o), rules.New(binary, o)
	}
	first := get(t, c, "/pid")
	c.Close()
	// It lives as long as one client is connected: another one, which has none from here on, ends.
	empty := role(t, fakeName)
	emptyEnded := life(t, empty)
	e := rules.New(empty, rules.Options{Socket: socketOf(empty), Idle: idle})
	ask(t, e, "/a")
	e.Close()
	emptyEnded()
	if got := get(t, d, "/pid"); got != first {
		t.Errorf("it ended before its last client: %s is now %s", first, got)
	}
	d.Close()
	ended()
	if _, err := os.Lstat(o.Socket); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}

// Clients that come while the program ends are answered, by it or by the next one. They come before, during and after
// the end.
func TestClientsThatComeAtTheEnd(t *testing.T) {
	binary := role(t, fakeName)
	ended := life(t, binary)
	o := rules.Options{Socket: socketOf(binary), Idle: time.Microsecond}
	pids := map[string]bool{}
	for i := range 40 {
		c := rules.New(binary, o)
		pids[get(t, c, "/pid")] = true
		c.Close()
		switch {
		case tier.InAudit():
			time.Sleep(time.Duration(i) * 5 * time.Millisecond)
		case i%10 == 9:
			ended()
		default:
			for range i * i {
				runtime.Gosched()
			}
		}
	}
	if len(pids) < 2 {
		t.Errorf("the program never ended")
	}
	ended()
}

func TestSocketOfAKilledProgram(t *testing.T) {
	binary := role(t, fakeName)
	c := share(t, binary, rules.Options{Idle: time.Minute})
	first := get(t, c, "/pid")
	c.Close()
	kill(t, first)
	next := share(t, binary, rules.Options{Idle: time.Minute})
	if got := get(t, next, "/pid"); got == first {
		t.Errorf("%s answers, which was killed", got)
	}
	second, err := other(t, binary, pidName).Output()
	if got := get(t, next, "/pid"); err != nil || string(second) != got {
		t.Errorf("processes do not share the next program: %s and %s, %v", second, got, err)
	}
}

func TestKilledWhileManyAsk(t *testing.T) {
	binary := role(t, fakeName)
	c := share(t, binary, rules.Options{Idle: time.Minute})
	pid := get(t, c, "/pid")
	var wg sync.WaitGroup
	var begun sync.WaitGroup
	for range 3 {
		cmd := other(t, binary, manyName)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		begun.Add(1)
		wg.Go(func() {
			line := make([]byte, len("begun\n"))
			_, err := io.ReadFull(out, line)
			begun.Done()
			rest, _ := io.ReadAll(out)
			if end := cmd.Wait(); err != nil || end != nil || string(line) != "begun\n" || len(rest) > 0 {
				t.Errorf("%v, %v: %s%s", err, end, line, rest)
			}
		})
	}
	begun.Wait()
	kill(t, pid)
	wg.Wait()
	if get(t, c, "/pid") == pid {
		t.Error("the program was not killed")
	}
}

// Where there can be no socket, each client has a program of its own.
func TestNoSocket(t *testing.T) {
	open := func(t *testing.T, dir string) string { // others may write to it
		run := filepath.Join(dir, "run")
		if err := os.Mkdir(run, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(run, 0o770); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(run, "socket")
	}
	sockets := map[string]func(t *testing.T, dir string) string{
		"long name":      func(_ *testing.T, dir string) string { return filepath.Join(dir, strings.Repeat("x", 120), "socket") },
		"open to others": open,
		"no folder":      func(_ *testing.T, _ string) string { return filepath.Join(os.DevNull, "run", "socket") },
		"a folder":       func(_ *testing.T, dir string) string { return filepath.Join(dir, "run") + "/." },
	}
	for name, socket := range sockets {
		t.Run(name, func(t *testing.T) {
			binary := role(t, fakeName)
			ended := life(t, binary)
			o := rules.Options{Socket: socket(t, filepath.Dir(binary))}
			c, d := rules.New(binary, o), rules.New(binary, o)
			first := get(t, c, "/pid")
			if get(t, d, "/pid") == first || get(t, c, "/pid") != first {
				t.Error("each client has not one process of its own")
			}
			c.Close()
			d.Close()
			ended()
		})
	}
}
