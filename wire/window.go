package wire

import (
	"fmt"
	"io"
)

// window is the part of a body that was read and is not taken yet. It is as large as what comes makes
// it: small for a watch on which little happens, larger for a list.
type window struct {
	r    io.Reader
	most int64  // the buffer may have no more bytes
	buf  []byte // buf[:at] has been taken
	at   int
	base int64 // bytes of the body before buf
	err  error // of the body, behind buf: one of this package, or io.EOF
	// before is called before each read of the body; nil: nothing.
	before func()
	// full says that the last read had all the room there was, few that it took little of it, and
	// quiet that little is to come.
	full, few, quiet bool
}

const (
	leastBuffer = 4 << 10
	usualBuffer = 128 << 10 // above it only for a value that is larger
)

func newWindow(body io.Reader, lim Limits) window {
	return window{r: body, most: max(lim.frame()+slack, leastBuffer)}
}

// slack is room for the space and the punctuation around a value.
const slack = 256

// offset is how many bytes of the body were taken.
func (w *window) offset() int64 { return w.base + int64(w.at) }

// held is how many bytes were read and not taken.
func (w *window) held() int { return len(w.buf) - w.at }

// take takes the next n bytes, which are held. They are good until the next fill.
func (w *window) take(n int) []byte {
	b := w.buf[w.at : w.at+n : w.at+n]
	w.at += n
	return b
}

// need returns when n bytes are held.
func (w *window) need(n int) error {
	for w.held() < n {
		if err := w.fill(n); err != nil {
			return err
		}
	}
	return nil
}

// fill reads more behind what is held, which is to become want bytes, in one read or several.
func (w *window) fill(want int) error {
	if w.err != nil {
		return w.err
	}
	if w.before != nil {
		w.before()
	}
	w.makeRoom(want)
	for range 100 { // then the reader neither reads nor fails
		free := w.buf[len(w.buf):cap(w.buf)]
		n, err := w.r.Read(free)
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
		if n > 0 {
			return nil
		}
		if err != nil {
			return w.err
		}
	}
	w.err = bodyError(io.ErrNoProgress)
	return w.err
}

// makeRoom makes the buffer as large as it should be, with what is held at its start.
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

// calm says that what is held is the last for a while: the next read begins with a small buffer.
func (w *window) calm() { w.quiet = true }

// truncated is the error of a body that ends where it may not.
func (w *window) truncated() error { return &TruncatedError{Offset: w.base + int64(len(w.buf))} }

func bodyError(err error) error { return fmt.Errorf("wire: read body: %w", err) }
