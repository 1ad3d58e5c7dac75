package app

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"time"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/engine"
	"sidetone/internal/health"
	"sidetone/internal/platform/files"
	"sidetone/internal/platform/power"
)

// stateFile pushes the content of a file, for software that can do no more than write files. It is a platform.Reader, so it is read before
// the first list goes out, read again when everything is, and shown with the other sources by 'status'. What is wrong with the file is a
// note and not an error: an error would mean that devices are unknown, and hold back an empty list. The Engine logs each new note once.
//
// The file is everything that its writers say. A statement that is no longer in it is taken back at once. A file that cannot be used
// changes nothing: what it said before ends with its lease.
type stateFile struct {
	file *files.StateFile
	path string
	log  *slog.Logger
	push func(engine.Push) (engine.Pushed, error)
	boot func() time.Time // when the machine was started; zero: unknown

	inForce map[statementKey]statement // what the Engine has accepted
	future  futureTime
	notes   []health.Condition // of the last Read
}

// statementKey says which unit a statement is about, and whose it is.
type statementKey struct{ product, serial, owner string }

// statement is what a file says of a unit.
type statement struct {
	state map[devices.Field]devices.Tri
	until time.Time
}

// futureTime is a modification time that was in the future when it was first seen, and when that was.
type futureTime struct{ written, seen time.Time }

// newStateFile returns the source of the file at path, which calls push for each statement.
func newStateFile(path string, log *slog.Logger, push func(engine.Push) (engine.Pushed, error)) (*stateFile, error) {
	file, err := files.NewStateFile(path)
	if err != nil {
		return nil, err
	}
	return &stateFile{file: file, path: path, log: log, push: push, boot: power.Started}, nil
}

// Name returns the name of the only state file.
func (f *stateFile) Name() string { return "state-file" }

// Wait returns when the file may have changed.
func (f *stateFile) Wait(ctx context.Context) error { return f.file.Wait(ctx) }

// Close ends Wait. What was said stays in force until its lease ends.
func (f *stateFile) Close() error { return f.file.Close() }

// Notes says why the file, or a state in it, has no effect.
func (f *stateFile) Notes() []health.Condition { return f.notes }

// Read reads the file and pushes what it says.
func (f *stateFile) Read(ctx context.Context) error {
	content, err := f.file.Read(ctx)
	f.notes = f.file.Notes()
	var pushes []control.StatedPush
	switch {
	case err == nil:
		pushes, err = control.ParseStates(f.path, content.Data)
	case errors.Is(err, fs.ErrNotExist): // without a file nothing is said
		err = nil
	}
	if err != nil {
		f.note(health.StateFileWrong, health.Args{"reason": err.Error()})
		return nil
	}
	if len(pushes) > 0 && content.Written.Before(f.boot()) {
		f.note(health.StateFileOld, health.Args{"path": f.path})
		pushes = nil
	}
	f.apply(pushes, f.leaseStart(content.Written))
	return nil
}

func (f *stateFile) note(code health.Code, args health.Args) {
	f.notes = append(f.notes, health.Condition{Code: code, Severity: health.Warning, Args: args})
}

// leaseStart returns when leases began: when the file was written. So neither a restart of the agent nor a refresh extends the statements
// of software that has crashed. A time in the future, as after the clock was set back, counts as the moment at which it was first seen,
// even when it has come.
func (f *stateFile) leaseStart(written time.Time) time.Time {
	now := time.Now().Round(0) // by the clock on the wall, as the file's time
	switch {
	case f.future.written.Equal(written):
		return f.future.seen
	case !written.After(now):
		return written
	}
	f.future = futureTime{written, now}
	f.log.Debug("state file: written in the future, taken for written now", "path", f.path, "written", written)
	return now
}

// apply puts the statements of a file that was written at the given time into force, and takes back those that are no longer in it. New
// ones come first: if one owner takes over from another, the flag does not fall back in between.
func (f *stateFile) apply(pushes []control.StatedPush, written time.Time) {
	now := time.Now().Round(0)
	inForce := make(map[statementKey]statement)
	for _, p := range pushes {
		of := statementKey{p.Product, p.Serial, p.Owner}
		s := statement{statesOf(p.State), written.Add(time.Duration(p.TTLms) * time.Millisecond)}
		if !s.until.After(now) {
			f.log.Debug("state file: the lease has run out", "at", p.At, "product", p.Product, "owner", p.Owner, "ended", s.until)
			continue
		}
		before, known := f.inForce[of]
		if known && before.until.Equal(s.until) && maps.Equal(before.state, s.state) {
			inForce[of] = s // reading the file again does not put it into force again: its product may have left since
			continue
		}
		if err := f.pushStatement(of, before, s, now, written); err != nil {
			f.note(health.StateRefused, health.Args{"place": p.At, "reason": refusal(err).Error()})
			if known && maps.Equal(before.state, s.state) {
				inForce[of] = before // otherwise its own writer no longer says it
			}
			continue
		}
		inForce[of] = s
	}
	for of, before := range f.inForce {
		if _, still := inForce[of]; still || !before.until.After(now) {
			continue
		}
		if err := f.pushStatement(of, before, statement{until: before.until}, now, now); err != nil {
			f.log.Debug("state file: not taken back, it ends with its lease", "product", of.product, "owner", of.owner, "reason", err)
		}
	}
	f.inForce = inForce
}

// pushStatement replaces what was said before by what the file said when it was written. Its lease runs from now until next.until. The
// newest file counts, whatever its writer's seq.
func (f *stateFile) pushStatement(of statementKey, before, next statement, now, written time.Time) error {
	state := make(map[devices.Field]devices.Tri)
	for field := range before.state {
		state[field] = devices.Unknown
	}
	maps.Copy(state, next.state)
	_, err := f.push(engine.Push{
		Product: of.product, Serial: of.serial, Owner: of.owner,
		TTL: engine.Span(next.until.Sub(now)), Holder: stateFileHolder, State: state, At: written,
	})
	return err
}

// stateFileHolder is the holder of what a state file says.
const stateFileHolder = "state file"

// isOfStateFile reports whether an input comes from the state file, which the next agent reads itself.
func isOfStateFile(in engine.Input) bool { return in.Push != nil && in.Push.Holder == stateFileHolder }

// statesOf returns what a request says, in which null takes a flag back.
func statesOf(said map[devices.Field]*bool) map[devices.Field]devices.Tri {
	state := make(map[devices.Field]devices.Tri, len(said))
	for field, value := range said {
		if state[field] = devices.Unknown; value != nil {
			state[field] = devices.Of(*value)
		}
	}
	return state
}
