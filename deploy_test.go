package agenthost_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"agenthost/config"

	"github.com/nats-io/nats-server/v2/server"
	"gopkg.in/yaml.v3"
)

// What docker-compose.yml says, as far as it can be wrong on its own.
type compose struct {
	Services map[string]struct {
		Image       string
		Build       string
		Command     []string
		Environment map[string]string
		Ports       []string
		Volumes     []string
		DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
		Healthcheck struct {
			Test                       []string
			Interval, Timeout, Retries string
		}
		StopGracePeriod string `yaml:"stop_grace_period"`
		Restart         string
	}
	Volumes map[string]struct{}
}

func readCompose(t *testing.T) compose {
	t.Helper()
	var c compose
	dec := yaml.NewDecoder(strings.NewReader(read(t, "docker-compose.yml")))
	dec.KnownFields(true)
	if err := dec.Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

// mounts are the files of the repository that a service sees, by their path in
// the container.
func (c compose) mounts(t *testing.T, service string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	for _, v := range c.Services[service].Volumes {
		source, target, _ := strings.Cut(strings.TrimSuffix(v, ":ro"), ":")
		if _, named := c.Volumes[source]; named {
			continue
		}
		if _, err := os.Stat(source); err != nil {
			t.Errorf("%s mounts %v", service, err)
		}
		files[target] = source
	}
	return files
}

func TestComposeMountsAConfiguration(t *testing.T) {
	c := readCompose(t)
	file := c.mounts(t, "host")["/etc/agenthost/agenthost.yaml"]
	cfg, err := config.Load(file)
	if err != nil {
		t.Fatalf("load %q: %v", file, err)
	}
	if cfg.NATS.External() {
		t.Error("the configuration names a NATS server, so NATS_URL has no effect")
	}
	if got, want := c.Services["host"].Environment["NATS_URL"], "nats://nats:4222"; got != want {
		t.Errorf("NATS_URL: got %q, want %q", got, want)
	}
	if len(c.Services["host"].Ports) > 0 {
		t.Error("the host publishes a port, so there can be only one")
	}
}

func TestComposeServerConfiguration(t *testing.T) {
	c := readCompose(t)
	command := c.Services["nats"].Command
	if len(command) != 2 || command[0] != "-c" {
		t.Fatalf("command of nats: got %q, want -c and a file", command)
	}
	t.Setenv("NATS_PASSWORD", strings.Replace(c.Services["nats"].Environment["NATS_PASSWORD"], "${NATS_PASSWORD:?write one to .env}", "0e12", 1))
	opts, err := server.ProcessConfigFile(c.mounts(t, "nats")[command[1]])
	if err != nil {
		t.Fatal(err)
	}
	if !opts.JetStream || opts.StoreDir != "/data" || !opts.SyncAlways {
		t.Errorf("got JetStream %v in %q, sync always %v; want it in the volume /data, always synced", opts.JetStream, opts.StoreDir, opts.SyncAlways)
	}
}

// What other machines or containers reach asks for the password that hosts have.
func TestDeploymentsAskWhoConnects(t *testing.T) {
	c := readCompose(t)
	t.Setenv("NATS_PASSWORD", strings.Replace(c.Services["nats"].Environment["NATS_PASSWORD"], "${NATS_PASSWORD:?write one to .env}", "0e12", 1))
	opts, err := server.ProcessConfigFile(c.mounts(t, "nats")[c.Services["nats"].Command[1]])
	if err != nil {
		t.Fatal(err)
	}
	env := c.Services["host"].Environment
	if len(opts.Users) != 1 || opts.Users[0].Username != env["NATS_USER"] || opts.Users[0].Password != "0e12" || opts.NoAuthUser != "" {
		t.Errorf("got users %+v and %q without a login", opts.Users, opts.NoAuthUser)
	}
	if !strings.HasPrefix(env["NATS_PASSWORD"], "${NATS_PASSWORD:?") {
		t.Errorf("password of the host: got %q, want that of the server", env["NATS_PASSWORD"])
	}
	cfg, err := config.Load("deploy/agenthost.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.NATS.Embedded.Anonymous; got != "none" {
		t.Errorf("the embedded server of the image: anonymous %q, want none", got)
	}
}

// What the Dockerfile copies from the repository is there.
func TestDockerfileCopies(t *testing.T) {
	for line := range strings.Lines(read(t, "Dockerfile")) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[0] != "COPY" || strings.HasPrefix(fields[1], "--from") {
			continue
		}
		for _, source := range fields[1 : len(fields)-1] {
			if _, err := os.Stat(filepath.Clean(source)); err != nil {
				t.Errorf("COPY: %v", err)
			}
		}
	}
}

