package v1

import (
	"reflect"
	"testing"
)

func TestSetDefaults(t *testing.T) {
	one, three := int32(1), int32(3)
	for _, tc := range []struct {
		name       string
		spec, want GuestbookSpec
	}{
		{"nothing given", GuestbookSpec{Message: "Hello"}, GuestbookSpec{Size: &one, Message: "Hello", Alias: Name, Image: DefaultImage}},
		{"all given", GuestbookSpec{Size: &three, Alias: Phone, Image: "web"}, GuestbookSpec{Size: &three, Alias: Phone, Image: "web"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := &Guestbook{Spec: tc.spec}
			for range 2 { // the second time nothing changes
				g.SetDefaults()
				if !reflect.DeepEqual(g.Spec, tc.want) {
					t.Errorf("%+v, want %+v", g.Spec, tc.want)
				}
			}
		})
	}
}
