package flyball

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/ops/cert"
	"github.com/flyball-io/flyball/ops/leader"
	"github.com/flyball-io/flyball/ops/serve"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/reconcile"
)

// up runs a manager and returns when all phases have started.
func up(t *testing.T, m *Manager) (stop func() error) {
	t.Helper()
	started := make(chan struct{}, 1)
	own, err := m.Add(Always, "of the test", func(ctx context.Context) error {
		started <- struct{}{}
		<-ctx.Done()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := ran(t, m)
	select {
	case <-started:
	case <-time.After(5 * time.Minute):
		t.Fatal("does not start")
	}
	return func() error { return errors.Join(ended(), own.Close()) }
}

// get requests a page, and accepts any certificate.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	c := insecure()
	defer c.CloseIdleConnections()
	r, err := c.Get(url)
	return text(t, r, err)
}

// insecure is a client that accepts any certificate.
func insecure() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
}

// text returns the code and the body of a response.
func text(t *testing.T, r *http.Response, err error) (int, string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

// pair writes a certificate for 127.0.0.1 into a folder.
func pair(t *testing.T) (dir string) {
	t.Helper()
	c, err := cert.SelfSigned().GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for name, b := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: c.Certificate[0]}, "tls.key": {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Contract 34: the zero Options listen on no port.
func TestListensNowhereByDefault(t *testing.T) {
	m := newAPI(t).manager(t, Options{})
	if err := m.Handle("/validate", http.NotFoundHandler()); err != nil {
		t.Fatal(err)
	}
	up(t, m)
	if a := m.Addrs(); a != (Addrs{}) {
		t.Errorf("listens on %v", a)
	}
}

func TestServesOnLoopback(t *testing.T) {
	a := newAPI(t)
	m := a.manager(t, Options{
		Metrics: Endpoint{Addr: "127.0.0.1:0"}, Probes: Endpoint{Addr: "127.0.0.1:0"}, Debug: true,
		Webhooks: Webhooks{Addr: "127.0.0.1:0", CertDir: pair(t)},
	})
	r, seen := calls(func(_ context.Context, req reconcile.Request) (string, error) { return req.Name, nil })
	if _, err := controller.NewWith(m, "pods", r, controller.Options{Workers: 3}, controller.For[corev1.Pod]()); err != nil {
		t.Fatal(err)
	}
	own := prometheus.NewCounter(prometheus.CounterOpts{Name: "shop_orders_total"})
	m.Metrics().MustRegister(own)
	if err := m.Handle("/hello", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })); err != nil {
		t.Fatal(err)
	}
	a.put("pods", testobj.Pod("web/p", testobj.Labels("app=shop")))
	for range 2 { // it runs again
		stop := up(t, m)
		until(t, seen, "p", func(s string) bool { return s == "p" })
		addrs := m.Addrs()
		for _, addr := range []net.Addr{addrs.Metrics, addrs.Probes, addrs.Webhooks} {
			if at, ok := addr.(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
				t.Errorf("listens on %v", addr)
			}
		}
		for url, want := range map[string][]string{
			"http://" + addrs.Metrics.String() + "/metrics": {"shop_orders_total 0", `controller_runtime_max_concurrent_reconciles{controller="pods"} 3`,
				`controller_runtime_reconcile_total{controller="pods",result="success"}`, "rest_client_requests_total{", "flyball_", "go_goroutines"},
			"http://" + addrs.Metrics.String() + "/debug/pprof/goroutine?debug=1": {"goroutine profile"},
			"http://" + addrs.Metrics.String() + "/debug/caches":                  {"pods", "synced"},
			"http://" + addrs.Metrics.String() + "/debug/controllers":             {"pods", "working"},
			"http://" + addrs.Probes.String() + "/healthz":                        {"ok"},
			"http://" + addrs.Probes.String() + "/livez":                          {"ok"},
			"http://" + addrs.Probes.String() + "/livez?verbose":                  {"check passed"},
			"http://" + addrs.Probes.String() + "/readyz/cache:pods":              {"ok"},
			"http://" + addrs.Probes.String() + "/readyz/manager":                 {"ok"},
			"https://" + addrs.Webhooks.String() + "/hello":                       {"hello"},
		} {
			code, text := get(t, url)
			for _, s := range want {
				if code != http.StatusOK || !strings.Contains(text, s) {
					t.Errorf("%s: %d, without %q\n%s", url, code, s, text)
				}
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if m.Addrs() != (Addrs{}) {
			t.Error("an address stays")
		}
	}
}

// Beyond loopback the metrics are served to users whom the API server allows them.
func TestExposedMetricsNeedAuthorization(t *testing.T) {
	for name, tc := range map[string]struct {
		e      Endpoint
		scheme string
		code   int
	}{
		"with a certificate of nobody": {Endpoint{Addr: ":0"}, "https", http.StatusUnauthorized},
		"with one of ours":             {Endpoint{Addr: ":0", CertDir: pair(t)}, "https", http.StatusUnauthorized},
		"on request to everybody":      {Endpoint{Addr: ":0", Insecure: true}, "http", http.StatusOK},
		"TLS on loopback":              {Endpoint{Addr: "127.0.0.1:0", CertDir: pair(t)}, "https", http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			m := newAPI(t).manager(t, Options{Metrics: tc.e, Debug: true})
			up(t, m)
			_, port, err := net.SplitHostPort(m.Addrs().Metrics.String())
			if err != nil {
				t.Fatal(err)
			}
			for _, page := range []string{"/metrics", "/debug/pprof/"} {
				if code, text := get(t, tc.scheme+"://127.0.0.1:"+port+page); code != tc.code {
					t.Errorf("%s: %d %s", page, code, text)
				}
			}
		})
	}
}

func TestBadOptionsAreNamed(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, tc := range map[string]struct {
		o     Options
		field string
		is    error
	}{
		"debug alone":             {Options{Debug: true}, "Debug", nil},
		"no port":                 {Options{Metrics: Endpoint{Addr: "here"}}, "Metrics", nil},
		"no certificate":          {Options{Metrics: Endpoint{Addr: ":0", CertDir: t.TempDir()}}, "Metrics.CertDir", fs.ErrNotExist},
		"probes without one":      {Options{Probes: Endpoint{Addr: ":0", CertDir: t.TempDir()}}, "Probes.CertDir", fs.ErrNotExist},
		"webhooks without one":    {Options{Webhooks: Webhooks{Addr: ":0", CertDir: t.TempDir()}}, "Webhooks.CertDir", fs.ErrNotExist},
		"webhooks in no Pod":      {Options{Webhooks: Webhooks{Addr: ":0"}}, "Webhooks.Managed.Namespace", fs.ErrNotExist},
		"webhooks of no name":     {Options{Webhooks: Webhooks{Addr: ":0", Managed: cert.ManagedOptions{Namespace: "shop"}}}, "Webhooks.Managed", nil},
		"a bad webhook address":   {Options{Webhooks: Webhooks{Addr: "here", CertDir: pair(t)}}, "Webhooks", nil},
		"leader in no Pod":        {Options{Leader: &leader.Options{}}, "Leader", nil},
		"leader with a bad name":  {Options{Leader: &leader.Options{Namespace: "shop", Name: "The Shop"}}, "Leader", nil},
		"leader with a bad lease": {Options{Leader: &leader.Options{Namespace: "shop", LeaseDuration: 1}}, "Leader", nil},
	} {
		tc.o.Config = &rest.Config{Host: "http://127.0.0.1:1"}
		_, err := New(tc.o)
		bad, ok := errors.AsType[*option.Error](err)
		if !ok || bad.Field != tc.field || tc.is != nil && !errors.Is(err, tc.is) || !strings.Contains(bad.Error(), "flyball.Options: "+tc.field+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := newAPI(t).manager(t, Options{Probes: Endpoint{Addr: taken.Addr().String()}})
	if _, ok := errors.AsType[*serve.ListenError](m.Run(t.Context())); !ok {
		t.Error("the port is taken, and Run says nothing of it")
	}
}

func TestHandleNamesWhatIsWrong(t *testing.T) {
	m := newAPI(t).manager(t, Options{})
	if err := m.Handle("/convert", http.NotFoundHandler()); err != nil {
		t.Fatal(err)
	}
	const wrong, taken, noHandler = "absolute", "already", "nil"
	for path, want := range map[string]string{
		"": wrong, "/": wrong, "convert": wrong, "/convert/": wrong, "/a//b": wrong, "/{x}": wrong, "GET /x": wrong,
		"/convert": taken, "/nothing": noHandler,
	} {
		h := http.NotFoundHandler()
		if want == noHandler {
			h = nil
		}
		err := m.Handle(path, h)
		if !isOption(err, fmt.Sprintf("path %q", path)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// The webhooks answer before the first list, which may need a conversion.
func TestWebhooksListenBeforeTheCachesList(t *testing.T) {
	a := newAPI(t)
	m := a.manager(t, Options{Webhooks: Webhooks{Addr: "127.0.0.1:0", CertDir: pair(t)}})
	if err := m.HandleConversion("/convert", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })); err != nil {
		t.Fatal(err)
	}
	answers := make(chan int, 100)
	a.onList = func() {
		if code, _ := get(t, "https://"+m.Addrs().Webhooks.String()+"/convert"); code != 0 {
			answers <- code
		}
	}
	r, seen := calls(func(_ context.Context, req reconcile.Request) (string, error) { return req.Name, nil })
	if _, err := controller.New(m, "pods", r, controller.For[corev1.Pod]()); err != nil {
		t.Fatal(err)
	}
	a.put("pods", testobj.Pod("web/p", testobj.Labels("app=shop")))
	ran(t, m)
	until(t, seen, "p", func(s string) bool { return s == "p" })
	if code := <-answers; code != http.StatusTeapot {
		t.Errorf("the webhook answered %d", code)
	}
}

func TestBindMakesFlags(t *testing.T) {
	parse := func(o Options, args ...string) Options {
		t.Helper()
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		o.Bind(flags)
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		return o
	}
	o := parse(Options{}, "--kubeconfig=k", "--context=c", "--metrics-addr=:8443", "--probe-addr=:8081", "--webhook-addr=:9443",
		"--webhook-service=s", "--webhook-crds=a, b,", "--leader-elect-namespace=ns", "--leader-elect", "--grace-period=5s", "--debug")
	if o.Kubeconfig != "k" || o.Context != "c" || o.Metrics.Addr != ":8443" || o.Probes.Addr != ":8081" || o.Webhooks.Addr != ":9443" ||
		o.Webhooks.Managed.Service != "s" || !slices.Equal(o.Webhooks.Managed.CRDs, []string{"a", "b"}) ||
		o.Leader == nil || o.Leader.Namespace != "ns" || o.GracePeriod != 5*time.Second || !o.Debug {
		t.Errorf("%+v", o)
	}
	if o := parse(Options{}, "--leader-elect-namespace=ns"); o.Leader != nil {
		t.Error("a namespace alone elects")
	}
	o = parse(Options{}, "--probe-reasons=shown", "--webhook-drain=7s", "--webhook-memory=64Mi")
	if o.ProbeReasons != ReasonsShown || o.Webhooks.Drain != 7*time.Second || o.Webhooks.Memory != 64<<20 {
		t.Errorf("%+v", o)
	}
	o = parse(Options{}, "--namespaces=shop, web")
	if !slices.Equal(o.Cache.Namespaces, []string{"shop", "web"}) || o.Logger != nil {
		t.Errorf("%+v", o)
	}
	if o := parse(o, "--namespaces="); o.Cache.Namespaces != nil {
		t.Errorf("no namespace is %q", o.Cache.Namespaces)
	}
	own := &leader.Options{Name: "mine"}
	if o := parse(Options{Leader: own}); o.Leader != own {
		t.Error("no flag changes the options")
	}
	if o := parse(Options{Leader: own}, "--leader-elect=false"); o.Leader != nil {
		t.Error("it cannot be turned off")
	}
	if o := parse(Options{Probes: Endpoint{Addr: ":1"}}); o.Probes.Addr != ":1" {
		t.Error("the default of a flag is not what the options say")
	}
	flags := flag.NewFlagSet("test", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	new(Options).Bind(flags)
	for _, bad := range []string{"--leader-elect=perhaps", "--webhook-memory=much", "--probe-reasons=some", "--log-level=loud", "--log-format=xml"} {
		if err := flags.Parse([]string{bad}); err == nil {
			t.Error(bad)
		}
	}
	flags.VisitAll(func(f *flag.Flag) {
		if f.Usage == "" || strings.ToLower(f.Name) != f.Name {
			t.Errorf("flag %q: %q", f.Name, f.Usage)
		}
	})
}

// --log-level changes the level alone. The format is that of --log-format, else of the program's logger, else of
// slog.Default. The order of the flags does not matter.
func TestLogFlags(t *testing.T) {
	const plain = `DEBUG sold shop=here what="a book"`
	const text, structured, own = `level=DEBUG msg=sold shop=here what="a book"`, `"level":"DEBUG","msg":"sold","shop":"here","what":"a book"}`, `"severity":"DEBUG","msg":"sold","shop":"here","what":"a book"}`
	forms := map[string]string{"--log-format=text": text, "--log-format=json": structured}
	std := slog.Default()
	defer log.SetOutput(log.Writer())
	defer slog.SetLogLoggerLevel(slog.LevelInfo)
	for _, chosen := range []string{"nobody", "Logger", "SetDefault"} {
		for _, args := range []string{
			"", "--log-format=text", "--log-format=json",
			"--log-level=debug", "--log-level=debug --log-format=text", "--log-level=debug --log-format=json",
			"--log-format=text --log-level=debug", "--log-format=json --log-level=DEBUG", "--log-format=json --log-level=info-4",
			"--log-level=info", "--log-format=json --log-level=warn", "--log-level=error",
		} {
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			stderr := os.Stderr
			os.Stderr = write
			log.SetOutput(write)
			slog.SetLogLoggerLevel(slog.LevelInfo)
			want := plain
			var o Options
			if mine := slog.New(slog.NewJSONHandler(write, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.LevelKey {
					a.Key = "severity"
				}
				return a
			}})); chosen == "Logger" {
				o.Logger, want = mine, own
			} else if chosen == "SetDefault" {
				slog.SetDefault(mine)
				want = own
			}
			flags := flag.NewFlagSet("test", flag.ContinueOnError)
			o.Bind(flags)
			err = flags.Parse(strings.Fields(args))
			os.Stderr = stderr
			logger := cmp.Or(o.Logger, slog.Default())
			if chosen == "SetDefault" {
				slog.SetDefault(std)
				log.SetFlags(log.LstdFlags)
			}
			if err != nil {
				t.Fatal(err)
			}
			logger.With("shop", "here").Debug("sold", "what", "a book")
			write.Close()
			for arg, form := range forms {
				if strings.Contains(args, arg) {
					want = form
				}
			}
			if !strings.Contains(strings.ToLower(args), "debug") && !strings.Contains(args, "info-4") {
				want = ""
			}
			got, err := io.ReadAll(read)
			if err != nil || (len(got) > 0) != (want != "") || !strings.Contains(string(got), want) {
				t.Errorf("chosen by %s, %s: %q, %v; want %q", chosen, args, got, err, want)
			}
		}
	}
}

func TestObjectNamesAreValid(t *testing.T) {
	for program, want := range map[string]string{"shop": "shop", "example.org/podscaler": "podscaler.example.org", "My_Shop": "my-shop"} {
		if got := objectName(program); got != want {
			t.Errorf("%s: %s, want %s", program, got, want)
		}
	}
}
