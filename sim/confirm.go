package sim

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/simreport"
)

// confirmFor bounds how long a plan may take in a process of its own.
const confirmFor = 2 * time.Minute

// What a run of one plan says, which is also read here.
const (
	nothingWrong = "nothing is wrong after this plan"
	meetsNothing = "the plan is no longer reachable"
)

// confirm runs a plan that failed, as text, in a process of its own. It returns a remark if the plan ends otherwise
// there. Else it returns "", as it does when this cannot be found out.
func confirm(t *testing.T, text string) string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(t.Context(), confirmFor)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "-test.run", pattern(t.Name()), "-test.v", "-sim.replay", text)
	cmd.Env = append(os.Environ(), simreport.FolderVariable+"=") // it makes no report
	cmd.WaitDelay = time.Second
	out, _ := cmd.CombinedOutput() // it fails if the plan does
	for _, end := range []string{nothingWrong, meetsNothing} {
		if strings.Contains(string(out), "sim: "+end) {
			return "in a process of its own " + end + ". So state outlives the program: a variable of a package, a registry, a flag or a sync.Once that an earlier run has changed."
		}
	}
	return ""
}
