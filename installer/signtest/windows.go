//go:build linux

package signtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An Authority makes certificates that nobody trusts. It is the folder of three: its own, one that signs code, and one that says when.
type Authority string

// NewAuthority makes one.
func NewAuthority(t *testing.T) Authority {
	t.Helper()
	folder := t.TempDir()
	caKey := key(t, folder, "ca")
	from := time.Now().Add(-time.Hour)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Authority of a test"}, NotBefore: from, NotAfter: from.AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	certificate(t, folder, "ca", ca, ca, caKey, caKey)
	for i, name := range []string{"code", "time"} {
		leaf := &x509.Certificate{
			SerialNumber: big.NewInt(int64(2 + i)), Subject: pkix.Name{CommonName: "Acme Audio Inc. (" + name + ")"},
			NotBefore: from, NotAfter: from.AddDate(1, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature,
		}
		// The usage of time stamps has to be critical (RFC 3161, 2.3), which only an extension of one's own can be.
		usage := pkix.Extension{Id: []int{2, 5, 29, 37}, Critical: true, Value: []byte{0x30, 10, 6, 8, 0x2b, 6, 1, 5, 5, 7, 3, byte(3 + 5*i)}}
		leaf.ExtraExtensions = []pkix.Extension{usage}
		certificate(t, folder, name, leaf, ca, key(t, folder, name), caKey)
	}
	return Authority(folder)
}

func key(t *testing.T, folder, name string) *ecdsa.PrivateKey {
	t.Helper()
	made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(made)
	require.NoError(t, err)
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	require.NoError(t, os.WriteFile(filepath.Join(folder, name+".key"), text, 0o600))
	return made
}

func certificate(t *testing.T, folder, name string, what, by *x509.Certificate, of, with *ecdsa.PrivateKey) {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, what, by, of.Public(), with)
	require.NoError(t, err)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	require.NoError(t, os.WriteFile(filepath.Join(folder, name+".crt"), text, 0o600))
}

// Command is that of docs/packaging.md, with the authority's key, and a clock of its own instead of a server's.
func (a Authority) Command(t *testing.T, docs string) (command string) {
	t.Helper()
	folder, script := string(a), script(t, docs)
	const server = `-ts "$TIMESTAMP_URL"`
	require.Contains(t, script, server)
	script = strings.ReplaceAll(script, server, "-TSA-certs '"+folder+"/time.crt' -TSA-key '"+folder+"/time.key'")
	command = filepath.Join(folder, "sign")
	require.NoError(t, os.WriteFile(command, []byte(script), 0o700))
	t.Setenv("CERTIFICATE", filepath.Join(folder, "code.crt"))
	t.Setenv("CERTIFICATE_KEY", filepath.Join(folder, "code.key"))
	return command
}

// Verify says what is wrong with the signature of a program or package for Windows, or that it does not say what it is of, or when it was
// made.
func (a Authority) Verify(t *testing.T, file []byte, says ...string) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	ca := filepath.Join(string(a), "ca.crt")
	out, err := exec.Command("osslsigncode", "verify", "-CAfile", ca, "-TSA-CAfile", ca, "-in", path).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	for _, text := range append(says, "Timestamp") {
		if !strings.Contains(string(out), text) {
			return fmt.Errorf("without %s: %s", text, out)
		}
	}
	return nil
}
