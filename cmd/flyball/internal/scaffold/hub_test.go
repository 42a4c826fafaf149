package scaffold

import (
	"strings"
	"testing"
)

const turnedTypes = "package v2\n\ntype Order struct{ Spec OrderSpec }\ntype OrderSpec struct{ Items []Item }\ntype Item struct{ Name string }\n"

const spoke = `package v2

import (
	"strings"

	hub "example.com/shop/api/shop/v1"
)

// ConvertTo makes h what s is.
func (s *Order) ConvertTo(h *hub.Order) error {
	h.Spec.Names = nil
	for _, x := range s.Spec.Items {
		h.Spec.Names = append(h.Spec.Names, name(x))
	}
	h.Spec.Extra = hub.Extra{Item: strings.ToUpper("x")}
	return nil
}

// ConvertFrom makes s what h is.
func (s *Order) ConvertFrom(h *hub.Order) error {
	s.Spec = OrderSpec{Items: []Item{}}
	for _, n := range h.Spec.Names {
		s.Spec.Items = append(s.Spec.Items, Item{Name: n})
	}
	return nil
}

func name(in Item) string { return in.Name }
`

// A conversion that was written by hand is the same code for the other hub, and turned twice what it was.
func TestTurned(t *testing.T) {
	types, err := parseTypes("v2/order_types.go", []byte(turnedTypes))
	if err != nil {
		t.Fatal(err)
	}
	got, err := turned("order_conversion.go", []byte(spoke), "v1", "v2", "Order", types)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"package v1\n", `hub "example.com/shop/api/shop/v2"`, "func (h *Order) ConvertFrom(s *hub.Order) error {", "func (h *Order) ConvertTo(s *hub.Order) error {",
		"s.Spec = hub.OrderSpec{Items: []hub.Item{}}", "append(s.Spec.Items, hub.Item{Name: n})", "h.Spec.Extra = Extra{Item: strings.ToUpper", "func name(in hub.Item) string { return in.Name }",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	old, err := parseTypes("v1/order_types.go", []byte("package v1\n\ntype Order struct{}\ntype Extra struct{ Item string }\n"))
	if err != nil {
		t.Fatal(err)
	}
	back, err := turned("order_conversion.go", got, "v2", "v1", "Order", old)
	if err != nil {
		t.Fatal(err)
	}
	code := func(text string) (out []string) {
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "//") {
				out = append(out, line)
			}
		}
		return out
	}
	if got, want := strings.Join(code(string(back)), ""), strings.Join(code(spoke), ""); got != want {
		t.Errorf("turned twice:\n%s\nwant\n%s", got, want)
	}
}

// The hub moves to a version and back, and the project's files are those of before.
func TestHubMovesAndBack(t *testing.T) {
	for _, conversion := range []bool{false, true} {
		dir := t.TempDir()
		o := unbuilt(dir)
		if _, err := Init(t.Context(), o, Project{Domain: "example.com", Module: "example.com/shop", Name: "shop"}); err != nil {
			t.Fatal(err)
		}
		if _, err := CreateAPI(t.Context(), o, NewAPI{Group: "shop", Version: "v1", Kind: "Order", Resource: true}); err != nil {
			t.Fatal(err)
		}
		if conversion {
			if _, err := CreateWebhook(t.Context(), o, NewWebhook{Group: "shop", Version: "v1", Kind: "Order", Conversion: true}); err != nil {
				t.Fatal(err)
			}
		}
		for _, v := range []string{"v2", "v3"} {
			if _, err := CreateAPI(t.Context(), o, NewAPI{Group: "shop", Version: v, Kind: "Order", Resource: true}); err != nil {
				t.Fatal(err)
			}
		}
		before, _, err := readTree(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, hub := range []string{"v2", "v3", "v1"} {
			if _, err := MoveHub(t.Context(), o, NewHub{Group: "shop", Kind: "Order", Hub: hub}); err != nil {
				t.Fatal(err)
			}
			p, err := Load(dir)
			if err != nil || p.find("shop", "Order").Hub != hub {
				t.Fatal(err)
			}
			now, _, err := readTree(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range []string{"v1", "v2", "v3"} {
				text := string(now["api/shop/"+v+"/order_types.go"])
				_, converts := now["api/shop/"+v+"/order_conversion.go"]
				if strings.Contains(text, storageMarker) != (v == hub) || converts != (conversion && v != hub) || conversion && strings.Contains(text, conversionMarker) != (v == hub) {
					t.Errorf("hub %s, %s: converts %t\n%s", hub, v, converts, text)
				}
			}
		}
		after, _, err := readTree(dir)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range before {
			if !strings.HasSuffix(name, "_types.go") && string(after[name]) != string(text) {
				t.Errorf("%s:\n%s\nwas\n%s", name, after[name], text)
			}
		}
		if len(after) != len(before) {
			t.Errorf("%d files, were %d", len(after), len(before))
		}
	}
}
