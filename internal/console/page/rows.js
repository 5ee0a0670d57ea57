// The rows of a timeline, one for each kind of item.
import { html, useState } from './vendor/preact-htm.js'
import { Button, Copy, Icon, Markdown, Tag } from './ui.js'
import { bytes, date, duration, money, person, plural, pretty, time, tokens } from './format.js'

const icons = { operator: 'hand', said: 'person', run: 'flag', user: 'person', agent: 'chat', model: 'model', tool: 'tool', ask: 'ask', takeover: 'crash', end: 'check', compacted: 'note', note: 'note', hook: 'hook' }
const names = { operator: 'Takeover by a person', said: 'Written by a person', run: 'Run', user: 'Message', agent: 'Reply', model: 'Model call', tool: 'Tool', ask: 'Question', takeover: 'Takeover', end: 'End of the run', compacted: 'Summary', note: 'Note', hook: 'Hook' }
export const nameOf = (item) => names[item.kind]

const triggers = { message: 'a message', delegate: 'another agent or program', schedule: 'a schedule', event: 'an event', heartbeat: 'a heartbeat' }
const sources = { interrupted: 'cut off when the host died', denied: 'not allowed', answer: 'answered by a person', delegate: 'result of the other agent', cancelled: 'cancelled, as the run ended', correction: 'could not run as asked' }

const points = { before_message: 'before the message', before_model_call: 'before the model call', after_model_call: 'after the model call', before_tool_call: 'before the tool', after_tool_call: 'after the tool', on_error: 'on the error' }
const deeds = { override: 'changed', abort: 'stopped this', failed: 'failed; all went on without it' }

// Row shows an item; on.open shows all there is of it, on.answer settles a question.
export function Row({ item, on, selected }) {
  const kind = 'k-' + item.kind + (item.kind === 'end' && item.outcome !== 'settled' ? ' wrong' : '')
  return html`<article class=${'item ' + kind + (selected ? ' selected' : '')} aria-label=${names[item.kind] + ' at ' + time(item.at)}>
    <button type="button" class="when" disabled=${item.live} onClick=${() => on.open(item)} title=${date(item.at) + ' · details, fork, replay'}><time datetime=${item.at}>${time(item.at)}</time></button>
    <span class="mark"><${Icon} name=${item.kind === 'end' && item.outcome !== 'settled' ? 'stop' : item.question === false ? 'hand' : icons[item.kind]} /></span>
    <div class="what">${html`<${bodies[item.kind]} item=${item} on=${on} />`}</div>
    <${Span} item=${item} />
  </article>`
}

// Span is the item's place in the time of its run.
function Span({ item }) {
  const { run } = item
  if (item.kind === 'run') return html`<div class="span head" aria-hidden="true">${run.took > 0 && html`<span>0</span><span>${duration(run.took)}</span>`}</div>`
  if (!run || !item.from || item.skipped) return html`<div class="span" aria-hidden="true"></div>`
  const from = run.place(item.from), to = run.place(item.to || run.end)
  const took = item.kind === 'model' ? item.took : (item.to || run.end) - item.from
  const bad = item.error || (item.done && item.ok === false)
  return html`<div class="span" aria-hidden="true" title=${duration(took)}><i class=${item.kind + (bad ? ' bad' : '')} style=${{ left: from * 100 + '%', width: Math.max(0.8, (to - from) * 100) + '%' }}></i></div>`
}

const sum = (run) => [run.models && plural(run.models, 'model call'), run.tools && plural(run.tools, 'tool'), (run.input || run.output) && tokens(run), run.cost && money(run.cost)].filter(Boolean)

function Media({ list }) {
  if (!list?.length) return null
  return html`<ul class="media">${list.map((m) => html`<li><${Tag}>${m.name || m.mime || m.kind || 'file'}${m.size ? ' · ' + bytes(m.size) : ''}<//></li>`)}</ul>`
}

const long = 1400 // characters of a text that is shown whole at once

function Text({ text, plain }) {
  const [whole, set] = useState(false)
  const cut = !whole && text.length > long
  const shown = cut ? text.slice(0, long) + '…' : text
  return html`${plain ? html`<p class="plain">${shown}</p>` : html`<${Markdown} text=${shown} />`}
    ${cut && html`<button type="button" class="link" onClick=${() => set(true)}>Show all ${text.length.toLocaleString('en')} characters</button>`}`
}

function Folded({ label, children }) {
  const [open, set] = useState(false)
  return html`<div class="folded"><button type="button" class="link" aria-expanded=${open} onClick=${() => set(!open)}><span class=${'twist' + (open ? ' open' : '')}><${Icon} name="more" /></span>${label}</button>${open && children()}</div>`
}

export const Json = ({ of, label }) => html`<pre class="code" tabindex="0" aria-label=${label ?? 'JSON'}>${pretty(of)}</pre>`

// brief is arguments on one line.
export function brief(args) {
  if (args === undefined || args === null) return ''
  let value = args
  if (typeof value === 'string') try { value = JSON.parse(value) } catch { return value }
  if (typeof value !== 'object' || Array.isArray(value)) return JSON.stringify(value)
  return Object.entries(value).map(([k, v]) => k + ': ' + (typeof v === 'string' ? v : JSON.stringify(v))).join(', ')
}

