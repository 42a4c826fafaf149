package plane

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// KubernetesEnv is the environment variable with the version of Kubernetes to build the control
// plane with: 1.34.4, or 1.34 for the last patch of it. If it is unset or empty, the version is that
// of the controlplane module. The oldest is 1.33.
const KubernetesEnv = "FLYBALL_KUBERNETES"

// oldestMinor is the oldest minor version of Kubernetes 1 that the control plane can be built with:
// kwok needs ListerWatcherWithContext of its client-go.
const oldestMinor = 33

// requirement is one line of a go.mod file.
type requirement struct{ Path, Version string }

// at returns the source built with another version of Kubernetes, such as "1.34" or "v1.34.4". It
// asks the module proxy for what the module cache does not have.
func (s source) at(ctx context.Context, version string) (source, error) {
	fail := func(err error) (source, error) {
		return source{}, fmt.Errorf("plane: Kubernetes %s, as %s says: %w", version, KubernetesEnv, err)
	}
	query := "v" + strings.TrimPrefix(version, "v")
	minor, err := minorOf(query)
	if err != nil {
		return fail(err)
	}
	if minor < oldestMinor {
		return fail(fmt.Errorf("the oldest version that the control plane can be built with is 1.%d", oldestMinor))
	}
	var found struct{ Version, GoMod, Error string }
	if err := s.goJSON(ctx, &found, "mod", "download", "-json", "k8s.io/kubernetes@"+query); err != nil && found.Error == "" {
		return fail(err)
	}
	if found.Error != "" {
		return fail(fmt.Errorf("%s", found.Error))
	}
	if found.Version == s.kubernetes {
		return s, nil
	}
	var theirs struct{ Require []requirement }
	if err := s.goJSON(ctx, &theirs, "mod", "edit", "-json", found.GoMod); err != nil {
		return fail(err)
	}
	own, err := os.ReadFile(filepath.Join(s.dir, "go.mod"))
	if err != nil {
		return fail(err)
	}
	if s.tags, err = tagsFor(minor, s.kubernetes); err != nil {
		return fail(err)
	}
	s.kubernetes = found.Version
	s.goMod = derive(own, s.kubernetes, theirs.Require)
	return s, nil
}

// derive returns the control plane's go.mod file for another version of Kubernetes: each module that
// Kubernetes requires has the version that it was released with, whatever others ask for. Modules
// from Kubernetes' own repository have the version v0.0.0 there, and 0.X.Y for Kubernetes 1.X.Y.
func derive(own []byte, kubernetes string, requires []requirement) []byte {
	var b bytes.Buffer
	b.Write(own)
	b.WriteString("\nreplace (\n")
	replace := func(r requirement) { fmt.Fprintf(&b, "\t%s => %s %s\n", r.Path, r.Path, r.Version) }
	replace(requirement{"k8s.io/kubernetes", kubernetes})
	for _, r := range requires {
		if r.Version == "v0.0.0" {
			r.Version = "v0" + strings.TrimPrefix(kubernetes, "v1")
		}
		replace(r)
	}
	b.WriteString(")\n")
	return b.Bytes()
}

// tagsFor returns the build tags for Kubernetes 1.minor: before1.X for each X above it, up to the
// version that the source is written for. They choose among files where Kubernetes' functions have
// changed.
func tagsFor(minor int, own string) ([]string, error) {
	newest, err := minorOf(own)
	if err != nil {
		return nil, err
	}
	var tags []string
	for m := minor + 1; m <= newest; m++ {
		tags = append(tags, fmt.Sprintf("before1.%d", m))
	}
	return tags, nil
}

// minorOf returns X of a version v1.X or v1.X.Y.
func minorOf(version string) (int, error) {
	if rest, ok := strings.CutPrefix(version, "v1."); ok {
		minor, _, _ := strings.Cut(rest, ".")
		if n, err := strconv.Atoi(minor); err == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%q is no version such as 1.%d or 1.%d.0", strings.TrimPrefix(version, "v"), oldestMinor, oldestMinor)
}

// moduleFlags returns the flags of the go command for a build with the derived go.mod file. They
// name a copy of it in dir, which the go command completes. The source's own files stay as they are.
func (s source) moduleFlags(dir string) ([]string, error) {
	if s.goMod == nil {
		return nil, nil
	}
	file := filepath.Join(dir, "go.mod")
	if err := os.WriteFile(file, s.goMod, 0o644); err != nil {
		return nil, err
	}
	return []string{"-modfile=" + file, "-mod=mod", "-tags=" + strings.Join(s.tags, ",")}, nil
}

// goJSON decodes the output of a go command into v, also that of a command which fails.
func (s source) goJSON(ctx context.Context, v any, args ...string) error {
	out, err := s.goCommand(ctx, args...).Output()
	if jsonErr := json.Unmarshal(out, v); err == nil {
		err = jsonErr
	}
	return withStderr(err)
}
