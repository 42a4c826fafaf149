package sizes

import (
	"cmp"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/flyball-io/flyball/object"
)

// Check compares objects that a reader has read with what the stock decoders give for them, in any order.
func (c *Case) Check(t testing.TB, got, want []object.Object) {
	t.Helper()
	c.check(t, got, want, false)
}

// CheckCut is Check for readers that drop managedFields.
func (c *Case) CheckCut(t testing.TB, got, want []object.Object) {
	t.Helper()
	c.check(t, got, want, true)
}

func (c *Case) check(t testing.TB, got, want []object.Object, cut bool) {
	t.Helper()
	got = slices.SortedFunc(slices.Values(got), func(a, b object.Object) int { return cmp.Compare(a.GetName(), b.GetName()) })
	if len(got) != len(want) {
		t.Errorf("%d objects, want %d", len(got), len(want))
		return
	}
	for i, w := range want {
		c.CheckOne(t, got[i], w, cut)
	}
}

// CheckOne compares one object.
func (c *Case) CheckOne(t testing.TB, got, want object.Object, cut bool) {
	t.Helper()
	compare(t, want.GetName(), canonical(t, got, cut), c.stock(t, want, cut))
}

// Same compares an object with another one that the stock decoders gave.
func Same(t testing.TB, got, want object.Object) {
	t.Helper()
	compare(t, want.GetName(), canonical(t, got, false), canonical(t, want, false))
}

func compare(t testing.TB, name string, a, b []byte) {
	t.Helper()
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	if at < max(len(a), len(b)) {
		t.Errorf("%s differs at byte %d of its JSON: %d bytes, …%s, want %d bytes, …%s", name, at, len(a), near(a, at), len(b), near(b, at))
	}
}

// stock returns the canonical JSON of what the stock decoders give for an object.
func (c *Case) stock(t testing.TB, o object.Object, cut bool) []byte {
	known := answer{o, cut}
	if c.stocks[known] == nil {
		c.stocks[known] = canonical(t, decode(c.Object(o), c.Encoding, c.GVK == Things).(object.Object), cut)
	}
	return c.stocks[known]
}

// answer names an answer of the stock decoders, with or without managedFields.
type answer struct {
	to  object.Object
	cut bool
}

func near(b []byte, at int) []byte { return b[max(0, at-20):min(len(b), at+40)] }

// canonical is the JSON of an object with its members in order, without its kind, which items of lists do not say.
func canonical(t testing.TB, o object.Object, cut bool) []byte {
	t.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	delete(m, "apiVersion")
	delete(m, "kind")
	if meta, ok := m["metadata"].(map[string]any); ok {
		if cut {
			delete(meta, "managedFields")
		}
		if meta["creationTimestamp"] == nil {
			delete(meta, "creationTimestamp")
		}
	}
	if b, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	return b
}

// Await waits until a reader shows the last event. get returns an object by its name, or nil.
func (c *Case) Await(t testing.TB, get func(name string) object.Object) {
	t.Helper()
	if len(c.Events) == 0 {
		return
	}
	last := c.Events[len(c.Events)-1]
	for ctx := t.Context(); ; time.Sleep(time.Millisecond) {
		o := get(last.Object.GetName())
		switch {
		case o != nil && o.GetResourceVersion() == last.Object.GetResourceVersion():
			return
		case ctx.Err() != nil || time.Since(c.drawn) > 10*time.Minute:
			t.Fatalf("the last event did not come: %s %s", last.Type, last.Object.GetName())
		}
	}
}
