package wire

import (
	"errors"
	"fmt"
	"io"
)

// ErrIncomplete says that nothing further is complete: Fill has to read before Take can go on.
var ErrIncomplete = errors.New("wire: more bytes are needed")

// window is the read buffer of a body. It holds the bytes that were read and not taken yet. Its size adapts to
// the reads: small for an idle watch, larger for a list.
type window struct {
	max  int64  // the largest size of the buffer
	buf  []byte // buf[:at] has been taken
	at   int
	base int64 // bytes of the body before buf
	want int   // the next fill makes room for this many bytes
	err  error // of the body, behind buf: one of this package, or io.EOF
	// filled is set if the last read used all of the room, and sparse if it used less than a quarter. shrink
	// makes the next read begin with a small buffer.
	filled, sparse, shrink bool
}

const (
	leastBuffer = 4 << 10
	usualBuffer = 128 << 10 // above it only for a value that is larger
)

func newWindow(lim Limits) window { return window{max: max(lim.frame()+slack, leastBuffer)} }

// slack is room for the space and the punctuation around a value.
const slack = 256

// offset is how many bytes of the body were taken.
func (w *window) offset() int64 { return w.base + int64(w.at) }

// held is how many bytes were read and not taken.
func (w *window) held() int { return len(w.buf) - w.at }

// take takes the next n bytes, which are held. They are valid until the next fill.
func (w *window) take(n int) []byte {
	b := w.buf[w.at : w.at+n : w.at+n]
	w.at += n
	return b
}

// more returns ErrIncomplete, or the end of the body. want is how many bytes the caller needs to hold.
func (w *window) more(want int) error {
	if w.err != nil {
		return w.err
	}
	w.want = want
	return ErrIncomplete
}

// fill reads once. An error is returned by more, after the held bytes. A buffer that may not grow is one.
func (w *window) fill(body io.Reader) {
	if w.err != nil {
		return
	}
	w.makeRoom(w.want)
	w.want = 0
	if len(w.buf) == cap(w.buf) {
		w.err = &TooLargeError{Size: w.max, Limit: w.max - slack}
		return
	}
	for range 100 { // a reader that returns 0, nil this often has failed
		free := w.buf[len(w.buf):cap(w.buf)]
		n, err := body.Read(free)
		w.buf = w.buf[:len(w.buf)+n]
		w.filled, w.sparse = n == len(free), n < len(free)/4
		switch err {
		case nil:
		case io.EOF:
			w.err = err
		case io.ErrUnexpectedEOF: // the end of a truncated HTTP body
			w.err = w.truncated()
		default:
			w.err = bodyError(err)
		}
		if n > 0 || err != nil {
			return
		}
	}
	w.err = bodyError(io.ErrNoProgress)
}

// makeRoom sets the size of the buffer. It moves the bytes that are not taken yet to the start of the buffer.
func (w *window) makeRoom(want int) {
	size, held := cap(w.buf), w.held()
	switch {
	case w.shrink:
		size, w.shrink = 0, false
	case w.filled && size < usualBuffer:
		size *= 2
	case w.sparse || size > usualBuffer:
		size /= 2
	}
	for size = max(size, leastBuffer); size <= held || size < want; {
		size *= 2
	}
	to := w.buf[:0]
	if size = int(min(int64(size), w.max)); size != cap(w.buf) {
		to = make([]byte, 0, size)
	} else if w.at == 0 {
		return
	}
	w.base += int64(w.at)
	w.buf, w.at = append(to, w.buf[w.at:]...), 0
}

// release frees a large buffer before the next read.
func (w *window) release() { w.shrink = true }

// truncated returns the error for a body that ends within a value.
func (w *window) truncated() error { return &TruncatedError{Offset: w.base + int64(len(w.buf))} }

// cut turns an end of the body into a *TruncatedError.
func (w *window) cut(err error) error {
	if err == io.EOF {
		return w.truncated()
	}
	return err
}

func bodyError(err error) error { return fmt.Errorf("wire: read body: %w", err) }
