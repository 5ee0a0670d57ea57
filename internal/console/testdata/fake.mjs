// A fleet as /api answers of it, for pages with much in them.
const minute = 60_000, hour = 60 * minute
const now = Date.now()
const back = (ms) => new Date(now - ms).toISOString()
const cents = (c) => Math.round(c * 1_000_000) // in micro-cents

const names = [['ana', 'Answers questions about orders'], ['bob', 'Knows everything about deliveries'], ['scout', 'Looks up what suppliers have'], ['ledger', 'Books invoices, every night']]
const models = ['claude-sonnet', 'gpt-mini', 'qwen-local']

export function fake({ sessions = 160, files = 0, text = (t) => t } = {}) {
  const titles = ['Where is my parcel?', 'The lamp arrived broken', 'Can I change the address?', 'Invoice for order A-1042', 'Is the cable 2 m long?', 'Refund, please', 'What colours are there?', 'The code does not work', 'When is Bob back?', 'Compare the three chairs'].map(text)
  const people = ['maria', 'jonas', 'li wei', 'oluwaseun', 'anna-lena', 'tom', 'priya', 'carlos'].map(text)
  const list = Array.from({ length: sessions }, (_, i) => ({
    agent: names[i % 7 === 3 ? 1 : i % 11 === 5 ? 2 : 0][0], sid: 's' + String(i).padStart(5, '0'), key: ['telegram/dm/', 'web/dm/', 'slack/group/', 'email/dm/'][i % 4] + people[i % 8] + '-' + i, at: back(i * 3.3 * minute + 20_000),
    seq: 1_000_000 - i * 3, title: titles[i % titles.length], messages: 2 + (i * 7) % 31, state: i === 0 ? 'running' : i === 2 || i === 9 ? 'waiting' : 'idle', for: i === 2 ? ['approval'] : i === 9 ? ['question'] : undefined, spent: cents(0.2 + (i * 37 % 90) / 10),
  }))
  const facts = story(text, files)
  const letters = [
    { dead_seq: 12, id: 'tg-99812', agent: 'ana', reason: text('the message has no text and no file'), code: 'malformed', subject: 'plugin.inbound.telegram', stream: 'AGENT_INBOUND', seq: 88123, host: 'helios', at: back(26 * minute), payload: '{"id":"tg-99812","from":"4411","chat":"4411"}' },
    { dead_seq: 9, id: 'ord-771', agent: 'bob', reason: text('the run ended its host 3 times'), code: 'poison', subject: 'agent.route.bob', stream: 'AGENT_ROUTES', seq: 5120, attempts: 3, host: 'selene', at: back(7 * hour), payload: '{"id":"ord-771","kind":"delegate","from":"erp","text":"' + 'Book the return of order 771. '.repeat(3) + '"}', header: { 'Nats-Msg-Id': ['ord-771'] } },
    { dead_seq: 4, id: 'r.771.2', agent: 'ana', reason: text('telegram refuses it: chat not found'), code: 'undeliverable', subject: 'plugin.outbound.telegram', stream: 'AGENT_OUTBOUND', seq: 41002, attempts: 5, host: 'helios', at: back(31 * hour), payload: '{"id":"r.771.2","text":"Your parcel left Lyon this morning."}' },
  ]
  const approvals = [
    { id: 'ana.s00002.wait1', agent: 'ana', session: list[2 % list.length].key, run: 'run-2', call: 'c1', kind: 'approval', tool: 'refund', prompt: text('Ana wants to refund order A-1042, 49.00 EUR: arrived broken, the customer sent a photo.'), options: ['approve', 'deny'], asked_at: back(4 * minute), deadline: back(-20 * hour), model: 'claude-sonnet', host: 'helios' },
    { id: 'scout.s00009.wait2', agent: 'scout', session: list[9 % list.length].key, run: 'run-9', call: 'c2', kind: 'question', tool: 'ask_human', prompt: text('Two suppliers have the lamp. Which one shall I order from?'), options: ['Lumen, 31.20, Tuesday', 'Brightly, 29.90, Friday'], asked_at: back(17 * minute), model: 'gpt-mini', host: 'selene' },
  ]
  const status = (host, i) => ({
    host, version: '0.1.0', state: 'ready', started: back(52 * hour - i * 7 * hour), serving: [3, 2, 1][i], lanes: 6,
    agents: names.map(([id, description], n) => ({ id, description: text(description), sessions: 40 - n * 7 - i * 3, inflight: 0, running: i === 0 && n < 2 ? 1 : i === 1 && n === 2 ? 1 : 0, queued: n === 0 && i === 0 ? 3 : 0, spent_today: [cents(412), cents(97), cents(188), cents(23)][n], serving: n % 3 === i || n === 3 && i === 0, state: n === 3 ? 'degraded' : 'ready', reason: n === 3 ? text('its tool erp cannot be reached; the others work') : undefined })),
    models: models.map((name, n) => ({ name, provider: ['anthropic', 'openai', 'openai'][n], model: ['claude-sonnet-5', 'gpt-6-mini', 'qwen3:8b'][n], breaker: n === 2 ? 'open' : 'closed', inflight: n === 0 && i === 0 ? 2 : 0, waiting: 0, spent_today: [cents(640), cents(80), 0][n] })),
  })
  const cost = (q) => {
    const agents = [], all = [], days = +(q.get('days') ?? 7)
    for (let d = 0; d < days; d++) {
      const day = new Date(now - d * 24 * hour).toISOString().slice(0, 10), weekend = [0, 6].includes(new Date(day).getUTCDay()) ? 0.45 : 1
      for (const [n, [agent]] of names.entries()) {
        const spent = cents([390, 110, 170, 30][n] * weekend * (0.75 + ((d * 7 + n * 5) % 10) / 20))
        agents.push({ day, agent, spent })
        all.push({ day, agent, model: models[0], spent: Math.round(spent * 0.83) }, { day, agent, model: models[1], spent: Math.round(spent * 0.17) })
      }
    }
    return { days, agents, models: all, people: people.map((p, i) => ({ agent: 'ana', person: ['telegram/', 'web/', 'email/'][i % 3] + p, spent: cents(900 - i * 105) })), budgets: [{ agent: 'ana', span: 'day', limit: cents(1000), spent: cents(412), left: cents(588) }, { agent: 'scout', span: 'day', limit: cents(200), spent: cents(188), left: cents(12) }, { agent: 'ledger', span: 'month', limit: cents(2000), spent: cents(305), left: cents(1695) }] }
  }
  const tools = [['refund', 'Pays money back for an order.', 'ask'], ['find_order', 'Looks an order up by its number, or by who ordered.', 'allow'], ['write_file', 'Writes a file of the workspace, whole.', 'ask'], ['fetch_url', 'Reads a page of the web.', 'allow'], ['delete_order', 'Deletes an order for good.', 'deny']].map(([name, description, permission]) => ({ name, description: text(description), permission, schema: { type: 'object', required: ['order'], properties: { order: { type: 'string' }, amount: { type: 'string' } } } }))
  const answers = {
    'GET me': () => ({ name: 'operator', role: 'admin', open: true, version: '0.1.0' }),
    'GET openapi.json': () => ({ paths: Object.fromEntries(['me', 'audit', 'sessions/takeover', 'pauses', 'pauses/begin', 'pauses/end', 'fleet/drain', 'tokens', 'tokens/add'].map((p) => ['/api/' + p, {}])) }),
    'GET status': () => ['helios', 'selene', 'eos'].map(status),
    'GET runs': () => ({ runs: [
      { agent: 'ana', session: list[0].key, run: 'run-0', since: back(6_000), phase: 'model', model: 'claude-sonnet', host: 'helios' },
      { agent: 'bob', session: list[3 % list.length].key, run: 'run-3', since: back(19_000), phase: 'tools', for: [text('find_parcel')], model: 'gpt-mini', host: 'helios' },
      { agent: 'ana', session: list[2 % list.length].key, run: 'run-2', since: back(4 * minute), phase: 'waiting', for: ['approval'], model: 'claude-sonnet', host: 'helios' },
      { agent: 'scout', session: list[9 % list.length].key, run: 'run-9', since: back(17 * minute), phase: 'waiting', for: ['question'], model: 'gpt-mini', host: 'selene' }] }),
    'GET approvals': () => ({ waiting: approvals }),
    'GET approvals/show': (q) => ({ ...approvals.find((a) => a.id === q.get('id')), whole: text('refund\namount="49.00 EUR"\norder="A-1042"') }),
    'GET pauses': () => ({ pauses: [{ agent: 'ledger', since: back(3 * hour), by: 'cli:maria', reason: text('the books are closed until Monday') }] }),
    'GET tokens': () => ({ tokens: [
      { name: 'dashboard', role: 'read', made_at: back(900 * hour), by: 'cli:maria' }, { name: 'desk', role: 'admin', agents: ['ana', 'bob'], made_at: back(200 * hour), by: 'operator', expires: back(-500 * hour) },
      { name: 'shop', role: 'chat', agents: ['ana'], made_at: back(31 * hour), by: 'desk' }] }),
    'GET pairings': () => ({ pairings: [] }),
    'GET models': () => ({ models: models.map((name) => ({ host: 'helios', name })) }),
    'GET agents': () => ({ agents: [{ id: 'ana', profile: { channels: ['telegram', 'web'], permissions: { refund: 'ask', delete_order: 'deny' }, delegates: ['bob'], accepts: [], approvers: ['slack/maria'], budget: { day: 10 } } }] }),
    'GET channels': () => ({ channels: [
      { channel: 'telegram', agents: ['ana'], owner: 'helios', hosts: ['helios', 'selene'], state: 'connected', as: text('@shop_bot'), in: 1842, out: 1790, retries: 3, dead: 1, waiting: 0 },
      { channel: 'slack', instance: 'staff', agents: ['bob', 'scout'], owner: 'selene', hosts: ['helios', 'selene'], state: 'connected', as: 'helper', in: 412, out: 420, retries: 0, dead: 0, waiting: 2, oldest_undelivered: back(9_000) },
      { channel: 'email', agents: ['ana'], owner: 'helios', hosts: ['helios'], state: 'retrying', as: 'help@shop.test', in: 97, out: 91, retries: 8, dead: 0, waiting: 4, oldest_undelivered: back(3 * minute), last_error: text('imap.shop.test: connection refused; trying again in 30 s') },
      { channel: 'web', agents: ['ana', 'bob'], owner: 'helios', hosts: ['helios', 'selene', 'eos'], state: 'connected', in: 640, out: 655, retries: 0, dead: 0, waiting: 0 }] }),
    'GET dead/show': (q) => letters.find((l) => String(l.dead_seq) === q.get('dead_seq')),
    'GET dead': () => ({ letters: letters.toReversed() }),
    'GET sessions': (q) => {
      const limit = +(q.get('limit') ?? 50), after = +(q.get('after') ?? 0)
      const fit = list.filter((s) => (!q.get('agent') || s.agent === q.get('agent')) && (!q.get('state') || s.state === q.get('state')) && (!after || s.seq < after)), page = fit.slice(0, limit)
      return { sessions: page, after: fit.length > limit ? page.at(-1).seq : 0 }
    },
    'GET sessions/search': (q) => ({ hits: list.slice(0, 40).map((s, i) => ({ agent: s.agent, sid: s.sid, key: s.key, seq: s.seq, n: 2, at: s.at, who: people[i % 8], text: 'Hello, about ' + q.get('text') + ': ' + s.title })) }),
    'GET schedules': () => ({ schedules: [
      { agent: 'ledger', name: 'nightly', source: 'config', spec: { cron: '0 2 * * *', timezone: 'Europe/Paris' }, prompt: text('Book the invoices of the day.'), made_at: back(90 * hour), next: back(-7 * hour) },
      { agent: 'scout', name: 'prices', source: 'config', spec: { every: '6h' }, prompt: text('Look up what the suppliers ask for the ten best sellers.'), made_at: back(90 * hour), next: back(-2 * hour) },
      { agent: 'ana', name: 'r-81', source: 'reminder', spec: { at: back(-26 * hour) }, prompt: text('Ask Maria whether the new lamp has arrived.'), by: people[0], origin: { channel: 'telegram', chat: '4411' }, made_at: back(2 * hour), next: back(-26 * hour) }] }),
    'GET costs': cost,
    'GET memory': (q) => ({ notes: q.get('agent') === 'ana' ? [{ id: 'n1', agent: 'ana', peer: 'telegram/' + people[0], text: text('Prefers to be called in the afternoon.'), at: back(40 * hour), used: 6 }, { id: 'n2', agent: 'ana', text: text('Orders from Lyon take two days in winter.'), at: back(300 * hour), used: 31 }] : [] }),
    'GET audit': () => ({ entries: [['operator', 'approve', 'ana', 'refund A-1039', 'console', 9], ['desk', 'abort', 'bob', 'web/dm/tom-13', 'api', 48], ['maria', 'approve', 'ana', 'write_file', 'telegram', 95], ['operator', 'reload', '', 'all hosts', 'cli', 190], ['desk', 'takeover', 'ana', 'telegram/dm/priya-6', 'console', 260], ['operator', 'dead retry', 'bob', '7', 'cli', 900], ['operator', 'trip', '', 'qwen-local', 'cli', 1300]].map(([by, action, agent, target, door, m], i) => ({ seq: 90 - i, at: back(m * minute), by: text(by), action, agent, target: text(target), door })) }),
    'POST agents/play': (_, b) => ({ text: b.system ? 'Your order **A-1042** is on its way.\n\nIt left Lyon this morning.' : 'Hello! I have looked it up for you:\n\n| Item | State |\n|---|---|\n| Lamp *Aurora* | delivered |\n| Cable, 2 m | on its way |\n\nThe cable left **Lyon** this morning and should arrive tomorrow.', model: b.model ?? 'claude-sonnet', input: 812, output: b.system ? 24 : 88, priced: true, cost: cents(b.system ? 0.11 : 0.42), ms: b.system ? 640 : 1900 }),
  }
  Object.assign(answers, {
    'GET sessions/show': (q) => ({ ...list.find((s) => s.sid === q.get('session') || s.key === q.get('session')) ?? { ...list[2 % list.length], sid: q.get('session') }, agent: q.get('agent') }),
    'GET sessions/events': (q) => {
      const from = +(q.get('from') ?? 0), limit = +(q.get('limit') ?? 500)
      const all = facts.filter((f) => f.seq >= from), page = all.slice(0, limit)
      return { agent: q.get('agent'), events: page, next: all.length > limit ? page.at(-1).seq : 0 }
    },
    'GET agents/prompt': (q) => ({ agent: q.get('agent'), models: ['claude-sonnet', 'gpt-mini'], system: text('You are Ana, who answers customers of a lamp shop.\n\nBe friendly and brief. Say what you have looked up, and what you have not. Never promise a refund before it is approved.\n\nToday is Monday. The shop is closed on Sundays.'), tools }),
    'POST sessions/takeover': (_, b) => { list.find((s) => s.sid === b.session).state = 'operator'; return { ok: true } },
    'POST sessions/handback': (_, b) => { list.find((s) => s.sid === b.session).state = 'idle'; return { ok: true } },
    'GET why': (q) => way(q.get('id'), text),
    'POST sessions/fork': (_, b) => ({ agent: b.agent, key: 'telegram/dm/fork~fork-1', sid: b.session + 'f', seq: 1, events: 12 }),
    'POST sessions/rerun': (_, b) => ({ runs: [{ run: b.run, seq: 1, said: 'Can I have my money back?', then: { text: 'Done. I have refunded 49.00 EUR.', input: 2801, output: 142, cost: cents(1.05), priced: true }, now: { text: 'I have looked it up. May I refund 49.00 EUR?', calls: ['find_order {"order":"A-1042"}'], input: 2810, output: 61, cost: cents(0.2), priced: true } }] }),
  })
  return (method, path, query, body) => {
    const f = answers[method + ' ' + path]
    return f ? f(query, body) : method === 'POST' ? { ok: true } : undefined
  }
}

