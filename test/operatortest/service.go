package operatortest

import (
	"context"
	"io"
	"net"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/internal/manifest"
)

// service is the address where the API server calls the webhooks. Like the Service of a cluster it
// forwards each connection to one of the ready replicas in turn. If it publishes addresses that
// are not ready, it forwards to all that listen. Without a replica it resets the connection. A
// connection stays with its replica.
type service struct {
	notReady bool
	listener net.Listener
	work     sync.WaitGroup

	mu       sync.Mutex
	replicas []*flyball.Manager
	next     int
	conns    map[net.Conn]bool // nil: closed
}

// newService listens. It follows the rule of the Service among the objects, if there is one.
func newService(objs []manifest.Object) (*service, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &service{listener: l, conns: map[net.Conn]bool{}}
	for _, o := range objs {
		if o.GroupVersionKind().GroupKind().String() == "Service" {
			published, _, _ := unstructured.NestedBool(o.Object, "spec", "publishNotReadyAddresses")
			s.notReady = s.notReady || published
		}
	}
	s.work.Go(s.accept)
	return s, nil
}

func (s *service) url() string { return "https://" + s.listener.Addr().String() }

// setReplicas sets the replicas of the service.
func (s *service) setReplicas(to []*flyball.Manager) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas = to
}

// close ends the service and all its connections.
func (s *service) close() {
	_ = s.listener.Close()
	s.mu.Lock()
	for c := range s.conns {
		_ = c.Close()
	}
	s.conns = nil
	s.mu.Unlock()
	s.work.Wait()
}

func (s *service) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.work.Go(func() { s.serve(c.(*net.TCPConn)) })
	}
}

// serve copies the bytes of one connection to a replica and back.
func (s *service) serve(c *net.TCPConn) {
	defer s.track(c)()
	to := s.endpoint()
	if to == nil {
		_ = c.SetLinger(0)
		return
	}
	r, err := net.Dial("tcp", to.String())
	if err != nil {
		_ = c.SetLinger(0)
		return
	}
	defer s.track(r)()
	var both sync.WaitGroup
	both.Go(func() { copyUntilEOF(r.(*net.TCPConn), c) })
	both.Go(func() { copyUntilEOF(c, r.(*net.TCPConn)) })
	both.Wait()
}

// copyUntilEOF copies until the end of from, and then ends to.
func copyUntilEOF(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		_ = to.Close()
	}
	_ = to.CloseWrite()
}

// track registers c to be closed by close. end closes c.
func (s *service) track(c net.Conn) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		_ = c.Close()
		return func() {}
	}
	s.conns[c] = true
	return func() {
		_ = c.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.conns, c)
	}
}

// endpoint returns the address of the next replica in turn, or nil if there is none.
func (s *service) endpoint() net.Addr {
	s.mu.Lock()
	replicas, first := s.replicas, s.next
	s.next++
	s.mu.Unlock()
	for i := range replicas {
		m := replicas[(first+i)%len(replicas)]
		addr := m.Addrs().Webhooks
		if addr != nil && (s.notReady || m.Ready().Err(context.Background()) == nil) {
			return addr
		}
	}
	return nil
}
