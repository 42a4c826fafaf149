package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/flyball-io/flyball/lab/bench/corpus"
	"github.com/flyball-io/flyball/lab/bench/replay"
)

// entropy is how small a compressor makes a whole corpus: bytes for each object. The objects have no
// managedFields and stand in the order of their kinds. They are one stream, with a window over all of
// it. Nothing in it can be read alone: a cache does not reach this, but says how far it is from it.
type entropy struct {
	Default float64 `json:"default"` // with zstd's default level, about 3
	Best    float64 `json:"best"`    // with the best level of this implementation
}

// window returns the compressor's window for that many bytes: the largest that it has is 512 MB. It takes twice the
// memory of its window, however little there is to compress.
func window(size int) int {
	n := zstd.MinWindowSize
	for n < size && n < zstd.MaxWindowSize {
		n *= 2
	}
	return n
}

// mean is more than the mean size of the objects of any corpus of this module.
const mean = 16 << 10

// measureEntropy returns the entropy of a corpus, from a file if it was measured before.
func measureEntropy(ctx context.Context, s Setup) (e entropy, err error) {
	c, err := s.stripped()
	if err != nil {
		return e, err
	}
	file := filepath.Join(s.Tapes, fmt.Sprintf("entropy-%s-%s.json", filepath.Base(c.ID()), s.form(noName)))
	if b, err := os.ReadFile(file); err == nil {
		return e, json.Unmarshal(b, &e)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return e, err
	}
	if e.Default, err = compressed(ctx, s, c, zstd.SpeedDefault); err != nil {
		return e, err
	}
	if e.Best, err = compressed(ctx, s, c, zstd.SpeedBestCompression); err != nil {
		return e, err
	}
	b, err := json.Marshal(e)
	if err != nil {
		return e, err
	}
	return e, os.WriteFile(file, b, 0o644)
}

// stripped returns the corpus without managedFields.
func (s Setup) stripped() (corpus.Corpus, error) {
	s.Spec.ManagedFields = false
	err := s.make()
	return s.made, err
}

// compressed returns the bytes for each object at a level.
func compressed(ctx context.Context, s Setup, c corpus.Corpus, level zstd.EncoderLevel) (float64, error) {
	over := window(mean * c.Len())
	in, out, err := compressedOver(ctx, s, c, level, over)
	if all := window(int(in)); err == nil && all > over { // a recorded corpus may be of large objects
		_, out, err = compressedOver(ctx, s, c, level, all)
	}
	return float64(out) / float64(c.Len()), err
}

// compressedOver returns the bytes of all objects, and what a window makes of them.
func compressedOver(ctx context.Context, s Setup, c corpus.Corpus, level zstd.EncoderLevel, window int) (in, out counter, err error) {
	w, err := zstd.NewWriter(&out, zstd.WithEncoderLevel(level), zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return 0, 0, err
	}
	kinds := c.Resources()
	done := 0
	for kind, r := range kinds {
		form := s.form(noName).Of(r)
		for i := range c.Len() {
			if c.KindOf(i) != kind {
				continue
			}
			if done++; done%1000 == 0 {
				s.Log("compressing %d of %d", done, c.Len())
				if ctx.Err() != nil {
					return 0, 0, context.Cause(ctx)
				}
			}
			o := c.At(i)
			o.SetManagedFields(nil)
			b, err := form.Message(o, r.GVK)
			if err != nil {
				return 0, 0, err
			}
			in += counter(len(b))
			if _, err := w.Write(b); err != nil {
				return 0, 0, err
			}
		}
	}
	err = w.Close()
	return in, out, err
}

// counter counts the bytes that are written.
type counter int

func (n *counter) Write(b []byte) (int, error) {
	*n += counter(len(b))
	return len(b), nil
}

// addEntropy adds the limit of what is retained. It is of whole objects: a contender with metadata only
// has none.
func (r *Results) addEntropy(ctx context.Context, s Setup) error {
	c := r.Case("retained per object")
	if c == nil || s.form(noName) == replay.MetadataProtobuf || s.form(noName) == replay.MetadataJSON {
		return nil
	}
	e, err := measureEntropy(ctx, s)
	if err != nil {
		return fmt.Errorf("the entropy of the corpus: %w", err)
	}
	c.Limit, c.LimitOf = &e.Best, fmt.Sprintf("zstd best, %s zstd 3", figure(e.Default))
	return nil
}
