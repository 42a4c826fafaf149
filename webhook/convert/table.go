package convert

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/wire"
)

// version is one version of a kind, ready for use.
type version struct {
	kind *wire.Kind
	part Part
	hub  *version // itself for the hub
}

// table maps each kind and version to its conversion.
type table map[schema.GroupKind]map[string]*version

// newTable checks the parts against the scheme and each other. The error joins all problems.
func newTable(s *runtime.Scheme, parts []Part) (table, error) {
	if len(parts) == 0 {
		return nil, errors.New("convert: there are no parts")
	}
	if s == nil {
		return nil, errors.New("convert: the scheme is nil")
	}
	var errs []error
	t := table{}
	hubs := map[schema.GroupKind]*version{}
	var all []*version
	for i, p := range parts {
		if p.own == nil {
			errs = append(errs, fmt.Errorf("convert: part %d is empty: use Hub, Spoke or SpokeByMethods", i))
			continue
		}
		found, _, err := s.ObjectKinds(p.newOwn())
		if err != nil || len(found) != 1 {
			errs = append(errs, fmt.Errorf("convert: the scheme must register %v for exactly one kind, it does for %v", p.own, found))
			continue
		}
		gvk := found[0]
		v := &version{kind: &wire.Kind{GVK: gvk, Scheme: s}, part: p}
		gk := gvk.GroupKind()
		if t[gk] == nil {
			t[gk] = map[string]*version{}
		}
		if p.IsHub() {
			v.hub = v
			if h := hubs[gk]; h != nil {
				errs = append(errs, fmt.Errorf("convert: %v has two hubs, %v and %v", gk, h.part.own, p.own))
				continue
			}
			hubs[gk] = v
		}
		if p.missing != "" {
			errs = append(errs, fmt.Errorf("convert: %v has no function %s", p.own, p.missing))
		}
		if other := t[gk][gvk.Version]; other != nil {
			what := "is given twice"
			if other.part.IsHub() != p.IsHub() {
				what = "is both hub and spoke"
			}
			errs = append(errs, fmt.Errorf("convert: %v %s", p.own, what))
			continue
		}
		t[gk][gvk.Version] = v
		all = append(all, v)
	}
	for _, v := range all {
		p, kind := v.part, v.kind.GVK.GroupKind()
		switch hub := hubs[kind]; {
		case p.IsHub():
		case hub == nil:
			errs = append(errs, fmt.Errorf("convert: %v has the spoke %v, but no hub: add Hub[%v]()", kind, p.own, p.hub))
		case hub.part.own != p.hub:
			errs = append(errs, fmt.Errorf("convert: the spoke %v converts to %v, but the hub of %v is %v", p.own, p.hub, kind, hub.part.own))
		default:
			v.hub = hub
		}
	}
	return t, errors.Join(errs...)
}
