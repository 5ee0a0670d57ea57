// What happens now: who needs a person, what is wrong, who does what.
import { html, useState } from '../vendor/preact-htm.js'
import { post, useData } from '../api.js'
import { Ago, Button, Card, Empty, Loaded, Money, Page, State, Table, Tag, act, ask, rest, say, useOnward } from '../ui.js'
import { Choices } from '../rows.js'
import { count, keyParts, money, plural } from '../format.js'
import { alarmsOf, agentsOf } from '../fleet.js'
import { ChannelTable } from '../channels.js'
import { usePauses } from '../pauses.js'
import { useLetters } from './dead.js'

export const sessionLink = (agent, key) => '#/session/' + encodeURIComponent(agent) + '/' + encodeURIComponent(key)

export function Now({ may }) {
  const fleet = useData('status', { topics: ['agent', 'alarm', 'run'] })
  const runs = useData('runs', { topics: ['run', 'waiting', 'session'] })
  const waiting = useData('approvals', { topics: ['waiting', 'run'] })
  const channels = useData('channels', { topics: ['channels'] })
  const pairings = useData('pairings', { topics: ['alarm'] })
  const pauses = usePauses(may)
  const dead = useLetters()
  const hosts = fleet.data ?? []
  const agents = agentsOf(hosts)
  const live = runs.data?.runs ?? [], letters = dead.data?.letters ?? []
  const open = (waiting.data?.waiting ?? []).filter((w) => w.kind !== 'delegate')
  const strangers = (pairings.data?.pairings ?? []).filter((p) => !p.approved)
  const alarms = alarmsOf(hosts, channels.data?.channels ?? [], letters, pauses.data?.pauses ?? [])
  return html`<${Page} title="Now">
    <div class="tiles">
      <${Tile} of=${[fleet]} n=${agents.filter((a) => a.state === 'ready').length + (agents.length ? ' / ' + agents.length : '')} name="agents ready" href="#/agents" />
      <${Tile} of=${[runs]} n=${count(live.length)} name="runs under way" live=${live.length > 0} />
      <${Tile} of=${[waiting, pairings]} n=${count(open.length + strangers.length)} name="wait for a person" kind=${open.length + strangers.length ? 'warn' : ''} />
      <${Tile} of=${[dead]} n=${count(letters.length) + (dead.data?.more ? '+' : '')} name="dead letters" href="#/dead" kind=${letters.length ? 'bad' : ''} />
      <${Tile} of=${[fleet]} n=${money(agents.reduce((n, a) => n + (a.spent_today ?? 0), 0))} name="spent today" href="#/cost" />
    </div>
    ${open.length + strangers.length > 0 && html`<${Card} title="Waits for you"><div class="asks">${open.map((w) => html`<${Waiting} key=${w.id} w=${w} may=${may} few=${open.length <= mostOpen} done=${() => { waiting.reload(); runs.reload() }} />`)}
      ${strangers.map((p) => html`<${Stranger} key=${p.code} p=${p} may=${may} done=${pairings.reload} />`)}</div><//>`}
    ${alarms.length > 0 && html`<section class="alarms" aria-label="Alarms">${alarms.map((a) => html`<p class=${'alarm ' + a.kind} key=${a.text}><b>${a.what}</b> <span>${a.text}</span>${a.href && html` <a href=${a.href}>Look</a>`}</p>`)}</section>`}
    <div class="columns">
      <${Card} title="Live runs" flush extra=${html`<span class="soft">${plural(live.length, 'run')}</span>`}>
        <${Loaded} of=${runs}>${() => html`<${Runs} list=${live} may=${may} reload=${runs.reload} />`}<//><//>
      <${Card} title="Agents" flush><${Loaded} of=${fleet}>${() => html`<${AgentTable} agents=${agents} />`}<//><//>
      <${Card} title="Channels" flush><${Loaded} of=${channels}>${(c) => html`<${ChannelTable} list=${c.channels ?? []} />`}<//><//>
    </div>
  <//>`
}

// Tile is a number, once all that it is made of is known.
function Tile({ of, n, name, kind = '', href, live }) {
  const inside = html`<b class=${live ? 'live' : ''}>${of.every((d) => d.data) ? n : '–'}</b><span>${name}</span>`
  return href ? html`<a class=${'tile ' + kind} href=${href}>${inside}</a>` : html`<div class=${'tile ' + kind}>${inside}</div>`
}

// Call is what runs when an approval is given, with all its arguments; open: without a click.
function Call({ id, open }) {
  const [shown, set] = useState(open)
  const call = useData(shown && 'approvals/show', { query: { id }, every: 0 })
  if (!shown) return html`<button type="button" class="link" onClick=${() => set(true)}>Show the whole call</button>`
  return html`<${Loaded} of=${call}>${(c) => html`<pre class="code call" tabindex="0" aria-label="What is to be run">${c.whole}</pre>`}<//>`
}

const mostOpen = 10 // approvals whose calls are shown without a click

