package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"agenthost/bench"

	"github.com/rs/zerolog"
)

func main() {
	prog := flag.String("prog", "", "")
	d := flag.Duration("d", 30*time.Second, "")
	sync := flag.String("sync", "2m", "")
	flag.Parse()
	r, err := bench.Run(context.Background(), bench.Options{
		Program: *prog, Duration: *d, Rounds: 1, NoRaw: true, Sync: *sync, Log: zerolog.New(os.Stderr),
	})
	if err != nil {
		fmt.Println("ERR", err)
	}
	data, _ := json.Marshal(r.Host)
	fmt.Println(string(data))
}
