package rules_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// The environment variable role makes the test binary a rules program. It has the name of a file that a
// crash leaves behind.
const role = "FLYBALL_RULES_TEST_ROLE"

func TestMain(m *testing.M) {
	if mark := os.Getenv(role); mark != "" {
		os.Exit(program(mark))
	}
	goleak.VerifyTestMain(m)
}

// program answers each request with its URL. Some URLs end it.
func program(mark string) int {
	for {
		var req rules.Request
		id, err := rules.ReadFrame(os.Stdin, &req)
		if err != nil {
			return 0
		}
		_, missing := os.Stat(mark)
		switch {
		case req.URL == "/crash", req.URL == "/crash-once" && missing != nil:
			if err := os.WriteFile(mark, nil, 0o644); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
			fmt.Fprintln(os.Stderr, "the rules are on fire")
			return 3
		case req.Method == "PROTOCOL":
			body := rules.Protocol()
			if mark == "old" {
				body = "flyball-rules old"
			}
			if err := rules.WriteFrame(os.Stdout, id, &rules.Answer{Code: 200, Body: []byte(body)}); err != nil {
				return 1
			}
			continue
		case req.URL == "/garbage":
			fmt.Print(strings.Repeat("nonsense", 10))
			continue
		}
		if err := rules.WriteFrame(os.Stdout, id, &rules.Answer{Code: 200, Body: []byte(req.URL)}); err != nil {
			return 1
		}
	}
}

func newClient(t *testing.T) *rules.Client {
	t.Setenv(role, filepath.Join(t.TempDir(), "mark"))
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := rules.New(binary)
	t.Cleanup(c.Close)
	return c
}

func ask(t *testing.T, c *rules.Client, url string) {
	t.Helper()
	answer, err := c.Do(&rules.Request{Method: "GET", URL: url})
	if err != nil {
		t.Fatal(err)
	}
	if string(answer.Body) != url {
		t.Errorf("%s: got the answer to %q", url, answer.Body)
	}
}

func TestAnswersBelongToRequests(t *testing.T) {
	c := newClient(t)
	var wg sync.WaitGroup
	for g := range 20 {
		wg.Go(func() {
			for i := range 50 {
				url := fmt.Sprintf("/%d/%d/%s", g, i, strings.Repeat("x", 100*i))
				answer, err := c.Do(&rules.Request{URL: url})
				if err != nil || string(answer.Body) != url {
					t.Errorf("%.20s: %v", url, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestACrashIsNotSeen(t *testing.T) {
	c := newClient(t)
	ask(t, c, "/a")
	first := c.PID()
	ask(t, c, "/crash-once")
	if c.PID() == first {
		t.Error("the program did not crash")
	}
	ask(t, c, "/b")
}

func TestARequestThatCrashesTwice(t *testing.T) {
	c := newClient(t)
	_, err := c.Do(&rules.Request{Method: "POST", URL: "/crash"})
	if err == nil {
		t.Fatal("there is an answer")
	}
	for _, want := range []string{"POST /crash", "twice", "exit status 3", "the rules are on fire"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	ask(t, c, "/a") // others go on
}

// Requests that are under way when another one ends the program are answered, each time.
func TestOthersSurviveARequestThatCrashes(t *testing.T) {
	c := newClient(t)
	var crashes, others sync.WaitGroup
	end := make(chan struct{})
	for g := range 4 {
		others.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-end:
					return
				default:
				}
				url := fmt.Sprintf("/%d/%d", g, i)
				if answer, err := c.Do(&rules.Request{URL: url}); err != nil || string(answer.Body) != url {
					t.Errorf("%s: %v", url, err)
					return
				}
			}
		})
	}
	for range 2 {
		crashes.Go(func() {
			if _, err := c.Do(&rules.Request{Method: "POST", URL: "/crash"}); err == nil {
				t.Error("there is an answer to what ends every program")
			}
		})
	}
	crashes.Wait()
	close(end)
	others.Wait()
}

func TestGarbageEndsTheProgram(t *testing.T) {
	c := newClient(t)
	if _, err := c.Do(&rules.Request{URL: "/garbage"}); err == nil || !strings.Contains(err.Error(), "a frame of") {
		t.Errorf("got %v, want what is wrong with the frame", err)
	}
}

func TestProgramThatDoesNotExist(t *testing.T) {
	c := rules.New(filepath.Join(t.TempDir(), "none"))
	defer c.Close()
	if _, err := c.Do(&rules.Request{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that there is no file", err)
	}
}

func TestNoAnswersAfterClose(t *testing.T) {
	c := newClient(t)
	ask(t, c, "/a")
	c.Close()
	if _, err := c.Do(&rules.Request{}); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("got %v", err)
	}
}

func TestFramesThatAreCut(t *testing.T) {
	var b bytes.Buffer
	if err := rules.WriteFrame(&b, 7, &rules.Request{URL: "/x"}); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	for n := range whole {
		var req rules.Request
		if _, err := rules.ReadFrame(bytes.NewReader(whole[:n]), &req); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
	var req rules.Request
	if id, err := rules.ReadFrame(bytes.NewReader(whole), &req); id != 7 || err != nil || req.URL != "/x" {
		t.Errorf("got %d %+v %v", id, req, err)
	}
}

// The program and its client are in two modules. What passes between them is the same two files.
func TestProtocolIsThatOfTheProgram(t *testing.T) {
	read := func(name, pkg string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Replace(string(text), "package "+pkg+"\n", "", 1)
	}
	for _, name := range []string{"protocol.go", "message.go", "revision.go"} {
		if read(name, "rules") != read("../../../controlplane/rules/"+name, "main") {
			t.Errorf("%s and controlplane/rules/%s differ in more than their package", name, name)
		}
	}
}

// A program of another version is found before it is asked anything else.
func TestCheck(t *testing.T) {
	c := newClient(t)
	defer c.Close()
	if err := c.Check(); err != nil {
		t.Error(err)
	}
	old := newClient(t)
	defer old.Close()
	t.Setenv(role, "old")
	if err := old.Check(); !errors.Is(err, rules.ErrProtocol) {
		t.Errorf("an old program: %v", err)
	}
	for _, name := range []string{"true", "cat"} {
		binary, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		c := rules.New(binary)
		defer c.Close()
		if err := c.Check(); !errors.Is(err, rules.ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := rules.New(os.DevNull).Check(); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("what is no program: %v", err)
	}
}
