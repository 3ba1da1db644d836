package heartbeat

// RawPayload is a payload of any bytes, as who has the secret can make.
func RawPayload(data []byte, compressed bool) Payload {
	return Payload{data: data, compressed: compressed}
}
