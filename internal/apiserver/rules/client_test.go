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
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
	"github.com/flyball-io/flyball/internal/tier"
)

// eachWay runs a test with a client that has a process of its own, and with one that shares it.
func eachWay(t *testing.T, test func(t *testing.T, c *rules.Client, binary string)) {
	t.Run("own", func(t *testing.T) {
		binary := role(t, fakeName)
		c := rules.New(binary, rules.Options{})
		t.Cleanup(c.Close)
		test(t, c, binary)
	})
	if share == nil {
		return
	}
	t.Run("shared", func(t *testing.T) {
		binary := role(t, fakeName)
		c := share(t, binary, rules.Options{Idle: time.Minute})
		test(t, c, binary)
	})
}

func TestAnswersBelongToRequests(t *testing.T) {
	eachWay(t, func(t *testing.T, c *rules.Client, _ string) {
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
	})
}

func TestACrashIsNotSeen(t *testing.T) {
	eachWay(t, func(t *testing.T, c *rules.Client, _ string) {
		ask(t, c, "/a")
		first := get(t, c, "/pid")
		ask(t, c, "/crash-once")
		if get(t, c, "/pid") == first {
			t.Error("the program did not crash")
		}
		ask(t, c, "/b")
	})
}

func TestARequestThatCrashesTwice(t *testing.T) {
	eachWay(t, func(t *testing.T, c *rules.Client, _ string) {
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
	})
}

// Requests that are under way when another one ends the program are answered, each time.
func TestOthersSurviveARequestThatCrashes(t *testing.T) {
	eachWay(t, func(t *testing.T, c *rules.Client, _ string) {
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
	})
}

func TestGarbageEndsTheProgram(t *testing.T) {
	c := rules.New(role(t, fakeName), rules.Options{})
	defer c.Close()
	if _, err := c.Do(&rules.Request{URL: "/garbage"}); err == nil || !strings.Contains(err.Error(), "a frame of") {
		t.Errorf("got %v, want what is wrong with the frame", err)
	}
}

func TestProgramThatDoesNotExist(t *testing.T) {
	for _, socket := range []string{"", filepath.Join(filepath.Dir(role(t, "none")), "run", "socket")} {
		c := rules.New(filepath.Join(t.TempDir(), "none"), rules.Options{Socket: socket})
		defer c.Close()
		if _, err := c.Do(&rules.Request{}); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("socket %q: got %v, want that there is no file", socket, err)
		}
	}
}

func TestNoAnswersAfterClose(t *testing.T) {
	eachWay(t, func(t *testing.T, c *rules.Client, _ string) {
		ask(t, c, "/a")
		c.Close()
		if _, err := c.Do(&rules.Request{}); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("got %v", err)
		}
	})
}

func TestFramesThatAreCut(t *testing.T) {
	var b bytes.Buffer
	if err := rules.WriteFrame(&b, 7, &rules.Request{URL: "/x"}, rules.MaxFrame); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	for n := range whole {
		var req rules.Request
		if _, err := rules.ReadFrame(bytes.NewReader(whole[:n]), &req, rules.MaxFrame); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
	var req rules.Request
	if id, err := rules.ReadFrame(bytes.NewReader(whole), &req, rules.MaxFrame); id != 7 || err != nil || req.URL != "/x" {
		t.Errorf("got %d %+v %v", id, req, err)
	}
}

// The program and its client are in two modules, so what passes between them is in both. The program's files are the
// source. UPDATE_GOLDEN=1 generates the others from them, also the tests of the program's loops.
func TestProtocolIsThatOfTheProgram(t *testing.T) {
	for name, source := range map[string]string{"protocol.go": "protocol.go", "message.go": "message.go", "revision.go": "revision.go",
		"serve_test.go": "serve.go", "listen_test.go": "listen.go", "kept_test.go": "kept.go"} {
		source = "controlplane/rules/" + source
		text, err := os.ReadFile("../../../" + source)
		if err != nil {
			t.Fatal(err)
		}
		want := "// Code generated from " + source + " by " + t.Name() + ". DO NOT EDIT.\n\n" + strings.Replace(string(text), "package main\n", "package rules\n", 1)
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if string(have) != want {
			t.Errorf("%s is not what is generated from %s: UPDATE_GOLDEN=1 generates it anew", name, source)
		}
	}
}

// A program of another version is found before it is asked anything else.
func TestCheck(t *testing.T) {
	eachWay(t, func(t *testing.T, c *rules.Client, binary string) {
		for range 2 { // started for it, and running
			if err := c.Check(); err != nil {
				t.Error(err)
			}
			ask(t, c, "/a")
		}
	})
	eachWay(t, func(t *testing.T, c *rules.Client, binary string) {
		if err := os.WriteFile(filepath.Join(filepath.Dir(binary), "old"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := c.Check(); !errors.Is(err, rules.ErrProtocol) {
				t.Errorf("an old program: %v", err)
			}
			ask(t, c, "/a")
		}
	})
	tier.NotShort(t, "starts programs")
	for _, name := range []string{"true", "cat"} {
		binary, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		c := rules.New(binary, rules.Options{})
		defer c.Close()
		if err := c.Check(); !errors.Is(err, rules.ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := rules.New(os.DevNull, rules.Options{}).Check(); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("what is no program: %v", err)
	}
}
