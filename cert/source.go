package cert

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

var (
	// ErrNoCertificate says that a source has nothing to serve yet.
	ErrNoCertificate = errors.New("no certificate yet")
)

// Source is where a server has its certificate from: [Files] or [Managed]. All methods may be
// called from any goroutine.
type Source interface {
	// GetCertificate is for a tls.Config. It never blocks; ErrNoCertificate until Ready.
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Run keeps the certificate up to date until ctx ends, and returns its cause. Afterwards the
	// last certificate still serves, and Run may be called again.
	Run(ctx context.Context) error
	// Ready is closed once there is a certificate to serve.
	Ready() <-chan struct{}
	// Check is nil when all is in order, else it says what is not, also while an older
	// certificate still serves. It does not block and asks nobody: it tells what Run last saw.
	Check(ctx context.Context) error
	// Expiry is when the chain that serves expires: the earliest end in it. Zero: none serves.
	Expiry() time.Time
	// Stats counts, for metrics.
	Stats() Stats
}

// Stats are the figures of a [Source]. All counters only grow.
type Stats struct {
	// Reads of the files or of the Secret, and how many of them, or of what followed from them,
	// failed.
	Reads, Errors uint64
	// Loads is how often a new certificate was put into service, the first included.
	Loads uint64
	// NotBefore and NotAfter of the chain that serves; zero: none does.
	NotBefore, NotAfter time.Time

	// Authorities is how many CAs the bundle has. This and what follows is of Managed only.
	Authorities int
	// AuthorityNotAfter is when the CA that signs expires.
	AuthorityNotAfter time.Time
	// Issued is how many serving certificates, and Founded how many CAs this replica made.
	Issued, Founded uint64
	// Injected is how often this replica wrote the bundle into a target.
	Injected uint64
}

// TLS is the configuration of a server that serves the certificates of a source: TLS 1.2 or newer,
// and HTTP/1.1 only. It belongs to the caller, who may change it before use.
func TLS(s Source) *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
		GetCertificate: s.GetCertificate,
	}
}

// MismatchError says that a key is not that of the certificate.
type MismatchError struct {
	// Cert and Key are where they are from: file names, or the keys of a Secret.
	Cert, Key string
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("certificate %s does not match key %s", e.Cert, e.Key)
}

// FormatError says that a certificate or a key cannot be read as what it should be.
type FormatError struct {
	// Name of the file, or of the key in the Secret.
	Name string
	// Problem in plain words.
	Problem string
	// Err is what the parser said; nil: nothing.
	Err error
}

func (e *FormatError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s %s: %v", e.Name, e.Problem, e.Err)
	}
	return e.Name + " " + e.Problem
}

// Unwrap returns what the parser said.
func (e *FormatError) Unwrap() error { return e.Err }

// ValidityError says that a chain is expired, or not valid yet.
type ValidityError struct {
	// Name of the file, or of the key in the Secret.
	Name string
	// NotBefore and NotAfter bound the validity of the whole chain.
	NotBefore, NotAfter time.Time
	// Now is when it was looked at.
	Now time.Time
}

func (e *ValidityError) Error() string {
	if e.Now.Before(e.NotBefore) {
		return fmt.Sprintf("certificate %s is not valid before %s", e.Name, e.NotBefore.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("certificate %s expired at %s", e.Name, e.NotAfter.UTC().Format(time.RFC3339))
}

// service is what serves now.
type service struct {
	pair  atomic.Pointer[pair]
	ready chan struct{}
}

func newService() service { return service{ready: make(chan struct{})} }

// load puts a pair into service. It is for one goroutine.
func (s *service) load(p *pair) {
	if s.pair.Swap(p) == nil {
		close(s.ready)
	}
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

var (
	_ Source = (*Files)(nil)
	_ Source = (*Managed)(nil)
)
