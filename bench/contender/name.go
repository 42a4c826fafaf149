package contender

import (
	"fmt"
	"slices"
	"strings"
)

// View is how objects are held.
type View string

// The views, as they are named in contenders and on the command line.
const (
	Typed        View = "typed"
	Unstructured View = "unstructured"
	Metadata     View = "metadata"
)

// Name says which contender is meant: "client-go", or with a view and settings of its own,
// "controller-runtime-metadata-best".
type Name struct {
	Library string
	// View is empty for the one that all contenders have unless it is said.
	View View
	Best bool
}

// Libraries that are compared.
const (
	Flyball           = "flyball"
	ClientGo          = "client-go"
	ControllerRuntime = "controller-runtime"
)

// Libraries are all of them, in the order of the results.
func Libraries() []string { return []string{Flyball, ClientGo, ControllerRuntime} }

// Parse reads a name.
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
	if !slices.Contains(Libraries(), rest) {
		return n, fmt.Errorf("contender %q: there are %s, and each with -typed, -unstructured or -metadata, and with -best behind it", name, strings.Join(Libraries(), ", "))
	}
	return n, nil
}

// Plain reports whether the name is that of a library and nothing else.
func (n Name) Plain() bool { return n.View == "" && !n.Best }

// of puts the view and settings of the name in the place of those of the options.
func (n Name) of(o Options) Options {
	if n.View != "" {
		o.View = n.View
	}
	o.Best = o.Best || n.Best
	return o
}
