//go:build linux && !cgo

package audio

// miniaudioLister returns nil: miniaudio is not part of this build.
func miniaudioLister() func() ([]alsaPCM, error) { return nil }