// Commands of agents are confined by landlock and seccomp, by calls that systemd's sets of
// calls lack. A call that the unit forbids is refused: it does not end the process.
func TestUnitLetsTheHostConfineCommands(t *testing.T) {
	unit := read(t, "deploy/agenthost.service")
	allowed := map[string]bool{}
	for line := range strings.Lines(unit) {
		if calls, ok := strings.CutPrefix(line, "SystemCallFilter="); ok && !strings.HasPrefix(calls, "~") {
			for call := range strings.FieldsSeq(calls) {
				allowed[call] = true
			}
		}
	}
	for _, call := range []string{"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "seccomp", "capset"} {
		if !allowed[call] {
			t.Errorf("the unit does not allow %s", call)
		}
	}
	for _, line := range []string{"\nSystemCallErrorNumber=EPERM\n", "\nEnvironment=HOME=/var/lib/agenthost\n"} {
		if !strings.Contains(unit, line) {
			t.Errorf("the unit lacks %q", line)
		}
	}
	if strings.Contains(unit, "\nMemoryDenyWriteExecute=") {
		t.Error("the unit forbids what MCP servers on Node and Java need")
	}
}

// A kubernetesPart is what of deploy/kubernetes.yaml can be wrong on its own.
type kubernetesPart struct {
	Kind string
	Data map[string]string
	Spec struct {
		Template struct {
			Spec struct {
				Grace      int `yaml:"terminationGracePeriodSeconds"`
				Containers []struct {
					Liveness  kubernetesProbe `yaml:"livenessProbe"`
					Readiness kubernetesProbe `yaml:"readinessProbe"`
				}
			}
		}
	}
}

type kubernetesProbe struct {
	Get struct{ Path string } `yaml:"httpGet"`
}

// The configuration in deploy/kubernetes.yaml is one, with the variables that the secret
// of its first lines has, and the probes are where a host serves them.
func TestKubernetes(t *testing.T) {
	file := read(t, "deploy/kubernetes.yaml")
	dec := yaml.NewDecoder(strings.NewReader(file))
	var settings, deployment kubernetesPart
	for _, part := range []*kubernetesPart{&settings, &deployment} {
		if err := dec.Decode(part); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"NATS_PASSWORD", "AGENTHOST_TOKEN", "OPENAI_API_KEY"} {
		if !strings.Contains(file, "--from-literal="+name+"=") {
			t.Errorf("the secret lacks %s", name)
		}
		t.Setenv(name, "0123456789abcdef")
	}
	cfg, err := config.Parse(filepath.Join(t.TempDir(), "agenthost.yaml"), []byte(settings.Data["agenthost.yaml"]))
	if err != nil {
		t.Fatal(err)
	}
	if !cfg.NATS.External() || cfg.HTTP.Listen != "0.0.0.0:8080" {
		t.Errorf("got NATS at %q and HTTP at %q", cfg.NATS.URL, cfg.HTTP.Listen)
	}
	pod := deployment.Spec.Template.Spec
	if want := readCompose(t).Services["host"].StopGracePeriod; strconv.Itoa(pod.Grace)+"s" != want {
		t.Errorf("the grace is %d s, that of docker-compose.yml %s", pod.Grace, want)
	}
	if len(pod.Containers) != 1 || pod.Containers[0].Liveness.Get.Path != "/healthz" || pod.Containers[0].Readiness.Get.Path != "/readyz" {
		t.Errorf("got containers %+v", pod.Containers)
	}
}
