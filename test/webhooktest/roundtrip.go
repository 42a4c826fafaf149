package webhooktest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/webhook/convert"
)

// seeds is the number of objects of each version in a run without fuzzing.
const seeds = 200

// RoundTrip checks that conversion between a spoke and its hub loses nothing. It fills objects at
// random and converts them from the spoke to the hub and back, and from the hub to the spoke and
// back. The result must equal the original. With a *testing.F it is a fuzz test, and its corpus
// runs as a plain test. With a *testing.T it tries 200 objects each way. A failure shows the
// difference in API field names.
//
// fill are functions of sigs.k8s.io/randfill for types that need values of a certain shape, such as
// an enum: func(*Kind, randfill.Continue). Values with the same JSON count as equal: an absent list
// equals an empty one if the field is omitempty.
func RoundTrip(tb testing.TB, spoke convert.Part, fill ...any) {
	tb.Helper()
	switch tb := tb.(type) {
	case *testing.F:
		for seed := range int64(seeds) {
			tb.Add(seed)
		}
		tb.Fuzz(func(t *testing.T, seed int64) { roundTrip(t, spoke, seed, fill) })
	default:
		for seed := range int64(seeds) {
			roundTrip(tb, spoke, seed, fill)
		}
	}
}

func roundTrip(tb testing.TB, spoke convert.Part, seed int64, fill []any) {
	tb.Helper()
	if diff := lost(spoke, seed, fill, true); diff != "" {
		tb.Errorf("seed %d: spoke to hub to spoke (-before +after):\n%s", seed, diff)
	}
	if diff := lost(spoke, seed, fill, false); diff != "" {
		tb.Errorf("seed %d: hub to spoke to hub (-before +after):\n%s", seed, diff)
	}
}

// lost returns the difference that a round trip made, or "".
func lost(spoke convert.Part, seed int64, fill []any, fromSpoke bool) string {
	newStart, newMiddle, there, back := spoke.NewSpoke, spoke.NewHub, spoke.ToHub, spoke.FromHub
	if !fromSpoke {
		newStart, newMiddle, there, back = spoke.NewHub, spoke.NewSpoke, spoke.FromHub, spoke.ToHub
	}
	filled := newStart()
	randfill.NewWithSeed(seed).NilChance(0.3).NumElements(1, 3).MaxDepth(12).Funcs(append(usual(), fill...)...).Fill(filled)
	start, before, err := wired(filled, newStart())
	if err != nil {
		return fmt.Sprintf("the filled object: %v", err)
	}
	converted := newMiddle()
	if err := there(start, converted); err != nil {
		return fmt.Sprintf("there: %v", err)
	}
	middle, _, err := wired(converted, newMiddle())
	if err != nil {
		return fmt.Sprintf("there: %v", err)
	}
	end := newStart()
	if err := back(middle, end); err != nil {
		return fmt.Sprintf("back: %v", err)
	}
	_, after, err := wired(end, newStart())
	if err != nil {
		return fmt.Sprintf("back: %v", err)
	}
	return cmp.Diff(before, after)
}

// wired encodes and decodes an object, as happens between two conversions. It returns the decoded
// object and its plain JSON.
func wired(o, into object.Object) (object.Object, map[string]any, error) {
	b, err := json.Marshal(o)
	if err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return nil, nil, err
	}
	if b, err = json.Marshal(into); err != nil {
		return nil, nil, err
	}
	var plain map[string]any
	if err := json.Unmarshal(b, &plain); err != nil {
		return nil, nil, err
	}
	for _, name := range []string{"kind", "apiVersion"} {
		delete(plain, name)
	}
	return into, plain, nil
}

// usual returns fill functions for the types of the API machinery that allow only some values.
func usual() []any {
	return []any{
		func(t *metav1.TypeMeta, _ randfill.Continue) { *t = metav1.TypeMeta{} },
		func(m *metav1.ObjectMeta, c randfill.Continue) {
			*m = metav1.ObjectMeta{Name: "name-" + c.String(8), Namespace: "ns", UID: "uid", ResourceVersion: "7", Generation: int64(c.Intn(9))}
			c.Fill(&m.Labels)
			c.Fill(&m.Annotations)
		},
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.Unix(int64(c.Uint32()), 0) },
		func(t *metav1.MicroTime, c randfill.Continue) {
			*t = metav1.NewMicroTime(time.Unix(int64(c.Uint32()), 0))
		},
		func(d *metav1.Duration, c randfill.Continue) { d.Duration = time.Duration(c.Uint32()) },
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewMilliQuantity(int64(c.Uint32()), resource.DecimalSI)
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			if c.Bool() {
				*v = intstr.FromInt32(int32(c.Uint32() >> 1))
			} else {
				*v = intstr.FromString(c.String(8))
			}
		},
		func(r *runtime.RawExtension, c randfill.Continue) {
			*r = runtime.RawExtension{Raw: []byte(fmt.Sprintf(`{"n":%d}`, c.Intn(9)))}
		},
		func(r *json.RawMessage, c randfill.Continue) { *r = fmt.Appendf(nil, `%d`, c.Intn(9)) },
		func(v *any, c randfill.Continue) { *v = map[string]any{"n": float64(c.Intn(9))} },
	}
}
