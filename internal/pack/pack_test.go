package pack

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// check packs obj against t and unpacks it again.
func check(t interface{ Fatalf(string, ...any) }, p *Packer, tmpl *Template, known, obj []byte) []byte {
	prefix := []byte("before")
	rec := p.Append(bytes.Clone(prefix), tmpl, known, obj)
	if !bytes.HasPrefix(rec, prefix) {
		t.Fatalf("Append changed what was there")
	}
	rec = rec[len(prefix):]
	if len(rec) > len(obj)+1 {
		t.Fatalf("record of %d bytes for an object of %d", len(rec), len(obj))
	}
	if n, err := Size(rec); err != nil || n != len(obj) {
		t.Fatalf("Size = %d, %v, want %d", n, err, len(obj))
	}
	var tb []byte
	if tmpl != nil {
		tb = tmpl.Bytes()
	}
	if !UsesTemplate(rec) {
		tb = nil
	}
	got, err := Unpack(bytes.Clone(prefix), tb, known, rec)
	if err != nil {
		t.Fatalf("Unpack: %v (object %q, template %q)", err, obj, tb)
	}
	if !bytes.HasPrefix(got, prefix) || !bytes.Equal(got[len(prefix):], obj) {
		t.Fatalf("unpacked %q, want %q", got, obj)
	}
	return rec
}

const sibling = `{"metadata":{"name":"app-7f9c-x2vkq","uid":"0b54f3a2-1c2d-4e5f-a678-9abcdef01234","resourceVersion":"1012345"},"spec":{"nodeName":"node-0007","image":"registry.example.org/shop/app@sha256:deadbeef"},"status":{"containerID":"containerd://0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}}`

func TestRecordsAreSmallAndUnpack(t *testing.T) {
	uid := "93e1aa00-17ff-4b5f-a178-9a11de401235"
	long := strings.Repeat("the same again, ", 300)
	tests := []struct {
		name, template, obj string
		most                int // largest size of the record
		known               string
	}{
		{"nothing", "", "", 1, ""},
		{"one byte", "", "x", 2, ""},
		{"raw", "", "no two alike", 13, ""},
		{"the template itself", sibling, sibling, 2 + 3, ""},
		{"a number", sibling, strings.Replace(sibling, "1012345", "1099999", 1), 2 + 3 + 1 + 3 + 3, ""},
		{"a uid", sibling, strings.Replace(sibling, "0b54f3a2-1c2d-4e5f-a678-9abcdef01234", uid, 1), 2 + 1 + 17 + 2, ""},
		{"the same uid, first digits by chance", sibling, strings.Replace(sibling, "0b54f3a2-1c2d-4e5f-a678-9abcdef01234", "0b5"+uid[3:], 1), 2 + 1 + 17 + 2, ""},
		{"hex", sibling, strings.Replace(sibling, "://0123456789abcdef", "://99887766554433a2", 1), 2 + 2 + 9 + 3, ""},
		{"longer", sibling, strings.Replace(sibling, "node-0007", "node-10071", 1), 2 + 2 + 5 + 4, ""},
		{"shorter", sibling, strings.Replace(sibling, "node-0007", "n", 1), 2 + 2 + 2 + 4, ""},
		{"a part more", sibling, strings.Replace(sibling, `"spec"`, `"extra field":"of some length, much more than near",  "spec"`, 1), 80, ""},
		{"a part less", sibling, strings.Replace(sibling, `,"resourceVersion":"1012345"},"spec":{"nodeName":"node-0007"`, "", 1), 2 + 2 + 4 + 4, ""},
		{"moved", sibling, sibling[100:] + sibling[:100], 14, ""},
		{"itself", "", long, 2 + 17 + 5, ""},
		{"itself, with a template", sibling, long, 2 + 17 + 6, ""},
		{"a run", "", strings.Repeat("\x00", 5000), 9, ""},
		{"uid twice", "", "a=" + uid + ",b=" + uid, 2 + 3 + 17 + 4 + 2, ""},
		{"digits", "", "0123456789012345", 9, ""},
		{"known", sibling, strings.Replace(sibling, "0b54f3a2-1c2d-4e5f-a678-9abcdef01234", uid, 1), 2 + 1 + 3 + 2, "app" + uid + "12"},
		{"known without a template", "", "uid=" + uid, 2 + 5 + 3, uid},
		{"known, and beyond it", "", strings.Repeat("twelve bytes", 9), 2 + 3, "twelve bytes"},
		{"the template is a beginning", sibling[:100], sibling, 300, ""},
	}
	for _, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			var p Packer
			rec := check(t, &p, NewTemplate([]byte(x.template)), []byte(x.known), []byte(x.obj))
			if len(rec) > x.most {
				t.Errorf("%d bytes, want at most %d: %x", len(rec), x.most, rec)
			}
			if used := UsesTemplate(rec); used && x.template == "" {
				t.Error("the record uses a template that is empty")
			}
		})
	}
}

