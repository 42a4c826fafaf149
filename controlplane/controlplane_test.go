package main

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"flag"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

func TestParseFlags(t *testing.T) {
	for args, want := range map[string]string{
		"":                              "--data-dir is required",
		"--data-dir d --port -1":        "--port -1",
		"--data-dir d --port 65536":     "--port 65536",
		"--data-dir d --nodes -1":       "--nodes -1",
		"--data-dir d --temporary":      "--follow-stdin",
		"--data-dir d now":              `"now"`,
		"--data-dir d --no-such-flag=1": "no-such-flag",
		"--data-dir d --port twelve":    `"twelve"`,
		// The kubeconfig is in the data directory. No other file is written, and so none is replaced.
		"--data-dir d --kubeconfig-out k": "kubeconfig-out",
	} {
		if _, err := parseFlags(strings.Fields(args), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want one with %s", args, err, want)
		}
	}
	if _, err := parseFlags([]string{"-h"}, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
	got, err := parseFlags(strings.Fields("--data-dir d --port 0 --nodes 0 --follow-stdin --temporary"), io.Discard)
	want := options{dataDir: "d", followStdin: true, temporary: true}
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

// A data directory keeps its certificates and its port.
func TestDataDirIsKept(t *testing.T) {
	dir := t.TempDir()
	var seen [2]string
	for i := range seen {
		f, err := writeCredentials(dir)
		if err != nil {
			t.Fatal(err)
		}
		ln, err := listen(0, f.port)
		if err != nil {
			t.Fatal(err)
		}
		if err := writeKubeconfig(f, "https://"+ln.Addr().String()); err != nil {
			t.Fatal(err)
		}
		ln.Close()
		text, err := os.ReadFile(f.kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		seen[i] = string(text)
	}
	if seen[0] != seen[1] {
		t.Error("the second kubeconfig differs from the first")
	}
}

func TestListenOnGivenPort(t *testing.T) {
	portFile := filepath.Join(t.TempDir(), "port")
	ln, err := listen(0, portFile)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	addr := ln.Addr().(*net.TCPAddr)
	if !addr.IP.IsLoopback() || addr.Port < firstPort || addr.Port > lastPort {
		t.Errorf("listening on %v", addr)
	}
	if _, err := listen(addr.Port, portFile); err == nil {
		t.Error("the same port twice")
	}
	if err := os.WriteFile(portFile, []byte("many\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listen(0, portFile); !errors.Is(err, strconv.ErrSyntax) {
		t.Errorf("a broken port file: %v", err)
	}
}

func TestCertificates(t *testing.T) {
	f, err := writeCredentials(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(certificate(t, f.caCert))
	if _, err := certificate(t, f.serverCert).Verify(x509.VerifyOptions{Roots: roots, DNSName: "127.0.0.1"}); err != nil {
		t.Errorf("the server's: %v", err)
	}
	admin := certificate(t, f.adminCert)
	if _, err := admin.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Errorf("the administrator's: %v", err)
	}
	if !slices.Equal(admin.Subject.Organization, []string{"system:masters"}) {
		t.Errorf("the administrator's groups: %v", admin.Subject.Organization)
	}
	if err := writeKubeconfig(f, "https://127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", f.kubeconfig)
	if err != nil || config.Host != "https://127.0.0.1:1" {
		t.Errorf("kubeconfig: %+v, %v", config, err)
	}
	err = filepath.WalkDir(f.dir, func(name string, d os.DirEntry, err error) error {
		if info, e := os.Stat(name); e != nil || !d.IsDir() && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), e)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func certificate(t *testing.T, name string) *x509.Certificate {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func TestLockDir(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockDir(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("locked twice: %v", err)
	}
	unlock()
	if unlock, err = lockDir(dir); err != nil {
		t.Fatal(err)
	}
	unlock()
}

// Components stop one by one, the last started first; one that ends by itself
// ends all.
func TestGroup(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	g := newGroup(cancel)
	order := make(chan string, 2)
	for _, name := range []string{"first", "second"} {
		g.start(name, func(ctx context.Context) error {
			<-ctx.Done()
			order <- name
			return nil
		})
	}
	broken := errors.New("broken")
	g.start("third", func(context.Context) error { return broken })
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, broken) || !strings.Contains(cause.Error(), "third") {
		t.Errorf("cause %v", cause)
	}
	g.stop()
	if a, b := <-order, <-order; a != "second" || b != "first" {
		t.Errorf("stopped %s before %s", a, b)
	}
}

func TestUnknownCommand(t *testing.T) {
	if got := runCommand(t.Context(), nil, "dance"); got != `error: unknown command "dance"` {
		t.Errorf("got %q", got)
	}
}
