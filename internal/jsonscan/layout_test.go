package jsonscan

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// part is a member of an object or an element of an array: its name as it is written, and where the
// value is.
type part struct {
	name     string
	from, to int
}

// stockParts are those of a value, by the decoder that others use. The value begins at base.
func stockParts(t *testing.T, v []byte, base int) (parts []part) {
	d := jsontext.NewDecoder(bytes.NewBuffer(v), lenient...)
	if open, err := d.ReadToken(); err != nil || open.Kind() != '{' && open.Kind() != '[' {
		return nil
	}
	named := v[bytes.IndexAny(v, "{[")] == '{'
	for k := d.PeekKind(); k != '}' && k != ']'; k = d.PeekKind() {
		var p part
		if named {
			name, err := d.ReadValue()
			if err != nil {
				t.Fatal(err)
			}
			p.name = string(name[1 : len(name)-1])
		}
		value, err := d.ReadValue()
		if err != nil {
			t.Fatal(err)
		}
		p.to = base + int(d.InputOffset())
		p.from = p.to - len(value)
		parts = append(parts, p)
	}
	return parts
}

// stockNotes are what a grammar should note of a value; unsure: it need not know that no name repeats.
func stockNotes(t *testing.T, in []byte) (long Spans, repeats, unsure bool) {
	names := func(of byte, parts []part) {
		seen := map[string]bool{}
		for _, p := range parts {
			if of != '{' {
				return
			}
			repeats = repeats || seen[p.name]
			seen[p.name] = true
			unsure = unsure || strings.Contains(p.name, `\`) || len(parts) > 32
		}
	}
	parts := stockParts(t, in, 0)
	names(bytes.TrimSpace(in)[0], parts)
	for _, p := range parts {
		inner := stockParts(t, in[p.from:p.to], p.from)
		names(in[p.from], inner)
		if p.name != "metadata" {
			inner = []part{p}
		}
		for _, p := range inner {
			if in[p.from] == '{' || in[p.from] == '[' {
				long.add(p.from, p.to)
			}
		}
	}
	return long, repeats, unsure
}

func sameNotes(t *testing.T, in []byte) {
	t.Helper()
	gotLong, gotRepeats, err := Check(in)
	if err != nil {
		return
	}
	long, repeats, unsure := stockNotes(t, in)
	if gotLong != long {
		t.Fatalf("%.200q: long values %v, want %v", in, gotLong, long)
	}
	if gotRepeats != repeats && !(gotRepeats && unsure) {
		t.Fatalf("%.200q: names repeat: %v", in, gotRepeats)
	}
	// In pieces it is the same, however they were buffered.
	var c Checker
	c.Begin(3, true)
	at, step := 0, 1
	for end := 0; !c.Done() && end < len(in); step = step%7 + 1 {
		end = min(len(in), end+step)
		if at, err = c.Read(slices.Clip(bytes.Clone(in[:end])), at, end == len(in)); err != nil {
			t.Fatal(err)
		}
	}
	if againLong, again := c.Layout(); againLong != gotLong || again != gotRepeats {
		t.Fatalf("%.200q: in pieces %v %v, at once %v %v", in, againLong, again, gotLong, gotRepeats)
	}
}

// layoutSeeds have long values on recorded levels, and on others.
func layoutSeeds() (seeds []string) {
	text := strings.Repeat("x", minSpan)
	list, object := `["`+text+`"]`, `{"a":{"b":"`+text+`"}}`
	for _, s := range []string{
		`{"spec":1}`, `{"spec":2,"metadata":{"name":"a","managedFields":1},"status":3}`, ` [ 1 , {"a":2,"b":3} , 1 ] `,
		`{"metadata":{"managedFields":1, "labels" : 2 ,"annotations":{}},"metadata":3,"spec":{"metadata":4}}`, `{"metadata":[1,2,{"a":3}],"a":[4]}`,
		`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":2}`, `{"a":1,"a":2}`, `{"b":1,"a":1,"c":1,"b":1}`, `{"m":{"b":1,"a":1,"b":1}}`, `{"m":[{"a":1,"a":1}],"n":{"o":{"a":1,"a":2}}}`,
		`{"a":1,"\u0061":2}`, `{"m":{"x\n":1}}`, `{"metadata":{"b":1,"a":2},"spec":{"b":1,"a":2}}`, `{"metadata":3,"":1,"m":{"":{}}}`, `{"":1,"":2}`, `1`, `"a"`, `[]`, `{}`, `[{},{"metadata":{"a":1}}]`,
	} {
		seeds = append(seeds, s, strings.NewReplacer("1", list, "2", object, "3", `{"managedFields":`+list+`}`, "4", `"`+text+`"`).Replace(s))
	}
	for _, order := range []func(int) int{func(i int) int { return i }, func(i int) int { return 99 - i }, func(i int) int { return min(i, 98) }} {
		var many []string
		for i := range 100 {
			many = append(many, fmt.Sprintf(`"n%02d":%d`, order(i), i))
		}
		for _, n := range []int{31, 32, 33, 100} {
			seeds = append(seeds, "{"+strings.Join(many[100-n:], ",")+"}", `{"data":{`+strings.Join(many[100-n:], " , ")+"}}")
		}
	}
	return seeds
}

func TestNotesEqualThoseOfAFullParse(t *testing.T) {
	for _, s := range append(layoutSeeds(), grammarSeeds...) {
		sameNotes(t, []byte(s))
	}
}

// What is not sure to be distinct is taken for repeated, but not what comes in order, as API servers
// write it, nor a few names in another order.
func TestNamesAreKnownToBeDistinct(t *testing.T) {
	names := func(from, to, step int) string {
		var b strings.Builder
		for i := from; i != to; i += step {
			fmt.Fprintf(&b, `,"n%02d":1`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	for _, c := range []struct {
		in       string
		distinct bool
	}{
		{names(0, 90, 1), true}, {names(33, 0, -1), true}, {names(34, 0, -1), false}, {`{"a":` + names(0, 90, 1) + `,"b":` + names(0, 90, 1) + `}`, true},
		{`{"b":{"x":1},"a":{"x":1}}`, true}, {`{"b":{"x":1,"x":1},"a":1}`, false}, {`{"\t":1}`, false}, {`{"a":{"b":{"c":1,"c":1}}}`, true},
	} {
		_, repeats, err := Check([]byte(c.in))
		if err != nil || repeats == c.distinct {
			t.Errorf("%.80s: %v, %v", c.in, repeats, err)
		}
	}
}

func FuzzNotes(f *testing.F) {
	for _, s := range layoutSeeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(sameNotes)
}
