package cert

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/run"
)

// FilesOptions name the files of a certificate and its key. NewFiles reads them once.
type FilesOptions struct {
	// Dir is the base of relative names in Cert and Key. Empty means the working directory.
	Dir string
	// Cert is a PEM file with the certificate chain, the certificate of the server first. Empty
	// means tls.crt in Dir, as in a mounted Secret.
	Cert string
	// Key is a PEM file with the private key, not encrypted. Empty means tls.key in Dir.
	Key string
	// Interval is the time between two reads. Zero or negative means 2 s. A change serves after two
	// equal reads, half a second or one Interval apart, whichever is shorter.
	Interval time.Duration
	// Logger receives each certificate that is loaded, and each problem once. Nil means
	// slog.Default().
	Logger *slog.Logger
}

const (
	defaultInterval = 2 * time.Second
	settleFiles     = 500 * time.Millisecond
	maxFile         = 1 << 20
)

// Files is a certificate and its key in two files. It reads both every Interval and compares their
// whole content. So any way to replace them works: overwrite, delete and create, rename, a changed
// link, a change behind the first certificate.
//
// A pair serves once two reads were equal, it parses, and the key matches. A pair that is expired
// or not valid yet does not replace a valid one.
type Files struct {
	service
	o    FilesOptions
	core filesCore // guarded by the mutex of the service
}

// NewFiles reads the files and serves them. It starts no goroutine. An error names the file and
// wraps fs.ErrNotExist, a [FormatError] or a [MismatchError]. A pair that has expired or is not
// valid yet is no error here; Check reports it.
func NewFiles(o FilesOptions) (*Files, error) {
	for _, file := range [][2]string{{"Cert", o.Cert}, {"Key", o.Key}} {
		if o.Dir == "" && file[1] == "" {
			return nil, &option.Error{Of: "cert.FilesOptions", Field: file[0], Err: errors.New("is empty, and so is Dir")}
		}
	}
	o.Cert, o.Key = resolvePath(o.Dir, o.Cert, "tls.crt"), resolvePath(o.Dir, o.Key, "tls.key")
	o.Interval = cmp.Or(max(o.Interval, 0), defaultInterval)
	o.Logger = logguard.Logger(o.Logger)
	f := &Files{service: newService(), o: o}
	f.core = filesCore{cert: o.Cert, key: o.Key, interval: o.Interval}
	if _, err := f.read(time.Now()); err != nil {
		return nil, fmt.Errorf("cert: %w", err)
	}
	return f, nil
}

func resolvePath(dir, name, defaultName string) string {
	name = cmp.Or(name, defaultName)
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// Run implements [Source].
func (f *Files) Run(ctx context.Context) error {
	if err := f.begin(); err != nil {
		return err
	}
	defer f.runs.Store(false)
	logged := ""
	for wait := time.Duration(0); run.Sleep(ctx, wait) == nil; {
		var err error
		wait, err = f.read(time.Now())
		switch {
		case err == nil && logged != "":
			f.o.Logger.Info("certificate files are in order again", "cert", f.o.Cert)
			logged = ""
		case err != nil && err.Error() != logged:
			f.o.Logger.Error("certificate files cannot be used; the previous certificate still serves", "err", err)
			logged = err.Error()
		}
	}
	return context.Cause(ctx)
}

// read reads both files once. The error is that of the core.
func (f *Files) read(now time.Time) (time.Duration, error) {
	cert, err := readFile(f.o.Cert)
	var key []byte
	if err == nil {
		key, err = readFile(f.o.Key)
	}
	f.mu.Lock()
	f.stats.Reads++
	p, wait := f.core.Step(now, fileRead{cert, key, err})
	problem := f.core.problem
	if problem != nil {
		f.stats.Errors++
	}
	f.mu.Unlock()
	if p != nil {
		f.load(p)
		f.o.Logger.Info("certificate loaded", "cert", f.o.Cert, "expires", p.notAfter, "chain", len(p.cert.Certificate))
	}
	return wait, problem
}

// Check implements [Source].
func (f *Files) Check(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.core.check(time.Now())
}

func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &FormatError{Name: name, Problem: "is not a regular file"}
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, &FormatError{Name: name, Problem: fmt.Sprintf("is longer than %d bytes", maxFile)}
	}
	return data, nil
}

// filesCore decides which pair serves. It has no goroutine, lock or clock.
type filesCore struct {
	cert, key string
	interval  time.Duration

	serving *pair
	problem error // of the last settled read
	last    fileRead
	seen    bool // there was a read
}

// fileRead is the result of one read of the two files.
type fileRead struct {
	cert, key []byte
	err       error
}

func (l fileRead) equal(m fileRead) bool {
	if l.err != nil || m.err != nil {
		return fmt.Sprint(l.err) == fmt.Sprint(m.err)
	}
	return bytes.Equal(l.cert, m.cert) && bytes.Equal(l.key, m.key)
}

// Step takes what was read by now. It returns the pair to serve from now on, or nil if nothing
// changes, and the wait until the next read. It accepts a change only when two reads were equal,
// because a file may be half written. It accepts the very first read at once.
func (c *filesCore) Step(now time.Time, in fileRead) (load *pair, wait time.Duration) {
	settled := !c.seen || in.equal(c.last)
	c.last, c.seen = in, true
	if !settled {
		return nil, min(c.interval, settleFiles)
	}
	c.problem = in.err
	if in.err != nil || c.serving != nil && bytes.Equal(in.cert, c.serving.certPEM) && bytes.Equal(in.key, c.serving.keyPEM) {
		return nil, c.interval
	}
	p, err := parsePair(c.cert, in.cert, c.key, in.key)
	if err == nil && c.serving != nil && c.serving.validity(c.cert, now) == nil {
		err = p.validity(c.cert, now) // an invalid pair does not replace a valid one
	}
	if c.problem = err; err != nil {
		return nil, c.interval
	}
	c.serving = p
	return p, c.interval
}

func (c *filesCore) check(now time.Time) error {
	if c.serving == nil {
		return errors.Join(ErrNoCertificate, c.problem)
	}
	if err := c.serving.validity(c.cert, now); err != nil {
		return errors.Join(err, c.problem)
	}
	return c.problem
}
