package flyball

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/event"
	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/leader"
	"github.com/flyball-io/flyball/option"
)

const defaultGrace = 30 * time.Second

// Options say how a manager is made. The zero value works wherever kubectl or a Pod with a
// service account works; it listens nowhere and elects nobody. They are read by [New], once.
// [Options.Bind] makes flags of them.
type Options struct {
	// Name of the program, as the owner of the fields it sets and the reporter of its events: a
	// name, with or without a domain before it, such as "example.org/podscaler". Empty: the name
	// of the executable.
	Name string
	// Config of the cluster, with credentials. Nil: what Kubeconfig and Context name.
	Config *rest.Config
	// Kubeconfig and Context say where the configuration is. Empty: $KUBECONFIG, ~/.kube/config,
	// or the service account of the Pod, the first that is there; and its current context.
	Kubeconfig, Context string
	// Scheme knows the Go types. Nil: a new one with the built-in kinds in their stable versions; see
	// package scheme. It must not change after New.
	Scheme *runtime.Scheme
	// Cache are options of the cache: the namespaces that are watched, selections and transforms
	// of single kinds. Logger is filled in where it is empty.
	Cache cache.Options
	// Client are options of the client. Scheme, UserAgent, FieldOwner and Logger are filled in
	// where they are empty. Its QPS limits what Manager.Client, Live and Unfenced send. What the
	// manager itself sends does not wait for it: lists and watches, the lease, events, certificates.
	// Reviews of who may read the metrics have the same limit once more, for themselves.
	Client client.Options

	// Leader has the replicas of the program elect one of them, on which alone what is in the
	// phase Lead runs. The others keep the caches of its controllers warm, and take over within a
	// second of its end in good order. The clients of the manager then refuse to write unless this
	// process surely leads; see [Manager.Unfenced]. Name is that of Options, Namespace that of the
	// Pod, and Logger is filled in, where they are empty. Nil: no election.
	Leader *leader.Options
	// Metrics serves /metrics; and, with Debug, /debug/.
	Metrics Endpoint
	// Probes serves /healthz, /livez and /readyz. It talks plain HTTP, as kubelets ask, unless
	// CertDir is set: what it tells is bounded, and has no credentials in it.
	Probes Endpoint
	// ProbeReasons says whom the probes tell why a check fails. Zero: nobody beyond loopback.
	ProbeReasons Reasons
	// Debug serves the pages of runtime/pprof, and those that show caches and controllers, beside
	// the metrics and behind the same filter.
	Debug bool
	// Webhooks serves what [Manager.Handle] was given.
	Webhooks Webhooks

	// GracePeriod is how long reconciles may go on after the program was told to stop. Zero:
	// 30 s, as long as a Pod has by default. Negative: none.
	GracePeriod time.Duration
	// Stop bounds how long each phase may take to stop.
	Stop Bounds
	// SyncTimeout is how long Run waits, before it starts controllers and other runners, for the
	// kinds that were opened in the cache before it. Zero: 2 minutes. Negative: not at all. It
	// does not wait for a kind that something is known to keep, and never for the kinds of
	// controllers, each of which waits for its own.
	SyncTimeout time.Duration
	// Events bound what the recorder of events sends. The zero value means its defaults.
	Events event.Limits
	// Logger is where a person is told. A log that takes nothing holds nobody up for more than a
	// second: further lines are dropped and counted, in the metric flyball_log_dropped_total. That
	// holds for [Manager.Logger], for what gets its logger from there, such as reconcilers, and for
	// the loggers of Cache, Client, Leader and Webhooks.Managed. Nil: slog.Default().
	Logger *slog.Logger
	// Hooks let others count what happens.
	Hooks Hooks
}

// Hooks are called as things happen; nil ones are skipped. They must not block.
type Hooks struct {
	// LiveRead is called when [Manager.Client] reads from the server since the cache has nothing to
	// answer from: nobody has opened the kind there, or it was never let see it.
	LiveRead func(schema.GroupVersionKind)
}

// badOption is the error for one of the Options, as in "Webhooks.Managed".
func badOption(field string, err error) error {
	return &option.Error{Of: "flyball.Options", Field: field, Err: err}
}

// resolved checks the options and fills in the defaults.
func (o Options) resolved() (Options, error) {
	if o.Name == "" {
		o.Name = executable()
	}
	o.Logger = logguard.Logger(o.Logger)
	if o.ProbeReasons < 0 || int(o.ProbeReasons) >= len(reasonsNames) {
		return o, badOption("ProbeReasons", fmt.Errorf("there is no %s", o.ProbeReasons))
	}
	switch {
	case o.GracePeriod == 0:
		o.GracePeriod = defaultGrace
	case o.GracePeriod < 0:
		o.GracePeriod = 0
	}
	if o.SyncTimeout == 0 {
		o.SyncTimeout = 2 * time.Minute
	}
	if o.Debug && o.Metrics.Addr == "" {
		return o, badOption("Debug", errors.New("the pages are served beside the metrics: Options.Metrics.Addr is empty"))
	}
	if o.Config == nil {
		cfg, err := client.Config(client.ConfigOptions{Kubeconfig: o.Kubeconfig, Context: o.Context})
		if err != nil {
			return o, err
		}
		o.Config = cfg
	}
	if o.Client.Scheme == nil {
		o.Client.Scheme = o.Scheme
	}
	if o.Client.FieldOwner == "" {
		o.Client.FieldOwner = o.Name
	}
	o.Client.Logger = o.loggerOr(o.Client.Logger)
	o.Cache.Logger = o.loggerOr(o.Cache.Logger)
	if o.Leader != nil {
		own := *o.Leader
		if own.Name == "" {
			own.Name = objectName(o.Name)
		}
		own.Logger = o.loggerOr(own.Logger)
		o.Leader = &own
	}
	return o, nil
}

// loggerOr is l, guarded, or that of the options.
func (o Options) loggerOr(l *slog.Logger) *slog.Logger {
	if l == nil {
		return o.Logger
	}
	return logguard.Logger(l)
}

// objectName makes the name of a program one that objects may have: "podscaler.example.org" of
// "example.org/podscaler".
func objectName(program string) string {
	domain, name, found := strings.Cut(program, "/")
	if found {
		program = name + "." + domain
	}
	return strings.Map(func(r rune) rune {
		if r == '_' {
			return '-'
		}
		return r
	}, strings.ToLower(program))
}

// namespaceFile is where the kubelet tells a Pod its namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// podNamespace is the namespace of the Pod that this process runs in.
func podNamespace() (string, error) {
	data, err := os.ReadFile(namespaceFile)
	if err != nil {
		return "", fmt.Errorf("is empty, and this is no Pod: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// executable is the name of the program, cut down to what a field owner and reporter may be.
func executable() string {
	name := strings.TrimFunc(filepath.Base(os.Args[0]), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
	})
	if len(validation.IsQualifiedName(name)) > 0 {
		return "flyball"
	}
	return name
}
