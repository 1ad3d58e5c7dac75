//go:build linux

package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tc-hib/winres"
	"github.com/tc-hib/winres/version"
)

// programForWindows is one that does nothing.
func programForWindows(t *testing.T) []byte {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o600))
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", "program.exe", "main.go")
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	program, err := os.ReadFile(filepath.Join(folder, "program.exe"))
	require.NoError(t, err)
	return program
}

// branded are the programs of the example's brand, with whatever signs them.
func branded(t *testing.T, sign string) Tree {
	t.Helper()
	b, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	icon, err := b.icon()
	require.NoError(t, err)
	program := programForWindows(t)
	var tree Tree
	for _, name := range []string{"acme-agent.exe", "acme-agentw.exe", "acme-agent-service.exe", "acme-agent-setup.exe"} {
		tree.addProgram(name, program)
	}
	tree.add("licences.txt", []byte("text"))
	require.NoError(t, options{release: release, sign: sign}.finishPrograms(t.Context(), b, tree, icon))
	return tree
}

// TestProgramsSayWhoseTheyAre: rules by which companies allow programs go by that. It is the same each time.
func TestProgramsSayWhoseTheyAre(t *testing.T) {
	tree := branded(t, "")
	again := branded(t, "")
	for i, about := range []string{
		"Acme Headset Agent", "Acme Headset Agent (tray)", "Acme Headset Agent (service)", "Acme Headset Agent (setup)",
	} {
		f := tree[i]
		require.True(t, bytes.Equal(f.Data, again[i].Data))
		resources, err := winres.LoadFromEXE(bytes.NewReader(f.Data))
		require.NoError(t, err)
		icon, err := resources.GetIcon(winres.ID(1))
		require.NoError(t, err)
		require.NotNil(t, icon)
		require.Equal(t, manifestOfPrograms, resources.Get(winres.RT_MANIFEST, winres.ID(1), version.LangDefault))
		info, err := version.FromBytes(resources.Get(winres.RT_VERSION, winres.ID(1), version.LangDefault))
		require.NoError(t, err)
		require.Equal(t, [4]uint16{1, 2, 3}, info.FileVersion)
		text, err := json.Marshal(info)
		require.NoError(t, err)
		var said struct {
			Info map[string]map[string]string `json:"info"`
		}
		require.NoError(t, json.Unmarshal(text, &said))
		delete(said.Info["0409"], version.LegalCopyright)
		require.Equal(t, map[string]string{
			version.CompanyName: "Acme Audio Inc.", version.ProductName: "Acme Headset Agent", version.FileDescription: about,
			version.InternalName: strings.TrimSuffix(f.Path, ".exe"), version.OriginalFilename: f.Path,
			version.FileVersion: "1.2.3", version.ProductVersion: "1.2.3",
		}, said.Info["0409"])
	}
	require.Equal(t, []byte("text"), tree[4].Data)
}

// authority makes certificates that nobody trusts: its own, one that signs code, and one that says when.
func authority(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
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
	return folder
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

// signer is the command of docs/packaging.md, with that authority, and a clock of its own instead of a server's.
func signer(t *testing.T, folder string) (command string) {
	t.Helper()
	page, err := os.ReadFile("../docs/packaging.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "```sh\n")
	require.True(t, found)
	script, _, _ := strings.Cut(rest, "```")
	const server = `-ts "$TIMESTAMP_URL"`
	require.Contains(t, script, server)
	script = strings.ReplaceAll(script, server, "-TSA-certs '"+folder+"/time.crt' -TSA-key '"+folder+"/time.key'")
	command = filepath.Join(folder, "sign")
	require.NoError(t, os.WriteFile(command, []byte(script), 0o700))
	t.Setenv("CERTIFICATE", filepath.Join(folder, "code.crt"))
	t.Setenv("CERTIFICATE_KEY", filepath.Join(folder, "code.key"))
	return command
}

// verified says what is wrong with a signature.
func verified(t *testing.T, folder string, file []byte) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	ca := folder + "/ca.crt"
	out, err := exec.Command("osslsigncode", "verify", "-CAfile", ca, "-TSA-CAfile", ca, "-in", path).CombinedOutput()
	if err == nil {
		require.Contains(t, string(out), "Timestamp", "%s", out)
	}
	return err
}

// TestProgramsAreSigned before they are packed, with a time stamp; a byte that has changed is seen.
func TestProgramsAreSigned(t *testing.T) {
	folder := authority(t)
	tree := branded(t, signer(t, folder))
	for _, f := range tree[:4] {
		require.NoError(t, verified(t, folder, f.Data), f.Path)
		f.Data[len(f.Data)/2] ^= 1
		require.Error(t, verified(t, folder, f.Data), f.Path)
	}
	b, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	tree[0].Data = programForWindows(t)
	icon, err := b.icon()
	require.NoError(t, err)
	require.ErrorContains(t, options{sign: "false"}.finishPrograms(t.Context(), b, tree, icon), `sign acme-agent.exe by "false"`)
}
