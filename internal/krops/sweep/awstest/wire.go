package awstest

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// request is one call.
type request struct {
	*Account

	out     http.ResponseWriter
	http    *http.Request
	body    []byte
	service string
	region  string
	action  string
	form    url.Values
}

// serve answers one call. Calls come one after the other.
func (a *Account) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	c := &request{Account: a, out: w, http: r, body: body}
	// Credential=<id>/<date>/<region>/<service>/aws4_request
	_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	scope, _, _ = strings.Cut(scope, ",")
	part := strings.Split(scope, "/")
	if len(part) != 5 {
		c.fail(http.StatusForbidden, "MissingAuthenticationToken", "Request is missing Authentication Token")
		return
	}
	c.region, c.service = part[2], part[3]
	var answer func()
	switch c.service {
	case "s3":
		c.action, answer = c.s3()
	case "eks":
		c.action, answer = c.eks()
	case "servicequotas":
		_, c.action, _ = strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		answer = c.quota
	default:
		c.form, err = url.ParseQuery(string(body))
		if err != nil {
			c.fail(http.StatusBadRequest, "MalformedQueryString", err.Error())
			return
		}
		c.action = c.form.Get("Action")
		answer = c.query()
	}
	name := c.service + ":" + c.action
	a.mu.Lock()
	how := a.fault(name, c.region)
	a.calls = append(a.calls, name)
	n, hook := len(a.calls), a.onCall
	a.mu.Unlock()
	if c.spoil(how) {
		return
	}
	if answer == nil {
		c.fail(http.StatusBadRequest, "InvalidAction", "The action "+name+" is not valid for this web service.")
		return
	}
	buffered := &reply{header: w.Header()}
	c.out = buffered
	a.mu.Lock()
	answer()
	a.mu.Unlock()
	if hook != nil {
		hook(n, name)
	}
	if buffered.status != 0 {
		w.WriteHeader(buffered.status)
	}
	_, _ = w.Write(buffered.body.Bytes())
}

// reply keeps an answer until the account is free again.
type reply struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *reply) Header() http.Header            { return r.header }
func (r *reply) WriteHeader(status int)         { r.status = status }
func (r *reply) Write(text []byte) (int, error) { return r.body.Write(text) }

// query finds the action of the services that take forms.
func (c *request) query() func() {
	switch c.service {
	case "ec2":
		return c.ec2()
	case "elasticloadbalancing":
		return c.elb()
	case "rds":
		return c.rds()
	case "iam":
		return c.iam()
	case "cloudformation":
		return c.stacks()
	case "sts":
		if c.action == "GetCallerIdentity" {
			return func() {
				c.result(e("Account", c.ID), e("Arn", "arn:aws:iam::"+c.ID+":user/op"), e("UserId", "AIDAOP"))
			}
		}
	}
	return nil
}

// fail answers with an error in the words of the service.
func (c *request) fail(status int, code, message string) {
	switch c.service {
	case "eks", "servicequotas":
		c.out.Header().Set("Content-Type", "application/json")
		c.out.Header().Set("X-Amzn-Errortype", code)
		c.out.WriteHeader(status)
		text, _ := json.Marshal(map[string]string{"__type": code, "message": message})
		_, _ = c.out.Write(text)
	case "ec2":
		c.xml(status, e("Response", e("Errors", e("Error", e("Code", code), e("Message", message))), e("RequestID", "r")))
	case "s3":
		if c.http.Method == http.MethodHead {
			c.out.WriteHeader(status)
			return
		}
		c.xml(status, e("Error", e("Code", code), e("Message", message), e("RequestId", "r")))
	default:
		c.xml(status, e("ErrorResponse", e("Error", e("Type", "Sender"), e("Code", code), e("Message", message)), e("RequestId", "r")))
	}
}

// el is an element of XML.
type el struct {
	name string
	text string
	kids []el
}

// e makes an element of texts and elements.
func e(name string, content ...any) el {
	made := el{name: name}
	for _, part := range content {
		switch part := part.(type) {
		case el:
			made.kids = append(made.kids, part)
		case []el:
			made.kids = append(made.kids, part...)
		default:
			made.text += fmt.Sprint(part)
		}
	}
	return made
}

func (x el) write(b *bytes.Buffer) {
	b.WriteString("<" + x.name + ">")
	_ = xml.EscapeText(b, []byte(x.text)) // a buffer takes all
	for _, kid := range x.kids {
		kid.write(b)
	}
	b.WriteString("</" + x.name + ">")
}

func (c *request) xml(status int, root el) {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	root.write(&b)
	c.out.Header().Set("Content-Type", "text/xml")
	c.out.WriteHeader(status)
	_, _ = c.out.Write(b.Bytes())
}

// reply answers a call of EC2.
func (c *request) reply(content ...any) {
	c.xml(http.StatusOK, e(c.action+"Response", append([]any{e("requestId", "r")}, content...)...))
}

// result answers a call of the other services that take forms.
func (c *request) result(content ...any) {
	c.xml(http.StatusOK, e(c.action+"Response", e(c.action+"Result", content...), e("ResponseMetadata", e("RequestId", "r"))))
}

func (c *request) json(value any) {
	c.out.Header().Set("Content-Type", "application/json")
	text, _ := json.Marshal(value) // maps and strings only
	_, _ = c.out.Write(text)
}

// list reads a list of a form: its values, or "" for those that are made of parts.
func (c *request) list(prefix string) []string {
	var found []string
	for i := 1; ; i++ {
		key := prefix + "." + strconv.Itoa(i)
		if _, ok := c.form[key]; !ok && !c.below(key+".") {
			return found
		}
		found = append(found, c.form.Get(key))
	}
}

func (c *request) below(prefix string) bool {
	for key := range c.form {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// paged cuts one page out of things that are in the order of their names. The mark
// is the last name of the page before: what is removed meanwhile moves nothing.
func paged[T any](list []T, name func(T) string, mark string, size int) (page []T, next string) {
	for _, t := range list {
		if name(t) > mark {
			page = append(page, t)
		}
	}
	if size > 0 && len(page) > size {
		return page[:size], name(page[size-1])
	}
	return page, ""
}

func id(t *Thing) string      { return t.ID }
func same(name string) string { return name }

// member makes a list as most services write it.
func member(name string, items []el) el {
	list := e(name)
	for _, item := range items {
		item.name = "member"
		list.kids = append(list.kids, item)
	}
	return list
}
