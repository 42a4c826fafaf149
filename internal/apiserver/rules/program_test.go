package rules_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/internal/tier"
)

// fakeName is the file name under which this test binary is a rules program. It has the loops of the real one, and
// answers of its own. Files beside it say more: with "old" it has another protocol, and "crashed" is left by a crash.
const fakeName = "fake-rules"

// roles are programs that this test binary is under other names.
var roles = map[string]func() int{fakeName: fake}

// These are nil where processes share nothing.
var (
	listen func(answer func(*rules.Request) *rules.Answer, frame int, socket string, idle time.Duration) error
	share  func(t *testing.T, binary string, o rules.Options) *rules.Client
)

func TestMain(m *testing.M) {
	if role := roles[filepath.Base(os.Args[0])]; role != nil {
		os.Exit(role())
	}
	leaktest.Main(m)
}

func fake() int {
	socket, idle, frame := flag.String("listen", "", ""), flag.Duration("idle", 0, ""), flag.Int("frame", rules.MaxFrame, "")
	flag.Parse()
	if life, err := os.OpenFile(beside("life"), os.O_WRONLY, 0); err == nil {
		defer life.Close()
	}
	serve := func() error { return rules.Serve(answer, *frame, os.Stdin, os.Stdout) }
	if *socket != "" {
		serve = func() error { return listen(answer, *frame, *socket, *idle) }
	}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func beside(name string) string { return filepath.Join(filepath.Dir(os.Args[0]), name) }

// answer answers a request with its URL. Some URLs tell of the process, or end it.
func answer(req *rules.Request) *rules.Answer {
	body := req.URL
	_, missing := os.Stat(beside("crashed"))
	switch {
	case req.URL == "/crash", req.URL == "/crash-once" && missing != nil:
		if err := os.WriteFile(beside("crashed"), nil, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		fmt.Fprintln(os.Stderr, "the rules are on fire")
		os.Exit(3)
	case req.Protocol:
		body = rules.Protocol()
		if _, err := os.Stat(beside("old")); err == nil {
			body = "flyball-rules old"
		}
	case req.URL == "/garbage":
		fmt.Print(strings.Repeat("nonsense", 10))
	case req.URL == "/pid":
		body = fmt.Sprint(os.Getpid())
	case req.URL == "/world":
		dir, _ := os.Getwd()
		body = fmt.Sprint(dir, os.Environ())
	case strings.HasPrefix(req.URL, "/sized/"):
		n, err := strconv.Atoi(strings.TrimPrefix(req.URL, "/sized/"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return &rules.Answer{Code: 200, Body: make([]byte, n)}
	case req.URL == "/large":
		return &rules.Answer{Code: 200, Body: bytes.Repeat([]byte("x"), 1<<20)}
	}
	return &rules.Answer{Code: 200, Body: []byte(body)}
}

// role returns the file of this test binary under another name, in a folder of its own.
func role(t *testing.T, name string) string {
	t.Helper()
	tier.NotShort(t, "starts programs")
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "rules-") // that of the test may have too long a name for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, name)
	if err := os.Symlink(binary, file); err != nil {
		t.Fatal(err)
	}
	return file
}

func ask(t *testing.T, c *rules.Client, url string) {
	t.Helper()
	if got := get(t, c, url); got != url {
		t.Errorf("%s: got the answer to %q", url, got)
	}
}

// get returns the body of an answer.
func get(t *testing.T, c *rules.Client, url string) string {
	t.Helper()
	answer, err := c.Do(&rules.Request{Method: "GET", URL: url})
	if err != nil {
		t.Fatal(err)
	}
	return string(answer.Body)
}
