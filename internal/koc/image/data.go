package image

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/md5" //nolint:gosec // the checksum that old images have
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/progress"
	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
	"github.com/holdfast-ops/holdfast/internal/koc/whole"
)

// source is the data of an image that is uploaded.
type source struct {
	io.Reader
	file *os.File // nil for standard input
	size int64    // 0 is unknown
	name string
}

// Close closes the file.
func (s *source) Close() {
	if s.file != nil {
		_ = s.file.Close()
	}
}

// open opens the data that the command line names: a file, or standard input when
// that is no terminal. It is nil when there is none.
func open(c *command.Call) (*source, error) {
	switch name := c.Text("file"); name {
	case "":
		if c.Streams.InTTY || nothing(c.Streams.In) {
			return nil, nil //nolint:nilnil // no data is no error
		}
		return input(c)
	case "-":
		if c.Streams.InTTY {
			return nil, command.Reject("--file -: standard input is a terminal: redirect the data into it")
		}
		data, err := input(c)
		if err == nil && data == nil {
			err = errors.New("standard input is empty: there is no data to upload")
		}
		return data, err
	default:
		return openFile(name)
	}
}

// nothing reports whether an input is one that never has data: /dev/null, or an
// empty file.
func nothing(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err != nil || info.Mode()&os.ModeCharDevice != 0 || info.Mode().IsRegular() && info.Size() == 0
}

// input is standard input, nil when it ends at once.
func input(c *command.Call) (*source, error) {
	first := make([]byte, 1)
	switch _, err := io.ReadFull(c.Streams.In, first); {
	case errors.Is(err, io.EOF):
		return nil, nil //nolint:nilnil // no data is no error
	case err != nil:
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	return &source{Reader: io.MultiReader(bytes.NewReader(first), c.Streams.In), name: "standard input"}, nil
}

func openFile(name string) (*source, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a directory", name)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &source{Reader: f, file: f, size: info.Size(), name: name}, nil
}

// errImporting is the interruption of an import that may have begun.
var errImporting = errors.New("import")

// upload sends the data to an image that was created.
func (s *source) upload(ctx context.Context, c *command.Call, o noun.Object) error {
	id := o.Text("id")
	if c.Declares("import") && c.Is("import") {
		if err := s.put(ctx, c, "/images/"+id+"/stage"); err != nil {
			return err
		}
		if err := imported(ctx, c, id, noun.Object{{Name: "method", Value: render.Ordered{{Name: "name", Value: "glance-direct"}}}}, nil); err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("%w of the image %s: %w", errImporting, id, err)
			}
			return err
		}
		return nil
	}
	return s.put(ctx, c, "/images/"+id+"/file")
}

func (s *source) put(ctx context.Context, c *command.Call, path string) error {
	service, err := c.Cloud.Service(ctx, "image")
	if err != nil {
		return err
	}
	body := s.Reader
	if show := c.Declares("progress") && c.Is("progress"); (show || !c.Compat()) && c.Streams.ErrTTY {
		body = &counted{Reader: s.Reader, step: progress.New(c.Streams).Start("upload " + s.name), size: s.size}
	}
	err = service.Do(ctx, cloud.Request{
		Method: http.MethodPut, Path: path, Body: body, Size: s.size, Header: http.Header{"Content-Type": {"application/octet-stream"}},
	})
	if n, ok := body.(*counted); ok {
		n.end(err)
	}
	return err
}

// counted shows how much of a stream has passed.
type counted struct {
	io.Reader
	step  *progress.Step
	size  int64
	done  int64
	shown time.Time
}

func (r *counted) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.done += int64(n)
	if now := time.Now(); now.Sub(r.shown) > 200*time.Millisecond {
		r.shown = now
		if r.size > 0 {
			r.step.Update("%d%% of %s", r.done*100/r.size, human(r.size))
		} else {
			r.step.Update("%s", human(r.done))
		}
	}
	return n, err
}

