package weigh

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/flyball-io/flyball/internal/recording"
	"github.com/flyball-io/flyball/internal/sizes"
	"github.com/flyball-io/flyball/scheme"
)

// Objects of every size are weighed, in a cluster and in a recording.
func TestSizes(t *testing.T) {
	sizes.Run(t, func(t *testing.T, c *sizes.Case) {
		if len(c.First) == 0 {
			return // an empty cluster is an error
		}
		o := Options{Problem: func(err error) { t.Error(err) }}
		check := func(r *Report, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Kinds) != 1 || r.Kinds[0].Objects != len(c.First) || len(r.LeftOut) > 0 {
				t.Errorf("%+v, want %d objects", r, len(c.First))
			}
		}
		check(Cluster(t.Context(), c.Config(t), scheme.New(), o))

		var file bytes.Buffer
		w := recording.NewWriter(&file)
		res := recording.Resource{GVK: c.GVK, GVR: c.GVR(), Namespaced: true}
		if err := w.Begin(res, len(c.First)); err != nil {
			t.Fatal(err)
		}
		for _, o := range c.First {
			if err := w.Add(json.RawMessage(c.JSON(o))); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(t.TempDir(), "recording")
		if err := os.WriteFile(name, file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		check(Recorded(t.Context(), name, scheme.New(), o))
	})
}
