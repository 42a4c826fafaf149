// Package apiserver provides an API server in memory to tests. Its handlers are those of the real one: defaults,
// validation, status, finalizers, patches and apply. It needs no etcd, and starts in milliseconds:
//
//	func TestCreate(t *testing.T) {
//		s := apiserver.Start(t, apiserver.Options{CRDs: "../config/crd"})
//		c, err := client.New(s.RESTConfig(), client.Options{})
//		…
//	}
//
// Any client works with it: those of controller-runtime and client-go by [Server.RESTConfig], kubectl by
// [Server.Kubeconfig]. [Server.Apply] applies files of objects.
//
// By default no controllers run: Deployments make no Pods, owned objects stay when their owners are deleted, and the
// deletion of a namespace does not end. With Options.Controllers they run: Pods are created, bound to a Node, and
// become Running, though no container runs. [Server.Settle] waits until the controllers have nothing left to do.
// Annotations of a Pod, or of the template that makes it, script its life. Durations have the form of Go, such as
// "1m30s":
//
//	kubelet.flyball.dev/image: missing      its images cannot be pulled
//	kubelet.flyball.dev/start-after: 20s    the time until its containers run
//	kubelet.flyball.dev/ready-after: never  the time from then until they are ready
//	kubelet.flyball.dev/exit-after: 10s     the time that they run
//	kubelet.flyball.dev/exit-code: "1"      their exit code; the default is 0
//	kubelet.flyball.dev/stop-after: 5s      how long they take to stop when the Pod is deleted
//
// DIFFERENCES.md lists where the server differs from a real one.
//
// By default every client is an administrator, over plain HTTP. With [Options.RBAC] users may do what their roles
// allow, over TLS. [Server.UserConfig] returns the configuration of a user, and the subresource token of a service
// account issues tokens. A permission that a controller lacks in a cluster it also lacks in such a test.
//
// The handlers are those of a separate program, the rules, which [plane.BuildRules] builds on first use. That takes 3 to
// 5 minutes on two cores. All servers of a user share one process of it, those of other test binaries included. It ends
// ten seconds after the last of them. [Wrap] ends the connection to it, for tests that check for leaks.
package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/all"
	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/memo"
	"github.com/flyball-io/flyball/internal/apiserver/pki"
	"github.com/flyball-io/flyball/internal/apiserver/shared"
	"github.com/flyball-io/flyball/internal/apiserver/web"
)

// Options configures a server. The zero value works.
type Options struct {
	// CRDs names a file of custom resource definitions, a folder of such files, or a pattern of [filepath.Glob]. The
	// files in the subfolder "bases" of a folder count, too. Other objects in the files are ignored. "" means none.
	CRDs string
	// State names a file with the objects at the start, one of [Server.Export]. "" means the objects of a new cluster.
	State string
	// Now returns the time. nil means time.Now.
	Now func() time.Time
	// Seed decides on uids, generated names, keys and tokens. Servers with equal seeds choose the same ones for the same
	// requests.
	Seed string
	// History is how long old versions can be listed and watched: the last 131,072 at most. Zero means five minutes.
	History time.Duration
	// Bookmarks is the time between two bookmarks of a watch. Zero means a minute.
	Bookmarks time.Duration
	// Latency is how long each answer to a client waits after its effect. A real server takes one to ten milliseconds.
	// Programs that read a cache right after a write, and happen to see the write there, may need the same here.
	Latency time.Duration
	// RBAC lets users do only what roles allow. The server starts with the roles and bindings of a real one. A request
	// without a certificate and a token is made by system:anonymous. RBAC implies TLS.
	RBAC bool
	// TLS serves HTTPS and HTTP/2. Clients authenticate by a certificate, or by a token of a service account; other
	// requests are refused, unless RBAC is set. Without TLS and RBAC, a request without credentials is made by an
	// administrator.
	//
	// All keys are derived from the seed, so anybody who knows it can sign. TLS keeps the users of a test apart; it does
	// not protect the server.
	TLS bool
	// Port is the port on 127.0.0.1. Zero means any free one.
	Port int
	// InMemory makes a server without a port. Clients of its RESTConfig call it within the process. Such a server and its
	// clients work inside a bubble of testing/synctest, if TestMain runs the tests by [Wrap]. Virtual time stands still
	// while the server is busy.
	InMemory bool
	// Controllers names the controllers that run, in the form of the flag --controllers of kube-controller-manager: "*"
	// means all, "deployment" one, and "-deployment" leaves one out. "scheduler" and "kubelet" are among them, and
	// "events", without which the others write no Events. nil means none. DIFFERENCES.md says how they differ from the
	// real ones.
	Controllers []string
	// FeatureGates turns on features of Kubernetes, as the flag --feature-gates of kube-apiserver does. The server has
	// one gate, which is off by default: with "ShardedListAndWatch", lists, watches and deletions of collections observe
	// the parameter shardSelector.
	FeatureGates map[string]bool
	// DialWebhook connects to webhooks of admission and conversion. The address is that of the URL, or of an endpoint of
	// the Service. nil means the network, but for addresses that the server itself has given to Pods: these refuse the
	// connection. Inside a bubble of testing/synctest it must return a pipe.
	DialWebhook func(ctx context.Context, network, address string) (net.Conn, error)
	// Progress gets lines about the build of the rules and about State, and warnings about CRDs. nil means standard error.
	Progress io.Writer
}

