package scaffold

import (
	"strings"
	"testing"
)

func TestNameOf(t *testing.T) {
	for mod, want := range map[string]string{
		"example.com/shop":                "shop",
		"example.com/shop/v2":             "shop",
		"example.com/My_Shop.operator":    "my-shop-operator",
		"github.com/a/b/examples/guest-k": "guest-k",
		"shop":                            "shop",
	} {
		if got := nameOf(mod); got != want {
			t.Errorf("%s: %q, want %q", mod, got, want)
		}
	}
}

func TestPlurals(t *testing.T) {
	for kind, want := range map[string]string{"Order": "orders", "Policy": "policies", "Index": "indices", "Guestbook": "guestbooks"} {
		if got := pluralOf(kind); got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
}

func TestVersions(t *testing.T) {
	for _, good := range []string{"v1", "v10", "v1alpha1", "v2beta12"} {
		if err := checkVersion(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "1", "v", "v0", "v01", "V1", "v1beta", "v1beta0", "v1gamma1", "v1.2", "v1 "} {
		if checkVersion(bad) == nil {
			t.Errorf("%q is taken for a version", bad)
		}
	}
}

// The second kind with a name gets its group as a prefix in Go. The first keeps its name.
func TestControllerNames(t *testing.T) {
	p := &Project{APIs: []API{{Group: "shop", Kind: "Order"}, {Group: "back-office", Kind: "Order"}, {Group: "x", Kind: "Item"}}}
	var got []string
	for i := range p.APIs {
		got = append(got, p.ControllerName(&p.APIs[i]))
	}
	if s := strings.Join(got, " "); s != "Order BackofficeOrder Item" {
		t.Error(s)
	}
}

func FuzzParse(f *testing.F) {
	p := Project{Version: 1, Name: "shop", Domain: "example.com", Module: "example.com/shop", APIs: []API{{Group: "shop", Kind: "Order", Plural: "orders", Hub: "v1", Versions: []Version{{Name: "v1"}}}}}
	text, err := p.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("version: 1\napis: [{}]"))
	f.Add([]byte("- 1"))
	f.Add([]byte("&a [*a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parse(text)
		if err != nil {
			return
		}
		again, err := p.encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parse(again); err != nil {
			t.Errorf("what was written cannot be read: %v\n%s", err, again)
		}
	})
}
