package weigh

import (
	"testing"

	"github.com/flyball-io/flyball/internal/sizes"
	"github.com/flyball-io/flyball/scheme"
)

// Objects of every size are weighed.
func TestSizes(t *testing.T) {
	sizes.Run(t, func(t *testing.T, c *sizes.Case) {
		if len(c.First) == 0 {
			return // an empty cluster is an error
		}
		o := Options{Problem: func(err error) { t.Error(err) }}
		r, err := Cluster(t.Context(), c.Config(t), scheme.New(), o)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Kinds) != 1 || r.Kinds[0].Objects != len(c.First) || len(r.LeftOut) > 0 {
			t.Errorf("%+v, want %d objects", r, len(c.First))
		}
	})
}
