package scaffold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// ErrNoChange says that a step would change nothing.
var ErrNoChange = errors.New("the project is so already")

// optionsFolder is the folder of what Edit switches, as config/default names it.
const optionsFolder = "../options"

// NoOptionsError says that config/default does not include what Edit switches.
type NoOptionsError struct{ File string }

func (e *NoOptionsError) Error() string {
	return fmt.Sprintf("%s does not name %s, so nothing would come of it: add \"- %s\" to its components", e.File, optionsFolder, optionsFolder)
}

// Edit switches features of the project.
func Edit(ctx context.Context, o Options, change func(*Features)) (*Result, error) {
	s, old, err := begin(o)
	if err != nil {
		return nil, err
	}
	defer s.drop()
	p := old.clone()
	change(&p.Features)
	if p.Features == old.Features {
		return nil, ErrNoChange
	}
	for _, a := range p.APIs {
		if p.Namespaced && !a.Namespaced {
			return nil, &ScopeError{Kind: a.Kind}
		}
	}
	const file = "config/default/kustomization.yaml"
	if data, ok := s.had(file); ok && !bytes.Contains(data, []byte(optionsFolder)) {
		return nil, &NoOptionsError{File: file}
	}
	s.advise(&old.Features, &p.Features)
	if err := s.keep(p); err != nil {
		return nil, err
	}
	return s.finish(ctx)
}

// advise tells what the tool cannot do for features that are switched on.
func (s *step) advise(old, now *Features) {
	for _, x := range []struct {
		on   bool
		note string
	}{
		{now.Namespaced && !old.Namespaced, "The program may do in its own namespace what the markers in the code say, and nothing elsewhere. Its definitions, its webhooks and the reviews of those who read its metrics still need cluster-wide permissions, of the one who deploys it or its own."},
		{now.CertManager && !old.CertManager, "cert-manager must run in the cluster before the program is deployed."},
		{now.Prometheus && !old.Prometheus, "The definition of ServiceMonitor must be in the cluster before the program is deployed, and the account of Prometheus needs the role metrics-reader."},
		{now.NetworkPolicy && !old.NetworkPolicy, "Label the namespace of who reads the metrics: kubectl label namespace NAME metrics=enabled"},
	} {
		if x.on {
			s.notes = append(s.notes, x.note)
		}
	}
}
