package flyball

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"

	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/flyball-io/flyball/ops/leader"
)

// Bind adds flags for the options that depend on the deployment. Their defaults are the present values of
// o. Parse the flags before [New].
//
// --log-level keeps the format of Logger, or of slog.Default if that is nil, and changes the level alone.
// --log-format replaces Logger by one that writes to standard error. A program that logs by itself uses
// [Manager.Logger], or calls slog.SetDefault with Logger after Parse, unless it is nil.
func (o *Options) Bind(flags *flag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "`file` with the address and the credentials of the cluster (empty: $KUBECONFIG, ~/.kube/config, or the service account of the Pod)")
	flags.StringVar(&o.Context, "context", o.Context, "`name` of the context in it (empty: its current one)")
	flags.Var((*names)(&o.Cache.Namespaces), "namespaces", "`names` of the namespaces that the cache holds, with commas between (empty: all)")
	o.bindLog(flags)

	flags.StringVar(&o.Metrics.Addr, "metrics-addr", o.Metrics.Addr, "`host:port` of the metrics, such as :8443; beyond loopback with TLS, and only for users whom the API server allows /metrics (empty: off)")
	flags.StringVar(&o.Metrics.CertDir, "metrics-cert-dir", o.Metrics.CertDir, "`folder` with tls.crt and tls.key of the metrics (empty: a self-signed certificate)")
	flags.StringVar(&o.Metrics.ClientCA, "metrics-client-ca", o.Metrics.ClientCA, "`file` with the authorities of client certificates, one of which each reader of the metrics must have (empty: none)")
	flags.BoolVar(&o.Metrics.Insecure, "metrics-insecure", o.Metrics.Insecure, "serve the metrics to everybody, over plain HTTP")
	flags.BoolVar(&o.Debug, "debug", o.Debug, "serve profiles and other pages below /debug/, beside the metrics")
	flags.StringVar(&o.Probes.Addr, "probe-addr", o.Probes.Addr, "`host:port` of /healthz, /livez and /readyz, such as :8081 (empty: off)")
	flags.StringVar(&o.Probes.CertDir, "probe-cert-dir", o.Probes.CertDir, "`folder` with tls.crt and tls.key of the probes (empty: plain HTTP)")
	flags.Var(&o.ProbeReasons, "probe-reasons", "to `whom` the probes show why a check fails: loopback (everybody if they are served on loopback, else nobody), shown or withheld")

	flags.StringVar(&o.Webhooks.Addr, "webhook-addr", o.Webhooks.Addr, "`host:port` of the webhooks, such as :9443 (empty: off)")
	flags.StringVar(&o.Webhooks.CertDir, "webhook-cert-dir", o.Webhooks.CertDir, "`folder` with tls.crt and tls.key of the webhooks (empty: the program makes and rotates them, and keeps them in a Secret)")
	flags.StringVar(&o.Webhooks.ClientCA, "webhook-client-ca", o.Webhooks.ClientCA, "`file` with the authorities of client certificates, one of which the API server must have (empty: none)")
	flags.DurationVar(&o.Webhooks.Drain, "webhook-drain", o.Webhooks.Drain, "`time` for which the webhooks are served after the program was told to stop (0: 5s, none on loopback; negative: none)")
	flags.Var((*byteCount)(&o.Webhooks.Memory), "webhook-memory", "`bytes`, such as 64Mi, for the large bodies of all requests to webhooks together (0: 256Mi, or a quarter of GOMEMLIMIT; negative: no bound)")
	managed := &o.Webhooks.Managed
	flags.StringVar(&managed.Namespace, "webhook-namespace", managed.Namespace, "`namespace` of that Secret and of the Service (empty: that of the Pod)")
	flags.StringVar(&managed.Name, "webhook-secret", managed.Name, "`name` of that Secret (empty: derived from that of the program)")
	flags.StringVar(&managed.Service, "webhook-service", managed.Service, "`name` of the Service of the webhooks")
	flags.Var((*names)(&managed.Mutating), "webhook-mutating", "`names` of MutatingWebhookConfigurations that the CA is written into, with commas between")
	flags.Var((*names)(&managed.Validating), "webhook-validating", "`names` of ValidatingWebhookConfigurations that the CA is written into")
	flags.Var((*names)(&managed.CRDs), "webhook-crds", "`names` of CustomResourceDefinitions whose conversion the CA is written into")

	elect := cmp.Or(o.Leader, &leader.Options{})
	flags.BoolFunc("leader-elect", "elect a leader among the replicas; it alone acts"+map[bool]string{true: " (default true)"}[o.Leader != nil], func(s string) error {
		on, err := strconv.ParseBool(s)
		if o.Leader = nil; on {
			o.Leader = elect
		}
		return err
	})
	flags.StringVar(&elect.Namespace, "leader-elect-namespace", elect.Namespace, "`namespace` of the Lease (empty: that of the Pod)")
	flags.StringVar(&elect.Name, "leader-elect-name", elect.Name, "`name` of the Lease (empty: that of the program)")
	flags.DurationVar(&o.GracePeriod, "grace-period", o.GracePeriod, "`time` for running reconciles to finish after the program was told to stop (0: 30s; negative: none)")
}

