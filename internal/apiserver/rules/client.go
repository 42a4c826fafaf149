// Package rules asks the rules program, which answers requests of the Kubernetes API by the real
// strategies. A [Client] runs the program and speaks with it over a pipe. One program serves any number of
// servers: an answer depends on nothing but its [Request].
//
//	Client.Do ──▶ frame ──▶ stdin  ┌───────────────┐
//	          ◀── frame ◀── stdout │ rules program │   one goroutine of the client reads answers
//	                               └───────────────┘
//
// A program that ends is started again. Each request that it has not answered is then asked once more, of a program of
// its own: a request that crashes every program takes no other with it. Its error has the last lines of the log.
package rules

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
)

// keptLog bounds the bytes of the program's log in an error.
const keptLog = 4096

// errClosed is the error of requests after Close.
var errClosed = errors.New("rules: the client is closed")

// Client runs the rules program. It is safe for concurrent use. Close ends the program.
type Client struct {
	binary string

	mu     sync.Mutex
	run    *process
	closed bool

	alone sync.Mutex // held while doAlone runs a program
}

// New returns a client of the rules program in the file binary. The first request starts the program.
func New(binary string) *Client { return &Client{binary: binary} }

// Do returns the answer to a request. Concurrent requests are answered concurrently. It blocks until the program
// answers, or has ended twice.
func (c *Client) Do(req *Request) (*Answer, error) {
	p, err := c.running()
	if err != nil {
		return nil, err
	}
	answer, err := p.do(req)
	if err == nil {
		return answer, nil
	}
	c.forget(p)
	return c.doAlone(req)
}

// doAlone asks a program that is started for this request. One request at a time does so.
func (c *Client) doAlone(req *Request) (*Answer, error) {
	c.alone.Lock()
	defer c.alone.Unlock()
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	p, err := c.start()
	if err != nil {
		return nil, err
	}
	defer p.close()
	answer, err := p.do(req)
	if err != nil {
		return nil, fmt.Errorf("rules: %s %s was asked twice and ended the rules program twice: %w", req.Method, req.URL, err)
	}
	return answer, nil
}

// running returns the shared process, and starts it if it does not run.
func (c *Client) running() (*process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed
	}
	if c.run == nil {
		p, err := c.start()
		if err != nil {
			return nil, err
		}
		c.run = p
	}
	return c.run, nil
}

func (c *Client) start() (*process, error) {
	p, err := start(c.binary)
	if err != nil {
		return nil, fmt.Errorf("rules: start of the rules program: %w", err)
	}
	return p, nil
}

// forget drops a process that has ended, so that the next request starts another one.
func (c *Client) forget(p *process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run == p {
		c.run = nil
	}
}

// PID returns the id of the shared process; 0 if none runs.
func (c *Client) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run == nil {
		return 0
	}
	return c.run.cmd.Process.Pid
}

// Close ends the program and waits for its end. Requests that wait for an answer fail.
func (c *Client) Close() {
	c.mu.Lock()
	p := c.run
	c.run, c.closed = nil, true
	c.mu.Unlock()
	if p != nil {
		p.close()
	}
	c.alone.Lock() // wait for doAlone
	defer c.alone.Unlock()
}

// process is one run of the program.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	done  chan struct{} // closed when err is set
	err   error

	writing sync.Mutex

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan *Answer
}

func start(binary string) (*process, error) {
	p := &process{cmd: exec.Command(binary), done: make(chan struct{}), waiting: map[uint64]chan *Answer{}}
	var log tail
	p.cmd.Stderr = &log
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		err := p.read(bufio.NewReaderSize(stdout, 1<<16))
		p.stdin.Close()
		if !errors.Is(err, io.EOF) {
			_ = p.cmd.Process.Kill() // its output is not of this protocol
		}
		if end := p.cmd.Wait(); end != nil && errors.Is(err, io.EOF) {
			err = end
		}
		p.err = fmt.Errorf("the program ended: %w%s", err, log.text())
	}()
	return p, nil
}

// read passes each answer to its waiting request, until the program ends.
func (p *process) read(r io.Reader) error {
	for {
		answer := &Answer{}
		id, err := ReadFrame(r, answer)
		if err != nil {
			return err
		}
		p.mu.Lock()
		ch := p.waiting[id]
		delete(p.waiting, id)
		p.mu.Unlock()
		if ch != nil {
			ch <- answer
		}
	}
}

// close ends the program and waits for its end.
func (p *process) close() {
	p.stdin.Close()
	<-p.done
}

func (p *process) do(req *Request) (*Answer, error) {
	ch := make(chan *Answer, 1)
	p.mu.Lock()
	p.last++
	id := p.last
	p.waiting[id] = ch
	p.mu.Unlock()

	p.writing.Lock()
	err := WriteFrame(p.stdin, id, req)
	p.writing.Unlock()
	if err != nil {
		p.stdin.Close() // the program cannot read the frames after one that is cut
	}
	select {
	case answer := <-ch:
		return answer, nil
	case <-p.done:
		return nil, p.err
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, b...)
	t.data = t.data[max(0, len(t.data)-keptLog):]
	return len(b), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(bytes.ToValidUTF8(t.data, nil)))
	if text == "" {
		return ""
	}
	return "\n\t" + strings.ReplaceAll(text, "\n", "\n\t")
}
