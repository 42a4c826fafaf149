package adopt

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"math/rand/v2"
	"strings"
	"testing"
)

// stubs are packages as small as a main file with a cache of its own needs them, in the order of their imports.
var stubs = []struct{ path, text string }{
	{"k8s.io/client-go/rest", "package rest; type Config struct{}"},
	{ctrlCachePath, `package cache; import "k8s.io/client-go/rest"
		type Options struct{ N int }; type Cache interface{}; type NewCacheFunc func(*rest.Config, Options) (Cache, error)
		func New(*rest.Config, Options) (Cache, error) { return nil, nil }`},
	{managerPath, `package manager; import ("k8s.io/client-go/rest"; "` + ctrlCachePath + `")
		type Options struct{ Name string; NewCache cache.NewCacheFunc }; type Manager interface{}
		func New(*rest.Config, Options) (Manager, error) { return nil, nil }`},
	{ctrlPath, `package controllerruntime; import "` + managerPath + `"
		type Options = manager.Options; var NewManager = manager.New`},
	{cachePath, `package ctrlcache; import ("k8s.io/client-go/rest"; "` + ctrlCachePath + `")
		func New(*rest.Config, cache.Options) (cache.Cache, error) { return nil, nil }`},
}

// checked are the packages that code may import, with their types.
type checked map[string]*types.Package

func (c checked) Import(path string) (*types.Package, error) {
	if p := c[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("no package %s", path)
}

// check returns the types of a file.
func (c checked) check(path, text string) (*types.Package, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path+".go", text, 0)
	if err != nil {
		return nil, err
	}
	return (&types.Config{Importer: c}).Check(path, fset, []*ast.File{f}, nil)
}

func newChecked(t *testing.T) checked {
	c := checked{}
	for _, s := range stubs {
		p, err := c.check(s.path, s.text)
		if err != nil {
			t.Fatal(err)
		}
		c[s.path] = p
	}
	return c
}

// ownCache draws a main file that sets NewCache to a function by which it makes the default cache.
func ownCache(r *rand.Rand) string {
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	ctrl, cache := pick("ctrl", "controllerruntime"), pick("cache", "crcache", "kc")
	options, newManager := ctrl+".Options", ctrl+".NewManager"
	runtime := fmt.Sprintf("%s %q", ctrl, ctrlPath)
	if r.IntN(3) == 0 {
		options, newManager, runtime = "manager.Options", "manager.New", fmt.Sprintf("%q", managerPath)
	}
	imports := []string{runtime, `"k8s.io/client-go/rest"`, fmt.Sprintf("%s %q", cache, ctrlCachePath)}
	r.Shuffle(len(imports), func(i, j int) { imports[i], imports[j] = imports[j], imports[i] })
	head := "import (\n\t" + strings.Join(imports, pick("\n\t", "\n\n\t")) + "\n)\n"
	if r.IntN(4) == 0 {
		head = "import " + strings.Join(imports, "\nimport ") + "\n"
	}
	signature := fmt.Sprintf("(c *rest.Config, o %s.Options) (%s.Cache, error)", cache, cache)
	body := pick("\treturn "+cache+".New(c, o)\n", "\to.N++\n\tmade, err := "+cache+".New(c, o)\n\treturn made, err\n",
		"\tnear, _ := "+cache+".New(c, o)\n\tfar, err := "+cache+".New(c, o)\n\treturn []any{near, far}, err\n")
	value, more := cache+".New", ""
	switch r.IntN(6) {
	case 0:
		value = "func" + signature + " {\n" + body + "}"
	case 1:
		value, more = "newCache", "\nfunc newCache"+signature+" {\n"+body+"}\n"
	case 2:
		value, more = "newCache(true)", fmt.Sprintf("\nfunc newCache(far bool) %s.NewCacheFunc {\n\tif !far {\n\t\treturn nil\n\t}\n\treturn func%s {\n%s}\n}\n", cache, signature, body)
	case 3:
		value, more = "same("+cache+".New)", "\nvar same = func(f "+cache+".NewCacheFunc) "+cache+".NewCacheFunc { return f }\n"
	}
	if r.IntN(4) == 0 { // another use of the package
		more += "\nvar _ " + cache + ".Cache\n"
	}
	var main string
	switch r.IntN(4) {
	case 0:
		main = fmt.Sprintf("\t_, _ = %s(&rest.Config{}, %s{NewCache: %s})\n", newManager, options, value)
	case 1:
		main = fmt.Sprintf("\t_, _ = %s(&rest.Config{}, %s{\n\t\tName: \"x\",\n\t\tNewCache: %s,\n\t})\n", newManager, options, value)
	case 2:
		main = fmt.Sprintf("\to := %s{NewCache: %s}\n\t_, _ = %s(&rest.Config{}, o)\n", options, value, newManager)
	default:
		main = fmt.Sprintf("\to := %s{Name: \"x\"}\n\to.NewCache = %s\n\t_, _ = %s(&rest.Config{}, o)\n", options, value, newManager)
	}
	return "package main\n\n" + head + "\nfunc main() {\n" + main + "}\n" + more
}

// A file that sets NewCache compiles with the packed cache in its place, and again without it.
func TestOwnCachesCompile(t *testing.T) {
	c := newChecked(t)
	for seed := range uint64(400) {
		text := ownCache(rand.New(rand.NewPCG(seed, 0)))
		if _, err := c.check("main", text); err != nil {
			t.Fatalf("seed %d, before: %v\n%s", seed, err, text)
		}
		after, err := addCache("main.go", []byte(text), func(string) bool { return false })
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		if _, err := c.check("main", string(after)); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, after)
		}
		if s, _ := parseSource("main.go", after); !s.calls(s.file, "ctrlcache") {
			t.Fatalf("seed %d: it has no packed cache\n%s", seed, after)
		}
		back, err := removeCache("main.go", after)
		if err != nil {
			t.Fatalf("seed %d, undone: %v\n%s", seed, err, after)
		}
		if _, err := c.check("main", string(back)); err != nil || strings.Contains(string(back), "ctrlcache") {
			t.Fatalf("seed %d, undone: %v\n%s", seed, err, back)
		}
	}
}