// bindLog adds the flags of the log. They work in any order: --log-format chooses the handler, --log-level the level
// of whatever handler there is.
func (o *Options) bindLog(flags *flag.FlagSet) {
	level := new(slog.LevelVar)
	flags.Func("log-level", "`level` of the log: debug, info, warn or error, or one with an offset, such as info+2 (default: info)", func(s string) error {
		if err := level.UnmarshalText([]byte(s)); err != nil {
			return err
		}
		if o.Logger == nil && fmt.Sprintf("%T", slog.Default().Handler()) == "*slog.defaultHandler" {
			slog.SetLogLoggerLevel(level.Level()) // a logger over that handler could not be given to slog.SetDefault
			return nil
		}
		o.Logger = slog.New(leveled{cmp.Or(o.Logger, slog.Default()).Handler(), level})
		return nil
	})
	flags.Func("log-format", "`format` of the log on standard error: text or json (default: as the program writes it)", func(s string) error {
		switch how := (&slog.HandlerOptions{Level: level}); s {
		case "text":
			o.Logger = slog.New(slog.NewTextHandler(os.Stderr, how))
		case "json":
			o.Logger = slog.New(slog.NewJSONHandler(os.Stderr, how))
		default:
			return errors.New("it is neither text nor json")
		}
		return nil
	})
}

// leveled is a handler whose level is that of a flag.
type leveled struct {
	slog.Handler
	level *slog.LevelVar
}

// Enabled replaces the level of the handler.
func (l leveled) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level.Level() }

// WithAttrs keeps the level.
func (l leveled) WithAttrs(attrs []slog.Attr) slog.Handler {
	return leveled{l.Handler.WithAttrs(attrs), l.level}
}

// WithGroup keeps the level.
func (l leveled) WithGroup(name string) slog.Handler {
	return leveled{l.Handler.WithGroup(name), l.level}
}

// byteCount is a flag of a number of bytes, written as a Kubernetes quantity.
type byteCount int64

func (b *byteCount) String() string { return strconv.FormatInt(int64(*b), 10) }

// Set replaces the number.
func (b *byteCount) Set(s string) error {
	q, err := apiresource.ParseQuantity(s)
	if err != nil {
		return err
	}
	*b = byteCount(q.Value())
	return nil
}

// names is a flag of a list, with commas between its elements.
type names []string

func (n *names) String() string { return strings.Join(*n, ",") }

// Set replaces the list.
func (n *names) Set(s string) error {
	*n = nil
	for name := range strings.SplitSeq(s, ",") {
		if name = strings.TrimSpace(name); name != "" {
			*n = append(*n, name)
		}
	}
	return nil
}
