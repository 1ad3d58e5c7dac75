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

// stateFile pushes what a file says: for software that can write files and nothing else. It
// is a platform.Reader. So it is read before the first list goes out, read anew
// when everything is, and shown with the others by 'status'. What is wrong with the file is a
// note and not an error: an error would mean that devices are unknown, and hold back an empty
// list; and the Engine logs each new note once.
//
// The file says all that its writers say. What is no longer in it is taken back at once. A
// file that cannot be used changes nothing: what it said before ends with its lease.
type stateFile struct {
	file *files.StateFile
	path string
	log  *slog.Logger
	push func(engine.Push) (engine.Pushed, error)
	boot func() time.Time // when the machine was started; zero: nobody knows

	inForce map[statementKey]statement // what the Engine has taken
	future  futureTime
	notes   []health.Condition // of the last Read
}

// statementKey is of whom a file speaks, and for whom.
type statementKey struct{ product, serial, owner string }

// statement is what it says.
type statement struct {
	state map[devices.Field]devices.Tri
	until time.Time
}

// futureTime is a modification time that was to come when it was first seen, and when that was.
type futureTime struct{ written, seen time.Time }

// newStateFile reads the file at path and hands each state in it to push.
func newStateFile(path string, log *slog.Logger, push func(engine.Push) (engine.Pushed, error)) (*stateFile, error) {
	file, err := files.NewStateFile(path)
	if err != nil {
		return nil, err
	}
	return &stateFile{file: file, path: path, log: log, push: push, boot: power.Started}, nil
}

// Name is the name of the only one.
func (f *stateFile) Name() string { return "state-file" }

// Wait returns when the file may have changed.
func (f *stateFile) Wait(ctx context.Context) error { return f.file.Wait(ctx) }

// Close ends Wait. What was said stays until its lease ends.
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
	case errors.Is(err, fs.ErrNotExist): // who says nothing needs no file
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

// leaseStart is from when on leases run: when the file was written. So neither a restart of the
// agent nor a refresh gives new life to the word of software that has crashed. A time that is
// still to come, as after the clock was set back, is taken for the present, once: also when it has come.
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

// apply puts the states of a file that was written at the given time into force, and takes
// back what was said before and no longer is. New words come first: where one owner takes
// over from another, the flag does not fall back in between.
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
			inForce[of] = s // it was in force when the file was written, and is not again by a reading: its product may have left since
			continue
		}
		if err := f.pushStatement(of, before, s, p.Seq, now, written); err != nil {
			f.note(health.StateRefused, health.Args{"place": p.At, "reason": refusal(err).Error()})
			if known && (maps.Equal(before.state, s.state) || errors.Is(err, engine.ErrOvertaken)) {
				inForce[of] = before // else its own writer does not say it any more
			}
			continue
		}
		inForce[of] = s
	}
	for of, before := range f.inForce {
		if _, still := inForce[of]; still || !before.until.After(now) {
			continue
		}
		if err := f.pushStatement(of, before, statement{until: before.until}, 0, now, now); err != nil {
			f.log.Debug("state file: not taken back, it ends with its lease", "product", of.product, "owner", of.owner, "reason", err)
		}
	}
	f.inForce = inForce
}

// pushStatement pushes at now what was said when the file was written, until a time to come, in place of what was said before.
func (f *stateFile) pushStatement(of statementKey, before, next statement, seq uint64, now, written time.Time) error {
	state := make(map[devices.Field]devices.Tri)
	for field := range before.state {
		state[field] = devices.Unknown
	}
	maps.Copy(state, next.state)
	_, err := f.push(engine.Push{
		Product: of.product, Serial: of.serial, Owner: of.owner, Seq: seq,
		TTL: engine.Span(next.until.Sub(now)), Holder: stateFileHolder, State: state, At: written,
	})
	return err
}

// stateFileHolder is the holder of what a state file says.
const stateFileHolder = "state file"

// isOfStateFile reports whether the next agent reads that itself.
func isOfStateFile(in engine.Input) bool { return in.Push != nil && in.Push.Holder == stateFileHolder }

// statesOf is what a request says, where null takes a flag back.
func statesOf(said map[devices.Field]*bool) map[devices.Field]devices.Tri {
	state := make(map[devices.Field]devices.Tri, len(said))
	for field, value := range said {
		if state[field] = devices.Unknown; value != nil {
			state[field] = devices.Of(*value)
		}
	}
	return state
}
