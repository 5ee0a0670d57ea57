// The agents: final prompt, tools, permissions, memory.
import { html, useEffect, useState } from '../vendor/preact-htm.js'
import { post, useData } from '../api.js'
import { Ago, Button, Card, Empty, Loaded, Money, Page, State, Tag, act, ask } from '../ui.js'
import { Json } from '../rows.js'
import { count, plural } from '../format.js'
import { agentsOf } from '../fleet.js'
import { PauseButton, Paused, everything, pauseOf, usePauses } from '../pauses.js'

export function Agents({ parts, may }) {
  const fleet = useData('status', { topics: ['agent', 'alarm', 'run'] })
  const pauses = usePauses(may)
  const agents = agentsOf(fleet.data ?? [])
  const id = parts[0] || agents[0]?.id
  return html`<${Page} title="Agents"><${Loaded} of=${fleet}>${() => agents.length === 0 ? html`<${Empty}>No host reports an agent.<//>` : html`<div class="split">
    <nav class="pick" aria-label="Agents"><ul>${agents.map((a) => html`<li key=${a.id}><a href=${'#/agents/' + encodeURIComponent(a.id)} aria-current=${a.id === id ? 'true' : undefined}><span><b>${a.id}</b><span class="soft">${a.description}</span></span><${State} is=${a.state} /></a></li>`)}</ul></nav>
    <${Agent} key=${id} a=${agents.find((x) => x.id === id) ?? { id, able: [], serving: [] }} may=${may} pauses=${pauses} reload=${fleet.reload} /></div>`}<//><//>`
}

function Agent({ a, may, pauses, reload }) {
  const shown = useData('agents/prompt', { query: { agent: a.id }, topics: ['agent'], every: 60_000 })
  const list = useData('agents', { query: { agent: a.id }, topics: ['agent'], every: 60_000 })
  const profile = (list.data?.agents ?? []).find((x) => x.id === a.id)?.profile ?? {}
  return html`<div class="agent">
    <${Card} title=${a.id} extra=${html`<span class="actions"><${PauseButton} target=${{ agent: a.id }} pauses=${pauses} may=${may} small done=${reload} /><a class="button small" href=${'#/playground/' + encodeURIComponent(a.id)}>Try in the playground</a></span>`}>
      <p class="facts"><${State} is=${a.state ?? 'unknown'} /><${Paused} of=${pauseOf(pauses, { agent: a.id }) ?? pauseOf(pauses, everything)} />${a.reason && a.state !== 'paused' && html`<span class="bad">${a.reason}</span>`}<span>${plural(a.sessions ?? 0, 'session')}</span><span>${count(a.running)} running</span><span>${count(a.queued)} queued</span><span><${Money} of=${a.spent_today} /> today</span>${a.serving.length > 0 && html`<span>served by ${a.serving.join(', ')}</span>`}${a.shadow_of && html`<${Tag}>shadow of ${a.shadow_of}<//>`}
      <a href=${'#/sessions?agent=' + encodeURIComponent(a.id)}>its sessions</a></p>
      ${a.heartbeat && html`<p class="facts"><span>heartbeat:</span>${Object.entries(a.heartbeat).map(([k, v]) => html`<span>${k} ${typeof v === 'object' ? JSON.stringify(v) : v}</span>`)}</p>`}<//>
    <${Loaded} of=${shown}>${(p) => html`
      <${Card} title="What the model is told"><p class="facts"><span>models: ${(p.models ?? []).join(', then ')}</span>${p.behavior && html`<span>answers by a behaviour of the program</span>`}</p>${p.system ? html`<pre class="code prose" tabindex="0" aria-label="System prompt">${p.system}</pre>` : html`<p class="soft">No instructions.</p>`}<//>
      ${(p.bindings ?? []).map((b) => html`<${Card} key=${b.subject} title=${'On ' + b.subject}><p class="facts"><span>models: ${(b.models ?? []).join(', then ')}</span></p><pre class="code prose" tabindex="0">${b.system}</pre><//>`)}
      <${Card} title=${'Tools, ' + (p.tools ?? []).length}><${Tools} list=${p.tools ?? []} permissions=${profile.permissions} /><//>`}<//>
    <${Profile} p=${profile} />
    <${Memory} agent=${a.id} may=${may} />
  </div>`
}

const about = { channels: 'Channels', delegates: 'May hand over to', accepts: 'Accepts work from', approvers: 'Approvers', budget: 'Budget', doors: 'Doors', senders: 'Senders', permissions: 'Permissions' }

// Profile is what the configuration says of an agent.
function Profile({ p }) {
  const rows = Object.entries(about).map(([key, name]) => [name, inWords(p[key])]).filter(([, text]) => text)
  return rows.length > 0 && html`<${Card} title="Who, where, and how much"><dl class="ids">${rows.map(([name, text]) => html`<dt>${name}</dt><dd>${text}</dd>`)}</dl><//>`
}

function inWords(value) {
  if (value === undefined || value === null || value === '') return ''
  if (Array.isArray(value)) return value.map(inWords).filter(Boolean).join(', ')
  if (typeof value === 'object') return Object.entries(value).map(([k, v]) => [k, inWords(v)]).filter(([, v]) => v).map(([k, v]) => k + ': ' + v).join(', ')
  return String(value)
}

const allowed = { allow: 'good', ask: 'warn', deny: 'bad' }

function Tools({ list, permissions }) {
  const [open, set] = useState(null)
  if (!list.length) return html`<p class="soft">None.</p>`
  return html`<ul class="tools">${list.map((t) => {
    const rule = t.permission ?? permissions?.[t.name]
    return html`<li key=${t.name}><button type="button" class="tool-head" aria-expanded=${open === t.name} onClick=${() => set(open === t.name ? null : t.name)}><b class="mono">${t.name}</b><span class="soft">${t.description}</span>${rule && html`<${Tag} kind=${allowed[rule] ?? ''}>${{ allow: 'allowed', ask: 'asks first', deny: 'denied' }[rule] ?? rule}<//>`}</button>
      ${open === t.name && html`<${Json} of=${t.schema ?? {}} label=${'Arguments of ' + t.name} />`}</li>`
  })}</ul>`
}

function Memory({ agent, may }) {
  const notes = useData('memory', { query: { agent }, every: 60_000 })
  const forget = async (n) => {
    if (!await ask({ title: 'Delete this note for good?', quote: n.text, text: agent + ' forgets it, on all hosts.', yes: 'Delete', danger: true })) return
    if (await act(() => post('memory/delete', { agent: n.agent, id: n.id }), 'Forgotten')) notes.reload()
  }
  return html`<${Card} title="Memory"><${Loaded} of=${notes}>${({ notes: list }) => !list?.length ? html`<p class="soft">It remembers nothing.</p>` : html`<ul class="notes">${list.map((n) => html`<li key=${n.id}><p class="plain">${n.text}</p><p class="facts"><span><${Ago} of=${n.at} /></span>${n.peer && html`<span>about ${n.peer}</span>`}${n.used > 0 && html`<span>recalled ${n.used} times</span>`}${may.act && html`<button type="button" class="link bad" onClick=${() => forget(n)} aria-label=${'Delete the note ' + n.id}>Delete</button>`}</p></li>`)}</ul>`}<//><//>`
}
