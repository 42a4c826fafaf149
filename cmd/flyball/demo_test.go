package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/cmd/flyball/internal/demo"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/test/plane"
	"github.com/flyball-io/flyball/test/planetest"
)

// stopping bounds the time from Ctrl-C to the end, in the audit. Each step has a bound of seconds; what is not
// bounded takes a minute and more.
const stopping = 45 * time.Second

// demoProcess is "flyball demo" in its own process, with a directory for temporary files.
type demoProcess struct {
	*exec.Cmd
	out    io.ReadCloser
	errOut said
	tmp    string
}

// said stores the output, and signals the first write.
type said struct {
	text bytes.Buffer
	some chan struct{} // closed with the first write
}

func (s *said) String() string { return s.text.String() }

func (s *said) Write(b []byte) (int, error) {
	if s.text.Len() == 0 {
		close(s.some)
	}
	return s.text.Write(b)
}

func startDemo(t *testing.T, args ...string) *demoProcess {
	t.Helper()
	binary, rules := servers(t)
	name, err := exec.LookPath("flyball") // this program; see TestMain
	if err != nil {
		t.Fatal(err)
	}
	d := &demoProcess{Cmd: exec.Command(name, append([]string{"demo"}, args...)...), tmp: t.TempDir(), errOut: said{some: make(chan struct{})}}
	d.Env = append(os.Environ(), "TMPDIR="+d.tmp, plane.BinaryEnv+"="+binary, plane.RulesEnv+"="+rules)
	d.Stderr = &d.errOut
	if d.out, err = d.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if d.ProcessState == nil {
			_ = d.Process.Kill()
			_ = d.Wait()
		}
	})
	return d
}

// leftIn returns what a program left in its folder for temporary files. A package for imports makes an empty folder
// there whenever a test binary starts; in a program it is in the user's cache folder.
func leftIn(tmp string) ([]string, error) {
	left, err := filepath.Glob(filepath.Join(tmp, "*"))
	return slices.DeleteFunc(left, func(f string) bool { return filepath.Base(f) == "goimports" }), err
}

// nothingLeft fails the test if files, or a server, are left.
func (d *demoProcess) nothingLeft(t *testing.T) {
	t.Helper()
	if left, err := leftIn(d.tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(d.errOut.String())
	if address == "" {
		t.Fatalf("no address of a server: %s", d.errOut.String())
	}
	if c, err := net.Dial("tcp", address); err == nil {
		c.Close()
		t.Error("the server still runs")
	}
}

// The whole story as JSON, on both servers: each line has only the documented fields.
func TestDemoOnce(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--real"}} {
		t.Run(strings.Join(args, ""), func(t *testing.T) {
			if args != nil {
				livetest.NeedReal(t)
			}
			t.Parallel()
			once(t, args...)
		})
	}
}

func once(t *testing.T, args ...string) {
	d := startDemo(t, append(args, "--once", "-o", "json", "--pace", "100ms")...)
	dec := json.NewDecoder(d.out)
	dec.DisallowUnknownFields()
	counts := map[demo.Kind]int{}
	var l demo.Line
	for last := 0.0; ; last = l.Time {
		l = demo.Line{}
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		counts[l.Kind]++
		if l.Time < last {
			t.Errorf("time goes back from %v: %+v", last, l)
		}
		if l.OK != nil && !*l.OK || l.Error != "" {
			t.Errorf("%+v", l)
		}
		if l.Kind == demo.Summary && (l.OK == nil || l.Counts[demo.Event] != counts[demo.Event]) {
			t.Errorf("%+v", l)
		}
	}
	if err := d.Wait(); err != nil {
		t.Errorf("%v: %s", err, d.errOut.String())
	}
	for kind, least := range map[demo.Kind]int{
		demo.Story: 9, demo.Event: 60, demo.Log: 8, demo.Write: 9, demo.Reconcile: 30, demo.Expect: 12, demo.Summary: 1,
	} {
		if counts[kind] < least {
			t.Errorf("%d lines of %s, want at least %d", counts[kind], kind, least)
		}
	}
	d.nothingLeft(t)
}

// Ctrl-C in the middle of the story, or before it has begun.
func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	t.Run("in the story", func(t *testing.T) {
		d := startDemo(t)
		await(t, d.out, "visitor-03")
		d.interrupt(t)
		d.nothingLeft(t)
		if strings.Contains(d.errOut.String(), "flyball:") {
			t.Errorf("it complains: %s", d.errOut.String())
		}
	})
	t.Run("of a real control plane", func(t *testing.T) {
		livetest.NeedReal(t)
		d := startDemo(t, "--real")
		await(t, d.out, "visitor-02")
		d.interrupt(t)
		d.nothingLeft(t)
	})
	t.Run("in the second round", func(t *testing.T) {
		d := startDemo(t, "--pace", "20ms")
		await(t, d.out, "Once more, from the start")
		await(t, d.out, "All expectations held.")
		d.interrupt(t)
		d.nothingLeft(t)
	})
	t.Run("at the start", func(t *testing.T) {
		d := startDemo(t)
		<-d.errOut.some
		d.interrupt(t)
		if left, err := leftIn(d.tmp); err != nil || len(left) > 0 {
			t.Errorf("left behind: %q, %v", left, err)
		}
	})
}

// interrupt sends Ctrl-C; the process must end soon, with status 0.
func (d *demoProcess) interrupt(t *testing.T) {
	t.Helper()
	begun := time.Now()
	if err := d.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, d.out)
	if err := d.Wait(); err != nil {
		t.Errorf("%v: %s", err, d.errOut.String())
	}
	if took := time.Since(begun); tier.InAudit() && took > stopping {
		t.Errorf("ended after %v", took)
	}
}

// await reads until a text appears.
func await(t *testing.T, r io.Reader, text string) {
	t.Helper()
	var seen []byte
	b := make([]byte, 4096)
	for !bytes.Contains(seen, []byte(text)) {
		n, err := r.Read(b)
		seen = append(seen, b[:n]...)
		if err != nil {
			t.Fatalf("%v; read %s", err, seen)
		}
	}
}

// In the user's cluster the namespace is deleted, after the story and after Ctrl-C.
func TestDemoInYourCluster(t *testing.T) {
	t.Parallel()
	p := planetest.Shared(t)
	c := livetest.Client(t, p, client.Options{})
	// The watch starts from the version before the demonstrations.
	page, err := client.ListPage[corev1.Namespace](t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	w, err := client.Watch[corev1.Namespace](ctx, c, client.AtVersion(page.ResourceVersion))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()

	once := startDemo(t, "--once", "--pace", "20ms", "--kubeconfig", p.KubeconfigPath())
	await(t, once.out, "All expectations held.")
	if _, err := io.Copy(io.Discard, once.out); err != nil {
		t.Error(err)
	}
	if err := once.Wait(); err != nil {
		t.Errorf("%v: %s", err, once.errOut.String())
	}
	asked := startDemo(t, "--kubeconfig", p.KubeconfigPath())
	await(t, asked.out, "visitor-02")
	asked.interrupt(t)

	gone := 0
	for e, err := range w.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == watch.Deleted && strings.HasPrefix(e.Object.Name, "flyball-demo-") {
			if gone++; gone == 2 {
				return
			}
		}
	}
}
