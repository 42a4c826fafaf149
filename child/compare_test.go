package child

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/sparse"
)

// compare finds the differences with managedFields (in their JSON form) and without them.
func TestCompareFindsDifferences(t *testing.T) {
	for name, tc := range map[string]struct {
		want, live, owned string // empty owned: unknown
		field             string
	}{
		"same":                    {`{"a":1}`, `{"a":1,"b":2}`, `{"f:a":{}}`, ""},
		"numbers by value":        {`{"a":1}`, `{"a":1.0}`, `{"f:a":{}}`, ""},
		"large numbers":           {`{"a":9007199254740993}`, `{"a":9007199254740992}`, `{"f:a":{}}`, "a"},
		"a text is no number":     {`{"a":1}`, `{"a":"1"}`, `{"f:a":{}}`, "a"},
		"other value":             {`{"a":{"b":1}}`, `{"a":{"b":2}}`, `{"f:a":{"f:b":{}}}`, "a.b"},
		"not owned":               {`{"a":{"b":1}}`, `{"a":{"b":1}}`, `{"f:a":{".":{}}}`, ""},
		"not owned any more":      {`{"a":{"b":1,"c":1}}`, `{"a":{"b":1,"c":1}}`, `{"f:a":{"f:c":{}}}`, "a.b"},
		"owned but not wanted":    {`{"a":{"b":1}}`, `{"a":{"b":1,"c":1}}`, `{"f:a":{"f:b":{},"f:c":{}}}`, "a.c"},
		"nothing owned":           {`{"a":1}`, `{"a":1}`, `{}`, "a"},
		"a map where text was":    {`{"a":{"b":1}}`, `{"a":"b"}`, `{"f:a":{}}`, "a"},
		"empty map":               {`{"a":{}}`, `{"a":{"b":1}}`, `{"f:a":{}}`, ""},
		"empty map gone":          {`{"a":{}}`, `{}`, `{"f:a":{}}`, "a"},
		"empty list gone":         {`{"a":[]}`, `{}`, `{"f:a":{}}`, ""},
		"atomic list":             {`{"a":[1,2]}`, `{"a":[1,2]}`, `{"f:a":{}}`, ""},
		"atomic list, longer":     {`{"a":[1,2]}`, `{"a":[1,2,3]}`, `{"f:a":{}}`, "a"},
		"atomic list, other":      {`{"a":[{"b":1}]}`, `{"a":[{"b":2,"c":3}]}`, `{"f:a":{}}`, "a[0].b"},
		"atomic list, defaulted":  {`{"a":[{"b":1}]}`, `{"a":[{"b":1,"c":3}]}`, `{"f:a":{}}`, ""},
		"list by key":             {`{"a":[{"k":"x","v":1}]}`, `{"a":[{"k":"w"},{"k":"x","v":1,"d":2}]}`, `{"f:a":{"k:{\"k\":\"x\"}":{".":{},"f:k":{},"f:v":{}}}}`, ""},
		"element changed":         {`{"a":[{"k":"x","v":1}]}`, `{"a":[{"k":"x","v":2}]}`, `{"f:a":{"k:{\"k\":\"x\"}":{".":{},"f:k":{},"f:v":{}}}}`, "a[0].v"},
		"element gone":            {`{"a":[{"k":"x"}]}`, `{"a":[{"k":"w"}]}`, `{"f:a":{"k:{\"k\":\"x\"}":{".":{},"f:k":{}}}}`, "a[0]"},
		"element new":             {`{"a":[{"k":"x"},{"k":"y"}]}`, `{"a":[{"k":"x"},{"k":"y"}]}`, `{"f:a":{"k:{\"k\":\"x\"}":{".":{},"f:k":{}}}}`, "a[1]"},
		"element not wanted":      {`{"a":[{"k":"x"}]}`, `{"a":[{"k":"x"},{"k":"y"}]}`, `{"f:a":{"k:{\"k\":\"x\"}":{"f:k":{}},"k:{\"k\":\"y\"}":{"f:k":{}}}}`, `a[k:{"k":"y"}]`},
		"none wanted":             {`{"a":[]}`, `{"a":[{"k":"x"}]}`, `{"f:a":{"k:{\"k\":\"x\"}":{"f:k":{}}}}`, `a[k:{"k":"x"}]`},
		"order":                   {`{"a":[{"k":"x"},{"k":"y"}]}`, `{"a":[{"k":"y"},{"k":"x"}]}`, `{"f:a":{"k:{\"k\":\"x\"}":{"f:k":{}},"k:{\"k\":\"y\"}":{"f:k":{}}}}`, "a[1]"},
		"key filled in":           {`{"a":[{"p":53},{"p":53,"t":"UDP"}]}`, `{"a":[{"p":53,"t":"TCP"},{"p":53,"t":"UDP"}]}`, `{"f:a":{"k:{\"p\":53,\"t\":\"TCP\"}":{"f:p":{}},"k:{\"p\":53,\"t\":\"UDP\"}":{"f:p":{},"f:t":{}}}}`, ""},
		"set":                     {`{"a":["x"]}`, `{"a":["w","x"]}`, `{"f:a":{"v:\"x\"":{}}}`, ""},
		"set, one more":           {`{"a":["x","y"]}`, `{"a":["x","y"]}`, `{"f:a":{"v:\"x\"":{}}}`, "a[1]"},
		"unknown: same":           {`{"a":{"b":1}}`, `{"a":{"b":1,"c":2}}`, ``, ""},
		"unknown: other":          {`{"a":{"b":1}}`, `{"a":{"b":3}}`, ``, "a.b"},
		"unknown: gone":           {`{"a":{"b":1}}`, `{}`, ``, "a"},
		"unknown: others between": {`{"a":[{"k":1},{"k":3}]}`, `{"a":[{"k":1},{"k":2},{"k":3,"d":1}]}`, ``, ""},
		"unknown: order":          {`{"a":[{"k":1},{"k":3}]}`, `{"a":[{"k":3},{"k":1}]}`, ``, "a[1]"},
		"unknown: plain values":   {`{"a":[1]}`, `{"a":[1,2]}`, ``, "a"},
		"unknown: empty list":     {`{"a":[]}`, `{}`, ``, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var owned map[string]any
			if tc.owned != "" {
				if err := json.Unmarshal([]byte(tc.owned), &owned); err != nil {
					t.Fatal(err)
				}
			}
			if got := compare(decode(t, tc.want), decode(t, tc.live), owned, false); got != tc.field {
				t.Errorf("differs in %q, want %q", got, tc.field)
			}
		})
	}
}

func decode(t testing.TB, text string) map[string]any {
	t.Helper()
	m, err := sparse.Map(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// managedFields come from the server: compare accepts any content. An object that is owned as a whole and
// has not changed does not differ.
func FuzzCompare(f *testing.F) {
	f.Add(`{"a":[{"k":"x"}]}`, `{"f:a":{"k:{\"k\":\"x\"}":{}}}`)
	f.Add(`{"a":{"b":1}}`, `{"f:a":{"v:":{},"k:":{},".":{}}}`)
	f.Add(`{"a":[1,[2]]}`, `{"f:a":{"v:1":{},"v:[2]":{},"i:0":{}}}`)
	f.Fuzz(func(t *testing.T, object, fields string) {
		var m, owned map[string]any
		if json.Unmarshal([]byte(object), &m) != nil || json.Unmarshal([]byte(fields), &owned) != nil || m == nil {
			return
		}
		_ = compare(m, m, owned, true)
		if strings.Contains(object, "null") {
			return
		}
		if field := compare(m, m, nil, true); field != "" {
			t.Errorf("%s differs from itself in %q", object, field)
		}
	})
}
