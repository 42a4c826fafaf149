package memo

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/flyball-io/flyball/internal/seed"
)

// drawing is a body that is drawn, with the places that inJSON has to find in it.
type drawing struct {
	t    *rapid.T
	body []byte
	want parts
}

func (d *drawing) write(text string) {
	d.body = append(d.body, text...)
	d.body = append(d.body, rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(d.t, "space")...)
}

// text writes a string, and returns its place.
func (d *drawing) text() span {
	begin := len(d.body) + 1
	text := rapid.SampledFrom([]string{`""`, `"a"`, `"a\"},{b"`, `"\\"`, `"é"`, `"name"`}).Draw(d.t, "text")
	d.write(text)
	return span{begin, begin + len(text) - 2}
}

// object writes an object with some of the members, in any order.
func (d *drawing) object(members map[string]func()) {
	d.write("{")
	names := []string{"a", "b"}
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, len(names), rapid.ID).Draw(d.t, "names") {
		if i > 0 {
			d.write(",")
		}
		d.write(fmt.Sprintf("%q", name))
		d.write(":")
		if write := members[name]; write != nil {
			write()
		} else {
			d.write(rapid.SampledFrom([]string{"null", "1.5e3", `[{"name":"x"},[]]`, `{"metadata":{"name":"y"}}`, "true"}).Draw(d.t, "value"))
		}
	}
	d.write("}")
}

// TestPlacesInJSON: the places of the name and of the texts are found in any spelling of an object. A body in which
// they are not certain, and one that is no JSON, has none.
func TestPlacesInJSON(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		of := texts{field: "data", inMetadata: rapid.Bool().Draw(rt, "in metadata")}
		d := &drawing{t: rt}
		data := func() {
			d.object(map[string]func(){"k1": func() { d.want.texts = append(d.want.texts, d.text()) }, "k2": func() { d.want.texts = append(d.want.texts, d.text()) }})
		}
		top := map[string]func(){}
		meta := map[string]func(){"name": func() { d.want.name = d.text() }, "managedFields": func() {
			d.want.managed = true
			d.write("[]")
		}}
		if of.inMetadata {
			meta[of.field] = data
		} else {
			top[of.field] = data
		}
		top["metadata"] = func() { d.object(meta) }
		d.object(top)
		got, ok := inJSON(d.body, of)
		if !ok || got.name != d.want.name || got.managed != d.want.managed || !slices.Equal(got.texts, d.want.texts) {
			rt.Fatalf("%s: %+v, %v, want %+v", d.body, got, ok, d.want)
		}
		for _, bad := range [][]byte{append(slices.Clone(d.body), '}'), d.body[:bytes.LastIndexByte(d.body, '}')]} {
			if _, ok := inJSON(bad, of); ok {
				rt.Fatalf("%s is no JSON", bad)
			}
		}
	})
	for _, uncertain := range []string{
		`{"metadata":{"name":"a"},"metadata":{"name":"b"}}`,
		`{"metadata":{"name":"a","name":"b"}}`,
		`{"metadata":{"name":"a","n\u0061me":"b"}}`,
		`{"metad\u0061ta":{"name":"a"}}`,
		`{"data":{"a":"b"},"data":{"a":"c"}}`,
		`{"metadata":{"name":1}}`,
		`{"metadata":null}`,
		`[]`, `null`, ``,
	} {
		if got, ok := inJSON([]byte(uncertain), texts{field: "data"}); ok {
			t.Errorf("%s has places: %+v", uncertain, got)
		}
	}
}
