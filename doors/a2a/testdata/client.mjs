// Talks to an agent by the official client, unmodified: node client.mjs http://…/a2a/ana/
import { ClientFactory } from '@a2a-js/sdk/client';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

const client = await new ClientFactory().createFromUrl(process.argv[2]);
const text = (parts) => parts.filter((p) => p.content?.$case === 'text').map((p) => p.content.value).join('');
const message = (value, more = {}) => ({
  message: { messageId: randomUUID(), contextId: '', taskId: '', role: 1, parts: [{ content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '' }], metadata: undefined, extensions: [], referenceTaskIds: [], ...more },
  tenant: '', metadata: undefined,
});
const kind = (e) => e.payload ?? e;
const completed = 3, canceled = 5, required = 6;

const card = await client.getAgentCard();
assert.equal(card.name, 'ana');
console.log('discover');

const task = await client.sendMessage(message('hi'));
assert.equal(task.status.state, completed, JSON.stringify(task));
assert.equal(text(task.artifacts[0].parts), 'ana: hi');
console.log('send');

let told = '', last;
for await (const e of client.sendMessageStream(message('story'))) {
  const { $case, value } = kind(e);
  if ($case === 'artifactUpdate') told = (value.append ? told : '') + text(value.artifact.parts);
  if ($case === 'statusUpdate') last = value.status.state;
}
assert.equal(told, 'Once upon a time.');
assert.equal(last, completed);
console.log('stream');

const again = await client.getTask({ id: task.id, tenant: '' });
assert.deepEqual(text(again.artifacts[0].parts), 'ana: hi');
console.log('get');

const asked = await client.sendMessage(message('colour'));
assert.equal(asked.status.state, required);
const answered = await client.sendMessage(message('Blue', { taskId: asked.id, contextId: asked.contextId }));
assert.equal(text(answered.artifacts[0].parts), 'You like Blue.');
console.log('answer');

let begun;
for await (const e of client.sendMessageStream(message('endless'))) {
  begun = kind(e).value.id;
  break;
}
const states = [];
const following = (async () => {
  for await (const e of client.resubscribeTask({ id: begun, tenant: '' })) {
    const { $case, value } = kind(e);
    states.push(value.status.state);
    if ($case === 'task') {
      const ended = await client.cancelTask({ id: begun, tenant: '', metadata: undefined });
      assert.equal(ended.status.state, canceled);
      console.log('cancel');
    }
  }
})();
await following;
assert.equal(states.at(-1), canceled);
console.log('resubscribe');

const list = await client.listTasks?.({ tenant: '', contextId: '', status: 0, pageSize: 10, pageToken: '' });
if (list) assert.equal(list.tasks.length, 4);
console.log('list');

await assert.rejects(client.getTask({ id: 'nothing', tenant: '' }), /no task/);
console.log('errors');
