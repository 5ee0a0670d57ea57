// What OpenAI's client for JavaScript makes of a token that is not let in.
import assert from 'node:assert/strict';
import OpenAI from 'openai';

const [baseURL, reader] = process.argv.slice(2);
const ask = (apiKey) => new OpenAI({ baseURL, apiKey }).chat.completions.create({ model: 'ana', messages: [{ role: 'user', content: 'hi' }] });

await assert.rejects(ask('wrong'), (e) => e instanceof OpenAI.AuthenticationError && e.status === 401 && e.type === 'authentication_error' && e.code === 'validation');
console.log('ok 401');
await assert.rejects(ask(reader), (e) => e instanceof OpenAI.PermissionDeniedError && e.status === 403 && e.type === 'permission_error' && e.code === 'validation');
console.log('ok 403');
