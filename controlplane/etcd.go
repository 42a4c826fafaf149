package main

import (
	"errors"
	"net/url"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// etcdSocket is relative to the data directory, our working directory.
const etcdSocket = "unix://etcd.sock"

// etcdDir holds all that a backup of the cluster's state needs.
const etcdDir = "etcd"

// startEtcd starts etcd on a socket in the data directory and returns when
// it serves. It does not wait for the disk: a killed process loses nothing,
// since the kernel has its writes, and after a power failure nobody wants a
// test cluster back.
func startEtcd() (*embed.Etcd, error) {
	setSegmentSize(16 << 20) // allocated in advance, two at a time
	socket, err := url.Parse(etcdSocket)
	if err != nil {
		return nil, err
	}
	cfg := embed.NewConfig()
	cfg.Dir = etcdDir
	cfg.UnsafeNoFsync = true
	cfg.ListenClientUrls = []url.URL{*socket}
	cfg.ListenPeerUrls = nil // it has no peers, so nobody reads what it advertises either
	cfg.QuotaBackendBytes = 8 << 30
	cfg.LogLevel = "error"
	cfg.LogOutputs = []string{"stderr"}
	warnAfter(cfg, 2*time.Second, time.Second)
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, err
	}
	select {
	case <-e.Server.ReadyNotify():
		return e, nil
	case err = <-e.Err():
	case <-time.After(30 * time.Second):
		err = errors.New("not ready after 30 seconds")
	}
	e.Close()
	return nil, err
}
