package admission

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	mrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/flyball-io/flyball/ops/serve"
	"github.com/flyball-io/flyball/scheme"
	"github.com/flyball-io/flyball/webhook"
)

// A webhook server is under attack: hostile connections arrive at a steady rate, and every good
// call must be answered meanwhile. FLYBALL_HOSTILE is the number of hostile connections; the
// default is 1,000. They come from a separate process with a lower priority. The benchmark reports
// the times of the good calls, and the growth of the process at the end.
func BenchmarkHostile(b *testing.B) {
	n := 1000
	if s := os.Getenv("FLYBALL_HOSTILE"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatalf("FLYBALL_HOSTILE: %v", err)
		}
	}
	addr, stop := webhookServer(b)
	good := calls(b)[0].body
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 4}}
	ask := func() time.Duration {
		began := time.Now()
		r, err := client.Post("https://"+addr+"/mutate", "application/json", bytes.NewReader(good))
		if err != nil {
			b.Error(err)
			return 0
		}
		defer r.Body.Close()
		if body, _ := io.ReadAll(r.Body); r.StatusCode != 200 || !bytes.Contains(body, []byte(`"allowed":true`)) {
			b.Errorf("%d %s", r.StatusCode, body)
		}
		return time.Since(began)
	}
	for range 100 {
		ask()
	}
	before := measure()
	for b.Loop() {
		ctx, cancel := context.WithCancel(b.Context())
		var times []time.Duration
		var calls sync.WaitGroup
		calls.Go(func() {
			for tick := time.NewTicker(20 * time.Millisecond); ctx.Err() == nil; <-tick.C {
				times = append(times, ask())
			}
		})
		if err := attackers(addr, n, good); err != nil {
			b.Error(err)
		}
		cancel()
		calls.Wait()
		slices.Sort(times)
		b.ReportMetric(float64(len(times)), "good")
		b.ReportMetric(times[len(times)/2].Seconds()*1000, "p50-ms")
		b.ReportMetric(times[len(times)*99/100].Seconds()*1000, "p99-ms")
	}
	client.CloseIdleConnections()
	after := measure()
	b.ReportMetric(float64(n), "hostile")
	b.ReportMetric(float64(after.goroutines-before.goroutines), "goroutines-grown")
	b.ReportMetric(float64(after.heap-before.heap)/1024, "KiB-grown")
	if s := stop(); s > 0 {
		b.Errorf("%d panics", s)
	}
}

type size struct{ goroutines, heap int }

func measure() size {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return size{runtime.NumGoroutine(), int(m.HeapAlloc)}
}

// webhookServer returns a defaulter behind the project's server, with its limits. stop returns the
// number of handlers that panicked.
func webhookServer(b *testing.B) (addr string, stop func() (panics uint64)) {
	quiet := slog.New(slog.DiscardHandler)
	defaulter, err := webhook.NewDefaulter(scheme.New(), webhook.Defaulter[appsv1.Deployment](func(_ context.Context, d *appsv1.Deployment) error {
		defaultDeployment(d)
		return nil
	}), webhook.Options{Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mutate", defaulter)
	s, err := serve.New(serve.Options{Name: "webhooks", Addr: "127.0.0.1:0", Handler: mux, TLS: &tls.Config{Certificates: []tls.Certificate{certificate(b)}}, Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	<-s.Listening()
	return s.Addr().String(), func() uint64 {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		return uint64(s.Stats().Panics)
	}
}

func certificate(b *testing.B) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		b.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

const attackEnv = "FLYBALL_ATTACK" // the address to attack, in the attacking process

func TestMain(m *testing.M) {
	addr := os.Getenv(attackEnv)
	if addr == "" {
		os.Exit(m.Run())
	}
	n, _ := strconv.Atoi(os.Getenv("FLYBALL_HOSTILE"))
	good, err := io.ReadAll(os.Stdin)
	if err != nil || n == 0 {
		os.Exit(1)
	}
	const rate, open = 500, 500 // connections a second, and at once
	slots := make(chan struct{}, open)
	var attacks sync.WaitGroup
	began := time.Now()
	for i := range n {
		time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / rate)))
		slots <- struct{}{}
		attacks.Go(func() {
			attack(addr, i, good)
			<-slots
		})
	}
	attacks.Wait()
}

// attackers runs n attacks, and returns when the last has ended.
func attackers(addr string, n int, good []byte) error {
	cmd := exec.Command("nice", "-n", "19", os.Args[0])
	cmd.Env = append(os.Environ(), attackEnv+"="+addr, fmt.Sprint("FLYBALL_HOSTILE=", n))
	cmd.Stdin = bytes.NewReader(good)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("attackers: %w: %s", err, out)
	}
	return nil
}

// attack is one hostile connection. Its answer does not matter, but the connection must end.
func attack(addr string, i int, good []byte) {
	r := mrand.New(mrand.NewPCG(uint64(i), 1))
	raw, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		return
	}
	defer raw.Close()
	raw.SetDeadline(time.Now().Add(15 * time.Second))
	if i%50 == 0 { // no handshake
		fmt.Fprintf(raw, "GET / HTTP/1.1\r\n\r\n")
		io.Copy(io.Discard, raw)
		return
	}
	c := tls.Client(raw, &tls.Config{InsecureSkipVerify: true})
	head := func(contentType, length string) string {
		return "POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: " + contentType + "\r\n" + length + "\r\n\r\n"
	}
	whole := func(contentType string, body []byte) {
		fmt.Fprintf(c, "%s%s", head(contentType, fmt.Sprint("Connection: close\r\nContent-Length: ", len(body))), body)
	}
	switch i % 10 {
	case 0: // a slow header: one byte at a time, until the deadline
		for _, b := range []byte(head("application/json", "Content-Length: 5")) {
			if _, err := c.Write([]byte{b}); err != nil {
				return
			}
			time.Sleep(500 * time.Millisecond)
		}
	case 1: // a slow body
		io.WriteString(c, head("application/json", "Content-Length: 5000"))
		for {
			if _, err := io.WriteString(c, " "); err != nil {
				return
			}
			time.Sleep(500 * time.Millisecond)
		}
	case 2: // 100 MB
		io.WriteString(c, head("application/json", "Content-Length: 104857600"))
		for junk := bytes.Repeat([]byte(" "), 64<<10); ; {
			if _, err := c.Write(junk); err != nil {
				return
			}
		}
	case 3: // endless chunks
		io.WriteString(c, head("application/json", "Transfer-Encoding: chunked"))
		for junk := "10000\r\n" + strings.Repeat("[", 64<<10) + "\r\n"; ; {
			if _, err := io.WriteString(c, junk); err != nil {
				return
			}
		}
	case 4:
		whole("text/plain", good)
	case 5: // truncated
		whole("application/json", good[:r.IntN(len(good))])
	case 6, 7: // damaged
		body := bytes.Clone(good)
		for range 1 + r.IntN(8) {
			body[r.IntN(len(body))] = byte(r.Uint32())
		}
		whole("application/json", body)
	case 8: // deeply nested
		whole("application/json", bytes.Repeat([]byte(`{"request":`), 1+r.IntN(50_000)))
	case 9:
		whole("application/json", []byte(`{"apiVersion":"admission.k8s.io/v1","kind":"ConversionReview","request":{}}`))
	}
	bufio.NewReader(c).WriteTo(io.Discard)
}
