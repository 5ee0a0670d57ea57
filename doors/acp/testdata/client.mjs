// An editor made of the official library: node client.mjs PROGRAM ARGUMENT...
// It says what it gets, a line each.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [program, ...args] = process.argv.slice(2);
const said = [];
let choice = "once", cancelAt = "";

function start() {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  const app = acp.client({ name: "test" })
    .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
      said.push(`permission: ${params.toolCall.title} [${params.options.map((o) => o.kind)}]`);
      if (choice === "") return { outcome: { outcome: "cancelled" } };
      return { outcome: { outcome: "selected", optionId: choice } };
    })
    .onNotification(acp.methods.client.session.update, ({ params: { update: u } }) => {
      const last = said.length - 1;
      if (u.sessionUpdate.endsWith("_chunk")) {
        if (said[last]?.startsWith(u.sessionUpdate)) said[last] += u.content.text;
        else said.push(`${u.sessionUpdate}: ${u.content.text}`);
      } else {
        said.push([u.sessionUpdate, u.title, u.status].filter(Boolean).join(" "));
      }
    });
  const connection = app.connect(stream);
  return { child, connection, agent: connection.agent };
}

async function stop({ child }) {
  child.stdin.end();
  const code = await new Promise((done) => child.on("exit", done));
  console.log(`exit ${code}`);
}

function show(what) {
  for (const line of said.splice(0)) console.log(`  ${line}`);
  console.log(what);
}

const request = (c, method, params) => c.agent.request(method, params);
const m = acp.methods.agent;
const text = (t) => [{ type: "text", text: t }];

let c = start();
const hello = await request(c, m.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
show(`initialize ${hello.protocolVersion} load ${hello.agentCapabilities.loadSession}`);
const { sessionId } = await request(c, m.session.new, { cwd: "/", mcpServers: [] });
show("new");
for (const t of ["hi", "story", "write"]) {
  const { stopReason } = await request(c, m.session.prompt, { sessionId, prompt: text(t) });
  show(`prompt ${t}: ${stopReason}`);
}
choice = "deny";
show(`prompt write: ${(await request(c, m.session.prompt, { sessionId, prompt: text("write") })).stopReason}`);
const endless = request(c, m.session.prompt, { sessionId, prompt: text("endless") });
await new Promise((done) => setTimeout(done, 500));
await c.agent.notify(m.session.cancel, { sessionId });
show(`cancel: ${(await endless).stopReason}`);
await request(c, m.session.prompt, { sessionId, prompt: text("broken") }).catch((e) => show(`prompt broken: error ${e.code}`));
await stop(c);

c = start();
await request(c, m.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
await request(c, m.session.load, { sessionId, cwd: "/", mcpServers: [] });
show("load");
show(`prompt hi: ${(await request(c, m.session.prompt, { sessionId, prompt: text("hi") })).stopReason}`);
await stop(c);