func (r *counted) end(err error) {
	if err != nil {
		r.step.Fail(err)
	} else {
		r.step.Done()
	}
}

func human(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, i := float64(n), 0
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}

func imageSave() command.Command {
	return command.Command{
		Short: "Download the data of an image",
		Long: "The data is compared with the checksum that the service has of it. A file appears under its name when it is whole and right, never before; " +
			"what goes to standard output is out before the comparison, whose failure is an error all the same.",
		Args: []command.Arg{ref("download")},
		Flags: []command.Flag{
			{Name: "file", Value: "<filename>", Help: "File to write; standard output when left out or -"},
			{Name: "progress", Koc: true, Help: "Show how far the download is"},
		},
		NoWatch: true,
		Run:     runSave,
	}
}

func runSave(ctx context.Context, c *command.Call) (err error) {
	o, err := images().Find(ctx, c, c.Text("<image>"), nil)
	if err != nil {
		return err
	}
	name := c.Text("file")
	toFile := name != "" && name != "-"
	if !toFile && c.Streams.OutTTY {
		return command.Reject("the data of an image is not for a terminal: give --file, or redirect standard output")
	}
	s, err := c.Cloud.Service(ctx, "image")
	if err != nil {
		return err
	}
	answer, err := s.Open(ctx, cloud.Request{Path: "/images/" + o.Text("id") + "/file"})
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.Status == http.StatusNoContent {
		return fmt.Errorf("the image %s has no data: its status is %s", o.Text("id"), o.Text("status"))
	}
	sum := sumOf(o)
	var reader io.Reader = answer.Body
	if c.Streams.ErrTTY && toFile && (!c.Compat() || c.Is("progress")) {
		step := &counted{Reader: answer.Body, step: progress.New(c.Streams).Start("download " + o.Text("name")), size: o.Int("size")}
		defer func() { step.end(err) }()
		reader = step
	}
	reader = io.TeeReader(reader, sum)
	if !toFile {
		if _, err := io.Copy(c.Streams.Out, reader); err != nil {
			return fmt.Errorf("download image %s: %w", o.Text("id"), err)
		}
		return sum.check(o)
	}
	out, err := whole.Create(name, 0o644, true)
	if bad, ok := errors.AsType[*fs.PathError](err); ok {
		err = bad.Err // which says no more than the flag
	}
	if err != nil {
		return fmt.Errorf("--file %s: %w", name, err)
	}
	defer out.Discard()
	if _, err := io.Copy(out, reader); err != nil {
		return fmt.Errorf("download image %s: %w: %s was not written", o.Text("id"), err, name)
	}
	if err := sum.check(o); err != nil {
		return fmt.Errorf("%w: %s was not written", err, name)
	}
	err = out.Sync()
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		return fmt.Errorf("--file %s: %w", name, err)
	}
	return nil
}

// sum is the checksum of data that passes.
type sum struct {
	hash.Hash
	attr string // of the image that says what it must be; "" for none
	size int64
}

func sumOf(o noun.Object) *sum {
	switch strings.ToLower(o.Text("os_hash_algo")) {
	case "sha512":
		return &sum{Hash: sha512.New(), attr: "os_hash_value"}
	case "sha256":
		return &sum{Hash: sha256.New(), attr: "os_hash_value"}
	}
	if o.Text("checksum") != "" {
		return &sum{Hash: md5.New(), attr: "checksum"} //nolint:gosec // the checksum that old images have
	}
	return &sum{Hash: sha256.New()}
}

// Write implements [io.Writer].
func (s *sum) Write(p []byte) (int, error) {
	s.size += int64(len(p))
	return s.Hash.Write(p)
}

func (s *sum) check(o noun.Object) error {
	if want := o.Get("size"); want != nil && s.size != o.Int("size") {
		return fmt.Errorf("the data of image %s is damaged: it has %d bytes and should have %d: download it again", o.Text("id"), s.size, o.Int("size"))
	}
	if s.attr == "" {
		return nil
	}
	if have := hex.EncodeToString(s.Sum(nil)); have != strings.ToLower(o.Text(s.attr)) {
		return fmt.Errorf("the data of image %s is damaged: its %s is %s and should be %s: download it again", o.Text("id"), s.attr, have, o.Text(s.attr))
	}
	return nil
}

