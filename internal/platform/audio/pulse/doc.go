// Package pulse is a small client of the PulseAudio native protocol, which PulseAudio and PipeWire (pipewire-pulse) both speak. It lists
// sound devices and modules, and tells when they change. It never plays or records. It copes with any server: every request has a
// deadline, malformed data is an error and never a panic, and Conn.Done reports a lost connection.
package pulse
