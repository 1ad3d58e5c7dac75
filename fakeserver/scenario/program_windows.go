package scenario

import (
	"os"
	"os/exec"
)

func setOwnGroup(*exec.Cmd) {}

// terminateGroup kills: Windows cannot ask a program without a window to end.
func terminateGroup(p *os.Process) { _ = p.Kill() }

func killGroup(p *os.Process) { _ = p.Kill() }
