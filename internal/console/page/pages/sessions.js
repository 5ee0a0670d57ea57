// All sessions, the newest first, with search over what was said in them.
import { html, useEffect, useMemo, useRef, useState } from '../vendor/preact-htm.js'
import { get, listen, useData } from '../api.js'
import { Ago, Empty, Icon, Money, Page, Problem, State, Wait } from '../ui.js'
import { VirtualList } from '../virtual.js'
import { count, doing, keyParts, person } from '../format.js'
import { agentsOf } from '../fleet.js'

const block = 200 // sessions of a request
export const link = (s) => '#/session/' + encodeURIComponent(s.agent) + '/' + encodeURIComponent(s.sid)

export function Sessions({ query, may }) {
  const [agent, setAgent] = useState(query.get('agent') ?? '')
  const [state, setState] = useState('')
  const [text, setText] = useState(query.get('q') ?? '')
  const [search, setSearch] = useState(query.get('q') ?? '')
  const fleet = useData('status', { every: 0 })
  const field = useRef()
  useEffect(() => { if (query.get('find')) field.current.focus() }, [])
  const submit = (e) => { e.preventDefault(); setSearch(text.trim()) }
  return html`<${Page} title="Sessions" full>
    <form class="filters" role="search" onSubmit=${submit}>
      <label class="search"><${Icon} name="search" /><span class="unseen">Search in what was said</span><input type="search" ref=${field} value=${text} placeholder="Search in what was said" onInput=${(e) => { setText(e.target.value); if (!e.target.value) setSearch('') }} /></label>
      <select aria-label="Agent" value=${agent} onChange=${(e) => setAgent(e.target.value)}><option value="">All agents</option>${agentsOf(fleet.data ?? []).map((a) => html`<option key=${a.id} value=${a.id}>${a.id}</option>`)}</select>
      <select aria-label="State" value=${state} onChange=${(e) => setState(e.target.value)}><option value="">Any state</option><option value="running">running</option><option value="waiting">waiting</option><option value="operator">taken over</option><option value="idle">idle</option></select>
    </form>
    ${search ? html`<${Hits} key=${search + agent} text=${search} agent=${agent} />` : html`<${Listing} key=${agent + '/' + state} agent=${agent} state=${state} may=${may} />`}
  <//>`
}

// usePages loads block after block, and what is new in front.
function usePages(agent, state) {
  const [list, set] = useState(null)
  const [error, fail] = useState(null)
  const next = useRef(0), busy = useRef(false), ended = useRef(false)
  const more = async () => {
    if (busy.current || ended.current) return
    busy.current = true
    try {
      const page = await get('sessions', { agent, state, limit: block, after: next.current || undefined })
      next.current = page.after ?? 0
      ended.current = !page.after
      set((l) => merge(l ?? [], page.sessions ?? []))
      fail(null)
    } catch (e) { fail(e) }
    busy.current = false
  }
  const fresh = async () => {
    try {
      const page = await get('sessions', { agent, state, limit: 50 })
      set((l) => l && merge(l, page.sessions ?? []))
    } catch { /* the next time */ }
  }
  useEffect(() => {
    more()
    let soon = null
    const stop = listen((kind, data) => {
      if (kind !== 'again' && kind !== 'session' && kind !== 'run') return
      if (agent && data.agent && data.agent !== agent) return
      soon ??= setTimeout(() => { soon = null; fresh() }, 500)
    })
    return () => { stop(); clearTimeout(soon) }
  }, [])
  return { list, error, more, whole: ended.current }
}

function merge(known, more) {
  const all = new Map(known.map((s) => [s.agent + '/' + s.sid, s]))
  for (const s of more) all.set(s.agent + '/' + s.sid, s)
  return [...all.values()].sort((a, b) => b.seq - a.seq)
}

function Listing({ agent, state, may }) {
  const { list, error, more, whole } = usePages(agent, state)
  const shown = useMemo(() => (list ?? []).filter((s) => !state || s.state === state), [list, state])
  if (error && !list) return html`<${Problem} of=${error} retry=${more} />`
  if (!list) return html`<${Wait} />`
  if (!list.length) return html`<${Empty} title="No sessions yet">They begin with the first message to an agent.${may.chat && html` <a href="/chat">Write one</a>.`}<//>`
  return html`<p class="hint" role="status">${count(shown.length)}${whole ? '' : '+'} ${whole && shown.length === 1 ? 'session' : 'sessions'}${state ? ', ' + doing({ state }) : ''}</p>
    <${VirtualList} label="Sessions" items=${shown} keyOf=${(s) => s.agent + '/' + s.sid} estimate=${66} nearEnd=${more} className="sheet" row=${(s) => html`<${Line} s=${s} />`} />`
}

function Line({ s }) {
  const key = keyParts(s.key)
  return html`<a class="session" href=${link(s)}>
    <span class="session-title">${s.title || 'Without a text'}</span>
    <span class="session-about"><b>${s.agent}</b> ${key.channel && html`<span>${key.channel}</span>`} <span class="soft">${person(key.who)}</span></span>
    <span class="session-state">${s.fault ? html`<${State} is="fault" />` : html`<${State} is=${s.state}>${doing(s)}<//>`}</span>
    <span class="session-numbers"><span class="num">${count(s.messages)}<span class="soft"> ${s.messages === 1 ? 'msg' : 'msgs'}</span></span> <${Money} of=${s.spent} /></span>
    <span class="session-when soft"><${Ago} of=${s.at} /></span>
  </a>`
}

function Hits({ text, agent }) {
  const { data, error, reload } = useData('sessions/search', { query: { text, agent, limit: 500 }, every: 0 })
  if (error && !data) return html`<${Problem} of=${error} retry=${reload} />`
  if (!data) return html`<${Wait} />`
  const hits = (data.hits ?? []).toSorted((a, b) => b.seq - a.seq || b.n - a.n)
  if (!hits.length) return html`<${Empty} title="Not found">No session contains “${text}”.<//>`
  return html`<p class="hint" role="status">${count(hits.length)} places, the newest first</p>
    <${VirtualList} label="Places" items=${hits} keyOf=${(h) => h.agent + h.sid + h.seq + '.' + h.n} estimate=${78} className="sheet" row=${(h) => html`<a class="hit" href=${link(h) + '?at=' + h.seq + '.' + h.n}>
      <span class="session-about"><b>${h.agent}</b> <span>${h.key}</span> <span class="soft">${h.who}</span></span><span class="soft"><${Ago} of=${h.at} /></span><span class="hit-text">${around(h.text, text)}</span></a>`} />`
}

// around is the place in a text, with what is before and behind it.
function around(text, want) {
  const i = text.toLowerCase().indexOf(want.toLowerCase())
  if (i < 0) return text.slice(0, 200)
  const from = Math.max(0, i - 60)
  return html`${from > 0 && '…'}${text.slice(from, i)}<mark>${text.slice(i, i + want.length)}</mark>${text.slice(i + want.length, i + want.length + 140)}`
}
