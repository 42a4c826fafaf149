// Package transport is a contender that holds nothing. It lists and watches each kind like the
// others, reads all bytes, and splits them into frames. What it takes is the least that any client
// takes that uses the same HTTP client.
package transport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/lab/bench/contender"
)

// Library is the transport alone. It has no queue.
var Library = contender.Library{Name: contender.Transport, New: open, NewQueue: func() (contender.Queue, error) { return nil, errReads }}

var errReads = errors.New("the transport holds nothing")

// reader reads all kinds.
type reader struct {
	o      contender.Options
	client *http.Client
	frames atomic.Int64
	unread atomic.Int64  // number of kinds whose first list is not read
	synced chan struct{} // closed when it is zero
}

func open(o contender.Options) (contender.Contender, error) {
	client, err := rest.HTTPClientFor(o.Config)
	return &reader{o: o, client: client, synced: make(chan struct{})}, err
}

// Frames returns the number of frames so far, of all watches.
func (t *reader) Frames() int64 { return t.frames.Load() }

// Run implements contender.Contender.
func (t *reader) Run(ctx context.Context) error {
	errs := make([]error, len(t.o.Kinds))
	var running sync.WaitGroup
	t.unread.Store(int64(len(errs)))
	for i, k := range t.o.Kinds {
		running.Go(func() { errs[i] = t.read(ctx, k, sync.OnceFunc(t.listed)) })
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	<-ctx.Done() // lists that are not streams have ended
	return nil
}

// listed counts a kind whose first list was read.
func (t *reader) listed() {
	if t.unread.Add(-1) == 0 {
		close(t.synced)
	}
}

// WaitForSync implements contender.Contender.
func (t *reader) WaitForSync(ctx context.Context) error {
	select {
	case <-t.synced:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// read reads a kind: a streaming list and what comes after it, or a whole list if the server has no
// streaming ones. It calls listed at the end of the list.
func (t *reader) read(ctx context.Context, k contender.Kind, listed func()) error {
	err := t.get(ctx, k, "?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", func(r *bufio.Reader) error {
		return t.split(r, !strings.Contains(k.ContentType, "protobuf"), listed)
	})
	if errors.Is(err, errStatus) {
		err = t.get(ctx, k, "?resourceVersion=0", func(r *bufio.Reader) error {
			if _, err := io.Copy(io.Discard, r); err != nil {
				return err
			}
			listed()
			return nil
		})
	}
	return err
}

var errStatus = errors.New("unexpected status")

func (t *reader) get(ctx context.Context, k contender.Kind, query string, body func(*bufio.Reader) error) error {
	path := "/apis/" + k.GVR.Group + "/" + k.GVR.Version + "/" + k.GVR.Resource
	if k.GVR.Group == "" {
		path = "/api/" + k.GVR.Version + "/" + k.GVR.Resource
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.o.Config.Host+path+query, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", k.ContentType)
	resp, err := t.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %w %s", k.GVR.Resource, errStatus, resp.Status)
	}
	return body(bufio.NewReaderSize(resp.Body, 64<<10))
}

// The type of an event is the first field of its frame, in both forms.
var (
	bookmarkJSON     = []byte(`{"type":"BOOKMARK"`)
	bookmarkProtobuf = []byte("\x0a\x08BOOKMARK")
)

// split reads frames until the stream ends: lines of JSON, or messages behind four bytes with their
// length. It calls listed at the first bookmark.
func (t *reader) split(r *bufio.Reader, lines bool, listed func()) error {
	next, bookmark := message, bookmarkProtobuf
	if lines {
		next, bookmark = line, bookmarkJSON
	}
	var buf []byte
	for {
		frame, err := next(r, buf[:0])
		if err != nil {
			return err
		}
		t.frames.Add(1)
		if bytes.HasPrefix(frame, bookmark) {
			listed()
		}
		buf = frame
	}
}

func message(r *bufio.Reader, buf []byte) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(head[:]))
	if n > cap(buf) {
		buf = make([]byte, n)
	}
	_, err := io.ReadFull(r, buf[:n])
	return buf[:n], err
}

func line(r *bufio.Reader, buf []byte) ([]byte, error) {
	for {
		part, err := r.ReadSlice('\n')
		buf = append(buf, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return buf, err
		}
	}
}

// Get implements contender.Contender, and so do the other reads. All fail.
func (t *reader) Get(contender.Key) error { return errReads }

// ByIndex implements contender.Contender.
func (t *reader) ByIndex(int, string) (int, error) { return 0, errReads }

// ByLabel implements contender.Contender.
func (t *reader) ByLabel(int, string, string) (int, error) { return 0, errReads }

// Some implements contender.Contender.
func (t *reader) Some(int, string, int) (int, error) { return 0, errReads }

// Held implements contender.Contender.
func (t *reader) Held() int64 { return 0 }