function way(id, text) {
  const t = now - 12 * minute
  const step = (ms, what, more) => ({ at: new Date(t + ms).toISOString(), what, agent: 'ana', ...more })
  return { id, kind: 'inbound', state: 'answered', steps: [
    step(0, 'accepted', { stream: 'AGENT_INBOUND', seq: 88140, subject: 'plugin.inbound.telegram', id }),
    step(3, 'run started', { session: 'telegram/dm/maria-2', run: '3NWxr4pXAwKR5t8Uu9lHhj', host: 'helios', stream: 'AGENT_SESSIONS', seq: 91120, detail: 'message' }),
    step(1910, 'model called', { session: 'telegram/dm/maria-2', name: 'claude-sonnet', detail: '2,214 tokens in, 96 out, $0.0082, 1.9s' }),
    step(1915, 'tool called', { name: 'find_order', id: 'call_1', detail: text('order: A-1042') }), step(2260, 'tool answered', { name: 'find_order', id: 'call_1' }),
    step(2300, 'asks for approval', { name: 'refund', detail: text('refund order A-1042, 49.00 EUR') }),
    step(246_300, 'answered', { detail: 'approve by operator over console' }), step(248_900, 'replied', { id: '3NWxr4pXAwKR5t8Uu9lHhj.2', stream: 'AGENT_SESSIONS', seq: 91127 }),
    step(248_904, 'published', { stream: 'AGENT_OUTBOUND', seq: 41077, subject: 'plugin.outbound.telegram' }), step(249_210, 'delivered', { name: 'plugin-telegram', host: 'helios' })] }
}

