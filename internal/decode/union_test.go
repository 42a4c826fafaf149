package decode

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
)

// An unknown member of a union is not put back beside one that was set since. An unknown field
// beside the former member is.
func TestRestoreKeepsOneUnionMember(t *testing.T) {
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

// The same in protobuf: the sources of a volume are in a message of their own, and an unknown field
// is a number.
func TestRestoreProtobufKeepsOneUnionMember(t *testing.T) {
	const newer = 1000
	bytesField := func(number protowire.Number, b []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), b)
	}
	unknown := bytesField(newer, []byte("x"))
	pod := func(source []byte) []byte {
		volume := slices.Concat(bytesField(1, []byte("a")), bytesField(2, source))
		return bytesField(2, bytesField(1, volume)) // spec, volumes
	}
	source := func(v corev1.VolumeSource) []byte {
		b, err := v.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	empty := source(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	memory := source(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: "Memory"}})
	config := source(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}})
	for name, tc := range map[string]struct {
		read, known, sent []byte
		lost              string // the newly set member, if the unknown field has no place
	}{
		"set since":   {unknown, nil, empty, "emptyDir"},
		"replaced":    {slices.Concat(unknown, empty), empty, config, "configMap"},
		"as it was":   {slices.Concat(unknown, empty), empty, empty, ""},
		"changed":     {slices.Concat(unknown, empty), empty, memory, ""},
		"none is set": {unknown, nil, nil, ""},
	} {
		got, err := RestoreProtobuf(reflect.TypeFor[corev1.Pod](), Versions{pod(tc.read), pod(tc.known), pod(tc.sent)})
		place, lost := errors.AsType[*PlaceError](err)
		switch {
		case lost != (tc.lost != ""):
			t.Errorf("%s: %x, %v", name, got, err)
		case lost && (place.Names[0] != fmt.Sprint("field ", newer) || !strings.Contains(place.Problem, tc.lost)):
			t.Errorf("%s: %v", name, err)
		case !lost && !bytes.Equal(got, pod(slices.Concat(tc.sent, unknown))):
			t.Errorf("%s: %x, want it with the unknown field behind the others", name, got)
		}
	}
}
