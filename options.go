package flyball

import (
	"cmp"
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
	"github.com/flyball-io/flyball/ops/leader"
	"github.com/flyball-io/flyball/option"
)

const defaultGrace = 30 * time.Second

// Options configure a manager. The zero value works wherever kubectl or a Pod with a service account works:
// it listens nowhere and elects no leader. [New] reads them once. [Options.Bind] makes flags of them.
type Options struct {
	// Name of the program. It owns the fields that the program sets, and reports its events. It is a name
	// with or without a domain, such as "example.org/podscaler". Empty: the name of the executable.
	Name string
	// Config of the cluster, with credentials. Nil: the cluster that Kubeconfig and Context name.
	Config *rest.Config
	// Kubeconfig and Context locate the configuration. Empty: the first of $KUBECONFIG, ~/.kube/config and
	// the service account of the Pod, and its current context. They are read once. When their content changes, the
	// log says so, and /readyz where a check fails: restart the program to use it. Files that a kubeconfig names are
	// read again.
	Kubeconfig, Context string
	// Scheme has the Go types. It must not change after New. Nil: a new one with the stable versions of the
	// built-in kinds; see package scheme.
	Scheme *runtime.Scheme
	// Cache are options of the cache: watched namespaces, and selections and transforms of single kinds. An
	// empty Logger is set.
	Cache cache.Options
	// Client are options of the client. Empty Scheme, UserAgent, FieldOwner and Logger are set. QPS limits
	// the requests of Manager.Client, Live and Unfenced. The manager's own requests do not wait for it: lists
	// and watches, the lease, events, certificates. Reviews of metrics readers have a limit of the same
	// size for themselves.
	Client client.Options

	// Leader has the replicas of the program elect a leader. The phase Lead runs there alone. The standbys keep the
	// kinds of its controllers in their caches, and take over within a second of its end in good order. The clients
	// of the manager refuse to write unless this process holds a valid lease; see [Manager.Unfenced]. An empty Name
	// is that of Options, an empty Namespace that of the Pod, and an empty Logger is set. Nil: no election.
	Leader *leader.Options
	// Metrics serves /metrics, the pages of [Manager.HandlePage] and, with Debug, /debug/.
	Metrics Endpoint
	// Probes serves /healthz, /livez and /readyz. It talks plain HTTP unless CertDir is set, as kubelets ask.
	// Its answers are bounded, and contain no credentials.
	Probes Endpoint
	// ProbeReasons says to whom the probes show why a check fails. Zero: to nobody beyond loopback.
	ProbeReasons Reasons
	// Debug serves the pages of runtime/pprof, and pages of the caches and controllers. They are beside the
	// metrics, behind the same authorization.
	Debug bool
	// Webhooks serves the handlers of [Manager.Handle] and [Manager.HandleConversion].
	Webhooks Webhooks

	// GracePeriod is how long running reconciles may go on after the program was told to stop. Zero: 30 s.
	// It must be shorter than terminationGracePeriodSeconds of the Pod, whose default is 30 s, too. Negative: none.
	GracePeriod time.Duration
	// Stop bounds how long each phase may take to stop.
	Stop Bounds
	// SyncTimeout is how long Run waits for the kinds that were opened in the cache before it, until it starts
	// the phase Always. Zero: 2 minutes. Negative: not at all. It does not wait for kinds with a known error,
	// nor for the kinds of controllers: see controller.Options.CacheSyncTimeout.
	SyncTimeout time.Duration
	// Events bound the requests of the recorder of events. Zero fields: its defaults.
	Events event.Limits
	// Logger takes the log. One that blocks delays nobody for more than a second: further lines are dropped
	// and counted in the metric flyball_log_dropped_total. That holds for [Manager.Logger], for the loggers
	// derived from it, such as those of reconcilers, and for the loggers of Cache, Client, Leader and
	// Webhooks.Managed. Nil: slog.Default().
	Logger *slog.Logger
	// OnLiveRead is called when the server answers a read in the place of the cache, because the cache does
	// not hold the kind; see [Manager.Client]. It must not block. Nil: none.
	OnLiveRead func(schema.GroupVersionKind)
}

// badOption is the error for one of the Options, as in "Webhooks.Managed".
func badOption(field string, err error) error {
	return &option.Error{Of: "flyball.Options", Field: field, Err: err}
}

// resolved checks the options and fills in the defaults.
func (o Options) resolved() (Options, error) {
	o.Name = cmp.Or(o.Name, executable())
	o.Logger = logguard.Logger(o.Logger)
	if o.ProbeReasons < 0 || int(o.ProbeReasons) >= len(reasonsNames) {
		return o, badOption("ProbeReasons", fmt.Errorf("there is no %s", o.ProbeReasons))
	}
	o.GracePeriod = max(cmp.Or(o.GracePeriod, defaultGrace), 0)
	o.SyncTimeout = cmp.Or(o.SyncTimeout, 2*time.Minute)
	if o.Debug && o.Metrics.Addr == "" {
		return o, badOption("Debug", errors.New("the pages are served beside the metrics: Options.Metrics.Addr is empty"))
	}
	if o.Leader != nil {
		own := *o.Leader
		own.Name = cmp.Or(own.Name, objectName(o.Name))
		own.Logger = o.loggerOr(own.Logger)
		o.Leader = &own
	}
	return o.connected()
}

// connected fills in the defaults of what belongs to one cluster.
func (o Options) connected() (Options, error) {
	if o.Config == nil {
		cfg, err := o.located()
		if err != nil {
			return o, err
		}
		o.Config = cfg
	}
	o.Client.Scheme = cmp.Or(o.Client.Scheme, o.Scheme)
	o.Client.FieldOwner = cmp.Or(o.Client.FieldOwner, o.Name)
	o.Client.Logger = o.loggerOr(o.Client.Logger)
	o.Cache.Logger = o.loggerOr(o.Cache.Logger)
	return o, nil
}

// located reads the configuration that Kubeconfig and Context name.
func (o Options) located() (*rest.Config, error) {
	return client.Config(client.ConfigOptions{Kubeconfig: o.Kubeconfig, Context: o.Context})
}

// loggerOr is l, guarded against a handler that blocks; nil: the logger of the options.
func (o Options) loggerOr(l *slog.Logger) *slog.Logger {
	if l == nil {
		return o.Logger
	}
	return logguard.Logger(l)
}

// objectName makes a name for objects of the name of a program: "podscaler.example.org" of
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

// namespaceFile is the file in which the kubelet writes the namespace of a Pod.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// podNamespace is the namespace of the Pod that this process runs in.
func podNamespace() (string, error) {
	data, err := os.ReadFile(namespaceFile)
	if err != nil {
		return "", fmt.Errorf("is empty, and this is no Pod: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// executable is the name of the executable, trimmed to a valid name of a field owner and reporter.
func executable() string {
	name := strings.TrimFunc(filepath.Base(os.Args[0]), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
	})
	if len(validation.IsQualifiedName(name)) > 0 {
		return "flyball"
	}
	return name
}
