// Package apiserver provides an API server in memory to tests. Its rules are those of the real one: defaults,
// validation, status, finalizers, patches and apply. It needs no etcd, and starts in milliseconds:
//
//	func TestCreate(t *testing.T) {
//		s := apiserver.Start(t, apiserver.Options{CRDs: "../config/crd"})
//		c, err := client.New(s.RESTConfig(), client.Options{})
//		…
//	}
//
// [Server.Apply] brings in files of objects. [Server.Kubeconfig] is for kubectl, which works: get, apply, scale,
// patch, describe, explain, wait and the like.
//
// By default no controllers run: Deployments make no Pods, owned objects are not deleted with their owners, and a
// namespace that is deleted stays as it is. With Options.Controllers they do: Pods are made, bound to a Node, and
// run, though no container does. [Server.Settle] waits until they have done what is due. Annotations of a Pod, or of
// the template that makes it, script its life; durations are those of Go, such as "1m30s":
//
//	kubelet.flyball.dev/image: missing      its images cannot be pulled
//	kubelet.flyball.dev/start-after: 20s    how long its containers are created
//	kubelet.flyball.dev/ready-after: never  how long they run before they are ready
//	kubelet.flyball.dev/exit-after: 10s     how long they run at all
//	kubelet.flyball.dev/exit-code: "1"      how they end; by default 0
//	kubelet.flyball.dev/stop-after: 5s      how long they take to stop when the Pod is deleted
//
// DIFFERENCES.md lists what else the real server does.
//
// By default everybody is an administrator, over plain HTTP. With [Options.RBAC] users may do what their roles
// allow, over TLS: [Server.UserConfig] is the configuration of one, and the subresource token of a service account
// issues tokens. What a controller lacks in a cluster it lacks in such a test.
//
// The rules are a program of their own, which [plane.BuildRules] builds on first use: 3 to 5 minutes on two
// cores, then seconds. All servers of a test binary share one process of it. It ends with the test binary;
// [Wrap] ends it in good order.
package apiserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/all"
	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/memo"
	"github.com/flyball-io/flyball/internal/apiserver/pki"
	"github.com/flyball-io/flyball/internal/apiserver/rules"
	"github.com/flyball-io/flyball/internal/apiserver/web"
	"github.com/flyball-io/flyball/test/plane"
)

// Options configures a server. The zero value works.
type Options struct {
	// CRDs names a file of custom resource definitions, a folder of such files, or a pattern as of
	// [filepath.Glob]. Of a folder the files in its subfolder bases count, too. Other objects are left out.
	CRDs string
	// State names a file that the server starts from: one of [Server.Export], or a recorded cluster as "flyball
	// weigh" reads it. Of such a cluster the kinds are left out that the server does not have, and Progress says
	// which. Empty means the objects of every new cluster.
	State string
	// Now tells the time. nil means the clock.
	Now func() time.Time
	// Seed decides on uids and generated names. Servers of one seed that get the same requests choose the
	// same ones.
	Seed string
	// History is how long old versions can be listed and watched. Zero means five minutes.
	History time.Duration
	// Bookmarks is the time between two bookmarks of a watch. Zero means a minute.
	Bookmarks time.Duration
	// RBAC lets users do only what roles allow, with the roles and bindings that a real server has at its start.
	// Whoever shows no certificate and no token is system:anonymous. RBAC implies TLS.
	RBAC bool
	// TLS serves HTTPS and HTTP/2. Clients show who they are by a certificate, or a token of a service account;
	// others are refused. Without TLS and RBAC, everybody who says nothing else is an administrator.
	//
	// All keys come from the seed, so whoever knows that can sign: this keeps users of a test apart, and nobody
	// out.
	TLS bool
	// Port is that of the loopback address. Zero means any free one.
	Port int
	// InMemory is for a server without a port: clients of its RESTConfig reach it over pipes. Such a server and
	// its clients work inside a bubble of testing/synctest, if TestMain runs the tests by [Wrap]. Time does not
	// go on while the server is busy.
	InMemory bool
	// Controllers names the controllers that run, as the flag --controllers of kube-controller-manager does: "*"
	// for all, "deployment" for one, "-deployment" for all but it. "scheduler" and "kubelet" are among them, and
	// "events", without which the others write no Events. nil means none. See DIFFERENCES.md for what they do.
	Controllers []string
	// DialWebhook connects to webhooks, of admission and of conversion. The address is that of the URL, or an
	// endpoint of the Service. nil means the network. Inside a bubble of testing/synctest, pipes are of use.
	DialWebhook func(ctx context.Context, network, address string) (net.Conn, error)
	// Progress receives lines about the build of the rules, and about State. nil means standard error.
	Progress io.Writer
}

