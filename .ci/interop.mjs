// An independent client of a running host: what it sees must be what the
// documentation promises. Usage: node interop.mjs URL
import { connect } from "@nats-io/transport-node";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";

const nc = await connect({ servers: process.argv[2], reconnect: false });
const js = jetstream(nc);

async function until(what, f) {
  for (let left = 100; ; left--) {
    const value = await f().catch((err) => { if (left === 0) throw err; });
    if (value) return value;
    assert.ok(left > 0, `${what} did not happen`);
    await pause(100);
  }
}

const status = await until("an answer on agenthost.status", async () => {
  const s = (await nc.request("agenthost.status", "", { timeout: 500 })).json();
  return s.state === "ready" && s;
});
assert.deepEqual(status.agents.map((a) => a.id), ["demo"]);

const seen = [];
nc.subscribe("plugin.outbound.demo", { callback: (_, m) => seen.push(m) });
await nc.flush();

// 1. A plain text over core NATS is a message.
nc.publish("plugin.inbound.demo", "hi");
await until("a reply", async () => seen.length > 0);

// 2. One id is answered once, however often it comes.
const body = JSON.stringify({ id: "js-1", from: "ana", text: "twice" });
const first = await js.publish("plugin.inbound.demo", body, { msgID: "js-1" });
const second = await js.publish("plugin.inbound.demo", body, { msgID: "js-1" });
const third = await js.publish("plugin.inbound.demo", body); // past the stream's own window
assert.deepEqual([first.duplicate, second.duplicate, third.duplicate].map(Boolean), [false, true, false]);
await until("a second reply", async () => seen.length > 1);

// 3. What is no message is a dead letter, and no reply.
await js.publish("plugin.inbound.demo", "{");
const jsm = await jetstreamManager(nc);
const dead = await until("a dead letter", () => jsm.streams.getMessage("AGENT_DEAD", { last_by_subj: "agent.dead.demo" }));
assert.match(dead.json().reason, /JSON/);

// Whatever is answered twice, is answered within this pause.
await pause(2000);
const replies = seen.map((m) => m.json());
assert.deepEqual(replies.map((r) => r.text), ["hi", "twice"]);
for (const [i, r] of replies.entries()) {
  assert.equal(r.final, true);
  assert.equal(r.kind, "reply");
  assert.equal(r.agent, "demo");
  assert.equal(r.in_reply_to, ["AGENT_INBOUND:1", "js-1"][i]);
  assert.equal(seen[i].headers.get("Nats-Msg-Id"), r.id);
}
const stored = await jsm.streams.info("AGENT_OUTBOUND");
assert.equal(stored.state.messages, 2);

console.log(`ok: ${replies.length} messages, ${stored.state.messages} replies, 1 dead letter, over ${nc.info.version}`);
await nc.close();
