package adopt

import (
	"errors"
	"go/format"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/diff"
)

// file returns a main file with these imports and this body of main.
func file(imports, body string) string {
	return "package main\n\n" + imports + "\nfunc main() {\n" + body + "}\n"
}

const (
	oneImport   = "import ctrl \"sigs.k8s.io/controller-runtime\"\n"
	cacheImport = "import (\n\tctrl \"sigs.k8s.io/controller-runtime\"\n\t\"sigs.k8s.io/controller-runtime/pkg/cache\"\n)\n"
	groups      = `import (
	"os"

	// a comment of the first one
	"k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime" // why

	"example.com/shop/api"
	// +kubebuilder:scaffold:imports
)
`
)

// changed returns the lines that differ.
func changed(before, after string) string {
	var out []string
	for line := range strings.Lines(string(diff.Diff("a", []byte(before), "b", []byte(after)))) {
		if (line[0] == '+' || line[0] == '-') && !strings.HasPrefix(line, "+++") && !strings.HasPrefix(line, "---") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

func TestAddCache(t *testing.T) {
	const added = "+import \"github.com/flyball-io/flyball/adapter/ctrlcache\"\n"
	for name, test := range map[string]struct{ before, want string }{
		"empty literal": {
			file(oneImport, "\tctrl.NewManager(cfg, ctrl.Options{})\n"),
			added + "-\tctrl.NewManager(cfg, ctrl.Options{})\n+\tctrl.NewManager(cfg, ctrl.Options{NewCache: ctrlcache.New})\n",
		},
		"empty literal of two lines": {
			file(oneImport, "\tctrl.NewManager(cfg, ctrl.Options{\n\t})\n"),
			added + "+\t\tNewCache: ctrlcache.New,\n",
		},
		"literal of one line": {
			file(oneImport, "\tctrl.NewManager(cfg, ctrl.Options{Scheme: scheme})\n"),
			added + "-\tctrl.NewManager(cfg, ctrl.Options{Scheme: scheme})\n+\tctrl.NewManager(cfg, ctrl.Options{NewCache: ctrlcache.New, Scheme: scheme})\n",
		},
		"after the scheme, aligned; comments stay": {
			file(groups, "\tctrl.NewManager(cfg, ctrl.Options{\n\t\t// the kinds\n\t\tScheme:                 scheme, // all\n\t\tHealthProbeBindAddress: probes,\n\t})\n"),
			"+\t\"github.com/flyball-io/flyball/adapter/ctrlcache\"\n+\t\tNewCache:               ctrlcache.New,\n",
		},
		"without a scheme": {
			file(groups, "\tctrl.NewManager(cfg, ctrl.Options{\n\t\t// of the probes\n\t\tHealthProbeBindAddress: probes,\n\t})\n"),
			"+\t\"github.com/flyball-io/flyball/adapter/ctrlcache\"\n+\t\tNewCache: ctrlcache.New,\n",
		},
		"a scheme that shares its line": {
			file(groups, "\tctrl.NewManager(cfg, ctrl.Options{\n\t\tScheme: scheme, LeaderElection: true,\n\t})\n"),
			"+\t\"github.com/flyball-io/flyball/adapter/ctrlcache\"\n-\t\tScheme: scheme, LeaderElection: true,\n+\t\tNewCache: ctrlcache.New,\n+\t\tScheme:   scheme, LeaderElection: true,\n",
		},
		"a variable": {
			file(groups, "\to := ctrl.Options{\n\t\tScheme: scheme,\n\t}\n\tif mgr, err := ctrl.NewManager(cfg, o); err != nil {\n\t\tpanic(mgr)\n\t}\n"),
			"+\t\"github.com/flyball-io/flyball/adapter/ctrlcache\"\n-\t\tScheme: scheme,\n+\t\tScheme:   scheme,\n+\t\tNewCache: ctrlcache.New,\n",
		},
		"options from a file": {
			file(groups, "\tvar err error\n\to := ctrl.Options{Scheme: scheme}\n\tif name != \"\" {\n\t\to, err = o.AndFrom(ctrl.ConfigFile().AtPath(name))\n\t}\n\tctrl.NewManager(cfg, o)\n"),
			"+\t\"github.com/flyball-io/flyball/adapter/ctrlcache\"\n-\to := ctrl.Options{Scheme: scheme}\n+\to := ctrl.Options{NewCache: ctrlcache.New, Scheme: scheme}\n",
		},
		"two literals": {
			file(groups, "\to := ctrl.Options{Scheme: scheme}\n\tif many {\n\t\to = ctrl.Options{}\n\t}\n\n\t// the manager\n\tmgr, err := ctrl.NewManager(cfg, o)\n"),
			"+\t\"github.com/flyball-io/flyball/adapter/ctrlcache\"\n+\to.NewCache = ctrlcache.New\n",
		},
		"another variable of that name": {
			file(groups, "\t{\n\t\to := ctrl.Options{NewCache: other}\n\t\t_ = o\n\t}\n\to := options()\n\tctrl.NewManager(cfg, o)\n"),
			"+\t\"github.com/flyball-io/flyball/adapter/ctrlcache\"\n+\to.NewCache = ctrlcache.New\n",
		},
		"the package manager": {
			file("import m \"sigs.k8s.io/controller-runtime/pkg/manager\"\n", "\tm.New(cfg, m.Options{})\n"),
			added + "-\tm.New(cfg, m.Options{})\n+\tm.New(cfg, m.Options{NewCache: ctrlcache.New})\n",
		},
		"not formatted": {
			file(groups, "\tx:=1\n\tctrl.NewManager(cfg, ctrl.Options{\n\t  Scheme: scheme,\n\t  HealthProbeBindAddress:  x,\n\t})\n"),
			"+\t\"github.com/flyball-io/flyball/adapter/ctrlcache\"\n+\t  NewCache: ctrlcache.New,\n",
		},
		"a taken name": {
			file(groups, "\tctrlcache := 1\n\tctrl.NewManager(cfg, ctrl.Options{})\n"),
			"+\tflyballcache \"github.com/flyball-io/flyball/adapter/ctrlcache\"\n-\tctrl.NewManager(cfg, ctrl.Options{})\n+\tctrl.NewManager(cfg, ctrl.Options{NewCache: flyballcache.New})\n",
		},
		"imported already": {
			file("import (\n\tpacked \"github.com/flyball-io/flyball/adapter/ctrlcache\"\n\tctrl \"sigs.k8s.io/controller-runtime\"\n)\n", "\tctrl.NewManager(cfg, ctrl.Options{})\n\t_ = packed.Options{}\n"),
			"-\tctrl.NewManager(cfg, ctrl.Options{})\n+\tctrl.NewManager(cfg, ctrl.Options{NewCache: packed.New})\n",
		},
		"lines that end with CR LF": {
			strings.ReplaceAll(file(oneImport, "\tctrl.NewManager(cfg, ctrl.Options{\n\t\tScheme: scheme,\n\t})\n"), "\n", "\r\n"),
			"+import \"github.com/flyball-io/flyball/adapter/ctrlcache\"\r\n+\t\tNewCache: ctrlcache.New,\r\n",
		},
		"a function that makes the default cache": {
			file(cacheImport, "\tctrl.NewManager(cfg, ctrl.Options{NewCache: func(c *rest.Config, o cache.Options) (cache.Cache, error) {\n\t\to.SyncPeriod = &hour\n\t\treturn cache.New(c, o)\n\t}})\n"),
			"+\t\"github.com/flyball-io/flyball/adapter/ctrlcache\"\n-\t\treturn cache.New(c, o)\n+\t\treturn ctrlcache.New(c, o)\n",
		},
		"one that is declared, in a variable": {
			file(cacheImport, "\to := ctrl.Options{}\n\to.NewCache = newCache\n\tctrl.NewManager(cfg, o)\n") + "\nfunc newCache(c *rest.Config, o cache.Options) (cache.Cache, error) {\n\treturn cache.New(c, o)\n}\n",
			"+\t\"github.com/flyball-io/flyball/adapter/ctrlcache\"\n-\treturn cache.New(c, o)\n+\treturn ctrlcache.New(c, o)\n",
		},
		"one that is made, or left out": {
			file(cacheImport, "\tctrl.NewManager(cfg, ctrl.Options{NewCache: newCache(far)})\n") + "\nfunc newCache(far *rest.Config) cache.NewCacheFunc {\n\tif far == nil {\n\t\treturn nil\n\t}\n\treturn func(c *rest.Config, o cache.Options) (cache.Cache, error) {\n\t\tnear, err := cache.New(c, o)\n\t\tif err != nil {\n\t\t\treturn nil, err\n\t\t}\n\t\treturn both(near, cache.New), nil\n\t}\n}\n",
			"+\t\"github.com/flyball-io/flyball/adapter/ctrlcache\"\n-\t\treturn nil\n+\t\treturn ctrlcache.New\n-\t\tnear, err := cache.New(c, o)\n+\t\tnear, err := ctrlcache.New(c, o)\n-\t\treturn both(near, cache.New), nil\n+\t\treturn both(near, ctrlcache.New), nil\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			after, err := addCache("main.go", []byte(test.before), func(string) bool { return false })
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, changed(test.before, string(after))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if _, err := addCache("main.go", after, func(string) bool { return false }); !isPacked(err) {
				t.Errorf("a second time: %v", err)
			}
			back, err := removeCache("main.go", after)
			if err != nil {
				t.Fatal(err)
			}
			if name == "imported already" { // its other use stays
				return
			}
			if pretty, err := format.Source([]byte(test.before)); err == nil && string(pretty) == string(back) {
				return // what was not formatted may be now
			}
			if d := cmp.Diff(test.before, string(back)); d != "" {
				t.Errorf("undone (-before +after):\n%s", d)
			}
		})
	}
}

func isPacked(err error) bool {
	e, ok := errors.AsType[*SetError](err)
	return ok && e.Packed
}

func TestAddCacheErrors(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"no manager":       {file(oneImport, "\tctrl.SetLogger(l)\n"), "main.go: no call of ctrl.NewManager or manager.New"},
		"another package":  {file("import ctrl \"example.com/ctrl\"\n", "\tctrl.NewManager(cfg, ctrl.Options{})\n"), "main.go: no call of"},
		"two managers":     {file(oneImport, "\tctrl.NewManager(cfg, a)\n\tctrl.NewManager(cfg, b)\n"), "main.go:6: this file makes several managers, also at line 7"},
		"computed":         {file(oneImport, "\tctrl.NewManager(cfg, options(\n\t\tx))\n"), "main.go:6: the options of the manager are options( x): set NewCache"},
		"a field":          {file(oneImport, "\tctrl.NewManager(cfg, c.Options)\n"), "main.go:6: the options of the manager are c.Options"},
		"not an argument":  {file(oneImport, "\tctrl.NewManager(both())\n"), "main.go:6: the options of the manager are not the second argument of two"},
		"of a package":     {"package main\n\n" + oneImport + "\nvar mgr, err = ctrl.NewManager(cfg, o)\n", "main.go:5: the options of the manager are o"},
		"set in a literal": {file(oneImport, "\tctrl.NewManager(cfg, ctrl.Options{NewCache: cache.New})\n"), "main.go:6: NewCache is set already, to cache.New, which does not make a cache by cache.New in this file"},
		"set in a variable": {
			file(oneImport, "\to := ctrl.Options{}\n\to.NewCache = func() {\n\t}\n\tctrl.NewManager(cfg, o)\n"), "main.go:7: NewCache is set already, to func() { }"},
		"no Go": {"package main\nfunk\n", "main.go:2:1: expected declaration"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := addCache("main.go", []byte(test.text), func(string) bool { return false })
			if err == nil || !strings.Contains(err.Error(), test.want) || out != nil {
				t.Errorf("%v, want %s; %s", err, test.want, out)
			}
		})
	}
}

// FuzzAddCache: what is changed is Go, and undone to what it was.
func FuzzAddCache(f *testing.F) {
	f.Add("Scheme: scheme,\n\t\tX: y", "\n\t\t", ",\n\t")
	f.Add("", "\n", "\n")
	f.Add("Scheme: scheme", "", "")
	f.Add("Scheme: func() {\n\t\t}, // c\n\tA: b", " // d\n", ", // e\n")
	f.Fuzz(func(t *testing.T, elements, open, end string) {
		text := file(groups, "\tctrl.NewManager(cfg, ctrl.Options{"+open+elements+end+"})\n")
		_, noGo := parseSource("main.go", []byte(text))
		after, err := addCache("main.go", []byte(text), func(string) bool { return false })
		if noGo != nil && err == nil {
			t.Errorf("it is no Go, and is changed all the same:\n%s", text)
		}
		if err != nil {
			if errors.Is(err, errNotGo) {
				t.Errorf("%v\n%s", err, text)
			}
			return
		}
		if _, err := addCache("main.go", after, func(string) bool { return false }); err == nil {
			t.Errorf("it can be added twice:\n%s", after)
		}
	})
}
