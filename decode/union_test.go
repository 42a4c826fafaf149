package decode

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// An unknown member of a union is not put back beside one that was set since; an unknown field beside the
// member that was there is.
func TestRestoreUnion(t *testing.T) {
	pod := func(volume string) []byte {
		return []byte(`{"spec":{"volumes":[{"name":"a"` + volume + `}],"containers":null}}`)
	}
	for name, tc := range map[string]struct {
		read, known, sent string
		lost              string
	}{
		"set since":   {`,"newSource":{"x":1}`, ``, `,"emptyDir":{}`, "newSource"},
		"replaced":    {`,"newSource":{"x":1},"emptyDir":{}`, `,"emptyDir":{}`, `,"configMap":{"name":"c"}`, "newSource"},
		"as it was":   {`,"newField":1,"emptyDir":{}`, `,"emptyDir":{}`, `,"emptyDir":{}`, ""},
		"changed":     {`,"newField":1,"emptyDir":{}`, `,"emptyDir":{}`, `,"emptyDir":{"medium":"Memory"}`, ""},
		"none is set": {`,"newSource":{"x":1}`, ``, ``, ""},
	} {
		got, err := RestoreJSON(reflect.TypeFor[corev1.Pod](), Versions{pod(tc.read), pod(tc.known), pod(tc.sent)})
		place, lost := errors.AsType[*PlaceError](err)
		switch {
		case lost != (tc.lost != ""):
			t.Errorf("%s: %s, %v", name, got, err)
		case lost && (place.Names[0] != tc.lost || !strings.Contains(place.Problem, "emptyDir") && !strings.Contains(place.Problem, "configMap")):
			t.Errorf("%s: %v", name, err)
		}
	}
}
