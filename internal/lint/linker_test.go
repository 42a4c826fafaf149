package lint

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/tier"
)

// unlinked matches packages that an ordinary program has no use for, each of them large.
var unlinked = regexp.MustCompile(`^(text/template|html/template|testing|net/http/httptest|go/types` +
	`|k8s.io/api/.*(alpha|beta).*` +
	`|k8s.io/(apiextensions-apiserver|apiserver|component-base|kube-aggregator)/.*` +
	`|k8s.io/client-go/(applyconfigurations|discovery|dynamic|informers|kubernetes|listers|openapi|restmapper|tools/cache|tools/record)(/.*)?` +
	`|k8s.io/kube-openapi/pkg/(builder|common|spec3|validation|util/proto)(/.*)?` +
	`|github.com/(gogo/protobuf|google/gnostic-models|google/cel-go|onsi|stretchr)/.*|sigs.k8s.io/controller-runtime/.*)$`)

// alphaOf has the one such package that cannot be left out: types of batch/v1 refer to it.
const alphaOf = "k8s.io/api/scheduling/v1alpha3"

// TestOrdinaryProgramLinksLittle keeps programs small. Podscaler is such a program: a manager, with
// all that is in it, a controller, and the default scheme. A program that idles takes about three quarters of its code
// and tables as memory, because their pages are touched while packages load: a package that is linked costs 50 to
// 200 kB, also if nothing calls it. See ADR 12.
func TestOrdinaryProgramLinksLittle(t *testing.T) {
	tier.Audit(t, "runs the go command")
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./examples/podscaler")
	list.Dir = filepath.Join("..", "..")
	list.Env = append(os.Environ(), "GOWORK=") // with the newest libraries, those of the workspace
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		if unlinked.MatchString(name) && name != alphaOf {
			t.Errorf("%s is linked; go list -deps tells which package imports it", name)
		}
	}
}

// TestLinkerDropsMethods keeps programs small. The linker leaves out the methods that nobody calls,
// most of all of the API types, unless one function that is not dropped itself finds methods by a
// name which is only known at run time. Package text/template does; with it a program is a quarter
// larger and takes 6 MB more.
func TestLinkerDropsMethods(t *testing.T) {
	tier.Audit(t, "runs the go command")
	link := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(t.TempDir(), "program"), "-ldflags=-dumpdep", "./examples/podscaler")
	link.Dir = filepath.Join("..", "..")
	out, err := link.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := link.Start(); err != nil {
		t.Fatal(err)
	}
	edges, last, by := 0, "", ""
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		last = lines.Text()
		from, _, edge := strings.Cut(last, " -> ")
		if edge {
			edges++
		}
		if f, ok := strings.CutSuffix(from, " <ReflectMethod>"); ok && by == "" {
			by = f
		}
	}
	if by != "" {
		t.Errorf("%s, and what it keeps, find methods by name; go build -ldflags=-dumpdep tells who calls it", by)
	}
	if err := link.Wait(); err != nil {
		t.Fatalf("%v: %s", err, last)
	}
	if edges < 10_000 {
		t.Errorf("the linker told of %d edges: the test is blind", edges)
	}
}
