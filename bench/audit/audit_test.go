package audit

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/bench/corpus"
	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
)

func BenchmarkAudit(b *testing.B) {
	for _, objects := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(objects), func(b *testing.B) { audits(b, objects) })
	}
}

// audits runs one audit after another.
func audits(b *testing.B, objects int) {
	url := startServer(b, objects)
	gvk := corev1.SchemeGroupVersion.WithKind("Pod")
	gvr := corev1.SchemeGroupVersion.WithResource("pods")
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.AddSpecific(gvk, gvr, gvr, meta.RESTScopeNamespace)
	live, err := client.New(&rest.Config{Host: url}, client.Options{Scheme: corpus.Scheme, Mapper: mapper})
	if err != nil {
		b.Fatal(err)
	}
	const pause = 4 * time.Second // the memory of the list and of the last audit has been released by then
	c, err := cache.New(cache.Connect(live), cache.Options{Audit: pause, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		b.Fatal(err)
	}
	h, err := c.Open(b.Context(), &corev1.Pod{}, client.Selection{})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	defer func() { cancel(); <-done }()
	if err := c.WaitForSync(ctx); err != nil {
		b.Fatal(err)
	}
	var cpu, took, peak float64
	b.ResetTimer()
	for i := range b.N {
		debug.FreeOSMemory()
		os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
		before, began, rss := cpuSeconds(b), time.Now(), memory("VmRSS")
		sentBefore, _ := sent(b, url)
		begun := false
		for h.Informer().Figures().Audit.Agreed == uint64(i) {
			time.Sleep(20 * time.Millisecond)
			if !begun {
				now, _ := sent(b, url)
				if begun = now > sentBefore; !begun {
					before, began = cpuSeconds(b), time.Now()
				}
			}
			if a := h.Informer().Figures().Audit; a.Failed+a.Void+a.Repairs > 0 {
				b.Fatalf("%+v", a)
			}
		}
		cpu += cpuSeconds(b) - before
		took += time.Since(began).Seconds()
		peak = max(peak, memory("VmHWM")-rss)
	}
	zipped, plain := sent(b, url)
	n := float64(b.N)
	b.ReportMetric(float64(zipped)/n/1e6, "MB-sent/audit")
	b.ReportMetric(float64(plain)/n/1e6, "MB-whole/audit")
	b.ReportMetric(cpu/n, "cpu-s/audit")
	b.ReportMetric(took/n, "s/audit")
	b.ReportMetric(peak/1e6, "MB-peak")
	b.ReportMetric(0, "ns/op")
}

func startServer(b *testing.B, objects int) (url string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverEnv+"="+strconv.Itoa(objects))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// sent returns the bytes of metadata that the server has sent, compressed and uncompressed.
func sent(b *testing.B, url string) (zipped, plain int64) {
	resp, err := http.Get(url + "/sent")
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := fmt.Fscan(resp.Body, &zipped, &plain); err != nil {
		b.Fatal(err)
	}
	return zipped, plain
}

func cpuSeconds(b *testing.B) float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// memory returns a line of /proc/self/status, in bytes.
func memory(name string) float64 {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(value)[0], 64)
			return kb * 1024
		}
	}
	return 0
}
