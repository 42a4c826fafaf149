package wire_test

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/internal/sizes"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// Objects of every size are read at every position of a list, a page, a stream and alone, however the bytes arrive.
func TestSizes(t *testing.T) {
	sizes.Run(t, func(t *testing.T, c *sizes.Case) {
		for from := range c.First {
			page := c.First[from:]
			list, _, bad, err := drain(t, c.Pieces(bytes.NewReader(c.List(page, ""))), c.ContentType(), c.Kind(), wire.Limits{})
			if err != nil || len(bad) > 0 {
				t.Fatal(err, bad)
			}
			c.Check(t, decoded(t, list), page)
		}
		for _, o := range c.First {
			one, err := wire.ParseObject(c.Object(o), c.ContentType(), c.Kind())
			if err != nil {
				t.Fatal(err)
			}
			c.CheckOne(t, decoded(t, []wire.Raw{one})[0], o, false)
		}
		w, err := wire.NewWatch(c.Pieces(bytes.NewReader(c.Watch(true))), c.ContentType(), c.Kind(), wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		frames, bad, err := toEnd(t, w.Next, func(f wire.Frame) wire.Frame {
			f.Object = f.Object.Clone()
			return f
		})
		if n := len(c.First); err != nil || len(bad) > 0 || len(frames) != n+1+len(c.Events)+1 || !frames[n].InitialEventsEnd {
			t.Fatal(len(frames), err, bad)
		}
		for i, f := range frames[:len(c.First)] {
			c.CheckOne(t, decoded(t, []wire.Raw{f.Object})[0], c.First[i], false)
		}
		for i, f := range frames[len(c.First)+1 : len(frames)-1] {
			if f.Type.String() != c.Events[i].Type {
				t.Errorf("%v, want %s", f.Type, c.Events[i].Type)
			}
			c.CheckOne(t, decoded(t, []wire.Raw{f.Object})[0], c.Events[i].Object, false)
		}
	})
}

// decoded checks the header of each object, and decodes it typed and unstructured.
func decoded(t *testing.T, raws []wire.Raw) (all []object.Object) {
	t.Helper()
	for _, r := range raws {
		h, err := r.Header()
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := r.Decode(u); err != nil {
			t.Fatal(err)
		}
		o := object.Object(u)
		if r.Kind.GoType() != nil {
			o = &corev1.ConfigMap{}
			if err := r.Clone().DecodeOwned(o); err != nil {
				t.Fatal(err)
			}
		}
		if h.Name != o.GetName() || u.GetName() != o.GetName() {
			t.Errorf("header %q, unstructured %q, object %q", h.Name, u.GetName(), o.GetName())
		}
		all = append(all, o)
	}
	return all
}