// story is a session in which much happens; files are those that each side sends at its end.
function story(text, files) {
  const run = '3NWxr4pXAwKR5t8Uu9lHhj', run2 = '3NWxr4pXAwKR5t8Uu9lLbY'
  let seq = 91_120, n = 0, t = now - 12 * minute, of = run
  const list = []
  const put = (type, ms, more = {}, commit = false) => { if (commit) { seq++; n = 0 } t += ms; list.push({ seq, n: ++n, of, type, at: new Date(t).toISOString(), ...more }) }
  const said = (s, role = 'assistant') => ({ message: { role, parts: [{ type: 'text', text: text(s) }] } })
  const sent = (s, role) => { const m = said(s, role); for (let i = 0; i < files; i++) m.message.parts.push({ type: 'media', media: { kind: 'file', mime: 'image/jpeg', name: text('lamp.jpg'), size: 1000 + i, object: 'o' + i } }); return m }
  put('run.started', 0, { run, trigger: 'message', inputs: [{ id: 'tg-99840', subject: 'plugin.inbound.telegram', seq: 88140, hooks: [{ at: new Date(t).toISOString(), point: 'before_message', hook: 'shop.redact', action: 'override', args: ['message'] }], envelope: { id: 'tg-99840', from: 'maria', from_name: text('Maria'), text: 'x' } }, { id: 'tg-99841', subject: 'plugin.inbound.telegram', seq: 88141, envelope: { id: 'tg-99841', from: 'maria' } }] })
  put('message', 0, said('Hello, the lamp from order A-1042 arrived broken. I have a photo.', 'user'))
  put('message', 1, said('Can I have my money back?', 'user'))
  put('model.called', 1900, { attempt: 1, provider: 'anthropic', model: 'claude-sonnet-5', entry: 'claude-sonnet', usage: { input: 2214, output: 96, cache_read: 1800 }, cost: cents(0.82), priced: true, ms: 1890 }, true)
  put('message', 0, said('I am sorry about that. Let me look up your order and where the parcel was.'))
  put('tool.requested', 1, { call: 'c1', name: 'find_order', args: { order: text('A-1042') } })
  put('tool.requested', 0, { call: 'c2', name: 'find_parcel', args: { order: 'A-1042', carrier: 'DPD' } })
  put('tool.finished', 340, { call: 'c1', name: 'find_order', ok: true, source: 'tool', result: text('Order A-1042: lamp Aurora 49.00 EUR, cable 2 m 7.50 EUR. Paid by card. Delivered on Friday.') }, true)
  put('tool.finished', 610, { call: 'c2', name: 'find_parcel', ok: false, source: 'tool', result: text('DPD answers with 503: the service is away'), hooks: [{ at: new Date(t + 100).toISOString(), point: 'before_tool_call', hook: 'shop.audit', action: 'failed', call: 'c2', error: text('ask "shop.audit": no answer within 5s') }] }, true)
  put('run.started', 4100, { run, trigger: 'message', attempt: 2, lost: cents(0.9) }, true)
  put('model.called', 2300, { attempt: 1, provider: 'anthropic', model: 'claude-sonnet-5', entry: 'claude-sonnet', status: 529, reason: 'overloaded', error: { code: 'provider_unavailable', message: 'overloaded' }, ms: 2280 }, true)
  put('model.called', 1400, { attempt: 2, provider: 'openai', model: 'gpt-6-mini', entry: 'gpt-mini', usage: { input: 2630, output: 71 }, cost: cents(0.21), priced: true, ms: 1380 })
  put('tool.requested', 1, { call: 'c3', name: 'refund', args: { order: 'A-1042', amount: '49.00 EUR', reason: text('Arrived broken; the customer sent a photo.') } })
  put('approval.asked', 10, { call: 'c3', name: 'refund', prompt: text('Ana wants to refund order A-1042, 49.00 EUR: arrived broken, the customer sent a photo.'), options: ['approve', 'deny'], wait: 'w1', deadline: new Date(now + 20 * hour).toISOString() }, true)
  put('reply', 0, { reply: { id: run + '.1', n: 1, kind: 'approval' } })
  put('run.suspended', 0, { waiting: ['c3'] })
  put('approval.answered', 4 * minute, { call: 'c3', answer: 'approve', scope: 'once', by: text('operator'), door: 'console' }, true)
  put('tool.finished', 480, { call: 'c3', name: 'refund', ok: true, source: 'tool', result: 'Order A-1042 is refunded: 49.00 EUR.' }, true)
  put('model.called', 1700, { attempt: 1, provider: 'anthropic', model: 'claude-sonnet-5', entry: 'claude-sonnet', usage: { input: 2801, output: 142 }, cost: cents(1.05), priced: true, ms: 1690 }, true)
  put('message', 0, said('Done. I have **refunded 49.00 EUR** for the lamp; it is on your card within three days.\n\n| Item | Price | State |\n|---|---|---|\n| Lamp *Aurora* | 49.00 | refunded |\n| Cable, 2 m | 7.50 | delivered |\n\nYou may keep the lamp. Is there anything else?'))
  put('reply', 0, { reply: { id: run + '.2', n: 2, kind: 'reply', final: true } })
  put('run.finished', 1, { run, outcome: 'settled' })
  of = run2
  put('run.started', 90_000, { run: run2, trigger: 'message', inputs: [{ id: 'tg-99852', subject: 'plugin.inbound.telegram', seq: 88160, envelope: { id: 'tg-99852', from: 'maria', from_name: text('Maria') } }] }, true)
  put('message', 0, sent('No, thank you! Remind me on Friday to send it to recycling?', 'user'))
  put('model.called', 1100, { attempt: 1, provider: 'anthropic', model: 'claude-sonnet-5', entry: 'claude-sonnet', usage: { input: 3010, output: 38 }, cost: cents(0.77), priced: true, ms: 1090 }, true)
  put('tool.requested', 1, { call: 'c4', name: 'remind', args: { at: 'Friday 10:00', text: text('send the lamp to recycling') } })
  put('tool.finished', 12, { call: 'c4', name: 'remind', ok: true, source: 'tool', result: 'Reminder r-81, Friday 10:00' }, true)
  put('model.called', 900, { attempt: 1, provider: 'anthropic', model: 'claude-sonnet-5', entry: 'claude-sonnet', usage: { input: 3080, output: 22 }, cost: cents(0.7), priced: true, ms: 890 }, true)
  put('message', 0, sent('I will. Have a good week!', 'assistant'))
  put('reply', 0, { reply: { id: run2 + '.1', n: 1, kind: 'reply', final: true } })
  put('run.finished', 1, { run: run2, outcome: 'settled' })
  return list
}

// serve answers /api of a page, or what else answers it, from a fake.
export async function serve(page, answer) {
  await page.addInitScript(() => {
    window.EventSource = class extends EventTarget {
      readyState = 1
      constructor() { super(); setTimeout(() => this.onopen?.()) }
    }
    window.EventSource.CLOSED = 2
  })
  await page.route('**/api/**', async (route) => {
    const url = new URL(route.request().url()), path = url.pathname.replace(/^.*?\/api\//, '')
    const body = route.request().postData()
    const got = answer(route.request().method(), path, url.searchParams, body ? JSON.parse(body) : undefined)
    await route.fulfill(got === undefined ? { status: 404, json: { error: 'there is no ' + path } } : { status: 200, json: got })
  })
}
