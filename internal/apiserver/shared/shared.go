// Package shared has what the API servers of a process share. That is the client of the rules program, the memory of its
// answers, and the first objects of new states. It also runs functions outside of bubbles of testing/synctest.
package shared

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/memo"
	"github.com/flyball-io/flyball/internal/apiserver/rules"
	"github.com/flyball-io/flyball/internal/apiserver/tape"
	"github.com/flyball-io/flyball/test/plane"
)

// Answers remembers the answers of rules for all servers of the process.
var Answers = memo.New(64 << 20)

// own is what the first server of the process made for the others.
var own struct {
	sync.Mutex
	client *rules.Client
	kept   *memo.File // may be nil
	err    error
	begin  beginnings // may be nil
}

// Rules returns the client of the rules program that all servers share. The first call builds the program.
func Rules(ctx context.Context, progress io.Writer) (*rules.Client, error) {
	own.Lock()
	defer own.Unlock()
	if own.client == nil && own.err == nil {
		binary, err := Binary(ctx, progress)
		if err != nil {
			if ctx.Err() == nil { // a later call may have more time
				own.err = err
			}
			return nil, err
		}
		client := newClient(binary)
		if os.Getenv(plane.RulesEnv) != "" {
			if err := client.Check(); err != nil {
				client.Close()
				own.err = fmt.Errorf("apiserver: the rules program %s, which %s names: %w", binary, plane.RulesEnv, err)
				return nil, own.err
			}
		} else if kept, err := memo.Open(answersOf(binary)); err == nil { // without it all is asked anew
			own.kept = kept
			Answers.Use(kept)
		}
		own.client = client
	}
	return own.client, own.err
}

// Leave ends the connection to the rules program, and forgets what was made for it. Nobody may use the rules then. The
// next call of [Rules] begins anew.
func Leave() {
	own.Lock()
	defer own.Unlock()
	if own.client != nil {
		own.client.Close()
	}
	if own.kept != nil {
		Answers.Use(nil)
		own.kept.Close()
	}
	own.client, own.kept, own.err = nil, nil, nil
	clear(own.begin)
}

// answersOf returns the file that keeps the answers of a rules program.
func answersOf(binary string) string {
	return filepath.Join(filepath.Dir(binary), "answers-"+strings.TrimPrefix(filepath.Base(binary), "rules-")+"-"+memo.Version())
}

// Binary returns the file of the rules program, and builds it if that is necessary.
func Binary(ctx context.Context, progress io.Writer) (string, error) {
	if name := os.Getenv(plane.RulesEnv); name != "" {
		if _, err := os.Stat(name); err != nil {
			return "", fmt.Errorf("apiserver: the rules program that %s names: %w", plane.RulesEnv, err)
		}
		return filepath.Abs(name)
	}
	return plane.BuildRules(ctx, progress)
}

// Asks are the functions that ask the rules: First for the first objects, Later for requests.
type Asks struct {
	First, Later core.Rules
	// alone says that the server shares nothing with others: a tape has all that it asks.
	alone bool
}

// AsksFor returns the functions for a new server, which remember their answers in a memory. Virtual says that the time
// of the server begins anew in each process. The functions are those of the tape in ctx, if there is one.
func AsksFor(ctx context.Context, answers *memo.Memory, virtual bool, progress io.Writer) (Asks, error) {
	t := tape.From(ctx)
	if t != nil && t.Replays() {
		ask := core.Rules(t.Over(nil))
		return Asks{ask, ask, true}, nil
	}
	do, err := Ask(ctx, progress)
	if err != nil {
		return Asks{}, err
	}
	if t != nil {
		ask := core.Rules(t.Over(do))
		return Asks{ask, ask, true}, nil
	}
	again := memo.Creates
	if virtual {
		again = memo.All
	}
	return Asks{core.Rules(answers.Over(do, memo.First)), core.Rules(answers.Over(do, again)), false}, nil
}

// Ask returns the function by which a new server asks the rules, inside or outside of a bubble. It remembers nothing.
func Ask(ctx context.Context, progress io.Writer) (memo.Ask, error) {
	if !InBubble() {
		client, err := Rules(ctx, progress)
		if err != nil {
			return nil, err
		}
		return client.Do, nil
	}
	var client *rules.Client
	var err error
	// A context of a bubble cannot be used outside.
	if failed := Outside(func() { client, err = Rules(context.Background(), progress) }); failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	return Bubbled(client.Do), nil
}

// Bubbled returns a function that calls ask outside of the bubble of its caller.
func Bubbled(ask memo.Ask) memo.Ask {
	return func(req *rules.Request) (answer *rules.Answer, err error) {
		if failed := Outside(func() { answer, err = ask(req) }); failed != nil {
			return nil, failed
		}
		return answer, err
	}
}
