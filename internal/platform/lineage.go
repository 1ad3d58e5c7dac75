package platform

// Lineage tells how processes are related: several processes may be one client.
type Lineage struct {
	Exe     string // path of the executable; "": unknown
	Parents []int  // the parent, its parent and so on, as far as processes can be seen; nil: unknown
}
