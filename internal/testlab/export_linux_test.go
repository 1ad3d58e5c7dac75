package testlab

// ProcessGroup returns the number of the server's process group.
func (s *SoundServer) ProcessGroup() int { return s.group.id }
