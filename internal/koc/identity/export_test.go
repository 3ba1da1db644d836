package identity

// Sign is the header of a signed request, for tests.
func Sign(key, secret, token, tokenSecret, verifier, callback, nonce, stamp, method, address string) string {
	return signing{
		key: key, secret: secret, token: token, tokenSecret: tokenSecret, verifier: verifier, callback: callback, nonce: nonce, stamp: stamp,
	}.header(method, address)
}
