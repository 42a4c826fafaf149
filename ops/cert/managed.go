package cert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/backoff"
	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/run"
)

// ManagedOptions describe the certificate and its clients. NewManaged reads them once.
type ManagedOptions struct {
	// Namespace and Name of the Secret that all replicas share. Required. An existing Secret
	// without the label cert.flyball.io/managed is not written; Check returns an error. Keep no copy of it anywhere: its
	// keys can sign for every name.
	Namespace, Name string

	// Service in Namespace that serves the certificate. The certificate is for SERVICE.NS.svc,
	// SERVICE.NS.svc.cluster.local and SERVICE.NS. Empty means only DNSNames and IPs; then at least
	// one is required.
	Service string
	// DNSNames and IPs of the certificate, in addition to those of the Service.
	DNSNames []string
	IPs      []net.IP

	// Mutating, Validating and CRDs name the target objects. The CA bundle is written into every
	// clientConfig in them that calls a name of the certificate, by service or by url. Check
	// reports a target that does not exist or has no such clientConfig; it is looked up again. A
	// target with an annotation of cert-manager is not written.
	Mutating, Validating, CRDs []string

	// Validity of a serving certificate, and Rotate, its age when it is replaced. Zero or negative
	// means 90 days, and two thirds of Validity. Rotate must be less than Validity by more than
	// twice the Settle. The clock of an API server may be ahead by the difference of the two, and
	// behind by a day.
	Validity, Rotate time.Duration
	// CAValidity and CARotate are the same for the CA. Zero or negative means a year, or Validity
	// if that is longer, and two thirds of CAValidity.
	CAValidity, CARotate time.Duration
	// Settle is the longest time until all API servers use a written bundle. A new CA does not sign
	// before. Zero means 5 s. Negative means no wait.
	Settle time.Duration
	// Poll is the interval of a full check without any event of a watch. Zero or negative means 15
	// s.
	Poll time.Duration
	// Logger receives every change, and each problem once. Nil means slog.Default().
	Logger *slog.Logger
}

const (
	day             = 24 * time.Hour
	requestTimeout  = 10 * time.Second
	defaultSettle   = 5 * time.Second
	defaultPoll     = 15 * time.Second
	defaultValidity = 90 * day
	defaultCA       = 365 * day
	// patience is how long errors of the server may last before Check reports them. The serving
	// certificate does not need the server.
	patience = time.Minute
)

// Managed is a certificate made here. The Secret holds a CA and a serving certificate. Both are
// renewed in time, and the CA bundle is written where the API server reads it. Every replica of a
// program runs a Managed, standbys too, because each answers calls. Any of them may write.
//
// If the Secret is deleted, a replica writes it again from memory. A damaged Secret is repaired
// with its usable parts, and logged at Error. To renew all keys, put the annotation cert.flyball.io/rotate on the
// Secret.
type Managed struct {
	service
	c      *client.Live
	o      ManagedOptions
	keeper *keeper
	wake   chan struct{}

	// The mutex of the service guards the result of the last pass.
	problems     []error
	err          error
	failingSince time.Time // first failure since the last good pass; zero means the last pass was good
}

// NewManaged validates the options. It starts no goroutine and sends no request: the certificate
// exists once Run has made or read it. The client must have no fence, because replicas that do not
// lead need certificates too.
func NewManaged(c *client.Live, o ManagedOptions) (*Managed, error) {
	if c == nil {
		return nil, &option.Error{Of: "cert.NewManaged", Field: "client", Err: errors.New("is nil")}
	}
	o, err := o.validated()
	if err != nil {
		return nil, err
	}
	m := &Managed{service: newService(), c: c, o: o, wake: make(chan struct{}, 1)}
	m.keeper = &keeper{
		core:     core{ManagedOptions: o},
		template: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}},
		targets:  o.targets(), api: &liveAPI{c, object.Key{Namespace: o.Namespace, Name: o.Name}}, now: time.Now, load: m.load, log: o.Logger,
	}
	return m, nil
}

// validated returns the options with defaults; DNSNames has the names of the Service, too. The error
// names the field.
func (o ManagedOptions) validated() (ManagedOptions, error) {
	type rule struct {
		field, text string
		problems    func(string) []string
	}
	subdomain := func(s string) []string { return validation.IsDNS1123Subdomain(strings.TrimPrefix(s, "*.")) }
	rules := []rule{{"Namespace", o.Namespace, validation.IsDNS1123Label}, {"Name", o.Name, validation.IsDNS1123Subdomain}}
	for _, n := range o.DNSNames {
		rules = append(rules, rule{"DNSNames", n, subdomain})
	}
	var names []string
	if o.Service != "" {
		rules = append(rules, rule{"Service", o.Service, validation.IsDNS1035Label})
		short := o.Service + "." + o.Namespace
		names = []string{short + ".svc", short + ".svc.cluster.local", short}
	}
	for _, t := range o.targets() {
		rules = append(rules, rule{fieldOf[t.kind], t.name, validation.IsDNS1123Subdomain})
	}
	for _, r := range rules {
		if problems := r.problems(r.text); len(problems) > 0 {
			return o, badManaged(r.field, "%q: %s", r.text, strings.Join(problems, "; "))
		}
	}
	o.DNSNames = union(names, o.DNSNames)
	for _, ip := range o.IPs {
		if ip.To16() == nil {
			return o, badManaged("IPs", "%v is no address", []byte(ip))
		}
	}
	if len(o.DNSNames)+len(o.IPs) == 0 {
		return o, badManaged("Service", "is empty, and so are DNSNames and IPs")
	}
	o.Settle = max(cmp.Or(o.Settle, defaultSettle), 0)
	o.Poll = cmp.Or(max(o.Poll, 0), defaultPoll)
	o.Validity = cmp.Or(max(o.Validity, 0), defaultValidity)
	o.Rotate = cmp.Or(max(o.Rotate, 0), o.Validity*2/3)
	o.CAValidity = cmp.Or(max(o.CAValidity, 0), max(defaultCA, o.Validity))
	o.CARotate = cmp.Or(max(o.CARotate, 0), o.CAValidity*2/3)
	switch {
	case o.Validity-o.Rotate <= 2*o.Settle:
		return o, badManaged("Rotate", "%v leaves %v of the Validity, which must be more than twice the Settle of %v", o.Rotate, o.Validity-o.Rotate, o.Settle)
	case o.CAValidity-o.CARotate <= 2*o.Settle:
		return o, badManaged("CARotate", "%v leaves %v of the CAValidity, which must be more than twice the Settle of %v", o.CARotate, o.CAValidity-o.CARotate, o.Settle)
	case o.CAValidity < o.Validity:
		return o, badManaged("CAValidity", "%v is shorter than the Validity of %v", o.CAValidity, o.Validity)
	}
	o.Logger = logguard.Logger(o.Logger)
	return o, nil
}