function Replies({ list }) {
  const known = list.filter((r) => r?.id)
  if (!known.length) return null
  return html`<p class="replies">${known.map((r) => html`<a key=${r.id} href=${'#/why/' + encodeURIComponent(r.id)} title="The whole way of this reply"><${Icon} name="reply" />${r.final === false ? 'sent' : 'sent'} as ${r.id}</a>`)}</p>`
}

const bodies = {
  run: ({ item: { run } }) => html`<h2>Run by ${triggers[run.trigger] ?? run.trigger ?? 'a message'}${run.inputs.length > 1 && html` <${Tag} kind="busy">${run.inputs.length} messages merged<//>`}
      ${!run.closed && html` <${Tag} kind="live">under way<//>`}</h2>
    <p class="facts"><a href=${'#/why/' + encodeURIComponent(run.id)}>${run.id}</a>${sum(run).map((s) => html`<span>${s}</span>`)}${run.took > 0 && html`<span>${duration(run.took)} of work</span>`}${run.waited > 1000 && html`<span>${duration(run.waited)} waiting</span>`}</p>`,
  user: ({ item }) => html`<p class="who">${person(item.who || item.origin?.from) || 'Person'}${item.joined && html` <${Tag} kind="busy">joined the run under way<//>`}</p><div class="bubble mine"><${Text} text=${item.text} plain /></div><${Media} list=${item.media} />`,
  agent: ({ item }) => html`${item.text.trim() && html`<div class="bubble"><${Text} text=${item.text} /></div>`}
    ${item.live && html`<p class="soft small">is writing …</p>`}${item.partial && html`<${Tag} kind="warn">broken off<//>`}
    ${item.thought && html`<${Folded} label="What the model thought">${() => html`<p class="plain soft">${item.thought}</p>`}<//>`}
    <${Media} list=${item.media ?? []} /><${Replies} list=${item.replies} />`,
  model: ({ item }) => html`<p class="line"><b>${item.entry || item.model || item.provider}</b>${item.model && item.entry !== item.model && html`<span class="soft">${item.provider}/${item.model}</span>`}
      ${item.skipped ? html`<${Tag} kind="warn">passed over<//>` : item.error ? html`<${Tag} kind="bad">${item.error.code}<//>` : html`<span>${tokens(item.usage)}</span>`}
      ${item.priced && html`<span class="num">${money(item.cost)}</span>`}${item.took > 0 && html`<span class="soft">${duration(item.took)}</span>`}${item.attempt > 1 && html`<${Tag}>try ${item.attempt}<//>`}</p>
    ${(item.reason || item.error?.message) && html`<p class="soft small">${item.reason || item.error.message}${item.status ? ' (HTTP ' + item.status + ')' : ''}</p>`}`,
  tool: ({ item }) => html`<p class="line"><b class="mono">${item.name}</b>${item.delegate && html`<${Tag} kind="busy">handed to ${item.delegate}<//>`}
      ${!item.done ? html`<${Tag} kind=${item.asked && !item.asked.answer ? 'warn' : 'live'}>${item.asked && !item.asked.answer ? 'waits for a person' : 'running'}<//>` : item.ok ? null : html`<${Tag} kind="bad">failed<//>`}
      ${item.source && sources[item.source] && html`<${Tag} kind=${item.source === 'interrupted' || item.source === 'denied' ? 'warn' : ''}>${sources[item.source]}<//>`}
      ${item.done && item.to - item.from >= 1 && html`<span class="soft">${duration(item.to - item.from)}</span>`}</p>
    ${item.args !== undefined && html`<p class="args mono" title="Arguments">${brief(item.args)}</p>`}
    ${item.done && item.result && html`<p class=${'result' + (item.ok ? '' : ' bad')}>${item.result.length > 320 ? item.result.slice(0, 320) + '…' : item.result}</p>
      ${item.result.length > 320 && html`<${Folded} label=${'The whole result, ' + item.result.length.toLocaleString('en') + ' characters'}>${() => html`<pre class="code" tabindex="0">${item.result}</pre>`}<//>`}`}`,
  ask: ({ item, on }) => html`<div class=${'ask' + (item.answer ? ' settled' : '')}><p class="who">${item.budget ? 'Asks to go beyond the budget' : item.question ? 'Asks a person' : 'Asks for approval'}</p><p class="plain">${item.prompt}</p>
    ${item.answer ? html`<p class="answered"><${Icon} name="check" />${item.answer.text}${item.answer.scope && ' (' + item.answer.scope + ')'}${item.answer.by && html` by <b>${item.answer.by}</b>`}${item.answer.door && html` <span class="soft">over ${item.answer.door}, ${time(item.answer.at)}</span>`}</p>`
      : item.run?.closed ? html`<p class="soft">not answered; the run has ended</p>` : !on.answer ? html`<p class="soft small">Your role may not answer.</p>` : html`<${Choices} options=${item.options} onAnswer=${(answer) => on.answer(item, answer)} />`}</div><${Replies} list=${item.replies} />`,
  takeover: ({ item }) => html`<p class="line"><b>${item.orderly ? 'Handed over' : 'Taken over after a crash'}</b><span>attempt ${item.attempt}</span>${item.lost > 0 && html`<span class="soft">${money(item.lost)} of the lost call counts as spent</span>`}</p><p class="soft small">${item.orderly ? 'The host that ran it stopped in order; another went on from the log.' : 'The host that ran it died. What is above was kept; the run went on from there.'}</p>`,
  operator: ({ item }) => html`<p class="line"><b>${item.by || 'An operator'}</b><span>${item.text}</span></p>`,
  said: ({ item }) => html`<p class="who"><b>${item.by || 'An operator'}</b> in the place of the agent</p><div class="bubble"><${Text} text=${item.text} plain /></div><${Replies} list=${item.replies} />`,
  compacted: ({ item }) => html`<p class="line"><b>${plural(item.through ?? 0, 'message')} summed up</b><span class="soft">${item.before} tokens became ${item.after}</span></p><${Folded} label="The summary">${() => html`<${Text} text=${item.text ?? ''} />`}<//>`,
  hook: ({ item: { act } }) => html`<p class="line"><b class="mono">${act.hook}</b><span>${deeds[act.action] ?? act.action}${act.args?.length > 0 && html` <span class="mono">${act.args.join(', ')}</span>`}</span><span class="soft">${points[act.point] ?? act.point}</span></p>
    ${act.reason && html`<p class="small">${act.reason}</p>`}${act.error && html`<p class="bad small">${act.error}</p>`}`,
  note: ({ item }) => html`<p class=${'line' + (item.bad ? ' bad' : ' soft')}>${item.text}</p><${Replies} list=${item.replies} />`,
  end: ({ item }) => html`<p class="line"><b>${{ settled: 'Settled', failed: 'Failed', stopped: 'Stopped' }[item.outcome] ?? item.outcome}</b>${item.by && html`<span>by ${item.by}</span>`}${item.error && html`<${Tag} kind="bad">${item.error.code}<//><span>${item.error.message}</span>`}${item.run && item.outcome === 'settled' && html`<span class="soft">${[duration(item.run.took), ...sum(item.run).slice(-1)].filter(Boolean).join(' · ')}</span>`}</p><${Replies} list=${item.replies} />`,
}

// Choices are the buttons of a question: its options, and text where that fits.
export function Choices({ options, onAnswer, scopes, busy }) {
  const [text, set] = useState('')
  const [scope, setScope] = useState('once')
  const list = options?.length ? options : []
  const approval = list.includes('approve')
  return html`<div class="choices">
    ${list.map((o, i) => html`<${Button} key=${o} kind=${o === 'deny' ? 'deny' : i === 0 ? 'primary' : ''} busy=${busy} onClick=${() => onAnswer({ answer: o, scope: o === 'approve' && scope !== 'once' ? scope : undefined })}>${o === 'approve' ? 'Approve' : o === 'deny' ? 'Deny' : o}<//>`)}
    ${approval && scopes && html`<label class="scope"><span class="unseen">For how long</span><select value=${scope} onChange=${(e) => setScope(e.target.value)}><option value="once">once</option><option value="session">in this session</option><option value="always">always</option></select></label>`}
    ${!list.length && html`<form class="answer" onSubmit=${(e) => { e.preventDefault(); if (text.trim()) onAnswer({ answer: text }) }}><input aria-label="Answer" value=${text} onInput=${(e) => set(e.target.value)} placeholder="Answer" /><button class="button primary">Send</button></form>`}
  </div>`
}

// Details is all there is of an item, and what can be done from here.
export function Details({ item, on }) {
  const ids = [['Place', item.key], ['Run', item.run?.id ?? item.facts[0].of], ['Call', item.call], ...item.replies.map((r) => ['Reply', r?.id]), ...(item.run?.inputs ?? []).slice(0, 5).map((i) => ['Message', i.id])].filter(([, id]) => id)
  return html`<div class="details">
    <div class="details-actions">${on.fork && html`<${Button} icon="fork" onClick=${() => on.fork(item)}>Fork from here<//>`}${on.replay && html`<${Button} icon="replay" onClick=${() => on.replay(item)}>Replay from here<//>`}</div>
    <dl class="ids"><dt>At</dt><dd>${date(item.at)}</dd>${ids.map(([name, id]) => html`<dt>${name}</dt><dd><${Copy} text=${id} />${name !== 'Place' && html` <a href=${'#/why/' + encodeURIComponent(id)}>why</a>`}</dd>`)}</dl>
    ${item.args !== undefined && html`<h3>Arguments</h3><${Json} of=${item.args} label="Arguments" />`}
    ${item.result !== undefined && html`<h3>Result</h3><pre class="code" tabindex="0" aria-label="Result">${item.result}</pre>`}
    <h3>In the log</h3>${item.facts.map((f) => html`<${Json} key=${f.seq + '.' + f.n} of=${f} label=${f.type} />`)}
  </div>`
}