// Server is an API server in memory. Its methods are safe for concurrent use.
type Server struct {
	t        testing.TB     // nil: of New
	pki      *pki.Authority // nil: without TLS
	web      *web.Server
	core     core.Options
	now      func() time.Time
	http     *http.Server
	requests requests // with TLS
	url      string
	dial     func(ctx context.Context, network, address string) (net.Conn, error) // nil: the network's
	rt       *direct                                                              // nil: the network's
}

// Snapshot is the state of a server at one time.
type Snapshot struct{ state *core.Snapshot }

// Start starts a server with a state of its own. It is closed at the end of the test, which fails if a rule of
// [Server.Fail] has matched nothing.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	ctx := t.Context()
	if d, ok := t.(interface{ Deadline() (time.Time, bool) }); ok && !inBubble() {
		if deadline, bounded := d.Deadline(); bounded {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadlineCause(ctx, deadline.Add(-min(20*time.Second, time.Until(deadline)/10)), errDeadline)
			defer cancel()
		}
	}
	s, err := New(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	s.t = t
	t.Cleanup(func() {
		for _, rule := range s.Unmatched() {
			t.Errorf("apiserver: a fault matched no request: %s", rule)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// New starts a server with a state of its own, without a test. The context bounds the build of the rules.
// Close ends the server.
func New(ctx context.Context, o Options) (*Server, error) {
	chosen, err := control.Choose(all.Controllers, o.Controllers)
	if err != nil {
		return nil, fmt.Errorf("apiserver: Options.Controllers: %w", err)
	}
	definitions, err := o.files()
	if err != nil {
		return nil, err
	}
	ask, err := rulesFor(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	now := o.Now
	if now == nil {
		now = time.Now
	}
	o.TLS = o.TLS || o.RBAC
	begin, err := beginning(ask, o.RBAC)
	if err != nil {
		return nil, err
	}
	options := core.Options{Rules: ask, Seed: o.Seed, History: o.History, RBAC: o.RBAC, Nobody: o.nobody(), Controllers: len(chosen) > 0}
	state := core.New(options)
	if err := fill(state, begin, o.State, now(), cmp.Or[io.Writer](o.Progress, os.Stderr)); err != nil {
		return nil, err
	}
	handler := web.New(state, web.Options{Now: now, Bookmarks: o.Bookmarks, DialWebhook: o.DialWebhook})
	if err := define(handler, o.CRDs, definitions); err != nil {
		return nil, fmt.Errorf("apiserver: %w", err)
	}
	if err := startControllers(handler, chosen, o); err != nil {
		return nil, fmt.Errorf("apiserver: %w", err)
	}
	s := &Server{web: handler, core: options, now: now}
	var listener net.Listener
	if o.InMemory {
		p := newPipes()
		listener, s.url, s.dial = p, "http://localhost", p.dial // no proxy of the environment is for localhost
		if !o.TLS {
			s.rt = &direct{server: handler}
		}
	} else if listener, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", o.Port)); err != nil {
		handler.Close()
		return nil, fmt.Errorf("apiserver: %w", err)
	} else {
		s.url = "http://" + listener.Addr().String()
	}
	s.http = &http.Server{Handler: s.web, ReadHeaderTimeout: 10 * time.Second, ConnState: s.web.ConnState}
	if o.TLS {
		return s, s.serveTLS(listener, o.Seed)
	}
	go s.http.Serve(listener) // Close waits for its end
	return s, nil
}

// files returns the files of CRDs. Files that are missing are found here, before the rules are built.
func (o Options) files() (definitions []string, err error) {
	if definitions, err = filesOf(o.CRDs); err != nil {
		return nil, fmt.Errorf("apiserver: %w", err)
	}
	if o.State != "" {
		if _, err := os.Stat(o.State); err != nil {
			return nil, fmt.Errorf("apiserver: state: %w", err)
		}
	}
	return definitions, nil
}

// URL returns the address, http://127.0.0.1:PORT, or https:// with TLS. That of a server in memory leads nowhere.
func (s *Server) URL() string { return s.url }

// Snapshot returns the present state. It costs next to nothing, whatever the number of objects.
func (s *Server) Snapshot() *Snapshot { return &Snapshot{s.web.Snapshot()} }

// Restore makes the state what it was, as a restored backup of etcd does: versions go back, too. All watches
// end.
func (s *Server) Restore(snap *Snapshot) { s.web.Restore(snap.state) }

// Compact forgets the history. Watches and continued lists of older versions get 410.
func (s *Server) Compact() { s.web.Compact() }

var shared struct {
	sync.Mutex
	client *rules.Client
	err    error
	begin  map[bool]*core.Beginning // with RBAC, and without
}

// errDeadline is the cause if the timeout of "go test" is too short for the build.
var errDeadline = errors.New(`the time of the test is over: run it again, since the build goes on where it ended, or give "go test" more time by -timeout`)

// rulesFor returns the function that asks the rules, for a server of the caller.
func rulesFor(ctx context.Context, progress io.Writer) (core.Rules, error) {
	if !inBubble() {
		client, err := sharedRules(ctx, progress)
		if err != nil {
			return nil, err
		}
		return core.Rules(answers.Over(client.Do)), nil
	}
	var client *rules.Client
	var err error
	// A context of a bubble is of no use outside.
	failed := runOutside(func() { client, err = sharedRules(context.Background(), progress) })
	if err := errors.Join(failed, err); err != nil {
		return nil, err
	}
	return core.Rules(answers.Over(asked{client}.do)), nil
}

// answers are the answers of rules that all servers remember together.
var answers = memo.New(64 << 20)

// sharedRules returns the client of the rules program that all servers share. The first call builds it.
func sharedRules(ctx context.Context, progress io.Writer) (*rules.Client, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.client == nil && shared.err == nil {
		binary, err := rulesBinary(ctx, progress)
		if err != nil {
			shared.err = err
			return nil, err
		}
		client := rules.New(binary)
		if os.Getenv(plane.RulesEnv) != "" {
			if err := client.Check(); err != nil {
				client.Close()
				shared.err = fmt.Errorf("apiserver: the rules program %s, which %s names: %w", binary, plane.RulesEnv, err)
				return nil, shared.err
			}
		}
		shared.client = client
	}
	return shared.client, shared.err
}

// rulesBinary returns the file of the rules program, and builds it if that is necessary.
func rulesBinary(ctx context.Context, progress io.Writer) (string, error) {
	if name := os.Getenv(plane.RulesEnv); name != "" {
		if _, err := os.Stat(name); err != nil {
			return "", fmt.Errorf("apiserver: the rules program that %s names: %w", plane.RulesEnv, err)
		}
		return filepath.Abs(name)
	}
	if progress == nil {
		progress = os.Stderr
	}
	return plane.BuildRules(ctx, progress)
}

// Wrap returns a runner of tests, as [testing.M] is, that ends the rules program after m's tests. The
// goroutines of all servers have ended when Run returns. Servers inside bubbles of testing/synctest need it:
//
//	goleak.VerifyTestMain(apiserver.Wrap(m))
func Wrap(m interface{ Run() int }) interface{ Run() int } { return wrapped{m} }

type wrapped struct{ m interface{ Run() int } }

func (w wrapped) Run() int {
	stop := serveOutside()
	defer func() {
		stop()
		shared.Lock()
		defer shared.Unlock()
		if shared.client != nil {
			shared.client.Close()
		}
		shared.client, shared.err = nil, nil
		clear(shared.begin)
	}()
	return w.m.Run()
}
