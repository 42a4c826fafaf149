package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
)

// compactKey is where API servers agree on who compacted last.
const compactKey = "compact_rev_key"

// readLines delivers r's lines and calls end after the last one.
func readLines(r io.Reader, end func()) <-chan string {
	lines := make(chan string)
	go func() {
		defer end()
		s := bufio.NewScanner(r)
		for s.Scan() {
			lines <- s.Text()
		}
	}()
	return lines
}

// runCommand answers one command line.
func runCommand(ctx context.Context, etcd *embed.Etcd, line string) string {
	switch line {
	case "compact":
		rev, err := compact(ctx, etcd)
		if err != nil {
			return "error: compact: " + err.Error()
		}
		return fmt.Sprint("compacted: ", rev)
	default:
		return fmt.Sprintf("error: unknown command %q", line)
	}
}

// compact drops all history before the current revision, in the way an API
// server does it, so that the one beside us learns of it and drops its
// snapshots too.
func compact(ctx context.Context, etcd *embed.Etcd) (int64, error) {
	client := v3client.New(etcd.Server)
	defer client.Close()
	got, err := client.Get(ctx, compactKey)
	if err != nil {
		return 0, err
	}
	rev := got.Header.Revision
	// An API server that had the key's earlier version in mind finds it changed, and lets us go first.
	if _, err := client.Put(ctx, compactKey, strconv.FormatInt(rev, 10)); err != nil {
		return 0, err
	}
	if _, err := client.Compact(ctx, rev); err != nil {
		return 0, err
	}
	return rev, nil
}
