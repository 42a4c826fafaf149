package contender

import "fmt"

// Library is one of the compared libraries. Each contender's program has exactly one, so that its
// process is as large as that of a user.
type Library struct {
	// Name is one of Libraries.
	Name string
	// New makes a contender from options that were checked. It may silence the logs of the process.
	New func(Options) (Contender, error)
	// NewQueue makes a work queue.
	NewQueue func() (Queue, error)
}

// Open makes the named contender, which must be one of this library. The best settings of the name
// are added to the options.
func (l Library) Open(name Name, o Options) (Contender, error) {
	if name.Library != l.Name {
		return nil, fmt.Errorf("contender of %s: this program has %s", name.Library, l.Name)
	}
	o.Best = o.Best || name.Best
	if err := o.check(); err != nil {
		return nil, err
	}
	return l.New(o)
}