// TestEditedObjectsRoundTrip packs a random sequence of edited objects with one packer.
func TestEditedObjectsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Packer{}
		piece := rapid.OneOf(
			rapid.StringMatching(`[0-9a-f]{1,80}`), rapid.StringMatching(`[0-9]{1,20}`), rapid.String(),
			rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}`),
			rapid.SampledFrom([]string{sibling, sibling[:50], sibling[20:90], "aaaaaaaaaaaaaaaaaaaaaaaa"}),
		)
		dictionary := NewDictionary([]byte(sibling), 2<<10)
		templates := []*Template{nil, NewTemplate(nil), NewTemplate([]byte(sibling)), dictionary, dictionary}
		var before [][3]string // known bytes, records and objects of the dictionary
		last := sibling
		for range rapid.IntRange(1, 12).Draw(t, "objects") {
			obj := last
			for range rapid.IntRange(0, 6).Draw(t, "edits") {
				i := rapid.IntRange(0, len(obj)).Draw(t, "from")
				j := rapid.IntRange(i, min(len(obj), i+40)).Draw(t, "to")
				obj = obj[:i] + piece.Draw(t, "piece") + obj[j:]
			}
			tmpl := rapid.SampledFrom(templates).Draw(t, "template")
			known := rapid.SampledFrom([]string{"", "0b54f3a2-1c2d-4e5f-a678-9abcdef01234", obj[:len(obj)/2], sibling[:60]}).Draw(t, "known")
			rec := check(t, p, tmpl, []byte(known), []byte(obj))
			if tmpl == dictionary {
				before = append(before, [3]string{known, string(rec), obj})
			}
			switch rapid.IntRange(0, 5).Draw(t, "then") {
			case 0:
				templates = append(templates, NewTemplate([]byte(obj)))
			case 1:
				last = obj
			}
			if tmpl != nil && tmpl.slots != nil && 2*cap(tmpl.slots) != IndexSize(len(tmpl.b)) {
				t.Fatalf("IndexSize = %d, the template holds %d", IndexSize(len(tmpl.b)), 2*cap(tmpl.slots))
			}
		}
		for _, x := range before { // records outlive the growth
			if got, err := Unpack(nil, dictionary.Bytes(), []byte(x[0]), []byte(x[1])); err != nil || string(got) != x[2] {
				t.Fatalf("unpacked %q, %v, want %q", got, err, x[2])
			}
		}
	})
}

// A dictionary learns what objects share, up to its limit, and only as much as is used.
func TestDictionaryLearnsWhatObjectsShare(t *testing.T) {
	var p Packer
	r := rand.New(rand.NewPCG(1, 2))
	word := func(r *rand.Rand) []byte {
		b := make([]byte, 100)
		for i := range b {
			b[i] = byte('a' + r.IntN(26))
		}
		return b
	}
	const max = 24 << 10
	d, all := NewDictionary([]byte(sibling), max), NewDictionary([]byte(sibling), max)
	var first, last int
	for i := range 600 {
		check(t, &p, d, nil, append([]byte(sibling), word(r)...)) // no two alike
		obj := []byte(sibling)
		for range 5 {
			obj = append(obj, word(rand.New(rand.NewPCG(7, r.Uint64N(40))))...)
		}
		n := len(check(t, &p, all, nil, obj))
		if i == 0 {
			first = n
		}
		last = n
	}
	if len(d.Bytes()) != len(sibling) {
		t.Errorf("it has learned %d bytes, and nothing is shared", len(d.Bytes())-len(sibling))
	}
	if last > first/10 || len(all.Bytes()) < 40*100 || len(all.Bytes()) > 40*100*2 {
		t.Errorf("records of %d, then %d bytes; it has %d bytes", first, last, len(all.Bytes()))
	}
	for range 5000 {
		check(t, &p, all, nil, append(word(rand.New(rand.NewPCG(8, r.Uint64N(400)))), sibling...))
	}
	if n := len(all.Bytes()); n > max {
		t.Errorf("it grew to %d bytes", n)
	}
}

func TestLargeObjectsRoundTrip(t *testing.T) {
	var p Packer
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 900_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	check(t, &p, nil, nil, noise)
	changed := bytes.Clone(noise)
	changed[700_000]++
	if rec := check(t, &p, NewTemplate(noise), nil, changed); len(rec) > 20 {
		t.Errorf("%d bytes for one that differs", len(rec))
	}
	changed = append(changed[:100_000:100_000], changed[100_100:]...)
	if rec := check(t, &p, NewTemplate(noise), nil, changed); len(rec) > 200 {
		t.Errorf("%d bytes for a part less", len(rec))
	}
	if rec := p.Append(nil, nil, nil, make([]byte, MaxSize+1)); len(rec) != MaxSize+2 || rec[0] != 0 {
		t.Errorf("an object above MaxSize is packed")
	}
}

func TestPackingSurvivesATableWrap(t *testing.T) {
	var p Packer
	check(t, &p, nil, nil, []byte(sibling))
	p.early.end = 1<<31 + 1
	check(t, &p, nil, nil, []byte(sibling+sibling))
	check(t, &p, nil, nil, []byte(sibling))
}

func TestUnpackAppendsWithoutAllocating(t *testing.T) {
	var p Packer
	tmpl := NewTemplate([]byte(sibling))
	obj := []byte(strings.Replace(sibling, "node-0007", "node-0931", 1))
	rec := p.Append(nil, tmpl, nil, obj)
	buf := make([]byte, 0, len(obj))
	if n := testing.AllocsPerRun(100, func() { buf, _ = Unpack(buf[:0], tmpl.Bytes(), nil, rec) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	guard := bytes.Repeat([]byte{7}, len(obj)+32)
	if got, err := Unpack(guard[:0:len(obj)], tmpl.Bytes(), nil, rec); err != nil || !bytes.Equal(got, obj) {
		t.Fatal(err)
	}
	if !bytes.Equal(guard[len(obj):], bytes.Repeat([]byte{7}, 32)) {
		t.Error("wrote beyond the capacity")
	}
	if n := testing.AllocsPerRun(100, func() { rec = p.Append(rec[:0], tmpl, nil, obj) }); n != 0 {
		t.Errorf("Append: %v allocations", n)
	}
}

func TestCorruptRecordsAreErrors(t *testing.T) {
	var p Packer
	rec := p.Append(nil, NewTemplate([]byte(sibling)), nil, []byte(strings.Replace(sibling, "node-0007", "node-0931", 1)))
	dst := []byte("kept")
	for name, bad := range map[string][]byte{
		"empty": {}, "cut": rec[:len(rec)-1], "more": append(bytes.Clone(rec), opLit, 'x'), "size": {0xff, 0xff, 0xff, 0xff, 0x7f},
		"too long": {0xff}, "zero": {1},
	} {
		got, err := Unpack(dst, []byte(sibling), nil, bad)
		if !errors.Is(err, ErrCorrupt) || string(got) != "kept" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := Unpack(nil, nil, nil, rec); !errors.Is(err, ErrCorrupt) {
		t.Errorf("without the template: %v", err)
	}
	if UsesTemplate(nil) {
		t.Error("an empty record uses a template")
	}
	if _, err := Size(nil); !errors.Is(err, ErrCorrupt) {
		t.Errorf("Size of nothing: %v", err)
	}
}
