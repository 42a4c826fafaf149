package workload

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// schedule is the schedule of a CronJob.
type schedule struct {
	every time.Duration // of "@every"; zero for the fields
	// The fields, each as a set of bits: bit n is the value n.
	minute, hour, day, month, weekday uint64
	anyDay, anyWeekday                bool
	zone                              *time.Location
}

// field is a part of a schedule.
type field struct {
	name     string
	low, top int
	names    []string // of the values from low on
}

var fields = []field{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of month", 1, 31, nil},
	{"month", 1, 12, strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
	{"day of week", 0, 6, strings.Fields("sun mon tue wed thu fri sat")},
}

var macros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// parseSchedule reads a schedule: five fields, or a macro such as @hourly, with TZ=Zone or CRON_TZ=Zone before it.
func parseSchedule(text string, zone *time.Location) (*schedule, error) {
	s := &schedule{zone: zone}
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		first, rest, _ := strings.Cut(text, " ")
		_, name, _ := strings.Cut(first, "=")
		var err error
		if s.zone, err = time.LoadLocation(name); err != nil {
			return nil, fmt.Errorf("the time zone %q: %w", name, err)
		}
		text = strings.TrimSpace(rest)
	}
	if d, ok := strings.CutPrefix(text, "@every "); ok {
		every, err := time.ParseDuration(d)
		if err != nil {
			return nil, err
		}
		s.every = max(every.Truncate(time.Second), time.Second)
		return s, nil
	}
	if strings.HasPrefix(text, "@") {
		if macros[text] == "" {
			return nil, fmt.Errorf("the schedule %q is not known", text)
		}
		text = macros[text]
	}
	parts := strings.Fields(text)
	if len(parts) != len(fields) {
		return nil, fmt.Errorf("the schedule %q has %d fields, want %d", text, len(parts), len(fields))
	}
	for i, into := range []*uint64{&s.minute, &s.hour, &s.day, &s.month, &s.weekday} {
		bits, err := fields[i].parse(parts[i])
		if err != nil {
			return nil, err
		}
		*into = bits
	}
	s.anyDay, s.anyWeekday = isAny(parts[2]), isAny(parts[4])
	return s, nil
}

// isAny reports whether a field allows any value, by * or ?, alone or in a list.
func isAny(text string) bool {
	for part := range strings.SplitSeq(text, ",") {
		base, step, _ := strings.Cut(part, "/")
		if (base == "*" || base == "?") && (step == "" || step == "1") {
			return true
		}
	}
	return false
}

// parse reads a list of values, ranges and steps.
func (f field) parse(text string) (bits uint64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		base, step, stepped := strings.Cut(part, "/")
		from, to, ranged := strings.Cut(base, "-")
		low, high, width := f.low, f.top, 1
		if from != "*" && from != "?" {
			if low, err = f.value(from); err != nil {
				return 0, err
			}
			if high = low; stepped {
				high = f.top
			}
		}
		if ranged {
			if high, err = f.value(to); err != nil {
				return 0, err
			}
		}
		if stepped {
			if width, err = strconv.Atoi(step); err != nil || width <= 0 {
				return 0, fmt.Errorf("the %s %q has no step", f.name, part)
			}
		}
		if low < f.low || high > f.top || low > high {
			return 0, fmt.Errorf("the %s %q is not within %d and %d", f.name, part, f.low, f.top)
		}
		for i := low; i <= high; i += width {
			bits |= 1 << i
		}
	}
	return bits, nil
}

func (f field) value(text string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(name, text) {
			return f.low + i, nil
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("the %s %q is no number", f.name, text)
	}
	return n, nil
}

// next returns the first time after t; the zero time if there is none within five years.
func (s *schedule) next(t time.Time) time.Time {
	if s.every > 0 {
		return t.Truncate(time.Second).Add(s.every)
	}
	origin := t.Location()
	zone := s.zone
	if zone == nil {
		zone = origin
	}
	t = t.In(zone).Truncate(time.Minute).Add(time.Minute)
	limit := t.Year() + 5
	for t.Year() <= limit {
		switch {
		case s.month>>int(t.Month())&1 == 0:
			t = time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, zone)
		case !s.onDay(t):
			t = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, zone)
		case s.hour>>t.Hour()&1 == 0:
			t = t.Truncate(time.Minute).Add(time.Duration(60-t.Minute()) * time.Minute)
		case s.minute>>t.Minute()&1 == 0:
			t = t.Add(time.Minute)
		default:
			return t.In(origin)
		}
	}
	return time.Time{}
}

// onDay reports whether the day is one of the schedule. If both kinds of days are restricted, one is enough.
func (s *schedule) onDay(t time.Time) bool {
	day, weekday := s.day>>t.Day()&1 == 1, s.weekday>>int(t.Weekday())&1 == 1
	if s.anyDay || s.anyWeekday {
		return day && weekday
	}
	return day || weekday
}
