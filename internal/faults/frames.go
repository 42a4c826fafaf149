package faults

import (
	"bufio"
	"encoding/binary"
	"io"
)

// frames is the body of a watch that loses some frames. A frame is a line of JSON, or protobuf
// behind its length in four bytes.
type frames struct {
	io.Closer
	from   *bufio.Reader
	binary bool
	lose   func(frame []byte) bool
	rest   []byte // unread part of the current frame
}

func newFrames(body io.ReadCloser, binary bool, lose func([]byte) bool) *frames {
	return &frames{Closer: body, from: bufio.NewReader(body), binary: binary, lose: lose}
}

func (f *frames) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		frame, err := f.next()
		if len(frame) > 0 && !f.lose(frame) {
			f.rest = frame
		} else if err != nil {
			return 0, err
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// next returns the next frame, or its beginning if the body ends within it.
func (f *frames) next() ([]byte, error) {
	if !f.binary {
		return f.from.ReadBytes('\n')
	}
	head, err := f.from.Peek(4)
	if err != nil {
		return nil, err
	}
	frame := make([]byte, 4+binary.BigEndian.Uint32(head))
	n, err := io.ReadFull(f.from, frame)
	return frame[:n], err
}
