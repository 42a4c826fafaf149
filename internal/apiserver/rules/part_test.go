package rules

import (
	"bytes"
	"testing"
)

// The objects of an answer keep no memory of the rest of it.
func TestObjectsHaveMemoryOfTheirOwn(t *testing.T) {
	text, err := AppendMessage(nil, &Answer{Code: 200, Body: []byte("body"), Writes: []Write{{Key: "a", Object: []byte("object"), Shown: []byte("shown")}, {Key: "b", Object: []byte("other")}}})
	if err != nil {
		t.Fatal(err)
	}
	var a Answer
	if err := ParseMessage(text, &a); err != nil {
		t.Fatal(err)
	}
	a.Part()
	for i := range text {
		text[i] = 'x'
	}
	one, two := a.Writes[0], a.Writes[1]
	if string(a.Body) != "body" || string(one.Object) != "object" || string(one.Shown) != "shown" || !bytes.Equal(two.Object, []byte("other")) || two.Shown != nil {
		t.Errorf("%s %s %s %s %v", a.Body, one.Object, one.Shown, two.Object, two.Shown)
	}
}
