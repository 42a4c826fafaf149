package faults_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/test/plane"
	"github.com/flyball-io/flyball/test/planetest"
)

func init() { roles["scale"] = scale }

const (
	podsEnv = "FLYBALL_TEST_PODS"
	keepEnv = "FLYBALL_TEST_KEEP"
)

// figures are the measurements of a program, which it prints at its end.
type figures struct {
	Pods       int
	Synced     time.Duration // since the start of the process, as all below
	Reconciled time.Duration // first reconcile of the last Pod
	Reconciles int
	Heap       uint64 // bytes in use at the end
	Peak       uint64 // highest memory of the process in bytes; 0: unknown on this system
}

// scale is a program that reconciles each Pod of a cluster once, with a read from the cache, and
// then ends.
func scale() int {
	began := time.Now()
	want, _ := strconv.Atoi(os.Getenv(podsEnv))
	mgr, err := flyball.New(flyball.Options{
		Name: "scale", Kubeconfig: os.Getenv(configEnv),
		Cache:  cache.Options{KeepManagedFields: os.Getenv(keepEnv) != ""},
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	f := figures{Pods: want}
	ctx, done := context.WithCancel(context.Background())
	var mu sync.Mutex
	seen := make(map[object.Key]bool, want)
	_, err = controller.NewWith(mgr, "scale", func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		pod, err := client.Get[corev1.Pod](ctx, mgr.Client(), req)
		if err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if f.Reconciles++; f.Reconciles == 1 {
			f.Synced = time.Since(began)
		}
		if seen[req] = true; len(seen) == want && pod.Name != "" {
			f.Reconciled = time.Since(began)
			done()
		}
		return reconcile.Result{}, nil
	}, controller.Options{Workers: 4}, controller.For[corev1.Pod]())
	if err == nil {
		err = mgr.Run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f.Heap, f.Peak = m.HeapInuse, residentPeak()
	json.NewEncoder(os.Stdout).Encode(f)
	return 0
}

// residentPeak returns the highest resident memory of this process. The figure in rusage is
// useless: it is at least that of the parent.
func residentPeak() uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if kib, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kib), "kB")), 10, 64)
			return n << 10
		}
	}
	return 0
}

// A program starts in a cluster with FLYBALL_SCALE Pods and reconciles each of them. The test
// prints the cost, for the process of the program alone: another process makes the Pods.
func TestLargeClusterIsReconciled(t *testing.T) {
	tier.Audit(t, "measures time and memory")
	count := 300
	if s := os.Getenv("FLYBALL_SCALE"); s != "" {
		var err error
		count, err = strconv.Atoi(s)
		must(t, err)
	}
	var p *plane.Plane
	if count < 1000 {
		p = planetest.Shared(t)
	} else {
		p = planetest.Private(t, plane.Options{})
	}
	began := time.Now()
	createPods(t, dial(t, p.RESTConfig()), count)
	t.Logf("%d Pods run after %v", count, time.Since(began).Round(time.Second))
	file := filepath.Join(t.TempDir(), "kubeconfig")
	kubeconfig(t, p, file)
	exe, err := os.Executable()
	must(t, err)
	for _, keep := range []string{"yes", ""} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		cmd := exec.CommandContext(ctx, exe)
		cmd.Env = append(os.Environ(), roleEnv+"=scale", configEnv+"="+file, podsEnv+"="+strconv.Itoa(count), keepEnv+"="+keep)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, t.Output()
		err := cmd.Run()
		cancel()
		must(t, err)
		var f figures
		must(t, json.Unmarshal(out.Bytes(), &f))
		state := cmd.ProcessState
		t.Logf("%d Pods, managed fields kept: %t: synced after %v, every one reconciled after %v (%d reconciles); CPU %v user, %v system; peak memory %d MiB, heap at the end %d MiB",
			f.Pods, keep != "", f.Synced.Round(time.Millisecond), f.Reconciled.Round(time.Millisecond), f.Reconciles,
			state.UserTime().Round(time.Millisecond), state.SystemTime().Round(time.Millisecond), f.Peak>>20, f.Heap>>20)
		if f.Reconciles < count || f.Reconciled == 0 {
			t.Errorf("%+v", f)
		}
	}
}

// createPods makes Pods and returns when all of them run.
func createPods(t *testing.T, c *client.Live, count int) {
	t.Helper()
	const writers = 8
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	f, err := cache.New(cache.Connect(c), cache.Options{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	pods, err := cache.Open[corev1.Pod](ctx, f)
	must(t, err)
	started := newChanges()
	var mu sync.Mutex
	states := map[corev1.PodPhase]map[string]bool{}
	note := func(p *corev1.Pod) {
		mu.Lock()
		defer mu.Unlock()
		if states[p.Status.Phase] == nil {
			states[p.Status.Phase] = map[string]bool{}
		}
		states[p.Status.Phase][p.Name] = true
		started.signal()
	}
	_, err = pods.AddHandler(informer.Handler[corev1.Pod]{
		OnAdd:    func(p *corev1.Pod, _ bool) { note(p) },
		OnUpdate: func(_, p *corev1.Pod) { note(p) },
	})
	must(t, err)
	_, stop := runCache(t, f)
	defer stop()
	g, _ := run.New(ctx)
	for w := range writers {
		g.Go("", func(ctx context.Context) error {
			for i := w; i < count; i += writers {
				if _, err := client.Create(ctx, c, aPod(i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	must(t, g.Wait())
	if !started.await(ctx, func() bool { mu.Lock(); defer mu.Unlock(); return len(states[corev1.PodRunning]) == count }) {
		t.Fatalf("of %d Pods run %d; %v", count, len(states[corev1.PodRunning]), states)
	}
}

// aPod returns a Pod of typical size.
func aPod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprintf("web-%06d", i),
			Labels:      map[string]string{"app": "web", "tier": "front", "shard": strconv.Itoa(i % 16)},
			Annotations: map[string]string{"example.org/checksum": fmt.Sprintf("%064x", i)},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "web", Image: "registry.example.org/web:1.2.3",
			Env:   []corev1.EnvVar{{Name: "ROLE", Value: "front"}, {Name: "LEVEL", Value: "info"}},
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
		}}},
	}
}
