package sandbox_test

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"agenthost/internal/sandbox"
)

// Programs that ask the kernel as another architecture would: the numbers of
// their calls mean other things to a filter. Each ends with 0 when it is let,
// by code that is position independent.
var foreignPrograms = map[string][]byte{
	"int 0x80 in a 64-bit program": program(64,
		0xb8, 20, 0, 0, 0, // mov eax, getpid
		0xcd, 0x80, // int 0x80
		0x31, 0xff, // xor edi, edi
		0xb8, 60, 0, 0, 0, // mov eax, exit
		0x0f, 0x05, // syscall
	),
	"socketcall in a 64-bit program": program(64,
		0xb8, 102, 0, 0, 0, // mov eax, socketcall
		0xbb, 1, 0, 0, 0, // mov ebx, SYS_SOCKET
		0x31, 0xc9, // xor ecx, ecx
		0xcd, 0x80, // int 0x80
		0x31, 0xff, // xor edi, edi
		0xb8, 60, 0, 0, 0, // mov eax, exit
		0x0f, 0x05, // syscall
	),
	"a 32-bit program": program(32,
		0xb8, 1, 0, 0, 0, // mov eax, exit
		0x31, 0xdb, // xor ebx, ebx
		0xcd, 0x80, // int 0x80
	),
}

// An x32 call is no other architecture to the kernel, only another number. The
// program ends with 0 unless the filter says ENOSYS; so does a kernel without it.
var x32Program = program(64,
	0xb8, 39, 0, 0, 0x40, // mov eax, getpid of x32
	0x0f, 0x05, // syscall
	0x31, 0xff, // xor edi, edi
	0x83, 0xf8, 0xda, // cmp eax, -ENOSYS
	0x40, 0x0f, 0x94, 0xc7, // sete dil
	0xb8, 60, 0, 0, 0, // mov eax, exit
	0x0f, 0x05, // syscall
)

// program is an ELF file of one segment that begins with code.
func program(bits int, code ...byte) []byte {
	le := binary.LittleEndian
	const base = 0x400000
	if bits == 32 {
		head := []byte{0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0, 1, 0, 0, 0}
		for _, n := range []uint32{base + 84, 52, 0, 0} { // entry, program headers, sections, flags
			head = le.AppendUint32(head, n)
		}
		for _, n := range []uint16{52, 32, 1, 0, 0, 0} {
			head = le.AppendUint16(head, n)
		}
		size := uint32(84 + len(code))
		for _, n := range []uint32{1, 0, base, base, size, size, 5, 0x1000} {
			head = le.AppendUint32(head, n)
		}
		return append(head, code...)
	}
	head := []byte{0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 62, 0, 1, 0, 0, 0}
	for _, n := range []uint64{base + 120, 64, 0} { // entry, program headers, sections
		head = le.AppendUint64(head, n)
	}
	head = le.AppendUint32(head, 0)
	for _, n := range []uint16{64, 56, 1, 0, 0, 0} {
		head = le.AppendUint16(head, n)
	}
	head = le.AppendUint32(le.AppendUint32(head, 1), 5)
	size := uint64(120 + len(code))
	for _, n := range []uint64{0, base, base, size, size, 0x1000} {
		head = le.AppendUint64(head, n)
	}
	return append(head, code...)
}

// runs reports whether the kernel runs a program outside of any sandbox: one that is built
// without 32-bit calls does not.
func runs(t *testing.T, code []byte) bool {
	t.Helper()
	file := filepath.Join(t.TempDir(), "p")
	if err := os.WriteFile(file, code, 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	err := exec.CommandContext(t.Context(), file).Run()
	for errors.Is(err, syscall.ETXTBSY) { // a child of another test has the file still open, until its exec
		err = exec.CommandContext(t.Context(), file).Run()
	}
	return err == nil
}

func TestOtherArchitecturesAreRefused(t *testing.T) {
	t.Parallel()
	for _, level := range sandbox.Levels() {
		for name, code := range foreignPrograms {
			t.Run(string(level)+"/"+name, func(t *testing.T) {
				w := open(t, level)
				w.install(t, "p", code)
				end := w.run(t.Context(), t, "exec ./p")
				if !runs(t, code) { // the kernel refuses it by itself, before any filter
					if end.State != "signal: segmentation fault" && end.State != "exit status 126" {
						t.Errorf("got %q, %s, of a kernel that does not run it", end.Output, end.State)
					}
					return
				}
				if want := "signal: bad system call"; end.Output != "" || end.State != want {
					t.Errorf("got %q, %s, want %s", end.Output, end.State, want)
				}
			})
		}
		t.Run(string(level)+"/x32", func(t *testing.T) {
			w := open(t, level)
			w.install(t, "p", x32Program)
			if end := w.run(t.Context(), t, "exec ./p"); end.Output != "" || end.State != "exit status 1" {
				t.Errorf("got %q, %s", end.Output, end.State)
			}
		})
	}
}
