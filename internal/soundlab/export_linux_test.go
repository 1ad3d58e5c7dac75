package soundlab

// ProcessGroup returns the number of the server's process group.
func (s *Server) ProcessGroup() int { return s.group.id }
