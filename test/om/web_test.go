package om_test

import (
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// web is the service of the scripts: an HTTP server on a port, answering the
// text given, 200 to everything. It says nothing and ends on TERM.
//
//	web PORT [TEXT]
func web(args []string) int {
	text := "ok"
	if len(args) > 1 {
		text = args[1]
	}
	server := http.Server{
		Addr: "127.0.0.1:" + args[0], ReadHeaderTimeout: time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text+"\n") }),
	}
	if err := server.ListenAndServe(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// get is the curl of the scripts. It prints the body, or the status with -w,
// and fails when nobody answers, or on a refusal with -f.
//
//	get [-X METHOD] [-w] [-f] [-token TOKEN] [-ca FILE] [-insecure] [-data FILE] URL
func get(args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet("get", flag.ContinueOnError)
	method := f.String("X", "GET", "")
	status := f.Bool("w", false, "")
	fail := f.Bool("f", false, "")
	token := f.String("token", "", "")
	ca := f.String("ca", "", "")
	data := f.String("data", "", "")
	insecure := f.Bool("insecure", false, "")
	if err := f.Parse(args); err != nil || f.NArg() != 1 {
		return 2
	}
	code, body, err := fetch(*method, f.Arg(0), *token, *ca, *data, *insecure)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return 7
	}
	if *status {
		_, _ = fmt.Fprintln(stdout, code)
	} else {
		_, _ = stdout.Write(body)
	}
	if *fail && code >= http.StatusBadRequest {
		return 22
	}
	return 0
}

func fetch(method, url, token, ca, data string, insecure bool) (code int, body []byte, err error) {
	config := &tls.Config{InsecureSkipVerify: insecure, MinVersion: tls.VersionTLS13}
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: config}}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return 0, nil, err
		}
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(pem)
	}
	var content io.Reader = http.NoBody
	if data != "" {
		text, err := os.ReadFile(data)
		if err != nil {
			return 0, nil, err
		}
		content = strings.NewReader(string(text))
	}
	request, err := http.NewRequest(method, url, content) //nolint:noctx // bounded by the client
	if err != nil {
		return 0, nil, err
	}
	if data != "" {
		request.Header.Set("Content-Type", "application/octet-stream")
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}
