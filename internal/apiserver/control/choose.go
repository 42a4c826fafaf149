package control

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// Options configures controllers.
type Options struct {
	// CA has the certificate that clients of the server trust, as PEM; "" if it speaks plain HTTP.
	CA string
	// Report takes a line for people about a controller that has panicked. nil means no output.
	Report func(line string)
}

// Known is a controller that can be chosen by its name or by its short name.
type Known struct {
	Name, Short string
	New         func(Options) Controller
	// Boot returns the requests to make once, before the first step, given the first state of a server. It may be nil.
	Boot func(core.View) []core.Request
}

func (k Known) is(name string) bool { return name == k.Name || name == k.Short }

// Choose returns the controllers that names select, in the order of known. names has the form of the flag
// --controllers of kube-controller-manager: "*" selects all, "name" one, and "-name" leaves one out. The error names a
// controller that does not exist.
func Choose(known []Known, names []string) ([]Known, error) {
	all := slices.Contains(names, "*")
	for _, name := range names {
		plain := strings.TrimPrefix(name, "-")
		if name != "*" && !slices.ContainsFunc(known, func(k Known) bool { return k.is(plain) }) {
			var valid []string
			for _, k := range known {
				valid = append(valid, k.Short)
			}
			return nil, fmt.Errorf("there is no controller %q; there are *, %s", plain, strings.Join(valid, ", "))
		}
	}
	var out []Known
	for _, k := range known {
		chosen := all
		for _, name := range names {
			switch plain, without := strings.CutPrefix(name, "-"); {
			case !k.is(plain):
			case without:
				chosen = false
			default:
				chosen = true
			}
		}
		if chosen {
			out = append(out, k)
		}
	}
	return out, nil
}
