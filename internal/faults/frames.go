package faults

import (
	"bufio"
	"encoding/binary"
	"io"
)

// frames is the body of a watch of which some frames are lost: lines of JSON, or protobuf with the length
// of each in four bytes before it.
type frames struct {
	io.Closer
	from   *bufio.Reader
	binary bool
	lose   func(frame []byte) bool
	rest   []byte // of the frame that is being read
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

// next is the next frame, or what is left of it when the body ends.
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
