// Package lint keeps the rules of the tree as tests: who may import whom, and what every package
// and file must be like.
package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/flyball-io/flyball"

// floors is a statement of policy: a package imports packages of lower floors only, never one of
// its own floor. Moving a package to a higher floor to make a build pass is a design decision; say
// why in the line. A package that is not listed fails the test.
var floors = []map[string]string{
	{ // the ground, below floor 0
		"internal/jsonscan":  "the text of JSON: every parser stands on it",
		"internal/protoscan": "the fields of protobuf messages: every parser stands on it",
		"internal/gofield":   "the fields of Go structs in JSON: all that reads tags stands on it",
		"internal/jitter":    "the random parts of waits: all that waits stands on it",
	},
	{ // 0: knows nothing of the product
		"object":           "what everything talks about",
		"run":              "who owns a goroutine",
		"option":           "what is wrong with an option",
		"internal/backoff": "delays as values",
		"scheme":           "the built-in kinds",
		"internal/decode":  "bytes into Go values",
		"internal/pack":    "bytes as their difference from others",

		"internal/heap": "bytes outside the Go heap",
		"internal/cow":  "versions that share what did not change",

		"internal/paging":    "pages of a list that go round in circles",
		"internal/discovery": "what a server serves, read from its documents",
		"internal/sparse":    "what a Go value writes to JSON for nothing",
		"internal/fieldsv1":  "sets of managed fields, as JSON",
		"internal/ctxkey":    "keys of the context of a reconcile",
		"internal/inline":    "which predicates and handlers call no function of a user",
		"internal/lock":      "a mutex that virtual time does not hang on",
		"internal/overdue":   "calls that take too long are named while they run",
	},
	{ // 1: bytes, and the one interface that users implement
		"internal/wire": "frames, fields and headers of objects",
		"reconcile":     "all that a reconciler imports",

		"internal/life":     "what a program starts, phase by phase, and stops in reverse; it stands on run",
		"internal/logguard": "a log that cannot hold anybody up; it stands on run, whose panics become errors",
	},
	{ // 2: state, and the server
		"workqueue": "keys that wait for a worker",
		"store":     "the objects and their indexes",
		"client":    "requests to the API server",
	},
	{ // 3: between the server and the store; between a change and a request
		"reflector": "list and watch",
		"event":     "Kubernetes Events",
		"predicate": "which changes matter",
		"handler":   "which requests a change causes",

		"ops/leader": "who may act",
		"ops/serve":  "HTTP servers within the security bar, and who may ask them",
		"ops/probe":  "named checks",
		"ops/cert":   "certificates of servers: files that reload, or made and rotated here",
		"ops/rbac":   "which permissions a program needs",

		"condition":      "status conditions, written once",
		"finalizer":      "clean-up before an object goes",
		"child":          "objects that belong to another one",
		"internal/delta": "changes that wait for a slow reader of a store",

		"webhook/internal/review": "bodies, limits and answers of webhooks",
	},
	{ // 4
		"informer": "reflector, delta, store and handlers of one kind",
		"webhook":  "admission: defaulting and validation",
	},
	{ // 5
		"cache":           "the informers of a program, read as a client",
		"webhook/convert": "conversion between versions through a hub",
	},
	{ // 6
		"controller": "queue, workers, reconcile",
	},
	{ // 7
		"ops/metrics": "the Prometheus metrics of all of the above",

		"internal/readiness": "whether all of the above are in order",
	},
	{ // 8: the front door
		"": "the manager",
	},
}

// tests lists what only tests, examples, benchmarks and the command-line tool may import. A name that ends with
// "/..." is a folder and all below.
var tests = []string{
	"test/...", "apiserver", "internal/apiserver/...", "sim", "sim/...", "internal/simreport", "internal/gomod", "internal/manifest", "internal/testobj", "internal/livetest", "internal/leaktest", "internal/managerload",
	"internal/ledger", "internal/feedtest", "internal/heap/heaptest", "internal/faults", "internal/lint", "internal/sizes", "internal/replicas", "internal/tier", "internal/seed", "internal/buildservers", "internal/simpart",
}

func forTests(pkg string) bool {
	return slices.ContainsFunc(tests, func(p string) bool {
		folder, below := strings.CutSuffix(p, "...")
		return pkg == p || below && strings.HasPrefix(pkg, folder)
	})
}