// fieldOf has the field of ManagedOptions that names the targets of a kind.
var fieldOf = map[schema.GroupVersionKind]string{mutating: "Mutating", validating: "Validating", crd: "CRDs"}

func badManaged(field, format string, args ...any) error {
	return &option.Error{Of: "cert.ManagedOptions", Field: field, Err: fmt.Errorf(format, args...)}
}

func (o ManagedOptions) targets() (out []target) {
	add := func(kind schema.GroupVersionKind, names []string) {
		for _, n := range names {
			out = append(out, target{kind, n})
		}
	}
	add(mutating, o.Mutating)
	add(validating, o.Validating)
	add(crd, o.CRDs)
	return out
}

// Run implements [Source]. It checks the Secret and the targets at each event of a watch, when an
// action is due, and every Poll.
func (m *Managed) Run(ctx context.Context) error {
	if err := m.begin(); err != nil {
		return err
	}
	defer m.runs.Store(false)
	g, gctx := run.New(ctx)
	targets := make([]watchState, len(m.keeper.targets))
	m.keeper.changed = func(i int) bool { return targets[i].mayHaveChanged() }
	g.Go("", m.loop)
	g.Go("", func(ctx context.Context) error {
		return m.follow(ctx, secretKind, m.o.Namespace, m.o.Name, new(watchState))
	})
	for i, t := range m.keeper.targets {
		g.Go("", func(ctx context.Context) error { return m.follow(ctx, t.kind, "", t.name, &targets[i]) })
	}
	<-gctx.Done()
	return g.Wait()
}

func (m *Managed) loop(ctx context.Context) error {
	// Two programs that undo each other's writes must not load the server.
	pace := backoff.Bucket{Rate: 5, Burst: 20}
	fails := backoff.Backoff{Policy: backoff.Policy{Base: 100 * time.Millisecond, Max: 5 * time.Second, Jitter: 0.2}}
	logged := ""
	for {
		if err := run.Sleep(ctx, pace.Reserve(time.Now())); err != nil {
			return err
		}
		wait, err := m.keeper.pass(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		m.publish(err)
		problem := errors.Join(m.keeper.problems...)
		switch {
		case problem == nil && logged != "":
			m.o.Logger.Info("certificates are in order again")
			logged = ""
		case problem != nil && problem.Error() != logged:
			logged = problem.Error()
			m.o.Logger.Error("certificates are not in order", "err", problem)
		}
		if wait <= 0 || wait > m.o.Poll {
			wait = m.o.Poll
		}
		if err != nil {
			wait = min(wait, fails.Fail(time.Now()))
		} else {
			fails.Reset()
		}
		if err := m.sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// sleep waits for a wake-up, at most d.
func (m *Managed) sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-m.wake:
	case <-time.After(d):
	}
	return nil
}

// publish makes the result of a pass visible to Check and Stats.
func (m *Managed) publish(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.problems, m.err = m.keeper.problems, err
	stats := m.keeper.stats
	stats.Loads, stats.NotBefore, stats.NotAfter, stats.Errors = m.stats.Loads, m.stats.NotBefore, m.stats.NotAfter, m.stats.Errors
	m.stats = stats
	switch {
	case err == nil:
		m.failingSince = time.Time{}
	case m.failingSince.IsZero():
		m.failingSince = time.Now()
	}
	if err != nil {
		m.stats.Errors++
	}
}

// Check implements [Source]. It reports a Secret that cannot be used, targets that are missing or
// do not trust the certificate, rejected requests, and expiry. It reports an unreachable server
// only after a minute, because the serving certificate does not need it.
func (m *Managed) Check(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	p := m.pair.Load()
	if p == nil {
		return errors.Join(ErrNoCertificate, m.err)
	}
	if err := p.validity(keyServing+" of secret "+m.o.Namespace+"/"+m.o.Name, now); err != nil {
		return errors.Join(err, m.err)
	}
	var out []error
	for _, problem := range m.problems {
		if !temporary(problem) || now.Sub(m.failingSince) >= patience {
			out = append(out, problem)
		}
	}
	return errors.Join(out...)
}

// temporary reports whether err is a temporary failure of the server.
func temporary(err error) bool {
	_, unavailable := errors.AsType[*client.UnavailableError](err)
	_, timeout := errors.AsType[*client.TimeoutError](err)
	_, busy := errors.AsType[*client.TooManyRequestsError](err)
	_, broken := errors.AsType[*client.InternalError](err)
	return unavailable || timeout || busy || broken || errors.Is(err, context.DeadlineExceeded)
}
