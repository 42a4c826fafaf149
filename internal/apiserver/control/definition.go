package control

// definitions is the resource of definitions of custom resources.
var definitions = NewKind("apiextensions.k8s.io", "v1", "customresourcedefinitions")

// Definition has the fields of a definition of custom resources that controllers read.
type Definition struct {
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"` // "Namespaced" or "Cluster"
		Names struct {
			Kind   string `json:"kind"`
			Plural string `json:"plural"`
		} `json:"names"`
		Versions []struct {
			Name   string `json:"name"`
			Served bool   `json:"served"`
		} `json:"versions"`
	} `json:"spec"`
}

// DefinitionOf returns the definition of a kind of custom resources; nil if there is none.
func DefinitionOf(s *State, group, kind string) *Definition {
	for _, d := range List[Definition](s, definitions, "") {
		if d.Spec.Group == group && d.Spec.Names.Kind == kind {
			return d
		}
	}
	return nil
}
