package serve

import "strings"

// errorLog receives the messages of net/http. Any client can cause most of them, for instance by
// failed handshakes.
type errorLog struct{ s *Server }

func (e errorLog) Write(line []byte) (int, error) {
	e.s.netLog.Next(e.s.o.Logger).Debug("connection failed", "err", strings.TrimSpace(string(line)))
	return len(line), nil
}
