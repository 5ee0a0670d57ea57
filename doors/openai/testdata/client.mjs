// What OpenAI's client for JavaScript does with an agent. The second address fails once.
import assert from 'node:assert/strict';
import OpenAI from 'openai';

const [baseURL, failing] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey: 'none' });
const messages = (text) => [{ role: 'user', content: text }];
const chat = (text, more) => client.chat.completions.create({ model: 'ana', messages: messages(text), ...more });
const ok = (what) => console.log('ok', what);

const models = [];
for await (const m of client.models.list()) models.push(m.id);
assert.deepEqual(models, ['ana']);
assert.equal((await client.models.retrieve('ana')).id, 'ana');
ok('models');

const whole = await chat('hi');
assert.equal(whole.choices[0].message.content, 'ana: hi');
assert.deepEqual([whole.usage.prompt_tokens, whole.usage.completion_tokens, whole.usage.total_tokens], [3, 2, 5]);
ok('whole');

let text = '', usage;
for await (const chunk of await chat('story', { stream: true, stream_options: { include_usage: true } })) {
  text += chunk.choices[0]?.delta?.content ?? '';
  usage = chunk.usage ?? usage;
}
assert.equal(text, 'Once upon a time.');
assert.ok(usage);
ok('stream');

const final = await client.chat.completions.stream({ model: 'ana', messages: messages('story') }).finalChatCompletion();
assert.equal(final.choices[0].message.content, 'Once upon a time.');
ok('stream helper');

const retrying = new OpenAI({ baseURL: failing, apiKey: 'none' });
const retried = await retrying.chat.completions.create({ model: 'ana', messages: messages('once') }).withResponse();
assert.equal(retried.data.choices[0].message.content, 'ana: once');
const session = retried.response.headers.get('agent-session');
const same = await retrying.chat.completions.create({ model: 'ana', messages: messages('once') }, { headers: { 'x-stainless-retry-count': '1' } }).withResponse();
assert.equal(same.response.headers.get('agent-session'), session);
assert.equal(same.data.id, retried.data.id);
ok('retry after 503: ' + session);

await assert.rejects(chat('x', { model: 'nobody' }), (e) => e instanceof OpenAI.NotFoundError && e.code === 'validation' && e.param === 'model');
await assert.rejects(chat('broken'), (e) => e instanceof OpenAI.BadRequestError && e.code === 'validation');
await assert.rejects(async () => { for await (const _ of await chat('broken', { stream: true })); }, (e) => e instanceof OpenAI.APIError && e.code === 'validation');
ok('errors');

const tools = [{ type: 'function', function: {
  name: 'weather', description: 'The weather.', parameters: { type: 'object', properties: { city: { type: 'string' } } },
  parse: JSON.parse, function: ({ city }) => `sun in ${city}`,
} }];
for (const stream of [false, true]) {
  const runner = client.chat.completions.runTools({ model: 'ana', messages: messages('weather?'), tools, stream });
  assert.equal(await runner.finalContent(), 'weather: sun in Oslo');
}
ok('tools');

const response = await client.responses.create({ model: 'ana', input: 'hi' });
assert.equal(response.output_text, 'ana: hi');
const next = await client.responses.create({ model: 'ana', input: 'more', previous_response_id: response.id });
assert.equal(next.output_text, 'ana: more');
assert.equal((await client.responses.retrieve(response.id)).output_text, 'ana: hi');
ok('responses');

const streamed = await client.responses.stream({ model: 'ana', input: 'story' }).finalResponse();
assert.equal(streamed.output_text, 'Once upon a time.');
ok('responses stream');

const called = await client.responses.stream({ model: 'ana', input: 'weather?', tools: [{ type: 'function', name: 'weather', parameters: { type: 'object' }, strict: false }] }).finalResponse();
const call = called.output.find((item) => item.type === 'function_call');
assert.deepEqual(JSON.parse(call.arguments), { city: 'Oslo' });
const done = await client.responses.create({ model: 'ana', previous_response_id: called.id, input: [{ type: 'function_call_output', call_id: call.call_id, output: 'rain' }] });
assert.equal(done.output_text, 'weather: rain');
ok('responses tools');

assert.equal((await chat('slow')).choices[0].message.content, 'late');
let late = '';
for await (const chunk of await chat('slow', { stream: true })) late += chunk.choices[0]?.delta?.content ?? '';
assert.equal(late, 'late');
ok('a slow model');
