package plane

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/flyball-io/flyball/internal/gomod"
)

// corePath is the core module.
const corePath = "github.com/flyball-io/flyball"

// source is the control plane module on disk.
type source struct {
	dir        string
	kubernetes string   // the module's version of k8s.io/kubernetes, such as v1.36.3
	platform   []string // GOOS and GOARCH for the build, as variables; nil: those of the environment
	goMod      []byte   // the go.mod file for another version of Kubernetes; nil: the module's own
	tags       []string // build tags for that version
	program    program
}

// program is one of the module's programs. The zero value is the control plane.
type program struct {
	folder string // its own folder in the module
}

// rulesProgram answers for the API server in memory.
var rulesProgram = program{folder: "rules"}

func (p program) name() string { return cmp.Or(p.folder, "controlplane") }

// parts says what is built, and how long that takes.
func (p program) parts(kubernetes string) string {
	if p == rulesProgram {
		return fmt.Sprintf("the API handlers of Kubernetes %s: the first time 3 to 5 minutes on two cores, then seconds", kubernetes)
	}
	return fmt.Sprintf("etcd, Kubernetes %s and kwok: the first time 5 to 9 minutes on two cores, then seconds", kubernetes)
}

// has reports whether a file of the module, with slashes, is source of the program.
func (p program) has(name string) bool {
	folder, _, below := strings.Cut(name, "/")
	return name == "go.mod" || name == "go.sum" || below && folder == p.folder || p.folder == "" && folder != rulesProgram.folder
}

// findSource finds the controlplane module. In a checkout it is beside the core module: in the one that contains the
// working directory, the one that this package was compiled from, or the one that the main module uses. Otherwise it is
// the published module in the version of the core that the main module, or this program, uses.
func findSource(ctx context.Context, p program) (source, error) {
	for _, look := range []func(context.Context) string{checkoutDir, compiledDir, listedDir} {
		core := look(ctx)
		if core == "" {
			continue
		}
		if src, err := sourceIn(filepath.Join(core, "controlplane")); err == nil {
			return src, nil
		}
	}
	version := coreVersion(ctx)
	if version == "" {
		return source{}, fmt.Errorf("plane: no source of the control plane found: run this in a checkout of %s, or let %s name a program built from %s", corePath, p.env(), path.Join("its folder controlplane", p.folder))
	}
	found, err := gomod.Download(ctx, corePath+"/controlplane", version)
	if err != nil {
		return source{}, fmt.Errorf("plane: the source of the control plane: %w; or let %s name a program that was built elsewhere", err, p.env())
	}
	return sourceIn(found.Dir)
}

// sourceIn returns the source in a folder.
func sourceIn(dir string) (source, error) {
	version, err := kubernetesVersion(filepath.Join(dir, "go.mod"))
	return source{dir: dir, kubernetes: version}, err
}

// checkoutDir walks up from the working directory to the core module.
func checkoutDir(context.Context) string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		if modulePath(filepath.Join(dir, "go.mod")) == corePath {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// compiledDir returns the directory of the core module at compile time.
func compiledDir(context.Context) string {
	_, file, _, _ := runtime.Caller(0)
	if !filepath.IsAbs(file) { // built with -trimpath
		return ""
	}
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// listedDir asks the go command, which knows replace directives and caches.
func listedDir(ctx context.Context) string { return listed(ctx).Dir }

// listed is the core module as the main module of the working directory uses it.
func listed(ctx context.Context) (module struct{ Dir, Version string }) {
	if out, err := exec.CommandContext(ctx, "go", "list", "-m", "-json", corePath).Output(); err == nil {
		_ = json.Unmarshal(out, &module) // the zero value stands for all that goes wrong
	}
	return module
}

// coreVersion returns the published version of the core module that the main module of the working directory uses, or
// else this program; "" if there is none.
func coreVersion(ctx context.Context) string {
	if m := listed(ctx); m.Version != "" {
		return m.Version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == corePath && m.Replace == nil {
				return m.Version
			}
		}
	}
	return ""
}

// modulePath returns the module path that a go.mod file declares.
func modulePath(file string) string { return goModWord(file, "module") }

// kubernetesVersion reads the version of Kubernetes from the go.mod file.
func kubernetesVersion(file string) (string, error) {
	if v := goModWord(file, "k8s.io/kubernetes"); v != "" {
		return v, nil
	}
	return "", fmt.Errorf("plane: %s does not require k8s.io/kubernetes", file)
}

// goModWord returns the word that follows first on a line of a go.mod file.
func goModWord(file, first string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if words := strings.Fields(s.Text()); len(words) > 1 && words[0] == first {
			return words[1]
		}
	}
	return ""
}

// hash identifies the result of a build: it covers the source files, the go command and all other
// inputs of the build.
func (s source) hash(extra ...string) (string, error) {
	h := sha256.New()
	for _, x := range extra {
		fmt.Fprintf(h, "%q\n", x)
	}
	err := filepath.WalkDir(s.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !isSource(d.Name()) {
			return err
		}
		rel, err := filepath.Rel(s.dir, name)
		if err != nil || !s.program.has(filepath.ToSlash(rel)) {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %x\n", filepath.ToSlash(rel), sha256.Sum256(data))
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("plane: source of the control plane: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

func isSource(name string) bool {
	return name == "go.mod" || name == "go.sum" ||
		strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
}
