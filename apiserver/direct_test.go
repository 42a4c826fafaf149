package apiserver

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
)

// A server that writes more than may be unread, and has not flushed it yet, does not wait for a client that waits for it.
func TestFullAnswersAreReadBeforeTheFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &exchange{header: http.Header{}, ready: make(chan struct{}), cancel: func() {}}
		x.moved.L = &x.mu
		if err := x.FlushError(); err != nil {
			t.Fatal(err)
		}
		want := bytes.Repeat([]byte("0123456789"), maxAhead)
		var got []byte
		var err error
		go func() { got, err = io.ReadAll(body{x}) }()
		synctest.Wait() // the reader waits
		for part := range slices.Chunk(want, 1000) {
			if _, err := x.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		x.finish(io.EOF)
		synctest.Wait()
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes of %d: %v", len(got), len(want), err)
		}
	})
}
