package rules_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// A request or an answer of any size around the bound of a frame is passed whole, or is an error that names the request.
// The process, and the requests beside it, notice nothing.
func TestFramesThatAreTooLarge(t *testing.T) {
	const most = 1 << 14
	// size returns the length of a frame.
	size := func(message any) int {
		text, err := rules.AppendMessage(nil, message)
		if err != nil {
			t.Fatal(err)
		}
		return 8 + len(text)
	}
	check := func(t *testing.T, binary string, c *rules.Client) {
		pid := get(t, c, "/pid")
		var wg sync.WaitGroup
		end := make(chan struct{})
		for range 3 {
			wg.Go(func() {
				for {
					select {
					case <-end:
						return
					default:
					}
					if answer, err := c.Do(&rules.Request{URL: "/pid"}); err != nil || string(answer.Body) != pid {
						t.Errorf("a request beside those that are too large: %v, want the answer of %s", err, pid)
						return
					}
				}
			})
		}
		for _, n := range []int{1, 100, most / 2, most - 3, most - 2, most - 1, most, most + 1, most + 2, most + 3, most + 4, most + 5, most + 12, 2 * most, 10 * most} {
			for _, direction := range []string{"request", "answer"} {
				req := &rules.Request{Method: "GET", URL: "/sized/" + strings.Repeat("0", 8)}
				answer := &rules.Answer{Code: 200}
				if direction == "request" {
					req.Body = make([]byte, n)
					req.Body = make([]byte, max(0, 2*n-size(req)))
				} else {
					answer.Body = make([]byte, n)
					answer.Body = make([]byte, max(0, 2*n-size(answer)))
					req.URL = fmt.Sprintf("/sized/%08d", len(answer.Body))
				}
				got, err := c.Do(req)
				switch large := max(size(req), size(answer)) > most; {
				case large && (!errors.Is(err, rules.ErrTooLarge) || !strings.Contains(err.Error(), "GET "+req.URL+": the "+direction+" is too large")):
					t.Errorf("a %s of %d bytes of %d: %v", direction, n, most, err)
				case !large && (err != nil || len(got.Body) != len(answer.Body)):
					t.Errorf("a %s of %d bytes of %d: %v", direction, n, most, err)
				}
			}
		}
		close(end)
		wg.Wait()
		if now := get(t, c, "/pid"); now != pid {
			t.Errorf("the program %s has ended: now it is %s", pid, now)
		}
	}
	t.Run("own", func(t *testing.T) {
		binary := role(t, fakeName)
		c := rules.New(binary, rules.Options{Frame: most})
		t.Cleanup(c.Close)
		check(t, binary, c)
	})
	if share != nil {
		t.Run("shared", func(t *testing.T) {
			binary := role(t, fakeName)
			check(t, binary, share(t, binary, rules.Options{Frame: most, Idle: time.Minute}))
		})
	}
}
