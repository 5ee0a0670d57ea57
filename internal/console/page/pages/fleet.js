// The hosts, what each serves, and the models.
import { html } from '../vendor/preact-htm.js'
import { post, useData } from '../api.js'
import { Ago, Bar, Button, Card, Empty, Loaded, Money, Page, State, Table, Tag, act, ask, say } from '../ui.js'
import { count, plural } from '../format.js'
import { ChannelTable, channelName, channelsOf } from '../channels.js'
import { PauseButton, Paused, everything, pauseOf, usePauses } from '../pauses.js'

export function Fleet({ may }) {
  const fleet = useData('status', { topics: ['agent', 'alarm', 'run'] })
  const pauses = usePauses(may)
  const channels = useData('channels', { topics: ['channels'] }), agents = useData('agents', { topics: ['agent'], every: 60_000 })
  const reload = async () => {
    const done = await act(() => post('reload'))
    if (!done) return
    const refused = (done.hosts ?? []).flatMap((h) => (h.refused ?? []).map((p) => h.host + ': ' + (p.text ?? p)))
    if (refused.length) say('Refused. ' + refused.join('; '), 'bad')
    else say('All hosts have read their configuration again')
    fleet.reload()
  }
  return html`<${Page} title="Fleet" lead=${pauses.data && pauseOf(pauses, everything) && html`<span>All agents are</span> <${Paused} of=${pauseOf(pauses, everything)} />`} actions=${may.whole && html`<${PauseButton} target=${everything} pauses=${pauses} may=${may} done=${fleet.reload}>${' all agents'}<//><${Button} icon="replay" onClick=${reload}>Reload the configuration<//>`}>
    <${Loaded} of=${fleet}>${(hosts) => html`${hosts.length === 0 && html`<${Empty} title="No host answers">Messages wait in NATS until one does.<//>`}
      <div class="hosts">${hosts.map((h) => html`<${Host} key=${h.host} h=${h} alone=${hosts.length === 1} may=${may} reload=${fleet.reload} />`)}</div>
      <${Card} title="Channels" flush><${Loaded} of=${channels}>${(c) => html`<${ChannelTable} list=${channelsOf(c.channels ?? [], agents.data?.agents ?? [], pauses.data?.pauses ?? [])} last=${{ name: 'Paused', end: true, cell: (a) => html`<${Channel} name=${channelName(a)} pauses=${pauses} may=${may} />` }} />`}<//><//>
      <${Card} title="Models" flush><${Models} hosts=${hosts} may=${may} reload=${fleet.reload} /><//>`}<//>
  <//>`
}

// Channel is whether a channel is paused, with the button for it. What is paused by
// its name without the instance goes on by that name, too.
function Channel({ name, pauses, may }) {
  const [whole, instance] = name.split('.')
  const above = instance && pauseOf(pauses, { channel: whole })
  return html`<span class="actions end"><${Paused} of=${pauseOf(pauses, { channel: name }) ?? above} />${above && !pauseOf(pauses, { channel: name })
    ? html`<${PauseButton} target=${{ channel: whole }} pauses=${pauses} may=${may} small />` : html`<${PauseButton} target=${{ channel: name }} pauses=${pauses} may=${may} small />`}</span>`
}

function Host({ h, alone, may, reload }) {
  const drain = async () => {
    const text = alone ? 'It is the only host: nothing is served until one starts, and this page loses its host. Messages are kept.' : 'The other hosts go on with what it serves. Runs under way may end; then the process ends, and has to be started again by hand.'
    if (!await ask({ title: 'Drain ' + h.host + ', and end it?', text, yes: 'Drain', danger: true })) return
    if (await act(() => post('fleet/drain', { host: h.host }), h.host + ' moves what it serves, and ends')) reload()
  }
  const running = (h.agents ?? []).reduce((n, a) => n + (a.running ?? 0), 0), queued = (h.agents ?? []).reduce((n, a) => n + (a.queued ?? 0), 0)
  return html`<section class="card host" aria-label=${'Host ' + h.host}><div class="card-head"><h2>${h.host}</h2><span class="actions end"><${State} is=${h.state} />${may.whole && may.has('fleet/drain') && html`<${Button} icon="power" kind="small deny" onClick=${drain} aria-label=${'Drain ' + h.host}>Drain<//>`}</span></div>
    <p class="facts"><span>version ${h.version}</span><span>started <${Ago} of=${h.started} /></span>${h.weight > 0 && html`<span>weight ${h.weight}</span><span>share ${plural(h.share, 'lane')}</span>`}</p>
    <div class="host-numbers"><p><b>${h.serving} / ${h.lanes}</b><span>lanes</span></p><p><b>${count(running)}</b><span>running</span></p><p><b>${count(queued)}</b><span>queued</span></p></div>
    <${Bar} part=${h.lanes ? h.serving / h.lanes : 0} />
    <p class="tags">${(h.agents ?? []).map((a) => html`<${Tag} key=${a.id} kind=${a.serving ? 'good' : ''} title=${a.serving ? 'served here' : 'stands by'}>${a.id}${a.serving ? '' : ' (stands by)'}<//>`)}</p>
    ${(h.config_refused ?? []).map((p) => html`<p class="bad small">configuration refused: ${p.message ?? p.text ?? JSON.stringify(p)}</p>`)}
    ${(h.tool_faults ?? []).map((f) => html`<p class="bad small">${f}</p>`)}</section>`
}

function Models({ hosts, may, reload }) {
  const list = new Map()
  for (const h of hosts) {
    for (const m of h.models ?? []) {
      const known = list.get(m.name)
      if (!known) list.set(m.name, { ...m })
      else { known.inflight += m.inflight ?? 0; known.waiting += m.waiting ?? 0; if (m.breaker !== 'closed') known.breaker = m.breaker }
    }
  }
  const set = async (m, what) => {
    if (what === 'trip' && !await ask({ title: 'Take ' + m.name + ' out of service?', text: 'No host asks it until it is put back. Agents with another model use that one; the others wait.', yes: 'Take out of service', danger: true })) return
    if (await act(() => post('models/breaker', { model: m.name, action: what }), what === 'trip' ? m.name + ' is out of service' : m.name + ' is in service')) reload()
  }
  const words = { closed: 'in service', open: 'not asked after failures', 'half-open': 'is tried again', tripped: 'out of service' }
  return html`<${Table} label="Models" keyOf=${(m) => m.name} rows=${[...list.values()]} empty="No model." columns=${[
    { name: 'Model', main: true, cell: (m) => html`<b>${m.name}</b> <span class="soft">${[m.provider, m.model].filter(Boolean).join('/')}</span>` },
    { name: 'State', cell: (m) => html`<${State} is=${m.breaker === 'closed' ? 'ready' : m.breaker === 'half-open' ? 'busy' : 'failed'}>${words[m.breaker] ?? m.breaker}<//>` },
    { name: 'Calls now', end: true, cell: (m) => html`<span class="num">${count(m.inflight)}</span>` }, { name: 'Waiting', end: true, cell: (m) => html`<span class="num">${count(m.waiting)}</span>` },
    { name: 'Today', end: true, cell: (m) => html`<${Money} of=${m.spent_today} />` },
    may.whole && { name: '', title: 'Breaker', end: true, cell: (m) => m.breaker === 'closed' ? html`<${Button} kind="small" onClick=${() => set(m, 'trip')} aria-label=${'Take ' + m.name + ' out of service'}>Take out<//>` : html`<${Button} kind="small primary" onClick=${() => set(m, 'reset')} aria-label=${'Put ' + m.name + ' back'}>Put back<//>` },
  ]} />`
}
