package sim_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/sim"
)

// A program that gives up the watch that is held back, and does much with what it finds then, comes to rest. While
// something is held back, less would be called a program that goes round.
func TestWatchThatIsGivenUp(t *testing.T) {
	const reads = 600
	renews := func(ctx context.Context, cfg *rest.Config) error {
		for ctx.Err() == nil {
			seen, err := watched(ctx, cfg, 4*time.Second)
			for range reads {
				if seen == 0 || err != nil {
					break
				}
				err = get(ctx, cfg, cfg.Host+"/api/v1/namespaces/default/configmaps/a")
			}
			if err != nil && ctx.Err() == nil {
				return err
			}
		}
		return nil
	}
	if found, err := sim.FindBy(t, sim.Scenario{Program: renews, Steps: []sim.Step{app("a", `"x":"y"`, ""), app("b", `"x":"y"`, "")}}, "lag"); len(found.Plans) > 0 || err != nil {
		t.Errorf("%v, %v", found.Stories, err)
	}
}

// watched counts the events of ConfigMaps that come within d.
func watched(ctx context.Context, cfg *rest.Config, d time.Duration) (n int, err error) {
	within, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	req, err := http.NewRequestWithContext(within, http.MethodGet, cfg.Host+"/api/v1/namespaces/default/configmaps?watch=true", nil)
	if err != nil {
		return 0, err
	}
	resp, err := (&http.Client{Transport: cfg.Transport}).Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if strings.Contains(lines.Text(), `"ADDED"`) {
			n++
		}
	}
	return n, nil // it ends with the time
}
