package sops

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A value is a decrypted scalar.
type value struct {
	kind string // as SOPS names its type
	data []byte
}

// errPlain tells that a text is no encrypted value.
var errPlain = errors.New("it is not encrypted, although the rules of the file say it is")

// open decrypts a text of the form ENC[AES256_GCM,data:…,iv:…,tag:…,type:…].
func open(text string, key []byte, additional string) (value, error) {
	inner, ok := strings.CutPrefix(text, "ENC[AES256_GCM,")
	inner, closed := strings.CutSuffix(inner, "]")
	fields := strings.Split(inner, ",")
	names := []string{"data:", "iv:", "tag:", "type:"}
	if !ok || !closed || len(fields) != len(names) {
		return value{}, errPlain
	}
	var parts [3][]byte
	for i, name := range names {
		field, ok := strings.CutPrefix(fields[i], name)
		if !ok {
			return value{}, errPlain
		}
		if i == len(parts) {
			fields[i] = field
			break
		}
		var err error
		if parts[i], err = base64.StdEncoding.DecodeString(field); err != nil {
			return value{}, fmt.Errorf("its %s is no base64", strings.TrimSuffix(name, ":"))
		}
	}
	data, iv, tag, kind := parts[0], parts[1], parts[2], fields[3]
	block, err := aes.NewCipher(key)
	if err != nil {
		return value{}, err
	}
	if len(iv) == 0 || len(tag) != aes.BlockSize {
		return value{}, errors.New("its iv or its tag has a wrong length")
	}
	gcm, err := cipher.NewGCMWithNonceSize(block, len(iv))
	if err != nil {
		return value{}, err
	}
	plain, err := gcm.Open(nil, iv, append(data, tag...), []byte(additional))
	if err != nil {
		return value{}, errors.New("it cannot be decrypted: it was changed, or moved from another place")
	}
	return value{kind, plain}, nil
}

// scalar returns a value as YAML knows it. Errors do not quote it.
func (v value) scalar() (any, error) {
	var result any
	var err error
	text := string(v.data)
	switch v.kind {
	case "str", "bytes":
		return text, nil
	case "int":
		result, err = strconv.Atoi(text)
	case "float":
		result, err = strconv.ParseFloat(text, 64)
	case "bool":
		result, err = strconv.ParseBool(text)
	case "time":
		result, err = time.Parse(time.RFC3339, text)
	default:
		return nil, fmt.Errorf("its type %q is unknown", v.kind)
	}
	if err != nil {
		return nil, fmt.Errorf("it is no %s, although its type says so", v.kind)
	}
	return result, nil
}

// digested is how a scalar counts in the MAC; ok is false for one that cannot be
// in an encrypted file.
func digested(scalar any) (data []byte, ok bool) {
	switch s := scalar.(type) {
	case string:
		return []byte(s), true
	case int:
		return strconv.AppendInt(nil, int64(s), 10), true
	case float64:
		return strconv.AppendFloat(nil, s, 'f', -1, 64), true
	case bool:
		if s {
			return []byte("True"), true
		}
		return []byte("False"), true
	case time.Time:
		text, err := s.MarshalText()
		return text, err == nil
	}
	return nil, false
}
