package tape

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// A tape is a gzip stream of frames, see [rules.WriteFrame]: one for each answer, sorted by key and numbered from 1, and a
// last one with the number 0, which has nothing.

// recorded is an answer, and the hash of its question.
type recorded struct {
	Key    []byte
	Answer []byte
}

// maxTape bounds the bytes of a tape when it is unpacked.
const maxTape = 256 << 20

// Bytes returns all answers of a tape. Equal answers are equal bytes.
func (t *Tape) Bytes() ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	keys := slices.SortedFunc(maps.Keys(t.answers), func(a, b key) int { return bytes.Compare(a[:], b[:]) })
	for i, k := range keys {
		if err := rules.WriteFrame(w, uint64(i+1), &recorded{k[:], t.answers[k]}, rules.MaxFrame); err != nil {
			return nil, err
		}
	}
	if err := rules.WriteFrame(w, 0, &recorded{}, rules.MaxFrame); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

var errCut = errors.New("tape: it is cut, or damaged")

// parse returns the answers of a tape.
func parse(data []byte) (map[key][]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("tape: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(z, maxTape))
	if err != nil {
		return nil, fmt.Errorf("tape: %w", err)
	}
	out, r := map[key][]byte{}, bytes.NewReader(text)
	for r.Len() > 0 {
		var one recorded
		id, err := rules.ReadFrame(r, &one, rules.MaxFrame)
		switch {
		case id == 0 && r.Len() == 0: // the last one, whatever it has
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("tape: %w", err)
		case len(one.Key) != len(key{}):
			return nil, errCut
		}
		out[key(one.Key)] = one.Answer
	}
	return nil, errCut
}
