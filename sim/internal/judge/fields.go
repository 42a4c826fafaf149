package judge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Fields says which fields of the object differ, and how: n of them at most. When says when they are as wanted, such as
// "without a fault".
func (d Difference) Fields(n int, when string) (out []string) {
	if d.Got == "" || d.Want == "" || d.Got == d.Want {
		return nil
	}
	var got, want any
	if json.Unmarshal([]byte(d.Got), &got) != nil || json.Unmarshal([]byte(d.Want), &want) != nil {
		return nil
	}
	fields("", got, want, true, true, when, &out)
	if len(out) > n {
		out = append(out[:n], fmt.Sprintf("and %d more fields", len(out)-n))
	}
	return out
}

// fields compares two values at a path. A value may be absent.
func fields(path string, got, want any, there, wanted bool, when string, out *[]string) {
	if a, ok := got.(map[string]any); ok {
		if b, ok := want.(map[string]any); ok {
			keys := maps.Clone(a)
			maps.Copy(keys, b)
			for _, k := range slices.Sorted(maps.Keys(keys)) {
				x, there := a[k]
				y, wanted := b[k]
				fields(strings.TrimPrefix(path+"."+member(k), "."), x, y, there, wanted, when, out)
			}
			return
		}
	}
	if a, ok := got.([]any); ok {
		if b, ok := want.([]any); ok {
			for i := range max(len(a), len(b)) {
				fields(fmt.Sprintf("%s[%d]", path, i), at(a, i), at(b, i), i < len(a), i < len(b), when, out)
			}
			return
		}
	}
	switch x, y := short(got), short(want); {
	case !there:
		*out = append(*out, fmt.Sprintf("%s is not there, and %s %s", path, y, when))
	case !wanted:
		*out = append(*out, fmt.Sprintf("%s is %s, and not there %s", path, x, when))
	case !same(got, want):
		*out = append(*out, fmt.Sprintf("%s is %s, and %s %s", path, x, y, when))
	}
}

// member returns a name as a part of a path.
func member(name string) string {
	if strings.ContainsAny(name, "./ ") {
		return "[" + name + "]"
	}
	return name
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// longest bounds a value that is shown, in bytes.
const longest = 80

func short(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	if len(b) <= longest {
		return string(b)
	}
	end := longest
	for !utf8.RuneStart(b[end]) {
		end--
	}
	return string(b[:end]) + "…"
}