// forbidden is what the tree must not import, and why.
var forbidden = map[string]string{
	"k8s.io/client-go/tools/cache":          "the informer is ours",
	"k8s.io/client-go/util/workqueue":       "the queue is ours",
	"k8s.io/client-go/informers":            "the factory is ours",
	"k8s.io/client-go/listers":              "the lister is ours",
	"k8s.io/client-go/kubernetes":           "the client is ours, typed by generics",
	"k8s.io/client-go/dynamic":              "the client is ours, unstructured by its own type",
	"k8s.io/client-go/tools/leaderelection": "the election is ours",
	"k8s.io/client-go/tools/record":         "the recorder is ours",
	"k8s.io/client-go/discovery":            "discovery is ours: theirs loads OpenAPI and a second scheme, 9 MB of every process",
	"k8s.io/client-go/restmapper":           "the mapping is ours: theirs imports their discovery",
	"k8s.io/client-go/openapi":              "nothing here needs schemas, and they are large",
	"k8s.io/kube-openapi":                   "nothing here needs schemas, and they are large",
	"text/template":                         "it keeps every method of the program in it: TestLinkerDropsMethods",
	"html/template":                         "it keeps every method of the program in it: TestLinkerDropsMethods",
	"sigs.k8s.io/controller-runtime":        "it stays in lab, adapter and examples/migrating",
}

type file struct {
	path    string // relative to the root of the module, with slashes
	pkg     string // the folder
	test    bool
	imports []string
	doc     bool
	listens bool // it opens a port
	serves  bool // it makes a server that does
}

// files are the Go files of the core module; nested modules keep rules of their own.
func files(t *testing.T) []file {
	t.Helper()
	out, err := readFiles()
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 10 {
		t.Fatalf("found %d files: the walk is broken", len(out))
	}
	return out
}

var readFiles = sync.OnceValues(func() (out []file, err error) {
	root := filepath.Join("..", "..")
	fset := token.NewFileSet()
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil && p != root {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, p, src, parser.ParseComments|parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		x := file{path: rel, pkg: strings.TrimPrefix(path.Dir(rel), "."), test: strings.HasSuffix(p, "_test.go"),
			doc: packageComment(f), listens: opensPort.Match(src), serves: makesServer.Match(src)}
		for _, i := range f.Imports {
			s, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			x.imports = append(x.imports, s)
		}
		out = append(out, x)
		return nil
	})
	return out, err
})

func packageComment(f *ast.File) bool { return f.Doc != nil && strings.TrimSpace(f.Doc.Text()) != "" }

func floorOf(pkg string) int {
	return slices.IndexFunc(floors, func(m map[string]string) bool { _, ok := m[pkg]; return ok })
}

func TestPackagesImportLowerFloors(t *testing.T) {
	for _, f := range files(t) {
		if f.test || strings.HasPrefix(f.pkg, "examples/") || forTests(f.pkg) {
			continue
		}
		own := floorOf(f.pkg)
		if own < 0 {
			t.Errorf("%s: package %q stands on no floor: list it", f.path, f.pkg)
			continue
		}
		for _, i := range f.imports {
			sub, ours := strings.CutPrefix(i, module)
			if !ours {
				continue
			}
			sub = strings.TrimPrefix(sub, "/")
			if forTests(sub) {
				t.Errorf("%s imports %s: only tests, examples, benchmarks and the command-line tool may", f.path, sub)
			} else if floorOf(sub) >= own {
				t.Errorf("%s (floor %d) imports %s (floor %d): imports go down", f.path, own-1, sub, floorOf(sub)-1)
			}
		}
	}
}

func TestForbiddenImports(t *testing.T) {
	for _, f := range files(t) {
		for _, i := range f.imports {
			if f.test && i == "k8s.io/client-go/kubernetes/scheme" {
				continue // the types of every version, for tests of all kinds
			}
			for bad, why := range forbidden {
				if i == bad || strings.HasPrefix(i, bad+"/") {
					t.Errorf("%s imports %s: %s", f.path, i, why)
				}
			}
		}
	}
}

// opensPort matches the calls that do.
var opensPort = regexp.MustCompile(`\bnet\.(Listen|ListenConfig|ListenTCP)\b|\bListenAndServe|\bhttptest\.New`)

// makesServer matches code that makes such a server. Comments may show it.
var makesServer = regexp.MustCompile(`(?m)^(?:[^/\n]|/[^/\n])*\bserve\.New\(`)

// listeners are the packages that open ports, and makers those that make servers of them, each
// because it is its purpose.
var listeners, makers = []string{"ops/serve"}, []string{""}

// TestNobodyListens keeps a promise: a manager opens no port unless it is told to, and then on
// loopback unless it is told otherwise. A package that serves is to be listed here, with a test of
// its own for that: TestListensNowhereByDefault is that of the manager.
func TestNobodyListens(t *testing.T) {
	for _, f := range files(t) {
		if f.test || forTests(f.pkg) {
			continue
		}
		if f.listens && !slices.Contains(listeners, f.pkg) {
			t.Errorf("%s opens a port", f.path)
		}
		if f.serves && !slices.Contains(makers, f.pkg) {
			t.Errorf("%s makes a server", f.path)
		}
	}
}

func TestOnePackageCommentEach(t *testing.T) {
	comments := map[string]int{}
	for _, f := range files(t) {
		if f.test && f.pkg != "internal/lint" {
			continue
		}
		comments[f.pkg] += 0
		if f.doc {
			comments[f.pkg]++
		}
	}
	for pkg, n := range comments {
		if n != 1 {
			t.Errorf("package %q has %d package comments, want 1", pkg, n)
		}
	}
}
