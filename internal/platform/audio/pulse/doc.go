// Package pulse is a small client of the PulseAudio native protocol, which PulseAudio and
// PipeWire (pipewire-pulse) both speak. It lists sound devices and modules and tells when
// they change. It never plays or records, and it is written to outlive any server: every
// request has a deadline, malformed data is an error and never a panic, and a lost
// connection is reported through Conn.Done.
package pulse
