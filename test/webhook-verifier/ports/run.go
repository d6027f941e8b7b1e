package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"vectors/webhook"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), " ")
		body, _ := hex.DecodeString(fields[0])
		signature, _ := hex.DecodeString(fields[1])
		secret, _ := hex.DecodeString(fields[2])
		if webhook.Verify(body, string(signature), string(secret)) {
			fmt.Println(1)
		} else {
			fmt.Println(0)
		}
	}
}