func imageStage() command.Command {
	return command.Command{
		Short: "Upload data to the staging area of an image, for an import",
		Args:  []command.Arg{ref("stage data for")},
		Flags: []command.Flag{
			{Name: "file", Value: "<file>", Help: "File to upload; standard input when left out or -"},
			{Name: "progress", Help: "Show how far the upload is"},
		},
		Run: func(ctx context.Context, c *command.Call) error {
			data, err := open(c)
			if err != nil {
				return err
			}
			if data == nil {
				return command.Reject("no data to upload: give --file, or redirect standard input")
			}
			defer data.Close()
			id, err := images().Resolve(ctx, c, c.Text("<image>"))
			if err != nil {
				return err
			}
			return data.put(ctx, c, "/images/"+id+"/stage")
		},
	}
}

func imageImport() command.Command {
	return command.Command{
		Short: "Import data into an image: what was staged, what an address serves, or what another store has",
		Args:  []command.Arg{ref("import data into")},
		Flags: []command.Flag{
			{Name: "method", Also: []string{"import-method"}, Value: "<method>", Choices: []string{"glance-direct", "web-download", "glance-download", "copy-image"}, Help: "Where the data comes from; glance-direct unless --uri or the like tells"},
			{Name: "uri", Value: "<uri>", Help: "Address to download from; web-download"},
			{Name: "remote-image", Value: "<remote-image>", Help: "Id of the image in the other image service; glance-download"},
			{Name: "remote-region", Value: "<remote-glance-region>", Help: "Region of the other image service; glance-download"},
			{Name: "remote-service-interface", Value: "<remote-glance-service-interface>", Help: "Interface of the other image service; glance-download"},
			{Name: "store", Value: "<store>", Type: command.Commas, Help: "Store to import into; repeatable"},
			{Name: "all-stores", Help: "Import into every store"},
			{Name: "allow-failure", Help: "Keep the stores that work when others fail (the default)"},
			{Name: "disallow-failure", Help: "Undo the import of all stores when one fails"},
			{Name: "wait", Help: "Wait until the image is active"},
			{Name: "wait-timeout", Value: "<duration>", Koc: true, Help: "Give up waiting after this time, such as 90s or 10m (default 60m)"},
		},
		Exclusive: []string{"store all-stores", "allow-failure disallow-failure"},
		Output:    command.Created,
		Run:       runImport,
	}
}

