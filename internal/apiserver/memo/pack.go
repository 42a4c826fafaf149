package memo

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
)

// What the first byte of a packed text says about the others.
const (
	asItIs byte = iota
	deflated
)

// minDeflated is the length from which texts are compressed: those of definitions, which repeat themselves.
const minDeflated = 64 << 10

// pack returns a text as it is kept in a file.
func pack(text []byte) ([]byte, error) {
	if len(text) < minDeflated {
		return append([]byte{asItIs}, text...), nil
	}
	var out bytes.Buffer
	out.WriteByte(deflated)
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close() // it writes the rest
	return out.Bytes(), err
}

var errPacked = errors.New("memo: a text that is not packed, or too long")

// unpack returns the text that was packed. It may share the memory of packed.
func unpack(packed []byte) ([]byte, error) {
	if len(packed) == 0 || packed[0] > deflated {
		return nil, errPacked
	}
	if packed[0] == asItIs {
		return packed[1:], nil
	}
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed[1:])), maxUnpacked+1))
	if err == nil && len(text) > maxUnpacked {
		err = errPacked
	}
	return text, err
}