// Server is an API server in memory. Its methods are safe for concurrent use.
type Server struct {
	t        testing.TB     // nil for a server of New
	pki      *pki.Authority // nil without TLS
	web      *web.Server
	core     core.Options
	now      func() time.Time
	http     *http.Server
	requests requests // with TLS
	url      string
	dial     func(ctx context.Context, network, address string) (net.Conn, error) // nil: the network's
	rt       *direct                                                              // nil: the network's
}

// Snapshot is a state to which [Server.Restore] returns. It never changes.
type Snapshot struct{ state *core.Snapshot }

// Start starts a server with a state of its own, or ends the test with an error. The server is closed at the end of the
// test, which then fails if a rule of [Server.Fail] has matched nothing.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	ctx := t.Context()
	if d, ok := t.(interface{ Deadline() (time.Time, bool) }); ok && !shared.InBubble() {
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

// New starts a server with a state of its own, without a test. The context bounds only the build of the rules. The
// caller must close the server.
func New(ctx context.Context, o Options) (*Server, error) { return newOver(ctx, o, shared.Answers) }

// newOver is [New] with a memory of answers.
func newOver(ctx context.Context, o Options, answers *memo.Memory) (*Server, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("apiserver: %w", err)
	}
	chosen, err := control.Choose(all.Controllers, o.Controllers)
	if err != nil {
		return nil, fmt.Errorf("apiserver: Options.Controllers: %w", err)
	}
	gates, err := core.ParseGates(o.FeatureGates)
	if err != nil {
		return nil, fmt.Errorf("apiserver: Options.FeatureGates: %w", err)
	}
	files, err := o.files()
	if err != nil {
		return nil, err
	}
	asks, err := shared.AsksFor(ctx, answers, shared.InBubble() || o.Now != nil, o.progress())
	if err != nil {
		return nil, err
	}
	now := o.Now
	if now == nil {
		now = time.Now
	}
	o.TLS = o.TLS || o.RBAC
	definitions, unreadable := shared.ReadDefinitions(o.CRDs, files)
	first, later := o.early(definitions)
	begin, err := asks.Beginning(o.RBAC, first, o.progress())
	if err := errors.Join(unreadable, err); err != nil {
		return nil, fmt.Errorf("apiserver: %w", err)
	}
	options := core.Options{Rules: asks.Later, Seed: o.Seed, History: o.History, RBAC: o.RBAC, Nobody: o.nobody(), Gates: gates, Controllers: len(chosen) > 0}
	state := core.New(options)
	if err := fill(state, begin, o.State, now()); err != nil {
		return nil, err
	}
	handler := web.New(state, web.Options{Now: now, Bookmarks: o.Bookmarks, DialWebhook: o.DialWebhook, Latency: o.Latency, FaultTime: faultTime()})
	if err := shared.Define(handler.Step, later, o.progress()); err != nil {
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
		return nil, fmt.Errorf("apiserver: port %d: %w: give another one, or 0 for any that is free", o.Port, err)
	} else {
		s.url = "http://" + listener.Addr().String()
	}
	s.http = &http.Server{Handler: s.web, ReadHeaderTimeout: 10 * time.Second, ConnState: s.web.ConnState}
	if o.TLS {
		return s, s.serveTLS(listener, o.Seed)
	}
	if !o.InMemory {
		s.http.Handler = web.NoBrowsers(s.web)
	}
	go s.http.Serve(listener) // Close waits for its end
	return s, nil
}

// URL returns the address of the server: http://127.0.0.1:PORT, or https://127.0.0.1:PORT with TLS. With InMemory
// nothing listens there.
func (s *Server) URL() string { return s.url }

// Snapshot returns a snapshot of the present state. It takes less than a microsecond, whatever the number of objects.
func (s *Server) Snapshot() *Snapshot { return &Snapshot{s.web.Snapshot()} }

// Restore returns to a snapshot, as a restored backup of etcd does: resource versions go back, too. All watches end, and
// controllers begin anew. A snapshot can be restored any number of times, also by other servers, which keep their
// options.
func (s *Server) Restore(snap *Snapshot) { s.web.Restore(snap.state) }

// Compact drops the history, as a compaction of etcd does. Watches and continued lists of older versions get 410.
func (s *Server) Compact() { s.web.Compact() }

// Wrap returns a runner of tests, as [testing.M] is, that runs the tests of m and then leaves the rules program. No
// goroutine of a server is left when Run returns. Servers inside bubbles of testing/synctest need it:
//
//	goleak.VerifyTestMain(apiserver.Wrap(m))
func Wrap(m interface{ Run() int }) interface{ Run() int } { return wrapped{m} }

type wrapped struct{ m interface{ Run() int } }

func (w wrapped) Run() int {
	stop := shared.ServeOutside()
	defer shared.Leave()
	defer stop()
	return w.m.Run()
}

// errDeadline is the error if the timeout of "go test" is too short for the build.
var errDeadline = errors.New(`the timeout of the test is over: run it again, and the build continues where it ended; or give "go test" more time by -timeout`)
