package draw

import (
	"maps"
	"regexp/syntax"
	"slices"
	"strings"
)

// Bounds of what is drawn: how deep objects are that are not there yet, how many values a field has, and how long texts
// and lists get. A number without a maximum stays small, since it is often one of things to make.
const (
	maxDepth  = 4
	maxValues = 40
	maxText   = 300
	maxList   = 16
)

// formats has examples of the formats of strings.
var formats = map[string][]string{
	"date-time": {"2020-02-29T23:59:59Z", "1970-01-01T00:00:00Z"}, "date": {"2020-02-29"}, "duration": {"0s", "1m30s", "-1h", "1000h"},
	"ipv4": {"10.0.0.1", "0.0.0.0"}, "ipv6": {"::1", "2001:db8::1"}, "cidr": {"10.0.0.0/8", "0.0.0.0/0"}, "uri": {"https://example.com/a?b=c"},
	"email": {"a@example.com"}, "hostname": {"example.com"}, "uuid": {"123e4567-e89b-12d3-a456-426614174000"}, "byte": {"YQ==", ""},
	"password": {"p"}, "mac": {"00:00:5e:00:53:01"},
}

// texts are tried for a string of which the schema says nothing more, and numbers for such a number. Some texts are
// quantities.
var (
	texts   = []string{"", "a", "b", "A b", " ", "ä", "0", "-1", "1", "100m", "1Gi", "50%", "10s", "a.b", strings.Repeat("x", 64), strings.Repeat("y", 254)}
	numbers = []float64{0, 1, -1, 2, 3, 5, 10}
)

// valuesOf returns values of a schema, the plainest first. Not all must be valid for CEL. They are not changed.
func valuesOf(s *Schema, depth int) []any {
	out, ok := s.known[depth]
	if !ok {
		out = newValues(s, depth)
		if s.known == nil {
			s.known = map[int][]any{}
		}
		s.known[depth] = out
	}
	return out
}

func newValues(s *Schema, depth int) (out []any) {
	add := func(all ...any) {
		for _, v := range all {
			if len(out) < maxValues && s.allows(v) && !slices.ContainsFunc(out, func(x any) bool { return same(x, v) }) {
				out = append(out, v)
			}
		}
	}
	if s.Default != nil {
		add(s.Default)
	}
	add(s.Enum...)
	if s.Nullable {
		defer add(nil)
	}
	switch {
	case len(s.Enum) > 0:
	case s.IntOrText:
		add(0.0, 1.0, -1.0, "0", "1", "50%", "a", "100m", "1Gi")
	case s.Type == "boolean":
		add(false, true)
	case s.Type == "integer" || s.Type == "number":
		add(bounds(s)...)
	case s.Type == "string":
		add(textsOf(s)...)
	case s.Type == "array" && s.Items != nil:
		add([]any{})
		each := valuesOf(s.Items, depth+1)
		n := 1
		if s.MinItems != nil {
			n = max(n, min(*s.MinItems, maxList))
		}
		for _, v := range each {
			add(slices.Repeat([]any{v}, n))
		}
		if len(each) >= n+1 {
			add(slices.Clone(each[:n]), slices.Clone(each[:n+1]))
		}
	case s.Type == "object" || len(s.Properties) > 0 || s.Open:
		add(objects(s, depth)...)
	}
	return out
}

// bounds returns numbers at the bounds of a schema, and small ones.
func bounds(s *Schema) (out []any) {
	step := 1.0
	if s.Multiple != nil {
		step = *s.Multiple
	}
	for _, b := range []*float64{s.Minimum, s.Maximum} {
		if b != nil {
			out = append(out, *b, *b+step, *b-step)
		}
	}
	for _, n := range numbers {
		out = append(out, n*step)
	}
	if s.Type == "number" {
		out = append(out, 0.5)
	}
	return out
}

// textsOf returns texts of a schema.
func textsOf(s *Schema) (out []any) {
	for _, t := range formats[s.Format] {
		out = append(out, t)
	}
	if formats[s.Format] != nil {
		return out
	}
	for _, t := range examples(s.Pattern) {
		out = append(out, t)
	}
	for _, n := range []*int{s.MinLength, s.MaxLength} {
		if n != nil && *n <= maxText {
			out = append(out, strings.Repeat("a", *n), strings.Repeat("z", *n))
		}
	}
	for _, t := range texts {
		out = append(out, t)
	}
	return out
}

// objects returns objects and maps of a schema: the smallest, then each with one more member, then the fullest.
func objects(s *Schema, depth int) (out []any) {
	least := map[string]any{}
	for _, name := range s.Required {
		p := s.Properties[name]
		if p == nil {
			continue
		}
		all := valuesOf(p, depth+1)
		if len(all) == 0 || depth > 3*maxDepth {
			return nil // it has no end, or no value is known
		}
		least[name] = all[0]
	}
	out = append(out, least)
	if depth >= maxDepth {
		return out
	}
	full := maps.Clone(least)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		for i, v := range valuesOf(s.Properties[name], depth+1) {
			one := maps.Clone(least)
			one[name] = v
			out = append(out, one)
			if i == 0 && depth > 0 {
				full[name] = v
			}
		}
	}
	if m := s.values(); m != nil {
		for i, v := range valuesOf(m, depth+1) {
			out = append(out, map[string]any{keys[i%len(keys)]: v})
		}
	}
	if s.Open {
		out = append(out, map[string]any{"unknown": "a"})
	}
	if len(full) > len(least) {
		out = append(out, full)
	}
	if len(out) > maxValues { // of each member some
		random := slices.Clone(out[:1])
		for i := 1; i < maxValues; i++ {
			random = append(random, out[i*len(out)/maxValues])
		}
		out = random
	}
	return out
}

// keys are those of maps.
var keys = []string{"a", "b.example.com/c", "D"}

// examples returns texts that match a pattern: short ones and longer ones, of each alternative some.
func examples(pattern string) (out []string) {
	if pattern == "" {
		return nil
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	for nth := range 8 {
		var b strings.Builder
		example(&b, re, nth)
		if t := b.String(); len(t) <= maxText && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// example writes the nth text of a pattern. An odd one has more repetitions.
func example(b *strings.Builder, re *syntax.Regexp, nth int) {
	times := 1
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
		return
	case syntax.OpCharClass:
		if n := len(re.Rune) / 2; n > 0 {
			b.WriteRune(re.Rune[2*(nth/2%n)+nth%2])
		}
		return
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
		return
	case syntax.OpAlternate:
		example(b, re.Sub[nth/2%len(re.Sub)], nth)
		return
	case syntax.OpStar, syntax.OpQuest:
		times = nth % 2
	case syntax.OpPlus:
		times = 1 + nth%2
	case syntax.OpRepeat:
		times = re.Min
		if nth%2 == 1 && re.Max != re.Min {
			times++
		}
	}
	for range times {
		for _, sub := range re.Sub {
			example(b, sub, nth)
		}
	}
}
