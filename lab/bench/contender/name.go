package contender

import (
	"fmt"
	"slices"
	"strings"
)

// View is the form in which objects are held.
type View string

// These are the views, by their names in contenders and on the command line.
const (
	Typed        View = "typed"
	Unstructured View = "unstructured"
	Metadata     View = "metadata"
)

// Name identifies a contender: "client-go", or with a view and settings,
// "controller-runtime-metadata-best".
type Name struct {
	Library string
	// View is empty for the view of the whole run.
	View View
	Best bool
}

// These are the compared libraries.
const (
	Flyball           = "flyball"
	ClientGo          = "client-go"
	ControllerRuntime = "controller-runtime"
)

// PackedControllerRuntime is controller-runtime with the packed cache of adapter/ctrlcache. It runs only where
// it is named.
const PackedControllerRuntime = "controller-runtime-flyball"

// PackedClientGo is client-go with the packed informers of adapter/clientgo. It runs only where it is named.
const PackedClientGo = "client-go-flyball"

// Transport is the name of a contender that reads the bytes and holds nothing. It is no library: its
// figures are limits, beside which those of the others stand.
const Transport = "transport"

// Libraries returns the compared libraries, in the order of the results.
func Libraries() []string { return []string{Flyball, ClientGo, ControllerRuntime} }

// Parse parses a name.
func Parse(name string) (n Name, err error) {
	rest := name
	if rest, n.Best = strings.CutSuffix(rest, "-best"); n.Best && rest == "" {
		return n, fmt.Errorf("contender %q", name)
	}
	for _, v := range []View{Typed, Unstructured, Metadata} {
		if library, ok := strings.CutSuffix(rest, "-"+string(v)); ok {
			rest, n.View = library, v
		}
	}
	n.Library = rest
	known := append(Libraries(), PackedControllerRuntime, PackedClientGo)
	if !slices.Contains(known, rest) && name != Transport {
		return n, fmt.Errorf("contender %q: there are %s, and each with -typed, -unstructured or -metadata, and with -best behind it; and %s", name, strings.Join(known, ", "), Transport)
	}
	return n, nil
}

// Plain reports whether the name is only that of a library.
func (n Name) Plain() bool { return n.View == "" && !n.Best }