function Waiting({ w, may, few, done }) {
  const [busy, set] = useState(false)
  const box = useOnward()
  const answer = async (a) => {
    if (box.current.contains(document.activeElement)) rest(box.current) // the button is about to take none
    set(true)
    await act(() => post('approvals/answer', { id: w.id, ...a }), 'Answered: ' + a.answer)
    set(false)
    done()
  }
  const who = keyParts(w.session)
  return html`<article class="waiting" ref=${box}>
    <p class="who"><b>${w.agent}</b> ${w.kind === 'question' ? 'asks' : 'wants to use'} ${w.tool && w.kind !== 'question' && html`<${Tag} kind="mono">${w.tool}<//>`} <a href=${sessionLink(w.agent, w.session)}>${who.channel} ${who.who}</a> <span class="soft"><${Ago} of=${w.asked_at} /></span></p>
    <p class="plain">${w.prompt}</p>
    ${w.kind === 'approval' && w.tool && html`<${Call} id=${w.id} open=${few} />`}
    ${may.act ? html`<${Choices} options=${w.options} scopes busy=${busy} onAnswer=${answer} />` : html`<p class="soft small">Your role may not answer.</p>`}
  </article>`
}

// Stranger is a sender without permission to write to an agent yet.
function Stranger({ p, may, done }) {
  const box = useOnward()
  const settle = async (how) => {
    await act(() => post('pairings/' + how, { code: p.code }), how === 'approve' ? 'They may write now' : 'They may not write')
    done()
  }
  return html`<article class="waiting" ref=${box}><p class="who"><b>${p.agent}</b> is written to by a stranger <span>${p.channel}${p.instance && '.' + p.instance}</span> <span class="soft"><${Ago} of=${p.asked_at} /></span></p>
    <p class="plain"><bdi>${p.name || p.from}</bdi>${p.name && p.name !== p.from && html` (<bdi class="mono">${p.from}</bdi>)`} asks to be let in, with the code ${p.code}.</p>
    ${may.act && html`<div class="choices"><${Button} kind="primary" onClick=${() => settle('approve')}>Let in<//><${Button} kind="deny" onClick=${() => settle('deny')}>Refuse<//></div>`}</article>`
}

const phases = { queued: 'waits for a free place', starting: 'starts', storing: 'stores', model: 'asks the model', tools: 'runs tools', waiting: 'waits' }

export async function abort(run, reload) {
  const given = await ask({ title: 'Stop this run?', text: 'The run of ' + run.agent + ' in ' + run.session + ' ends now. What it has done so far is kept.', yes: 'Stop the run', danger: true, fields: [{ name: 'reason', label: 'Reason, shown to the person (optional)' }] })
  if (!given) return
  await act(() => post('runs/abort', { agent: run.agent, session: run.session, reason: given.reason }), 'Stopped')
  reload()
}

function Runs({ list, may, reload }) {
  return html`<${Table} label="Live runs" keyOf=${(r) => r.run || r.agent + r.session} empty="No run is under way." rows=${list} onRow=${(r) => { location.hash = sessionLink(r.agent, r.session) }} columns=${[
    { name: 'Session', main: true, cell: (r) => html`<a href=${sessionLink(r.agent, r.session)}><b>${r.agent}</b> <span class="soft">${r.session}</span></a>` },
    { name: 'Phase', cell: (r) => html`<${State} is=${r.phase === 'waiting' ? 'waiting' : 'running'}>${phases[r.phase] ?? r.phase}${r.for?.length ? ' for ' + r.for.join(', ') : ''}<//>` },
    { name: 'Since', cell: (r) => html`<${Ago} of=${r.since} />` },
    { name: 'Model', cell: (r) => r.model ?? '' },
    { name: 'Host', cell: (r) => r.host ?? '' },
    may.act && { name: '', title: 'Stop', end: true, cell: (r) => html`<${Button} kind="small deny" onClick=${() => abort(r, reload)} aria-label=${'Stop the run of ' + r.agent + ' in ' + r.session}>Stop<//>` },
  ]} />`
}

function AgentTable({ agents }) {
  return html`<${Table} label="Agents" keyOf=${(a) => a.id} empty="No host reports an agent." rows=${agents} onRow=${(a) => { location.hash = '#/agents/' + encodeURIComponent(a.id) }} columns=${[
    { name: 'Agent', main: true, cell: (a) => html`<a href=${'#/agents/' + encodeURIComponent(a.id)}><b>${a.id}</b></a> <span class="soft">${a.description}</span>` },
    { name: 'State', cell: (a) => html`<${State} is=${a.state} />${a.reason && html`<span class="small soft"> ${a.reason}</span>`}` },
    { name: 'Running', end: true, cell: (a) => html`<span class="num">${count(a.running)}</span>` },
    { name: 'Queued', end: true, cell: (a) => html`<span class=${'num' + (a.queued > 100 ? ' bad' : '')}>${count(a.queued)}</span>` },
    { name: 'Today', end: true, cell: (a) => html`<${Money} of=${a.spent_today} />` },
  ]} />`
}
