package pack

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// checkRepack packs a state of an object as a change of another one, and unpacks it again.
func checkRepack(t interface{ Fatalf(string, ...any) }, p *Packer, tmpl *Template, wasKnown, was, known, obj []byte) []byte {
	old := Replaced{Record: p.Append(nil, tmpl, wasKnown, was), Bytes: append(bytes.Clone(wasKnown), was...), Known: len(wasKnown)}
	rec := p.Repack([]byte("before"), tmpl, known, obj, old)
	rec, ok := bytes.CutPrefix(rec, []byte("before"))
	if !ok {
		t.Fatalf("Repack changed what was there")
	}
	if len(rec) > len(obj)+1 {
		t.Fatalf("record of %d bytes for an object of %d", len(rec), len(obj))
	}
	var tb []byte
	if UsesTemplate(rec) {
		tb = tmpl.Bytes()
	}
	got, err := Unpack(nil, tb, known, rec)
	if err != nil || !bytes.Equal(got, obj) {
		t.Fatalf("got %q, %v, want %q (was %q, template %q)", got, err, obj, was, tb)
	}
	return rec
}

func TestRepackedStatesAreSmallAndUnpack(t *testing.T) {
	tmpl := NewTemplate([]byte(sibling))
	was := strings.Replace(sibling, "node-0007", "node-0931", 1) + `"conditions":[{"t":"2026-01-02T03:04:05Z","type":"Ready"}],` + `"uid":"93e1aa00-17ff-4b5f-a178-9a11de401235"`
	for name, now := range map[string]string{
		"nothing":               was,
		"a heartbeat":           strings.Replace(was, "03:04:05Z", "03:14:05Z", 1),
		"the version":           strings.Replace(was, "1012345", "1099999", 1),
		"a longer version":      strings.Replace(was, "1012345", "11099999", 1),
		"what the template has": strings.Replace(was, "node-0931", "node-0007", 1),
		"a part more":           strings.Replace(was, `"conditions"`, `"more":"of something else","conditions"`, 1),
		"a part less":           strings.Replace(was, `"conditions":[{"t":"2026-01-02T03:04:05Z","type":"Ready"}],`, ``, 1),
		"the end":               was + "}",
		"a shorter end":         was[:len(was)-30],
		"everything":            strings.ToUpper(was),
	} {
		t.Run(name, func(t *testing.T) {
			var p Packer
			const wasKnown, known = "app-x7\x0093e1aa00-17ff-4b5f-a178-9a11de401235" + "1012345", "app-x7\x0093e1aa00-17ff-4b5f-a178-9a11de401235" + "11099999"
			rec := checkRepack(t, &p, tmpl, []byte(wasKnown), []byte(was), []byte(known), []byte(now))
			if whole := p.Append(nil, tmpl, []byte(known), []byte(now)); len(rec) > len(whole)*9/8+8 {
				t.Errorf("%d bytes, Append makes %d", len(rec), len(whole))
			}
		})
	}
}

// A chain of changes, each packed from the record of the one before.
func TestRepackedStatesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Packer
		piece := rapid.OneOf(
			rapid.StringMatching(`[0-9a-f]{1,80}`), rapid.StringMatching(`[0-9]{1,20}`), rapid.String(),
			rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}`),
			rapid.SampledFrom([]string{sibling, sibling[:50], sibling[20:90], "aaaaaaaaaaaaaaaaaaaaaaaa"}),
		)
		tmpl := rapid.SampledFrom([]*Template{nil, NewTemplate([]byte(sibling))}).Draw(t, "template")
		var tb []byte
		if tmpl != nil {
			tb = tmpl.Bytes()
		}
		known, obj := "v0", sibling
		rec := p.Append(nil, tmpl, []byte(known), []byte(obj))
		for i := range rapid.IntRange(1, 12).Draw(t, "changes") {
			was := Replaced{Record: bytes.Clone(rec), Bytes: []byte(known + obj), Known: len(known)}
			for range rapid.IntRange(0, 4).Draw(t, "edits") {
				from := rapid.IntRange(0, len(obj)).Draw(t, "from")
				to := rapid.IntRange(from, min(len(obj), from+40)).Draw(t, "to")
				obj = obj[:from] + piece.Draw(t, "piece") + obj[to:]
			}
			known = fmt.Sprint("v", i*i*i)
			rec = p.Repack(rec[:0], tmpl, []byte(known), []byte(obj), was)
			got, err := Unpack(nil, tb, []byte(known), rec)
			if err != nil || string(got) != obj {
				t.Fatalf("change %d: got %q, %v, want %q", i, got, err, obj)
			}
		}
	})
}

func FuzzRepack(f *testing.F) {
	f.Add([]byte(sibling), []byte("v1"), []byte(sibling[:200]), []byte("v12"), []byte(sibling[:80]+"93e1aa00-17ff-4b5f-a178-9a11de401235"+sibling[80:]))
	f.Add([]byte{}, []byte{}, bytes.Repeat([]byte("0123456789abcdef"), 9), []byte("x"), bytes.Repeat([]byte("0123456789abcdee"), 12))
	var p Packer
	f.Fuzz(func(t *testing.T, template, wasKnown, was, known, obj []byte) {
		if len(was) == 0 || len(obj) == 0 {
			return
		}
		checkRepack(t, &p, NewTemplate(template), wasKnown, was, known, obj)
		checkRepack(t, &p, nil, wasKnown, was, known, append(bytes.Clone(was), obj...))
		checkRepack(t, &p, NewTemplate(append(bytes.Clone(was), template...)), wasKnown, was, known, append(bytes.Clone(obj), was...))
	})
}
