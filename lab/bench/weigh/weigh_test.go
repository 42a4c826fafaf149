package weigh

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/recording"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/lab/bench/corpus"
	"github.com/flyball-io/flyball/lab/bench/replay"
)

var objects = flag.Int("objects", 2000, "how many objects the cluster has")

// report is what the test reads of the output of "flyball weigh".
type report struct {
	Kinds []struct {
		Resource                     string
		Objects                      int
		WireBytes                    int64
		ManagedFieldsBytes           int64
		PackedBytes                  int64
		PackedWithManagedFieldsBytes int64
	}
}

const (
	maxMemory = 150 << 20
	maxError  = 0.05
	// ofOneKind is the error for a single kind, whose templates depend on a random seed.
	ofOneKind = 0.10
)

// The packed figures of a recorded cluster are those of a cache that has listed the same objects,
// and weighing takes a bounded memory. The log has the time.
func TestWeighAgreesWithTheCache(t *testing.T) {
	tier.Audit(t, "runs the go command, and measures the heap")
	dir := t.TempDir()
	file := filepath.Join(dir, "cluster.rec")
	resources := record(t, file)
	got := weigh(t, dir, file)
	if len(got.Kinds) != len(resources) {
		t.Fatalf("%d kinds, want %d", len(got.Kinds), len(resources))
	}
	var packed, held int64
	for _, k := range got.Kinds {
		for _, keep := range []bool{false, true} {
			c := cached(t, dir, file, k.Resource, keep)
			ours, sent := k.PackedBytes, k.WireBytes-k.ManagedFieldsBytes
			if keep {
				ours, sent = k.PackedWithManagedFieldsBytes, k.WireBytes
			} else {
				packed, held = packed+ours, held+c.held
			}
			t.Logf("%-32s keep %-5t %6d objects, %9d B packed, the cache holds %9d B: %+.1f %%", k.Resource, keep, k.Objects, ours, c.held, 100*(float64(ours)/float64(c.held)-1))
			if k.Objects != c.objects {
				t.Errorf("%s: %d objects, want %d", k.Resource, k.Objects, c.objects)
			}
			near(t, k.Resource+" packed", ours, c.held, ofOneKind)
			near(t, k.Resource+" on the wire", sent, c.wire, maxError)
		}
	}
	t.Logf("total: %d B packed, the cache holds %d B", packed, held)
	near(t, "total", packed, held, maxError)
}

func near(t *testing.T, what string, got, want int64, part float64) {
	t.Helper()
	if math.Abs(float64(got-want)) > part*float64(want) {
		t.Errorf("%s: %d, want %d within %.0f %%", what, got, want, 100*part)
	}
}

// record writes a made cluster into a file.
func record(t *testing.T, file string) []corpus.Resource {
	t.Helper()
	c, err := corpus.NewCluster(*objects, true, 1)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := recording.NewWriter(f)
	if err := errors.Join(corpus.Save(w, c), w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return c.Resources()
}

// weigh builds the tool and runs it.
func weigh(t *testing.T, dir, file string) (r report) {
	t.Helper()
	tool := filepath.Join(dir, "flyball")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-o", tool, "github.com/flyball-io/flyball/cmd/flyball").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), tool, "weigh", "--recorded", file, "-o", "json")
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	peak, err := peakUntil(ended, cmd.Process.Pid)
	wall, cpu := time.Since(began), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	if err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	t.Logf("%d objects: %v, CPU %v, peak %d MB", *objects, wall.Round(time.Millisecond), cpu.Round(time.Millisecond), peak>>20)
	if peak > maxMemory {
		t.Errorf("it took %d MB, want at most %d", peak>>20, maxMemory>>20)
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	return r
}

// peakUntil returns the most memory that a process had, as the system shows it shortly before its
// end. The figure of wait4 has that of the process which started it, too.
func peakUntil(ended <-chan error, pid int) (peak int64, err error) {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		peak = max(peak, highWater(pid))
		select {
		case err := <-ended:
			return peak, err
		case <-look.C:
		}
	}
}

// highWater returns the peak of a process so far, or 0 where the system does not tell.
func highWater(pid int) int64 {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			var kB int64
			if _, err := fmt.Sscan(text, &kB); err == nil {
				return kB << 10
			}
		}
	}
	return 0
}

type holding struct {
	objects    int
	held, wire int64
}

// cached returns what a cache holds of a kind of the recording.
func cached(t *testing.T, dir, file, resource string, keep bool) holding {
	t.Helper()
	rec, err := corpus.Load(file, resource)
	if err != nil {
		t.Fatal(err)
	}
	tape, err := replay.Record(t.Context(), dir, rec, 0, replay.Protobuf, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tape.Close()
	h := httptest.NewServer(replay.NewServer(replay.Paged, tape))
	defer h.Close()
	r, scope := rec.Resource(), meta.RESTScopeRoot
	if r.Namespaced {
		scope = meta.RESTScopeNamespace
	}
	m := meta.NewDefaultRESTMapper(nil)
	m.AddSpecific(r.GVK, r.GVR, r.GVR, scope)
	live, err := client.New(&rest.Config{Host: h.URL}, client.Options{Mapper: m, Scheme: corpus.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	c, err := cache.New(cache.Connect(live), cache.Options{KeepManagedFields: keep, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	proto := &unstructured.Unstructured{}
	proto.SetGroupVersionKind(r.GVK)
	if _, err := c.Open(t.Context(), proto, client.Selection{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	if err := c.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
	st := c.Watches()[0].Figures.Store
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return holding{st.Objects, st.Held - st.Dropped, st.Bytes}
}
