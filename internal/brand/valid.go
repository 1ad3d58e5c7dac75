package brand

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

var (
	vendorIDShape  = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
	snowflakeShape = regexp.MustCompile(`^[0-9]{17,20}$`)
)

// maxVendorID is in bytes. The id is part of a socket's path, whose length is limited.
const maxVendorID = 24

// CheckVendorID returns an error for an invalid vendor id. The id names the folder of the agent's control socket, beside a
// folder named clients.
func CheckVendorID(id string) error {
	switch {
	case !vendorIDShape.MatchString(id):
		return fmt.Errorf("%q is not lower-case letters, digits and dashes", id)
	case len(id) > maxVendorID:
		return fmt.Errorf("a vendor's id has at most %d characters, %q has %d", maxVendorID, id, len(id))
	case id == "clients":
		return errors.New("clients cannot be a vendor's id: the folder of that name is shared by all vendors")
	}
	return nil
}

// ValidClientID reports whether s has the form of an application id: a snowflake, 17 to 20 digits.
func ValidClientID(s string) bool { return snowflakeShape.MatchString(s) }

// ValidOrigin reports whether s is an origin: scheme, host and optional port, and nothing else.
func ValidOrigin(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Hostname() == "" || !strings.EqualFold(s, u.Scheme+"://"+u.Host) {
		return false
	}
	port, err := strconv.Atoi(u.Port())
	return err == nil && port > 0 && port <= 65535 || !strings.HasSuffix(u.Host, ":") && u.Port() == ""
}
