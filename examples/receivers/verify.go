package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Verify reports whether one of the secrets produced the signature of the raw body. Empty secrets are ignored.
func Verify(body []byte, signature string, secrets ...string) bool {
	sent, err := hex.DecodeString(signature)
	if err != nil || len(sent) != sha256.Size || signature != strings.ToLower(signature) {
		return false
	}
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		if secret != "" && hmac.Equal(mac.Sum(nil), sent) {
			return true
		}
	}
	return false
}
