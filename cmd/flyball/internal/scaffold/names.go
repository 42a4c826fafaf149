package scaffold

import (
	"fmt"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/gobuffalo/flect"
	"golang.org/x/mod/module"
	"k8s.io/apimachinery/pkg/util/validation"
)

var (
	versionPattern = regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)
	kindPattern    = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	majorVersion   = regexp.MustCompile(`^v[0-9]+$`)
)

// nameLimit leaves room for the suffixes that Kubernetes objects add to the project's name.
const nameLimit = 40

func checkName(name string) error {
	if problems := validation.IsDNS1035Label(name); len(problems) > 0 || len(name) > nameLimit {
		return fmt.Errorf("name %q: must begin with a letter and consist of at most %d of a-z, 0-9 and inner dashes, such as my-shop", name, nameLimit)
	}
	return nil
}

func checkDomain(domain string) error {
	if problems := validation.IsDNS1123Subdomain(domain); len(problems) > 0 {
		return fmt.Errorf("domain %q: must be a DNS name in lower case, such as example.com", domain)
	}
	for _, taken := range []string{"k8s.io", "kubernetes.io"} {
		if domain == taken || strings.HasSuffix(domain, "."+taken) {
			return fmt.Errorf("domain %q: belongs to Kubernetes, which serves no custom resources of it", domain)
		}
	}
	return nil
}

func checkModule(mod string) error {
	if err := module.CheckImportPath(mod); err != nil {
		return fmt.Errorf("module %q: must be a Go module path, such as example.com/shop: %w", mod, err)
	}
	if first, _, _ := strings.Cut(mod, "/"); !strings.Contains(first, ".") && token.IsKeyword(first) || mod == flyballModule {
		return fmt.Errorf("module %q: is no path that a project can have", mod)
	}
	return nil
}

// unseenFolders are names of folders that the go command passes over, or whose packages others may not import.
var unseenFolders = []string{"internal", "testdata", "vendor"}

func checkGroup(group, domain string) error {
	if slices.Contains(unseenFolders, group) {
		return fmt.Errorf("group %q: Go gives folders of this name a meaning of its own, so api/%s could not be used: give the group another name", group, group)
	}
	if len(validation.IsDNS1035Label(group)) > 0 {
		return fmt.Errorf("group %q: must begin with a letter and consist of a-z, 0-9 and inner dashes, without the domain, such as shop", group)
	}
	if full := group + "." + domain; domain != "" && len(validation.IsDNS1123Subdomain(full)) > 0 {
		return fmt.Errorf("group %q: %s is longer than a DNS name may be", group, full)
	}
	return nil
}

func checkVersion(version string) error {
	if !versionPattern.MatchString(version) {
		return fmt.Errorf("version %q: is no version of a Kubernetes API, which are such as v1, v2beta1 or v1alpha2", version)
	}
	return nil
}

// reservedKinds are names that the generated API packages use, or that the meta API puts into every
// group.
var reservedKinds = map[string]bool{
	"GroupVersion": true, "SchemeGroupVersion": true, "AddToScheme": true,
	"WatchEvent": true, "Status": true, "APIVersions": true, "APIGroup": true, "APIResourceList": true,
	"ListOptions": true, "GetOptions": true, "CreateOptions": true, "UpdateOptions": true, "PatchOptions": true, "DeleteOptions": true,
}

func checkKind(kind string) error {
	switch {
	case !kindPattern.MatchString(kind):
		return fmt.Errorf("kind %q: must be an exported Go name of letters and digits, in the singular, such as Order", kind)
	case len(kind) > 63:
		return fmt.Errorf("kind %q: is longer than 63 letters", kind)
	case reservedKinds[kind]:
		return fmt.Errorf("kind %q: the name is taken, by what every API package has", kind)
	case strings.HasSuffix(kind, "List"):
		return fmt.Errorf("kind %q: names that end in List are for lists of a kind", kind)
	}
	return nil
}

func checkPlural(plural string) error {
	if len(validation.IsDNS1035Label(plural)) > 0 {
		return fmt.Errorf("plural %q: must begin with a letter and consist of a-z, 0-9 and inner dashes, such as orders", plural)
	}
	return nil
}

// ownPlurals are plurals that the library gets wrong.
var ownPlurals = map[string]string{"info": "infos"}

// pluralOf returns the default plural of a kind. It has no other letters than those of DNS names.
func pluralOf(kind string) string {
	lower := strings.ToLower(kind)
	for end, plural := range ownPlurals {
		if stem, ok := strings.CutSuffix(lower, end); ok {
			return stem + plural
		}
	}
	plural := flect.Pluralize(lower)
	if len(validation.IsDNS1035Label(plural)) > 0 { // the library has put an acronym beside its plural
		return lower + "es"
	}
	return plural
}

// nameOf returns the default name of a project: the last part of its module path that is not a
// version.
func nameOf(mod string) string {
	base := path.Base(mod)
	if majorVersion.MatchString(base) && path.Dir(mod) != "." {
		base = path.Base(path.Dir(mod))
	}
	name := strings.Map(func(r rune) rune {
		if r == '_' || r == '.' {
			return '-'
		}
		return r
	}, strings.ToLower(base))
	return strings.Trim(name, "-")
}

// alias returns a group as part of a Go name.
func alias(group string) string { return strings.NewReplacer("-", "", ".", "").Replace(group) }
