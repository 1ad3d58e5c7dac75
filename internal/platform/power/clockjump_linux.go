package power

import (
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"sidetone/internal/platform/linux"
)

// watchClockJumps calls set each time the wall clock has jumped against the monotonic one, as it does when the machine wakes, and broke
// when it can watch no longer. It costs nothing in between. Neither may block.
func watchClockJumps(set, broke func()) (*linux.Reader, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("watch the wall clock: %w", err)
	}
	// Its cancellation is the event. If it ever expires, set is called once too often.
	far := unix.ItimerSpec{Value: unix.Timespec{Sec: math.MaxInt32}}
	if err := unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, &far, nil); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("watch the wall clock: %w", err)
	}
	file := os.NewFile(uintptr(fd), "wall clock")
	buf := make([]byte, 8)
	step := func() error {
		_, err := file.Read(buf)
		if err != nil && !errors.Is(err, unix.ECANCELED) {
			return fmt.Errorf("watch the wall clock: %w", err)
		}
		set()
		return nil
	}
	return linux.StartReader(file, step, broke), nil
}
