package pack

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// release returns an object with a text of n bytes that does not compress, as a stored release of Helm has.
func release(r *rand.Rand, i, n int) []byte {
	noise := make([]byte, n*3/4)
	for k := range noise {
		noise[k] = byte(r.Uint32())
	}
	text := base64.StdEncoding.EncodeToString(noise)
	return fmt.Appendf(nil, `{"metadata":{"name":"sh.helm.release.v1.shop.v%d","namespace":"team-%d","labels":{"owner":"helm","status":"deployed"}},"data":{"release":"%s","sum":"%x"}}`, i, i%7, text, noise[:min(32, len(noise))])
}

// A text of 44 kB that does not compress.
func BenchmarkPackText(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var objs [][]byte
	for i := range 64 {
		objs = append(objs, release(r, i, 44<<10))
	}
	var p Packer
	t := NewDictionary(objs[0], 64<<10)
	b.SetBytes(int64(len(objs[1])))
	b.ReportAllocs()
	var rec []byte
	for i := 0; b.Loop(); i++ {
		rec = p.Append(rec[:0], t, nil, objs[1+i%63])
	}
	b.ReportMetric(float64(len(rec))/float64(len(objs[1])), "of-its-size")
}

// Numbers in long texts without a match are still packed.
func TestNumbersInALongText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	words := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('g' + r.IntN(20)) // no hex digit
		}
		return string(b)
	}
	hex := func(n int) string {
		return fmt.Sprintf("%064x", [4]uint64{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()})[:n]
	}
	for _, at := range []int{0, 1, 11, 12, 13, 500, 1500, 2999} {
		for name, x := range map[string]struct {
			text  string
			saved int // at least
		}{
			"12 digits":     {hex(12), 2},
			"a digest":      {hex(64), 28},
			"a uuid":        {"3f2a8b1c-9d4e-4f60-a7b8-c9d0e1f2a3b4", 16},
			"a long number": {"1234567890123456", 6},
		} {
			t.Run(fmt.Sprintf("%s at %d", name, at), func(t *testing.T) {
				noise := words(3000)
				obj := noise[:at] + x.text + noise[at:]
				var p Packer
				if rec := check(t, &p, nil, nil, []byte(obj)); len(rec) > len(obj)+8-x.saved {
					t.Errorf("a record of %d bytes for an object of %d", len(rec), len(obj))
				}
			})
		}
	}
}

// Texts of all lengths about the limits, with runs of digits of all lengths, come back.
func TestLongTextsRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var p Packer
	d := NewDictionary([]byte(sibling), 64<<10)
	for n := range 300 {
		var obj bytes.Buffer
		for obj.Len() < longLiteral-150+n {
			fmt.Fprintf(&obj, "%x", r.Uint64()>>r.IntN(64))
			obj.WriteString(strings.Repeat(string(rune('g'+r.IntN(20))), r.IntN(3)))
		}
		check(t, &p, nil, nil, obj.Bytes())
		check(t, &p, d, nil, release(r, n, 200*n))
	}
}
