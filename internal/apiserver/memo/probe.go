package memo

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// maxTries bounds the values that a probe draws for one that has to differ from others.
const maxTries = 10_000

// probe returns a question of the same form with other values, in which each character of the time and of the first
// version differs. n chooses one of several. It reports false if there is none.
func probe(req *rules.Request, p *pattern, n int) (_ *rules.Request, values []string, ok bool) {
	d := draw{rand.New(rand.NewPCG(uint64(n), 0))}
	texts, ok := d.others(p)
	if !ok {
		return nil, nil, false
	}
	out := *req
	if p.order[0] >= 0 {
		out.UID = texts[p.order[0]]
	}
	if !p.generates {
		out.Suffix = strings.Repeat("yz"[n:n+1], len(req.Suffix))
	}
	out.Now = timeAt(texts[p.order[1]]).UnixNano() + int64(n)
	out.Version, _ = strconv.ParseUint(texts[p.order[2]], 10, 64) // digits
	change := func(text []byte, stamps []stamp) []byte {
		return with(text, stamps, func(s stamp) string {
			other := texts[p.tokens.index(s.kind, string(s.of(text)))]
			if s.kind == stampSeconds {
				other = secondsOf(other)
			}
			return other
		})
	}
	out.URL, out.Body = string(change([]byte(req.URL), p.url)), change(req.Body, p.body)
	out.Objects = maps.Clone(req.Objects)
	for k, text := range out.Objects {
		switch role := p.role(k, text); {
		case len(text) == 0:
		case role == target:
			out.Objects[k] = change(text, p.objects[k])
		case role == context:
			stamps, _ := stampsOf(text, observed)
			out.Objects[k] = with(text, stamps, func(s stamp) string { return d.other(s.kind, string(s.of(text))) })
		}
	}
	g, ok := read(&out, p.versions)
	if !ok || !bytes.Equal(g.append(nil), p.append(nil)) {
		return nil, nil, false
	}
	return &out, g.values(), true
}

// with returns a copy of a text in which stamps are replaced by others, which have the same length.
func with(text []byte, stamps []stamp, other func(stamp) string) []byte {
	out := bytes.Clone(text)
	for _, s := range stamps {
		copy(s.of(out), other(s))
	}
	return out
}

// draw draws values.
type draw struct{ *rand.Rand }

// others returns other texts for the tokens of a question, all of them different. The order of times stays.
func (d draw) others(p *pattern) ([]string, bool) {
	texts := make([]string, len(p.tokens))
	version, _ := strconv.ParseUint(p.tokens[p.order[2]].text, 10, 64) // digits
	first := d.version(version, p.versions)
	for i := range p.versions {
		texts[p.order[2+i]] = strconv.FormatUint(first+uint64(i), 10)
	}
	times := p.tokens.times()
	at, now := timeAt(d.other(stampTime, p.tokens[p.order[1]].text)), slices.Index(times, p.order[1])
	for i, t := range times {
		day := time.Duration(24*3600+d.IntN(3600)) * time.Second
		texts[t] = timeOf(at.Add(time.Duration(i-now) * day).UnixNano())
	}
	for i, t := range p.tokens {
		for try := 0; texts[i] == ""; try++ {
			if try == maxTries {
				return nil, false
			}
			if text := d.other(t.kind, t.text); !slices.Contains(texts, text) {
				texts[i] = text
			}
		}
	}
	return texts, first != version
}

// version returns another version, with as many digits. So have the n-1 versions after it. All of them begin with other
// digits than the first one and those after it. If there is none, it returns the same version.
func (d draw) version(version uint64, n int) uint64 {
	text := func(version uint64, i int) string { return strconv.FormatUint(version+uint64(i), 10) }
	for range maxTries {
		other, _ := strconv.ParseUint(d.other(stampVersion, text(version, 0)), 10, 64) // digits
		differs := true
		for i := range n {
			a, b := text(version, i), text(other, i)
			differs = differs && len(a) == len(b) && a[0] != b[0]
		}
		if differs {
			return other
		}
	}
	return version
}

// other returns another stamp of a kind, each character of which differs that may. Of a time it is one of the years from
// 1980 to 1999.
func (d draw) other(kind kind, text string) string {
	for try := 0; kind == stampTime; try++ {
		at := timeOf((315_532_800 + d.Int64N(20*365*24*3600)) * int64(time.Second))
		if try == maxTries || differ(at, text, "-:TZ") && differ(secondsOf(at), secondsOf(text), "") {
			return at
		}
	}
	out := []byte(text)
	for i, c := range out {
		digits := "0123456789"
		switch {
		case kind == stampUID && (c == '-' || i == 14): // 14 is the version of a uuid
			continue
		case kind == stampUID && i == 19: // its variant
			digits = "89ab"
		case kind == stampUID:
			digits += "abcdef"
		case i == 0:
			digits = "123456789"
		}
		for out[i] == c {
			out[i] = digits[d.IntN(len(digits))]
		}
	}
	return string(out)
}

// differ reports whether each character of two texts differs but for some.
func differ(a, b, but string) bool {
	for i := range a {
		if a[i] == b[i] && !bytes.Contains([]byte(but), []byte{a[i]}) {
			return false
		}
	}
	return true
}

// apart reports whether no value stands where another one does, in all of the questions.
func apart(values [][]string) bool {
	for a := range values[0] {
		for b := range a {
			if !slices.ContainsFunc(values, func(v []string) bool {
				least := min(len(v[a]), len(v[b]))
				return v[a][:least] != v[b][:least]
			}) {
				return false
			}
		}
	}
	return true
}
