package cert

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/run"
)

func write(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func writePair(t testing.TB, dir string, p pemPair) {
	t.Helper()
	write(t, filepath.Join(dir, "tls.crt"), p.cert)
	write(t, filepath.Join(dir, "tls.key"), p.key)
}

// kubelet writes the pair as the kubelet does: into a new folder, with the link ..data to it
// replaced by a rename, and links to the files through ..data.
func kubelet(t testing.TB, dir, version string, p pemPair) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(filepath.Join(dir, version), 0o700))
	writePair(t, filepath.Join(dir, version), p)
	must(os.Symlink(version, filepath.Join(dir, "..data_tmp")))
	before, _ := os.Readlink(filepath.Join(dir, "..data"))
	must(os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	for _, f := range []string{"tls.crt", "tls.key"} {
		if _, err := os.Lstat(filepath.Join(dir, f)); errors.Is(err, fs.ErrNotExist) {
			must(os.Symlink(filepath.Join("..data", f), filepath.Join(dir, f)))
		}
	}
	if before != "" {
		must(os.RemoveAll(filepath.Join(dir, before)))
	}
}

// serving is the chain that is served, in PEM.
func serving(t testing.TB, s Source) []byte {
	t.Helper()
	c, err := s.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for _, der := range c.Certificate {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	return out
}

// TestOldPairServesUntilTheNewOneParses is fault 28 of docs/faults.md. However the files change, the
// old pair serves until the new one parses. Ten seconds later the new one serves.
func TestOldPairServesUntilTheNewOneParses(t *testing.T) {
	const life = 1000 * time.Hour
	type move struct {
		do func(t *testing.T, dir string, next pemPair)
		// says is a part of the error of Check after 10 s. Empty means no error.
		says string
		// then reports whether the new pair serves in the end.
		then bool
	}
	file := func(name string, data func(p pemPair) []byte) func(*testing.T, string, pemPair) {
		return func(t *testing.T, dir string, p pemPair) { write(t, filepath.Join(dir, name), data(p)) }
	}
	whole := func(name string) func(*testing.T, string, pemPair) {
		return file(name, func(p pemPair) []byte {
			if name == "tls.key" {
				return p.key
			}
			return p.cert
		})
	}
	remove := func(names ...string) func(*testing.T, string, pemPair) {
		return func(t *testing.T, dir string, _ pemPair) {
			for _, n := range names {
				if err := os.Remove(filepath.Join(dir, n)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	another := selfMade(t, time.Now(), life)
	for _, c := range []struct {
		name  string
		links bool
		chain bool // old and new differ only behind the leaf
		moves []move
	}{
		{name: "deleted, then created", moves: []move{
			{do: remove("tls.crt", "tls.key"), says: "tls.crt: no such file"},
			{do: whole("tls.key"), says: "tls.crt: no such file"},
			{do: whole("tls.crt"), then: true},
		}},
		{name: "key deleted, then created", moves: []move{
			{do: remove("tls.key"), says: "tls.key: no such file"},
			{do: whole("tls.key"), says: "tls.crt does not match key"},
			{do: whole("tls.crt"), then: true},
		}},
		{name: "link moved", links: true, moves: []move{
			{do: func(t *testing.T, dir string, p pemPair) { kubelet(t, dir, "..2", p) }, then: true},
		}},
		{name: "link moved to nowhere, and back", links: true, moves: []move{
			{do: func(t *testing.T, dir string, _ pemPair) {
				if err := os.Rename(filepath.Join(dir, "..1"), filepath.Join(dir, "away")); err != nil {
					t.Fatal(err)
				}
			}, says: "no such file"},
			{do: func(t *testing.T, dir string, p pemPair) { kubelet(t, dir, "..2", p) }, then: true},
		}},
		{name: "half written", moves: []move{
			{do: file("tls.crt", func(p pemPair) []byte { return p.cert[:len(p.cert)/2] }), says: "tls.crt is cut off"},
			{do: whole("tls.crt"), says: "does not match key"},
			{do: file("tls.key", func(p pemPair) []byte { return p.key[:len(p.key)/2] }), says: "tls.key is cut off"},
			{do: whole("tls.key"), then: true},
		}},
		{name: "emptied first", moves: []move{
			{do: file("tls.crt", func(pemPair) []byte { return nil }), says: "tls.crt has no certificate"},
			{do: whole("tls.crt"), says: "does not match key"},
			{do: whole("tls.key"), then: true},
		}},
		{name: "key of another certificate", moves: []move{
			{do: whole("tls.crt"), says: "does not match key"},
			{do: file("tls.key", func(pemPair) []byte { return another.key }), says: "does not match key"},
			{do: whole("tls.key"), then: true},
		}},
		{name: "intermediates only", chain: true, moves: []move{
			{do: whole("tls.crt"), then: true},
		}},
		{name: "half an intermediate", chain: true, moves: []move{
			{do: file("tls.crt", func(p pemPair) []byte { return p.cert[:len(p.cert)-30] }), says: "tls.crt is cut off"},
			{do: whole("tls.crt"), then: true},
		}},
		{name: "renamed into place", moves: []move{
			{do: func(t *testing.T, dir string, p pemPair) {
				tmp := t.TempDir()
				writePair(t, tmp, p)
				for _, f := range []string{"tls.crt", "tls.key"} {
					if err := os.Rename(filepath.Join(tmp, f), filepath.Join(dir, f)); err != nil {
						t.Fatal(err)
					}
				}
			}, then: true},
		}},
		{name: "a folder in its place", moves: []move{
			{do: func(t *testing.T, dir string, p pemPair) {
				remove("tls.crt")(t, dir, p)
				if err := os.Mkdir(filepath.Join(dir, "tls.crt"), 0o700); err != nil {
					t.Fatal(err)
				}
			}, says: "tls.crt is not a regular file"},
		}},
		{name: "expired", moves: []move{
			{do: func(t *testing.T, dir string, _ pemPair) {
				writePair(t, dir, selfMade(t, time.Now().Add(-time.Hour), time.Minute))
			}, says: "expired at"},
		}},
		{name: "not valid yet, until it is", moves: []move{
			{do: func(t *testing.T, dir string, _ pemPair) {
				writePair(t, dir, selfMade(t, time.Now().Add(backdate+15*time.Second), life))
			}, says: "is not valid before"},
			{do: func(*testing.T, string, pemPair) {}, then: true},
		}},
		{name: "endless", moves: []move{
			{do: file("tls.crt", func(p pemPair) []byte { return bytes.Repeat(p.cert, maxFile/len(p.cert)+1) }), says: "tls.crt is longer than"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				now := time.Now()
				old, next := selfMade(t, now, life), selfMade(t, now, life)
				if c.chain {
					old, next = chained(t, now, life)
				}
				if c.links {
					kubelet(t, dir, "..1", old)
				} else {
					writePair(t, dir, old)
				}
				f, err := NewFiles(FilesOptions{Dir: dir, Logger: silent})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancelCause(t.Context())
				done := make(chan error, 1)
				go func() { done <- f.Run(ctx) }()
				for i, m := range c.moves {
					time.Sleep(10 * time.Second)
					synctest.Wait()
					m.do(t, dir, next)
					time.Sleep(10 * time.Second)
					synctest.Wait()
					if served := serving(t, f); !m.then && !bytes.Equal(served, old.cert) {
						t.Fatalf("move %d: the old pair does not serve", i)
					} else if m.then && bytes.Equal(served, old.cert) {
						t.Fatalf("move %d: the old pair serves still", i)
					}
					err := f.Check(ctx)
					if m.says == "" && err != nil || m.says != "" && (err == nil || !strings.Contains(err.Error(), m.says)) {
						t.Fatalf("move %d: check says %v, want %q", i, err, m.says)
					}
					if s := f.Stats(); (s.Errors > 0) != (err != nil) && m.says != "" || s.Loads != 1 && !m.then || s.NotAfter != f.Expiry() {
						t.Fatalf("move %d: %+v", i, s)
					}
				}
				cause := errors.New("enough")
				stop(cause)
				if err := <-done; !errors.Is(err, cause) {
					t.Errorf("Run: %v", err)
				}
			})
		})
	}
}

// TestShortProblemsAreNotReported: a problem that lasts less than half a second is not reported.
// Files that were read only once do not serve, because they may be half written.
func TestShortProblemsAreNotReported(t *testing.T) {
	now := time.Now()
	old, next := selfMade(t, now, time.Hour), selfMade(t, now, time.Hour)
	c := filesCore{cert: "C", key: "K", interval: 2 * time.Second}
	if p, wait := c.Step(now, fileRead{old.cert, old.key, nil}); p == nil || wait != c.interval {
		t.Fatal("the first look is believed at once")
	}
	quiet := func(p *pair, wait time.Duration) {
		t.Helper()
		if p != nil || wait != settleFiles || c.check(now) != nil {
			t.Fatalf("pair %v, wait %v, check %v", p != nil, wait, c.check(now))
		}
	}
	quiet(c.Step(now, fileRead{nil, nil, fs.ErrNotExist}))
	quiet(c.Step(now, fileRead{next.cert, old.key, nil}))
	quiet(c.Step(now, fileRead{next.cert, next.key, nil}))
	if p, _ := c.Step(now, fileRead{next.cert, next.key, nil}); p == nil || c.check(now) != nil {
		t.Fatal("read twice, and not believed")
	}
	if p, wait := c.Step(now, fileRead{next.cert, next.key, nil}); p != nil || wait != c.interval {
		t.Fatal("nothing changed, and yet")
	}
}

func TestNewFilesNamesTheBadFile(t *testing.T) {
	now := time.Now()
	good, other := selfMade(t, now, time.Hour), selfMade(t, now, time.Hour)
	dir := t.TempDir()
	name := func(n string) string { return filepath.Join(dir, n) }
	writePair(t, dir, good)
	write(t, name("other.key"), other.key)
	write(t, name("text"), []byte("hello"))
	for _, c := range []struct {
		o    FilesOptions
		want string
	}{
		{FilesOptions{}, "cert.FilesOptions: Cert: is empty"},
		{FilesOptions{Cert: name("tls.crt")}, "cert.FilesOptions: Key: is empty"},
		{FilesOptions{Dir: name("nowhere")}, name("nowhere/tls.crt") + ": no such file or directory"},
		{FilesOptions{Dir: dir, Key: "no.key"}, name("no.key") + ": no such file or directory"},
		{FilesOptions{Dir: dir, Key: "other.key"}, "certificate " + name("tls.crt") + " does not match key " + name("other.key")},
		{FilesOptions{Dir: dir, Cert: "text"}, name("text") + " has no certificate in PEM form"},
		{FilesOptions{Dir: dir, Key: "text"}, name("text") + " has no private key in PEM form"},
	} {
		f, err := NewFiles(c.o)
		if f != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
	var mismatch *MismatchError
	if _, err := NewFiles(FilesOptions{Dir: dir, Key: "other.key"}); !errors.As(err, &mismatch) {
		t.Errorf("%v is no MismatchError", err)
	}
	if _, err := NewFiles(FilesOptions{Dir: name("nowhere")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
}

// TestExpiredPairServesAtStart: an expired pair serves if there is no better one, and Check reports
// it.
func TestExpiredPairServesAtStart(t *testing.T) {
	dir := t.TempDir()
	writePair(t, dir, selfMade(t, time.Now().Add(-time.Hour), time.Minute))
	f, err := NewFiles(FilesOptions{Dir: dir, Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	<-f.Ready()
	var invalid *ValidityError
	if err := f.Check(t.Context()); !errors.As(err, &invalid) {
		t.Errorf("check: %v", err)
	}
}

func TestSecondRunIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		writePair(t, dir, selfMade(t, time.Now(), time.Hour))
		f, err := NewFiles(FilesOptions{Dir: dir, Logger: silent})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // again after it has ended, but not concurrently
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- f.Run(ctx) }()
			synctest.Wait()
			if err := f.Run(ctx); !errors.Is(err, run.ErrRunning) {
				t.Errorf("beside: %v", err)
			}
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("Run: %v", err)
			}
		}
	})
}
