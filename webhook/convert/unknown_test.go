package convert_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/webhook/convert"
)

// withExtra calls each with v and a field that no type has, in every object of v in turn, and its path.
func withExtra(whole, v any, path string, each func(path string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, extra := range []any{"x", 1, nil, map[string]any{"a": []any{}}, []any{map[string]any{}}} {
			v["extra"] = extra
			each(strings.TrimPrefix(path+".extra", "."))
			delete(v, "extra")
		}
		for k, e := range v {
			withExtra(whole, e, path+"."+k, each)
		}
	case []any:
		for i, e := range v {
			withExtra(whole, e, fmt.Sprintf("%s[%d]", path, i), each)
		}
	}
}

// A field that the Go type lacks, anywhere outside metadata, is never lost in silence: the conversion to another
// version fails and names it, one to the same version keeps it, and DropUnknown leaves it out.
func TestUnknownFieldsAreNotLostInSilence(t *testing.T) {
	e := endpoint(t)
	drops, err := convert.New(orders(), convert.Options{DropUnknown: true}, parts()...)
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for from, text := range forms {
		var doc map[string]any
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		withExtra(doc, doc, "", func(path string) {
			if inMap := strings.Contains(path, "labels.") || strings.Contains(path, "annotations.") || strings.Contains(path, "fieldsV1."); inMap {
				return
			}
			tried++
			data, err := json.Marshal(doc)
			if err != nil {
				t.Fatal(err)
			}
			for to := range forms {
				got := serve(e, request("shop.flyball.test/"+to, string(data))).Body.String()
				kept := serve(drops, request("shop.flyball.test/"+to, string(data))).Body.String()
				fails := strings.Contains(got, `"Failure"`)
				switch {
				case from == to:
					if fails || !strings.Contains(got, `"extra"`) {
						t.Errorf("%s to itself, %s: %s", from, path, got)
					}
				case strings.HasPrefix(path, "metadata."):
					if fails {
						t.Errorf("%s to %s, %s: %s", from, to, path, got)
					}
				case !fails || !strings.Contains(got, path):
					t.Errorf("%s to %s, %s: %s", from, to, path, got)
				}
				if from != to && canon(t, kept) != canon(t, serve(e, request("shop.flyball.test/"+to, text)).Body.String()) {
					t.Errorf("%s to %s, %s: with DropUnknown: %s", from, to, path, kept)
				}
			}
		})
	}
	if tried < 50 {
		t.Errorf("%d fields tried", tried)
	}
}