func runImport(ctx context.Context, c *command.Call) error {
	method := c.Text("method")
	if method == "" {
		switch {
		case c.Given("uri"):
			method = "web-download"
		case c.Given("remote-image"), c.Given("remote-region"):
			method = "glance-download"
		default:
			method = "glance-direct"
		}
	}
	spec := render.Ordered{{Name: "name", Value: method}}
	switch {
	case c.Given("uri") != (method == "web-download"):
		return command.Reject("--uri and --method web-download go together")
	case method == "glance-download" && (!c.Given("remote-image") || !c.Given("remote-region")):
		return command.Reject("--method glance-download needs --remote-image and --remote-region")
	case method != "glance-download" && (c.Given("remote-image") || c.Given("remote-region") || c.Given("remote-service-interface")):
		return command.Reject("--remote-image, --remote-region and --remote-service-interface are for --method glance-download")
	case method == "copy-image" && !c.Given("store") && !c.Is("all-stores"):
		return command.Reject("--method copy-image needs --store or --all-stores")
	}
	for flag, key := range map[string]string{"uri": "uri", "remote-image": "glance_image_id", "remote-region": "glance_region", "remote-service-interface": "glance_service_interface"} {
		if c.Given(flag) {
			spec = append(spec, render.Field{Name: key, Value: c.Text(flag)})
		}
	}
	body := noun.Object{{Name: "method", Value: spec}}
	if stores := c.Texts("store"); len(stores) > 0 {
		body.Set("stores", stores)
	}
	if c.Is("all-stores") {
		body.Set("all_stores", true)
	}
	if c.Is("allow-failure") || c.Is("disallow-failure") {
		body.Set("all_stores_must_succeed", c.Is("disallow-failure"))
	}
	o, err := images().Find(ctx, c, c.Text("<image>"), nil)
	if err != nil {
		return err
	}
	status := o.Text("status")
	switch {
	case method == "glance-direct" && status != "uploading":
		return fmt.Errorf("the image %s is %s: glance-direct needs one whose data was staged, in the status uploading", o.Text("id"), status)
	case method == "web-download" && status != "queued":
		return fmt.Errorf("the image %s is %s: web-download needs a new one, in the status queued", o.Text("id"), status)
	case method == "copy-image" && status != "active":
		return fmt.Errorf("the image %s is %s: copy-image needs one that is active", o.Text("id"), status)
	}
	wait := noun.Wait{
		What: "image " + o.Text("id") + " to become active", Timeout: time.Hour,
		Probe: images().Settled(c, o.Text("id"), "status", []string{"active"}, []string{"killed", "deleted"}),
	}
	if !c.Is("wait") {
		wait.Probe = nil
	}
	if err := imported(ctx, c, o.Text("id"), body, &wait); err != nil {
		return err
	}
	if o, err = images().Get(ctx, c, o.Text("id")); err != nil {
		return err
	}
	return c.Show(noun.ImageFields(o, false))
}

func imported(ctx context.Context, c *command.Call, id string, body noun.Object, wait *noun.Wait) error {
	if _, err := images().Send(ctx, c, cloud.Request{Method: http.MethodPost, Path: "/images/" + url.PathEscape(id) + "/import", Body: body}); err != nil {
		return err
	}
	if wait != nil && wait.Probe != nil {
		return wait.Until(ctx, c)
	}
	return nil
}

// signed adds the signature of the data of an image to its properties.
func signed(c *command.Call, data *source, body *noun.Object) error {
	text, err := os.ReadFile(c.Text("sign-key-path"))
	if err != nil {
		return fmt.Errorf("read the key that signs: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return fmt.Errorf("%s has no private key in PEM format", c.Text("sign-key-path"))
	}
	key, err := parseKey(block)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Text("sign-key-path"), err)
	}
	digest := sha256.New()
	if _, err := io.Copy(digest, data.file); err != nil {
		return err
	}
	if _, err := data.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	signature, kind, err := sign(key, digest.Sum(nil))
	if err != nil {
		return err
	}
	body.Set("img_signature", base64.StdEncoding.EncodeToString(signature))
	body.Set("img_signature_certificate_uuid", c.Text("sign-cert-id"))
	body.Set("img_signature_hash_method", "SHA-256")
	body.Set("img_signature_key_type", kind)
	return nil
}

func sign(key any, digest []byte) (signature []byte, kind string, err error) {
	switch key := key.(type) {
	case *rsa.PrivateKey:
		signature, err = rsa.SignPSS(rand.Reader, key, crypto.SHA256, digest, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthAuto})
		return signature, "RSA-PSS", err
	case *ecdsa.PrivateKey:
		signature, err = ecdsa.SignASN1(rand.Reader, key, digest)
		return signature, "ECC_" + strings.ReplaceAll(key.Curve.Params().Name, "P-", "SECP") + "R1", err
	default:
		return nil, "", errors.New("only RSA and ECDSA keys sign images")
	}
}

func parseKey(block *pem.Block) (any, error) {
	if strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") || block.Type == "ENCRYPTED PRIVATE KEY" {
		return nil, errors.New("the private key is encrypted: decrypt it first, with openssl pkey for example")
	}
	if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	return nil, errors.New("it is no private key that koc can read")
}
