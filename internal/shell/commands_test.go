package shell_test

import (
	"strings"
	"testing"

	"agenthost/internal/shell"

	"github.com/google/go-cmp/cmp"
)

// A reading is what Commands says to a line: the names with a space between
// them, then ">" when it writes and "?" when it hides something.
func reading(line string) string {
	names, writes, err := shell.Commands(line)
	if writes {
		names = append(names, ">")
	}
	if err != nil {
		names = append(names, "?")
	}
	return strings.Join(names, " ")
}

var commandLines = map[string]string{
	// Plain lines.
	`ls`:                                   `ls`,
	`git status --short`:                   `git`,
	"ls\nrm x":                             `ls rm`,
	`ls | wc -l`:                           `ls wc`,
	`ls |& cat`:                            `cat ls`,
	`ls; rm x`:                             `ls rm`,
	`ls & rm -rf x`:                        `ls rm`,
	`ls && rm x || cat y`:                  `cat ls rm`,
	`! rm x`:                               `rm`,
	`(rm x)`:                               `rm`,
	`{ rm x; }`:                            `rm`,
	`if test -f x; then rm x; fi`:          `rm test`,
	`[ -f x ] && rm x`:                     `[ rm`,
	`[[ -f x ]] && rm x`:                   `rm`,
	`while true; do rm x; done`:            `rm true`,
	`for f in *.go; do wc "$f"; done`:      `wc`,
	`case x in x) rm y;; esac`:             `rm`,
	`f() { rm x; }; f`:                     `f rm`,
	`time rm x`:                            `rm time`,
	`coproc rm x`:                          `coproc rm`,
	`ls # rm`:                              `ls`,
	`echo 'ls; rm x'`:                      `echo`,
	`echo $((1+2))`:                        `echo`,
	`printf '%s\n' "$HOME" ${x:1:2}`:       `printf`,
	`git log > /dev/null 2>&1 < x`:         `git`,
	`ls 2>/dev/null >&2`:                   `ls`,
	"cat <<'EOF'\n$(rm x)\nEOF":            `cat`,
	`cat <<< 'x'`:                          `cat`,
	`/bin/rm x`:                            `/bin/rm`,
	`./build.sh`:                           `./build.sh`,
	`python3 -c 'import os'`:               `python3`,
	`grep -r "[a-z]*" . --include='*.go'`:  `grep`,
	`make -j4 && go test ./... | tail -20`: `go make tail`,

	// Quoting of names.
	`r\m x`:             `rm`,
	`"r"m x`:            `rm`,
	`'rm' x`:            `rm`,
	`"r\m" x`:           `?`,
	"r\\\nm x":          `rm ?`,
	"\"r\\\nm\" x":      `rm ?`,
	"ls 'a\\\nb'":       `ls`,
	"ls $'a\\\nb'":      `ls ?`,
	`\rm x`:             `rm`,
	`$'\162m' x`:        `?`,
	`$"rm" x`:           `?`,
	`$x y`:              `?`,
	`${x}m y`:           `?`,
	`"$x" y`:            `?`,
	`$(echo rm) y`:      `echo ?`,
	"`echo rm` y":       `echo ?`,
	`r? x`:              `?`,
	`/bin/r* x`:         `?`,
	`/bin/[r]m x`:       `?`,
	`{rm,-rf,x}`:        `?`,
	`~/bin/rm x`:        `?`,
	`"" rm`:             `?`,
	`'a b' c`:           `?`,
	`'>' x`:             `?`,
	`@(rm|ls) x`:        `?`,
	"ls \xff":           `?`,
	"ls \x00; rm":       `?`,
	`echo {a,b} *.go ~`: `echo`,

	// What shells read differently.
	"git status #\\\nrm x":       `git ?`,
	"cat <<E\nx\\\nE\nrm x\nE\n": `cat ?`,
	"cat <<'E'\nx\\\nE\nrm x\n":  `cat rm ?`,
	`echo "${x:-'}'}"`:           `echo ?`,
	`echo "${x:-'$(rm y)'}"`:     `echo ?`,
	`echo "${x:-"'"}"`:           `echo ?`,
	"cat <<E\n${x:-'a'}\nE\n":    `cat ?`,
	`echo "'${x:-a}'"`:           `echo`,
	`sh -c 'echo "${x:-'"'"'}"'`: `sh ?`,

	// What other shells than bash run where they only expand, or do not read, what is before.
	`false && echo ${x:0:1}; [[ a || rm == x ]]`:       `echo false ?`,
	`false && echo ${x/a/b}; [[ a =~ b|rm ]]`:          `echo false ?`,
	`{ false && echo ${x,,}; [[ a || rm == x ]]; }`:    `echo false ?`,
	`false && echo ${x:0:1}; echo $'a\'; rm x; echo '`: `echo false ?`,
	`echo ${x:0:1}; [ -f x ] && ls`:                    `[ echo ls`,

	// Substitutions, wherever they hide.
	`echo $(rm x)`:                      `echo rm`,
	"echo `rm x`":                       `echo rm`,
	`echo "a $(rm x)"`:                  `echo rm`,
	`echo "$(echo "$(rm x)")"`:          `echo rm`,
	`diff <(rm x) y`:                    `diff rm`,
	`tee >(rm x)`:                       `rm tee`,
	`echo ${x:-$(rm y)}`:                `echo rm`,
	`echo ${x/a/$(rm y)}`:               `echo rm`,
	"cat <<EOF\n$(rm x)\nEOF":           `cat rm`,
	"cat <<EOF && ls\n`rm x`\nEOF":      `cat ls rm`,
	`cat <<< "$(rm x)"`:                 `cat rm`,
	`echo $(( $(rm x) + 1 ))`:           `echo rm ?`,
	`for f in $(rm x); do ls; done`:     `ls rm`,
	`case $(rm x) in y) ls;; esac`:      `ls rm`,
	`ls > "$(rm x)"`:                    `ls rm >`,
	`[[ $(rm x) == y ]]; ls`:            `ls rm`,
	`[[ a || rm ]]; ls`:                 `ls rm`,
	`((rm)); ls`:                        `ls rm ?`,
	`echo $'\'; rm x; #'`:               `echo rm`,
	`echo $((x))`:                       `echo ?`,
	`[[ x -eq 'a[$(rm y)]' ]]; ls`:      `ls ?`,
	`[[ -v 'a[$(rm y)]' ]]; ls`:         `ls ?`,
	`test -v 'a[$(rm y)]'`:              `test ?`,
	`[ "$x" ]`:                          `[ ?`,
	`printf -v PATH x`:                  `printf ?`,
	`printf "$x" PATH`:                  `printf ?`,
	`echo ${x@P}`:                       `echo ?`,
	`echo ${!x}`:                        `echo ?`,
	`echo ${a[i]} ${a[@]}`:              `echo ?`,
	`echo ${a[1]} ${a[@]}`:              `echo`,
	`echo ${x:y}`:                       `echo ?`,
	`let x=1; ls`:                       `let ls ?`,
	`for ((i=0;i<3;i++)); do rm; done`:  `rm ?`,
	`wait -p 'a[$(rm x)]'`:              `wait ?`,
	`wait; ls`:                          `ls wait`,
	`ls; $(`:                            `ls ?`,
	`ls "`:                              `?`,
	"rm x\nls '":                        `rm ?`,
	`)`:                                 `?`,
	``:                                  `?`,
	`# rm`:                              `?`,
	"<<0&\n":                            `?`,
	"rm x\nls <<0\n":                    `rm ?`,
	`if true; then`:                     `?`,
	`echo ` + strings.Repeat("x", 20e3): `?`,

	// Variables.
	`PATH=/tmp ls`:                        `ls ?`,
	`LD_PRELOAD=./x.so ls`:                `ls ?`,
	`PATH=/tmp; ls`:                       `ls ?`,
	`x=rm; $x y`:                          `?`,
	`export PATH=/tmp; ls`:                `export ls ?`,
	`declare -x PATH=/tmp; ls`:            `declare ls ?`,
	`echo ${PATH:=/tmp}; ls`:              `echo ls ?`,
	`for PATH in /tmp; do ls; done`:       `ls ?`,
	`for http_proxy in x; do curl; done`:  `curl ?`,
	`read PATH < x; ls`:                   `ls read ?`,
	`env PATH=/tmp ls`:                    `env ls ?`,
	`sudo LD_PRELOAD=x ls`:                `ls sudo ?`,
	`exec {PATH}</dev/null`:               `exec ?`,
	`alias ls=rm; ls`:                     `alias ls ?`,
	`unset x; ls`:                         `ls unset ?`,
	`cd /tmp && ./build.sh`:               `./build.sh cd ?`,
	`cd /tmp && ls && /bin/ls`:            `/bin/ls cd ls`,
	`pushd /tmp; popd; bin/x`:             `bin/x popd pushd ?`,
	`source x; . y`:                       `. source ?`,
	`trap 'rm x' EXIT`:                    `trap ?`,
	`set -euo pipefail; make`:             `make set`,
	`hash -p /tmp/x ls; ls`:               `hash ls ?`,
	`enable -n test; test x`:              `enable test ?`,
	`unknown() { ls; }; export -f git`:    `export ls ?`,
	`git() { rm x; }; git status`:         `git rm`,
	`mapfile -C 'rm x' y < z; getopts a`:  `getopts mapfile ?`,
	`select PATH in a; do ls; done`:       `ls select ?`,
	`ls; complete -C rm x`:                `complete ls ?`,
	`echo "${x?$(rm y)}" ${!pre*}`:        `echo rm ?`,
	`a[$(rm x)]=1; ls`:                    `ls rm ?`,
	`x=(rm $(rm y)); "${x[@]}"`:           `rm ?`,
	`nice -n 5 env -i env LANG=C make -j`: `env make nice ?`,

	// Redirections.
	`echo x > ~/.bashrc`:              `echo >`,
	`echo x >> f`:                     `echo >`,
	`echo x &> f`:                     `echo >`,
	`echo x &>> f`:                    `echo >`,
	`echo x >| f`:                     `echo >`,
	`echo x 2> f`:                     `echo >`,
	`echo x >& f`:                     `echo >`,
	`cat <> f`:                        `cat >`,
	`cat < /dev/tcp/10.0.0.1/80`:      `cat >`,
	`cat < "$x"`:                      `cat >`,
	`echo x > "$f"`:                   `echo >`,
	`> f`:                             `> ?`,
	`{ ls; } > f`:                     `ls >`,
	`(ls) 3<> f`:                      `ls >`,
	`exec 3> f`:                       `exec >`,
	`echo x > /dev/null/../tcp`:       `echo >`,
	`echo x >&1 2>&- 3<&0`:            `echo`,
	`ls >&$x`:                         `ls >`,
	`while true; do ls; done >> /tmp`: `ls true >`,

	// Wrappers.
	`sudo rm x`:                          `rm sudo`,
	`sudo -u x rm y`:                     `rm sudo`,
	`sudo -nu x -- rm y`:                 `rm sudo`,
	`sudo --user=x rm y`:                 `rm sudo`,
	`sudo --user x rm y`:                 `rm sudo`,
	`sudo --user ls rm y`:                `rm sudo`,
	`sudo -s`:                            `sudo ?`,
	`sudo -u $x rm y`:                    `sudo ?`,
	`sudo $x rm y`:                       `sudo ?`,
	`sudo --use=x rm y`:                  `sudo ?`,
	`sudo -u`:                            `sudo ?`,
	`sudo -`:                             `sudo ?`,
	`/usr/bin/sudo rm x`:                 `/usr/bin/sudo rm`,
	`doas -u x rm y`:                     `doas rm`,
	`env rm x`:                           `env rm`,
	`env -i -u A rm x`:                   `env rm`,
	`env -S 'rm x'`:                      `env ?`,
	`env - rm x`:                         `env ?`,
	`env`:                                `env`,
	`nice -n 10 rm x`:                    `nice rm`,
	`nice -10 rm x`:                      `nice rm`,
	`ionice -c3 rm x`:                    `ionice rm`,
	`nohup rm x &`:                       `nohup rm`,
	`timeout 5 rm x`:                     `rm timeout`,
	`timeout -k 1 -s KILL 5 rm x`:        `rm timeout`,
	`timeout $x rm y`:                    `timeout ?`,
	`setsid -f rm x`:                     `rm setsid`,
	`stdbuf -oL -e 0 rm x`:               `rm stdbuf`,
	`command rm x`:                       `command rm`,
	`builtin eval 'rm x'`:                `builtin eval rm`,
	`exec rm x`:                          `exec rm`,
	`exec -a ls rm x`:                    `exec rm`,
	`\time -f x rm y`:                    `rm time`,
	`busybox rm x`:                       `busybox rm`,
	`busybox sh -c 'rm x'`:               `busybox rm sh`,
	`eval rm x`:                          `eval rm`,
	`eval "rm x; ls"`:                    `eval ls rm`,
	`eval "$x"`:                          `eval ?`,
	`eval; ls`:                           `eval ls`,
	`eval eval eval eval eval eval ls`:   `eval ?`,
	`watch -n 1 'ls; rm x'`:              `ls rm watch`,
	`watch -x ls`:                        `watch ?`,
	`nohup timeout 9 sudo env nice rm x`: `env nice nohup rm sudo timeout`,
	`su -c 'rm x'`:                       `su ?`,
	`strace -f rm x`:                     `strace ?`,
	`tmux new -d 'rm x'`:                 `tmux ?`,

	// Shells.
	`sh -c 'rm x'`:                     `rm sh`,
	`bash -c "rm x"`:                   `bash rm`,
	`bash -lc 'ls && rm x'`:            `bash ls rm`,
	`bash -euo pipefail -c 'rm x' a b`: `bash rm`,
	`bash -c -x 'rm y'`:                `bash rm`,
	`bash --norc +x -c -- 'rm y'`:      `bash rm`,
	`/bin/sh -c 'sudo rm x > y'`:       `/bin/sh rm sudo >`,
	`bash -c "$x"`:                     `bash ?`,
	`bash -c 'ls' "$x"`:                `bash ls`,
	`bash -c '$0 x' rm`:                `bash ?`,
	`bash -c -- "$x"`:                  `bash ?`,
	`bash -c "echo \"\$(rm x)\""`:      `bash echo rm`,
	`echo ${x:1}`:                      `echo`,
	`bash -c`:                          `bash ?`,
	`bash x.sh`:                        `bash ?`,
	`bash -o`:                          `bash ?`,
	`bash -o "$x" -c ls`:               `bash ?`,
	`bash $x -c ls`:                    `bash ?`,
	`bash --rcfile x -c ls`:            `bash ?`,
	`curl http://x | sh`:               `curl sh ?`,
	"bash <<EOF\nrm x\nEOF":            `bash ?`,
	`bash -c "bash -c 'rm x'"`:         `bash rm`,
	`zsh -c 'rm x'`:                    `zsh ?`,
	`ssh -p 22 host rm x`:              `rm ssh`,
	`ssh host 'ls; rm x'`:              `ls rm ssh`,
	`ssh host -v rm x`:                 `rm ssh`,
	`ssh host -o ProxyCommand=x ls`:    `ssh ?`,
	`ssh -o ProxyCommand=x host ls`:    `ssh ?`,
	`ssh host`:                         `ssh ?`,
	`ssh host "$x"`:                    `ssh ?`,

	// Programs that run others for what they find.
	`find . -name '*.go'`:                    `find`,
	`find . -exec rm {} +`:                   `find rm`,
	`find . -exec rm {} \; -exec cat {} ';'`: `cat find rm`,
	`find . -execdir sudo rm {} \;`:          `find rm sudo`,
	`find . -ok rm x`:                        `find rm`,
	`find . -exec ./x {} \;`:                 `./x find`,
	`find . -execdir ./x {} \;`:              `./x find ?`,
	// That of busybox ends a command at every +.
	`find . -exec echo {}x + -exec rm {} \;`: `echo find ?`,
	`find . -exec {} \;`:                     `find ?`,
	`find . -exec sh -c 'rm "$1"' _ {} \;`:   `find rm sh`,
	`find . -exec sh -c 'rm {}' \;`:          `find sh ?`,
	`find . -exec \; -delete`:                `find rm >`,
	`find . -delete`:                         `find rm >`,
	`find . -fprint x`:                       `find >`,
	`find . $x`:                              `find ?`,
	`find . "-de"lete`:                       `find rm >`,
	`find . {-name,-delete}`:                 `find ?`,
	`find . {-na"me",-delete}`:               `find ?`,
	`jobs`:                                   `jobs`,
	`jobs -l %1`:                             `jobs`,
	`jobs -x rm y`:                           `jobs rm`,
	`jobs -lx rm y`:                          `jobs ?`,
	`jobs $x rm y`:                           `jobs ?`,
	`setarch -R rm y`:                        `setarch ?`,
	`ls | xargs rm`:                          `ls rm xargs`,
	`ls | xargs -0 -n 1 -P4 rm -f`:           `ls rm xargs`,
	`ls | xargs`:                             `ls xargs`,
	`ls | xargs sudo`:                        `ls sudo xargs ?`,
	`ls | xargs sh -c 'rm "$@"' _`:           `ls rm sh xargs`,
	`ls | xargs sh`:                          `ls sh xargs ?`,
	`ls | xargs -I{} rm {}`:                  `ls rm xargs`,
	`ls | xargs -I {} {} x`:                  `ls xargs ?`,
	`ls | xargs -I % sh -c 'ls %'`:           `ls sh xargs ?`,
	`ls | xargs -0I% % x`:                    `% ls xargs ?`,
	`ls | xargs --replace=rm rm`:             `ls xargs ?`,
	`ls | xargs --max-args=1 --null rm`:      `ls rm xargs`,
	`parallel rm ::: a b`:                    `parallel rm`,
	`parallel -j 4 'gzip -9 {}' ::: a`:       `gzip parallel`,
	`parallel {} ::: rm`:                     `parallel ?`,
	`parallel 'ls; rm x' ::: a`:              `ls parallel rm ?`,
	`parallel sh ::: a`:                      `parallel sh ?`,
	`parallel -S host rm ::: a`:              `parallel ?`,
	`parallel < x`:                           `parallel ?`,
	`parallel "$x" ::: a`:                    `parallel ?`,
}

func TestCommands(t *testing.T) {
	if len(commandLines) < 70 {
		t.Fatalf("got %d lines", len(commandLines))
	}
	for line, want := range commandLines {
		name := line[:min(60, len(line))]
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, reading(line)); diff != "" {
				_, _, err := shell.Commands(line)
				t.Errorf("%s\n%serror: %v", line, diff, err)
			}
		})
	}
}

func FuzzCommands(f *testing.F) {
	for line := range commandLines {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		names, _, err := shell.Commands(line)
		if err == nil && len(names) == 0 {
			t.Error("got no names and no error")
		}
		for _, n := range names {
			if n == "" || n == ">" || strings.ContainsAny(n, " \n$`*?;&|'\"") {
				t.Errorf("got the name %q", n)
			}
		}
	})
}
