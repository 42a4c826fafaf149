package main

import (
	"math"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// mostStored is the size of the largest request that etcd stores.
	mostStored = 3 << 19
	// mostSent is the size of the largest message that a client of etcd sends.
	mostSent = 2 << 20
	// muchText is the length of a JSON text whose stored form may be too large. That form is less than twice as long.
	muchText = mostStored / 2
)

// fits returns the error of etcd, or of its client, about an object that is too large to be stored; nil if it is not.
// The handlers know these errors, and try again without managed fields. obj is left as it would be stored, without a
// version. old is nil for a new object.
func (s *callStorage) fits(key string, obj, old runtime.Object) error {
	var version uint64
	if old != nil {
		var err error
		if version, err = s.ObjectResourceVersion(old); err != nil {
			return err
		}
	}
	if err := s.PrepareObjectForStorage(obj); err != nil {
		return err
	}
	codec := s.codec
	if p, ok := codec.(protobufJSON); ok {
		codec = p.stored
	}
	value, err := runtime.Encode(codec, obj)
	if err != nil {
		return err
	}
	put := putRequest(registryKey(key), value, int64(version))
	if n := put.Size(); n > mostSent {
		return status.Errorf(codes.ResourceExhausted, "trying to send message larger than max (%d vs. %d)", n, mostSent)
	}
	// The number of a request of etcd takes nearly all bytes that it may.
	logged := &pb.InternalRaftRequest{Header: &pb.RequestHeader{ID: math.MaxUint64}, Txn: put}
	if logged.Size() > mostStored {
		return rpctypes.ErrRequestTooLarge
	}
	return nil
}

// putRequest returns the request that stores a value in etcd. version is that of the value before; 0 if there is none.
func putRequest(key string, value []byte, version int64) *pb.TxnRequest {
	r := &pb.TxnRequest{
		Compare: []*pb.Compare{{Key: []byte(key), Target: pb.Compare_MOD, TargetUnion: &pb.Compare_ModRevision{ModRevision: version}}},
		Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(key), Value: value}}}},
	}
	if version != 0 {
		r.Failure = []*pb.RequestOp{{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: []byte(key)}}}}
	}
	return r
}

// refuse prepares the call for another attempt after a write that was too large. The next write has its version, unless
// another one has come after it. A new object has another uid, and so have the reviews of webhooks, which are asked again.
func (c *call) refuse(version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version == version {
		c.version--
	}
	if c.uid != "" {
		c.uid = derived(c.uid, "again", nil)
	}
}
