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

// maxVendorID is how many bytes a vendor's id may have: it is part of a socket's path, which has few.
const maxVendorID = 24

// CheckVendorID says what keeps a text from being a vendor's id, by which the vendor's agent is found: its control
// socket is in a folder of that name, beside one that is called clients.
func CheckVendorID(id string) error {
	switch {
	case !vendorIDShape.MatchString(id):
		return fmt.Errorf("%q is not lower-case letters, digits and dashes", id)
	case len(id) > maxVendorID:
		return fmt.Errorf("a vendor's id has at most %d characters, %q has %d", maxVendorID, id, len(id))
	case id == "clients":
		return errors.New("clients is no vendor's id: the folder of that name is for all vendors")
	}
	return nil
}

// ValidClientID reports whether s has the form of an application's id: a snowflake, 17 to 20 digits.
func ValidClientID(s string) bool { return snowflakeShape.MatchString(s) }

// ValidOrigin reports whether s is an origin: a scheme, a host and perhaps a port, without
// path or anything else.
func ValidOrigin(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Hostname() == "" || !strings.EqualFold(s, u.Scheme+"://"+u.Host) {
		return false
	}
	port, err := strconv.Atoi(u.Port())
	return err == nil && port > 0 && port <= 65535 || !strings.HasSuffix(u.Host, ":") && u.Port() == ""
}
