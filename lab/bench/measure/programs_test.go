package measure

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/lab/bench/contender"
	_ "github.com/flyball-io/flyball/lab/bench/programs"
)

// There is one program for each library, until Remove.
func TestBuild(t *testing.T) {
	tier.Audit(t, "runs the go command")
	var said string
	p, err := Build(t.Context(), []string{"flyball", "flyball-typed", "flyball-metadata-best"}, func(format string, args ...any) { said += format })
	if err != nil {
		t.Fatal(err)
	}
	all, _ := os.ReadDir(p.dir)
	if len(all) != 1 || p.of(contender.Name{Library: contender.Flyball}) != p.dir+"/"+all[0].Name() || !strings.Contains(said, "building") {
		t.Errorf("%v, %q", all, said)
	}
	if err := p.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(p.dir); !os.IsNotExist(err) {
		t.Errorf("left: %v", err)
	}
}

// A failed build says what to do.
func TestBuildNowhere(t *testing.T) {
	all := contender.Libraries()
	for name, c := range map[string]struct {
		prepare func(t *testing.T)
		want    string
	}{
		"outside the module":   {func(t *testing.T) { t.Chdir(t.TempDir()) }, "go run -C lab"},
		"without a go command": {func(t *testing.T) { t.Setenv("PATH", t.TempDir()) }, "put it into PATH"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			c.prepare(t)
			if _, err := Build(t.Context(), all, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want something about %q", err, c.want)
			}
			if left, _ := os.ReadDir(os.TempDir()); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// A program ends with its input, and accepts only jobs of its own library.
func TestAnotherLibrary(t *testing.T) {
	tier.Audit(t, "runs the go command")
	p, err := Build(t.Context(), []string{"flyball"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Remove()
	for input, want := range map[string]string{"": "EOF", `{"Name":{"Library":"client-go"}}`: "this program has flyball"} {
		c := exec.CommandContext(t.Context(), p.of(contender.Name{Library: contender.Flyball}))
		c.Stdin = strings.NewReader(input)
		if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%q: %v, %s, want something about %q", input, err, out, want)
		}
	}
}
