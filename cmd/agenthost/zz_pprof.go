package main

import (
	"fmt"
	"os"
	"runtime/pprof"
	"time"
)

func init() {
	dir := os.Getenv("MEMPROF")
	if dir == "" {
		return
	}
	go func() {
		for i := 0; ; i++ {
			time.Sleep(10 * time.Second)
			f, _ := os.Create(fmt.Sprintf("%s/heap%02d", dir, i))
			_ = pprof.Lookup("heap").WriteTo(f, 0)
			f.Close()
		}
	}()
}
