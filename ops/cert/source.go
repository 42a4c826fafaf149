package cert

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flyball-io/flyball/run"
)

// ErrNoCertificate says that a source has no certificate yet.
var ErrNoCertificate = errors.New("no certificate yet")

// Source provides the certificate of a server. [Files] and [Managed] implement it. Any goroutine
// may call its methods.
type Source interface {
	// GetCertificate is for a tls.Config. It never blocks. It returns ErrNoCertificate until Ready
	// is closed.
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Run keeps the certificate up to date until ctx ends, and returns the cause of ctx. Afterwards
	// the last certificate still serves, and Run may be called again.
	Run(ctx context.Context) error
	// Ready is closed once there is a certificate to serve.
	Ready() <-chan struct{}
	// Check returns nil if everything is in order, otherwise the problem, even while an older
	// certificate still serves. It does not block and sends no request: it reports the last result
	// of Run.
	Check(ctx context.Context) error
	// Expiry returns when the serving chain expires: the earliest end in it. Zero means that none
	// serves.
	Expiry() time.Time
	// Stats returns counters for metrics.
	Stats() Stats
}

// Stats are the figures of a [Source]. All counters only grow.
type Stats struct {
	// Reads counts reads of the files or of the Secret. Errors counts those that failed, or whose
	// result could not be used.
	Reads, Errors uint64
	// Loads counts the certificates put into service, the first included.
	Loads uint64
	// NotBefore and NotAfter of the serving chain. Zero means that none serves.
	NotBefore, NotAfter time.Time

	// Authorities is the number of CAs in the bundle. This and the fields below are of Managed
	// only.
	Authorities int
	// AuthorityNotAfter is when the signing CA expires.
	AuthorityNotAfter time.Time
	// Issued is the number of serving certificates that this replica made, and Founded the number
	// of CAs.
	Issued, Founded uint64
	// Injected is the number of times that this replica wrote the bundle into a target.
	Injected uint64
}

// TLS returns the configuration of a server with the certificates of a source: TLS 1.2 or newer,
// and HTTP/1.1 only. It belongs to the caller, who may change it before use.
func TLS(s Source) *tls.Config { return serverConfig(s.GetCertificate) }

func serverConfig(get func(*tls.ClientHelloInfo) (*tls.Certificate, error)) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: get}
}

// MismatchError says that a key does not match the certificate.
type MismatchError struct {
	// Cert and Key name their origin: files, or keys of a Secret.
	Cert, Key string
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("certificate %s does not match key %s", e.Cert, e.Key)
}

// FormatError says that a certificate or a key cannot be parsed.
type FormatError struct {
	// Name of the file, or of the key in the Secret.
	Name string
	// Problem in plain words.
	Problem string
	// Err is the error of the parser, or nil.
	Err error
}

func (e *FormatError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s %s: %v", e.Name, e.Problem, e.Err)
	}
	return e.Name + " " + e.Problem
}

// Unwrap returns the error of the parser.
func (e *FormatError) Unwrap() error { return e.Err }

// ValidityError says that a chain has expired or is not valid yet.
type ValidityError struct {
	// Name of the file, or of the key in the Secret.
	Name string
	// NotBefore and NotAfter bound the validity of the whole chain.
	NotBefore, NotAfter time.Time
	// Now is the time of the check.
	Now time.Time
}

func (e *ValidityError) Error() string {
	if e.Now.Before(e.NotBefore) {
		return fmt.Sprintf("certificate %s is not valid before %s", e.Name, e.NotBefore.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("certificate %s expired at %s", e.Name, e.NotAfter.UTC().Format(time.RFC3339))
}

// service is what the sources have in common: the serving pair and the figures.
type service struct {
	pair  atomic.Pointer[pair]
	ready chan struct{}
	runs  atomic.Bool

	mu    sync.Mutex
	stats Stats
}

func newService() service { return service{ready: make(chan struct{})} }

// begin marks the source as running.
func (s *service) begin() error {
	if !s.runs.CompareAndSwap(false, true) {
		return fmt.Errorf("certificate source: %w", run.ErrRunning)
	}
	return nil
}

// load puts a pair into service. One goroutine at a time may call it.
func (s *service) load(p *pair) {
	if s.pair.Swap(p) == nil {
		close(s.ready)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Loads++
	s.stats.NotBefore, s.stats.NotAfter = p.notBefore, p.notAfter
}

// GetCertificate implements [Source].
func (s *service) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p := s.pair.Load()
	if p == nil {
		return nil, ErrNoCertificate
	}
	return &p.cert, nil
}

// Ready implements [Source].
func (s *service) Ready() <-chan struct{} { return s.ready }

// Expiry implements [Source].
func (s *service) Expiry() time.Time {
	if p := s.pair.Load(); p != nil {
		return p.notAfter
	}
	return time.Time{}
}

// Stats implements [Source].
func (s *service) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

var (
	_ Source = (*Files)(nil)
	_ Source = (*Managed)(nil)
)
