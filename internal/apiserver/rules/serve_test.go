// Code generated from controlplane/rules/serve.go by TestProtocolIsThatOfTheProgram. DO NOT EDIT.

package rules

import (
	"bufio"
	"errors"
	"io"
	"runtime"
	"sync"
)

// program answers the requests of any number of clients.
type program struct {
	answer func(*Request) *Answer
	frame  int           // the most that the length of a frame may be
	busy   chan struct{} // has an element for each answer that is being made
}

// Bounds for each processor. A client whose answers are slow, or that does not read them, has its share and no more.
const (
	sharePerProcessor = 4
	busyPerProcessor  = 16
)

func newProgram(answer func(*Request) *Answer, frame int) *program {
	return &program{answer: answer, frame: frame, busy: make(chan struct{}, busyPerProcessor*runtime.GOMAXPROCS(0))}
}

// serve answers the requests of one client until in ends.
func (p *program) serve(in io.Reader, out io.Writer) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	var mu sync.Mutex
	r := bufio.NewReaderSize(in, 1<<16)
	share := make(chan struct{}, sharePerProcessor*runtime.GOMAXPROCS(0))
	for {
		var req Request
		id, err := ReadFrame(r, &req, p.frame)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		share <- struct{}{}
		wg.Go(func() {
			defer func() { <-share }()
			p.busy <- struct{}{}
			answer := p.answer(&req)
			<-p.busy
			mu.Lock()
			defer mu.Unlock()
			// A client that has disconnected gets no answer; the next read ends.
			if err := WriteFrame(out, id, answer, p.frame); errors.Is(err, ErrTooLarge) {
				_ = WriteFrame(out, id, nil, p.frame)
			}
		})
	}
}
