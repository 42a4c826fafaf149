package measure

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/flyball-io/flyball/lab/bench/contend"
)

// patience is the timeout for an answer.
const patience = 15 * time.Minute

// process is a contender's process, as Run sees it.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *json.Encoder
	answers *json.Decoder
	began   time.Time
}

// start starts the program of a contender. It ends with ctx, and when its input is closed, which is
// also the case when this process ends in any way.
func start(ctx context.Context, program string, j contend.Job) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, program), began: time.Now()}
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.out, p.answers = json.NewEncoder(p.in), json.NewDecoder(bufio.NewReader(out))
	return p, p.out.Encode(j)
}

// ask sends a command and waits for the answer.
func (p *process) ask(format string, args ...any) (r contend.Report, err error) {
	command := fmt.Sprintf(format, args...)
	late := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	defer func() {
		if !late.Stop() && err != nil {
			err = fmt.Errorf("no answer within %s: %w", patience, err)
		}
	}()
	if err := p.out.Encode(command); err != nil {
		return r, fmt.Errorf("%s: %w", command, err)
	}
	if err := p.answers.Decode(&r); err != nil {
		return r, fmt.Errorf("%s: %w", command, err)
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}

// end ends the process and waits for its end.
func (p *process) end() error {
	p.in.Close()
	return p.cmd.Wait()
}
