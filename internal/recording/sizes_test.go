package recording

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/flyball-io/flyball/internal/sizes"
	"github.com/flyball-io/flyball/internal/wire"
)

// Objects of every size are read as they were written.
func TestSizes(t *testing.T) {
	sizes.Run(t, func(t *testing.T, c *sizes.Case) {
		c.Encoding = wire.JSON
		var file bytes.Buffer
		w := NewWriter(&file)
		if err := w.Begin(Resource{GVK: c.GVK}, len(c.First)); err != nil {
			t.Fatal(err)
		}
		for _, o := range c.First {
			if err := w.Add(json.RawMessage(c.Object(o))); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(c.Pieces(&file))
		if err != nil {
			t.Fatal(err)
		}
		if _, n, err := r.Next(); err != nil || n != len(c.First) {
			t.Fatal(n, err)
		}
		for _, o := range c.First {
			b, err := r.Object()
			if err != nil || !bytes.Equal(b, bytes.TrimSpace(c.Object(o))) {
				t.Fatalf("%s: %d bytes, %v", o.GetName(), len(b), err)
			}
		}
		if _, _, err := r.Next(); err != io.EOF {
			t.Error(err)
		}
	})
}
