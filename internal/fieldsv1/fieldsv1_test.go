package fieldsv1_test

import (
	"encoding/json"
	"testing"

	"github.com/flyball-io/flyball/internal/fieldsv1"
)

func TestParseReturnsWhatNewWasGiven(t *testing.T) {
	const doc = `{"f:data":{"f:a":{},".":{}}}`
	set, err := fieldsv1.Parse(fieldsv1.New(doc))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(set); err != nil || string(got) != `{"f:data":{".":{},"f:a":{}}}` {
		t.Errorf("%s %v", got, err)
	}
	if set, err := fieldsv1.Parse(fieldsv1.New("")); err != nil || len(set) > 0 {
		t.Errorf("no bytes: %v %v", set, err)
	}
	for _, bad := range []string{"{", `[]`, `"x"`} {
		if set, err := fieldsv1.Parse(fieldsv1.New(bad)); err == nil {
			t.Errorf("%q: %v without an error", bad, set)
		}
	}
}
