package scaffold

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flyball-io/flyball/cmd/flyball/internal/generate"
)

// mistakable are groups and kinds that may be mistaken for something else, in the order in which they are made. refused says
// that no project can have them; all others must compile, with everything that a kind may have.
var mistakable = []struct {
	group, kind string
	refused     bool
}{
	{"shop", "Order", false},
	{"shop", "DefaultOrder", true}, {"shop", "ValidateOrder", true}, {"shop", "OrderSpec", true}, {"shop", "OrderStatus", true}, {"shop", "OrderList", true},
	{"shop", "ORDER", true}, {"shop", "Default", false}, {"shop", "Validate", false}, {"shop", "Spec", true}, {"shop", "OrderValidator", false}, {"shop", "HubOrder", false},
	{"shop", "DNS", false}, {"shop", "HTTPS", false}, {"shop", "Info", false}, {"shop", "News", false}, {"shop", "A", false}, {"shop", "X509", false},
	{"shop", "String", false}, {"shop", "Error", false}, {"shop", "Type", false}, {"shop", "Func", false}, {"shop", "Nil", false}, {"shop", "Context", false},
	{"shop", "Object", false}, {"shop", "TypeMeta", false}, {"shop", "Test", false}, {"shop", "Main", false}, {"shop", "Linux", false},
	{"shop", "GroupVersion", true}, {"shop", "SchemeGroupVersion", true}, {"shop", "AddToScheme", true}, {"shop", "Status", true}, {"shop", "order", true}, {"shop", "Or-der", true},
	{"internal", "Inner", true}, {"testdata", "Data", true}, {"vendor", "Seller", true}, {"Shop", "Other", true}, {"a.b", "Other", true}, {"", "Other", true}, {"-a", "Other", true},
	{"main", "Program", false}, {"test", "Try", false}, {"func", "Call", false}, {"controller", "Loop", false}, {"webhook", "Hook", false}, {"runtime", "Run", false},
	{"flyball", "Ball", false}, {"scheme", "Plan", false}, {"v1", "Version", false}, {"a-b", "Pair", false}, {"ab", "Pair2", true}, {"go", "Gopher", false},
	{"back", "Order", false}, {"other", "BackOrder", true}, {"other", "Dns", false}, {"other", "SHOPOrder", false},
}

// Every name is refused, or all that is made with it compiles, with its tests. That it compiles is tested with FLYBALL_LONG.
func TestNamesCompileOrAreRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	o := unbuilt(dir)
	if _, err := Init(t.Context(), o, Project{Domain: "example.com", Module: "example.com/shop"}); err != nil {
		t.Fatal(err)
	}
	for _, n := range mistakable {
		_, err := CreateAPI(t.Context(), o, NewAPI{Group: n.group, Version: "v1", Kind: n.kind, Resource: true, Chosen: true, Controller: true})
		if refused := err != nil; refused != n.refused {
			t.Errorf("%s in %s: %v", n.kind, n.group, err)
		}
		if err == nil {
			_, err = CreateWebhook(t.Context(), o, NewWebhook{Group: n.group, Version: "v1", Kind: n.kind, Defaulting: true, Validation: true, Conversion: true, Spokes: []string{"v2"}})
			if err != nil {
				t.Errorf("webhooks of %s in %s: %v", n.kind, n.group, err)
			}
		}
	}
	if os.Getenv("FLYBALL_LONG") == "" {
		return // to compile takes a minute
	}
	o.command = nil
	o.Generate = func(ctx context.Context, dir string) error {
		g := generate.Options{Dir: dir, Env: []string{"GOWORK=off"}}
		plan, err := generate.All(ctx, g)
		if err == nil {
			err = plan.Apply()
		}
		if err == nil && !plan.Compiles {
			err = errors.New("not checked")
		}
		return err
	}
	if _, err := CreateAPI(t.Context(), o, NewAPI{Group: "last", Version: "v1", Kind: "Last", Resource: true, Controller: true}); err != nil {
		t.Errorf("it does not compile: %v", err)
	}
}

// A plural is a DNS label of lower case, for whatever kind.
func TestPluralsAreNames(t *testing.T) {
	letters := []string{"A", "B", "DNS", "S", "X", "Y", "Info", "Z9", "HTTP", "SSH", "CH", "Ss", "Um", "Is"}
	for _, a := range letters {
		for _, b := range append([]string{""}, letters...) {
			for _, c := range append([]string{""}, letters...) {
				kind := a + b + c
				if plural := pluralOf(kind); len(validation.IsDNS1035Label(plural)) > 0 {
					t.Errorf("%s: %q", kind, plural)
				}
			}
		}
	}
	for kind, want := range map[string]string{"DNS": "dnses", "HTTPS": "httpses", "Info": "infos", "ClusterInfo": "clusterinfos", "TLS": "tls", "Status": "statuses", "Gateway": "gateways"} {
		if got := pluralOf(kind); got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
}
