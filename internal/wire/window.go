package wire

import (
	"errors"
	"fmt"
	"io"
)

// ErrIncomplete says that nothing further is complete: Fill has to read before Take can go on.
var ErrIncomplete = errors.New("wire: more bytes are needed")

// window holds the bytes of a body that were read and are not taken yet. Its size follows what arrives:
// small for a quiet watch, larger for a list.
type window struct {
	most int64  // the largest size of the buffer
	buf  []byte // buf[:at] has been taken
	at   int
	base int64 // bytes of the body before buf
	want int   // the next fill makes room for so many bytes
	err  error // of the body, behind buf: one of this package, or io.EOF
	// full and few describe the last read: it used all of the room, or little of it. quiet says that
	// little will come.
	full, few, quiet bool
}

const (
	leastBuffer = 4 << 10
	usualBuffer = 128 << 10 // above it only for a value that is larger
)

func newWindow(lim Limits) window { return window{most: max(lim.frame()+slack, leastBuffer)} }

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

// fill reads once. What goes wrong is returned by more, behind the bytes that are held.
func (w *window) fill(body io.Reader) {
	if w.err != nil {
		return
	}
	w.makeRoom(w.want)
	w.want = 0
	for range 100 { // then the reader neither reads nor fails
		free := w.buf[len(w.buf):cap(w.buf)]
		n, err := body.Read(free)
		w.buf = w.buf[:len(w.buf)+n]
		w.full, w.few = n == len(free), n < len(free)/4
		switch err {
		case nil:
		case io.EOF:
			w.err = err
		case io.ErrUnexpectedEOF: // so a cut HTTP body ends
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
	case w.quiet:
		size, w.quiet = 0, false
	case w.full && size < usualBuffer:
		size *= 2
	case w.few || size > usualBuffer:
		size /= 2
	}
	for size = max(size, leastBuffer); size <= held || size < want; {
		size *= 2
	}
	to := w.buf[:0]
	if size = int(min(int64(size), w.most)); size != cap(w.buf) {
		to = make([]byte, 0, size)
	} else if w.at == 0 {
		return
	}
	w.base += int64(w.at)
	w.buf, w.at = append(to, w.buf[w.at:]...), 0
}

// calm has the next read begin with a small buffer.
func (w *window) calm() { w.quiet = true }

// truncated is the error of a body that ends where it may not.
func (w *window) truncated() error { return &TruncatedError{Offset: w.base + int64(len(w.buf))} }

// cut turns an end of the body into a *TruncatedError.
func (w *window) cut(err error) error {
	if err == io.EOF {
		return w.truncated()
	}
	return err
}

func bodyError(err error) error { return fmt.Errorf("wire: read body: %w", err) }
