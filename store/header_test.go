package store

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/object"
)

// Values read from an entry may be written to: no other reader sees it, of this object or another.
func TestHeadersBelongToTheCaller(t *testing.T) {
	s := New(Checked(Options{}))
	var shown []*Entry
	mustIndexFunc(t, s, "all", func(e *Entry) ([]string, error) {
		spoil(e)
		shown = append(shown, e)
		return nil, nil
	})
	for i := range 20 {
		commit(s, fmt.Sprintf("+p%02d u%d@%d app=web owner=o1", i, i, i+1))
		commit(s, fmt.Sprintf("+p%02d u%d@%d app=web owner=o1 more=1", i, i, i+101))
	}
	for range 2 {
		for e := range s.Snapshot().All() {
			spoil(e)
		}
		for i := range 20 {
			s.Look(object.Key{Name: fmt.Sprintf("p%02d", i)}, spoil)
		}
	}
	for e := range s.Snapshot().All() {
		shown = append(shown, e)
	}
	for _, e := range shown {
		raw, err := e.Raw().Header()
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range []*object.Header{e.Header(), &raw} {
			if h.Labels["app"] != "web" || h.Labels["spoilt"] != "" || h.Annotations["spoilt"] != "" {
				t.Fatalf("%s has %v, %v", e.Key(), h.Labels, h.Annotations)
			}
			for _, o := range h.Owners {
				if o.Name == "spoilt" {
					t.Fatalf("%s has owners %v", e.Key(), h.Owners)
				}
			}
		}
		if e.Labels()["spoilt"] != "" {
			t.Fatal(e.Labels())
		}
	}
}

// spoil overwrites every value that an entry returns.
func spoil(e *Entry) {
	h := e.Header()
	raw, err := e.Raw().Header()
	if err != nil {
		panic(err)
	}
	for _, h := range []*object.Header{h, &raw} {
		for _, m := range []map[string]string{h.Labels, h.Annotations} {
			if m != nil {
				m["spoilt"], m["app"] = "yes", "spoilt"
			}
		}
		for i := range h.Owners {
			h.Owners[i].Name = "spoilt"
		}
	}
	if l := e.Labels(); l != nil {
		l["spoilt"], l["app"] = "yes", "spoilt"
	}
}

// Methods that read labels and owners without a copy agree with the header.
func TestLabelReadersAgreeWithTheHeader(t *testing.T) {
	s := New(Checked(Options{}))
	commit(s, "+x u@1 app=web", "+y u2@2")
	for e := range s.Snapshot().All() {
		h := e.Header()
		app, ok := e.Label("app")
		if want, has := h.Labels["app"]; app != want || ok != has {
			t.Errorf("%s: %q, %v", e.Key(), app, ok)
		}
		if note, ok := e.Annotation("note"); note != h.Annotations["note"] || ok != (h.Annotations != nil) {
			t.Errorf("%s: %q, %v", e.Key(), note, ok)
		}
		web := labels.SelectorFromSet(labels.Set{"app": "web"})
		if e.Selected(web) != web.Matches(labels.Set(h.Labels)) || !e.Selected(labels.Everything()) {
			t.Errorf("%s is selected: %v", e.Key(), e.Selected(web))
		}
		n := 0
		for o := range e.Owners() {
			if o != h.Owners[n] {
				t.Errorf("%+v", o)
			}
			n++
		}
		if n != len(h.Owners) {
			t.Errorf("%d owners of %d", n, len(h.Owners))
		}
	}
}
