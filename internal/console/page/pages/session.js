// One session: its timeline, live, and what can be done with it.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../vendor/preact-htm.js'
import { follow, get, listen, post } from '../api.js'
import { Button, Copy, Empty, Icon, Page, Problem, State, Wait, act, ask, say } from '../ui.js'
import { Details, Row, nameOf } from '../rows.js'
import { VirtualList } from '../virtual.js'
import { build } from '../timeline.js'
import { doing, keyParts, money, person, plural, tokens } from '../format.js'

const block = 500 // facts of a request

// deleted is whether an event says that there is no such session any more: nothing of
// it is to be read then.
const deleted = (kind, data) => kind === 'session' && data.events?.length === 0

// useFacts loads a log from its beginning, and what is added to it while it grows.
function useFacts(agent, sid) {
  const [facts, set] = useState(null)
  const [error, fail] = useState(null)
  const all = useRef([]), busy = useRef(false), again = useRef(false), next = useRef(0), ended = useRef(false)
  const load = async () => {
    if (busy.current) { again.current = true; return }
    busy.current = true
    try {
      for (;;) {
        again.current = false
        const last = all.current.at(-1)
        const page = await get('sessions/events', { agent, session: sid, from: next.current || last?.seq, limit: block })
        if (ended.current) return
        next.current = page.next ?? 0
        const events = page.events ?? []
        const fresh = last ? events.filter((f) => f.seq > last.seq || f.seq === last.seq && f.n > last.n) : events
        all.current = all.current.concat(fresh)
        if (!last || !next.current) set(all.current) // the first block at once, the others together
        fail(null)
        if (!next.current && !again.current) break
        await new Promise((done) => setTimeout(done)) // the page comes first
      }
    } catch (e) { fail(e) }
    busy.current = false
  }
  useEffect(() => {
    load()
    const stop = listen((kind, data) => {
      if (deleted(kind, data)) return
      if (kind === 'again' || ['session', 'run', 'waiting'].includes(kind) && (!data.agent || data.agent === agent) && (!data.sid || data.sid === sid)) load()
    })
    const timer = setInterval(() => { if (!document.hidden) load() }, 15_000)
    return () => { ended.current = true; stop(); clearInterval(timer) }
  }, [])
  return { facts, error, load }
}

const filters = { all: 'Everything', talk: 'Conversation', work: 'Models and tools', ask: 'Approvals' }
const within = { talk: ['run', 'user', 'agent', 'ask', 'operator', 'said', 'end'], work: ['run', 'model', 'tool', 'hook', 'takeover', 'end'], ask: ['run', 'ask'] }

export function Session({ parts, query, may, me }) {
  const [agent, sid, , other] = parts // …/beside/SID
  const [head, setHead] = useState(null)
  const [wrong, fail] = useState(null)
  const loadHead = () => get('sessions/show', { agent, session: sid }).then((h) => { setHead(h); fail(null) }, fail)
  useEffect(() => {
    loadHead()
    let soon = null
    const stop = listen((kind, d) => { if (deleted(kind, d)) return; if (kind === 'session' && d.agent === agent && d.sid === head?.sid || kind === 'run' || kind === 'again') soon ??= setTimeout(() => { soon = null; loadHead() }, 400) })
    return () => { stop(); clearTimeout(soon) }
  }, [])
  if (wrong && !head) return html`<${Page} title="Session"><${Problem} of=${wrong} retry=${loadHead} /><//>`
  if (!head) return html`<${Page} title="Session" full><${Wait} /><//>`
  return html`<${Shown} head=${head} other=${other} may=${may} place=${query.get('at')} reload=${loadHead} />`
}

function Shown({ head, other, may, place, reload }) {
  const { agent, sid } = head
  const key = keyParts(head.key)
  const [title, setTitle] = useState(head.title)
  const to = '#/session/' + encodeURIComponent(agent) + '/' + encodeURIComponent(sid)
  const on = actionsOf(head, may, reload)
  const taken = head.state === 'operator', takes = may.act && may.has('sessions/takeover') && /^[^/]+\/(dm|group)\//.test(head.key)
  return html`<${Page} full title=${title || 'Session'} lead=${html`<${State} is=${head.state}>${doing(head)}<//> <a href=${'#/agents/' + encodeURIComponent(agent)}><b>${agent}</b></a> <span>${[key.channel, person(key.who)].filter(Boolean).join(' · ')}</span> <${Copy} text=${head.key} shown="copy key" />`}
    actions=${html`${other && html`<a class="button" href=${to}>Close the comparison</a>`}
      ${may.act && html`${['running', 'waiting'].includes(head.state) && html`<${Button} icon="stop" kind="deny" onClick=${on.abort}>Stop the run<//>`}
      ${takes && (taken ? html`<${Button} icon="hand" kind="primary" onClick=${on.handBack}>Hand back to ${agent}<//>` : html`<${Button} icon="hand" onClick=${on.takeOver}>Take over<//>`)}
      <${Button} icon="fork" onClick=${() => on.fork(null)}>Fork<//><${Button} icon="trash" kind="deny" onClick=${on.remove} aria-label="Delete the session">Delete<//>`}`}>
    <div class=${'threads' + (other ? ' two' : '')}>
      <${Timeline} key=${sid} agent=${agent} sid=${sid} name=${other ? 'Original' : ''} place=${place} on=${on} onTitle=${setTitle} />
      ${other && html`<${Timeline} key=${other} agent=${agent} sid=${other} name="Fork" on=${on} />`}
    </div>
    ${may.act && !other && (taken || head.key.startsWith('route/')) && html`<${Composer} head=${head} taken=${taken} />`}
  <//>`
}

// actionsOf is what can be done with a session.
function actionsOf(head, may, reload) {
  const { agent, sid } = head
  const to = '#/session/' + encodeURIComponent(agent) + '/' + encodeURIComponent(sid)
  const on = {
    abort: async () => {
      const given = await ask({ title: 'Stop the run?', text: 'The run ends now. What it has done so far is kept.', yes: 'Stop the run', danger: true, fields: [{ name: 'reason', label: 'Reason, shown to the person (optional)' }] })
      if (given && await act(() => post('runs/abort', { agent, session: head.key, reason: given.reason }), 'The run is stopped')) reload()
    },
    takeOver: async () => {
      const sure = await ask({ title: 'Take this chat over?', text: agent + ' is silent here until you hand the chat back, and you write in its place. A run that is under way ends.', yes: 'Take over' })
      if (sure && await act(() => post('sessions/takeover', { agent, session: sid }), 'The chat is yours')) reload()
    },
    handBack: async () => { if (await act(() => post('sessions/handback', { agent, session: sid }), agent + ' answers again')) reload() },
    remove: async () => {
      const sure = await ask({ title: 'Delete this session for good?', text: 'Its log with ' + plural(head.messages ?? 0, 'message') + ' is deleted on all hosts. This cannot be undone.', yes: 'Delete', danger: true })
      if (sure && await act(() => post('sessions/delete', { agent, session: sid }), 'The session is deleted')) location.hash = '#/sessions'
    },
  }
  if (may.act) {
    on.answer = async (item, a) => {
      const id = agent + '.' + sid + '.' + item.wait
      await act(() => post('approvals/answer', { id, ...a }), 'Answered: ' + a.answer)
    }
    on.fork = async (item) => {
      const sure = await ask({ title: item ? 'Fork from here?' : 'Fork this session?', text: 'A new session begins with ' + (item ? 'all up to this place' : 'all of this one') + '. Nothing is sent to anybody, and this session stays as it is.', yes: 'Fork' })
      if (!sure) return
      const made = await act(() => post('sessions/fork', { agent, session: sid, at: item?.last }), (f) => 'Forked to ' + f.key)
      if (made) location.hash = to + '/beside/' + encodeURIComponent(made.sid)
    }
    on.replay = async (item) => {
      const models = await get('models').then((m) => [...new Set((m.models ?? []).map((x) => x.name))], () => [])
      const given = await ask({
        title: 'Replay from here', yes: 'Replay', text: 'What came before stays as it was recorded, and the model is asked from here to the end of the run. Nothing is stored or sent to anybody, and no tool runs: a call of this run that it makes again gets the result it had.',
        fields: [{ name: 'model', label: 'Model', options: [{ value: '', label: item.run?.entry ? 'as then (' + item.run.entry + ')' : 'that of the agent' }, ...models.map((m) => ({ value: m, label: m }))] }, { name: 'system', label: 'Other instructions (optional)', long: true }],
      })
      if (!given) return
      on.show({ wait: true })
      try {
        on.show({ runs: (await post('sessions/rerun', { agent, session: sid, at: placeOf(item), model: given.model || item.run?.entry || undefined, system: given.system || undefined })).runs ?? [] })
      } catch (error) { on.show({ error }) }
    }
  }
  return on
}

// placeOf is behind what stays as it was: an answer is asked for again, whatever else
// was clicked is kept.
const placeOf = (item) => ['model', 'agent'].includes(item.kind) && item.before || item.last

function Timeline({ agent, sid, name, place, on, onTitle }) {
  const { facts, error, load } = useFacts(agent, sid)
  const [filter, setFilter] = useState('all')
  const [selected, select] = useState(null)
  const [replay, setReplay] = useState(null)
  on.show = setReplay
  const built = useMemo(() => build(facts ?? []), [facts])
  useEffect(() => {
    const first = built.items.find((i) => i.kind === 'user')?.text.replace(/\s+/g, ' ').trim()
    if (first) onTitle?.(first.length > 90 ? first.slice(0, 90) + '…' : first)
  }, [facts !== null])
  const writing = useWriting(agent, sid, built, load)
  const items = useMemo(() => {
    const list = filter === 'all' ? built.items : built.items.filter((i) => within[filter].includes(i.kind))
    return writing && ['all', 'talk'].includes(filter) ? [...list, { key: 'writing', kind: 'agent', live: true, at: new Date().toISOString(), text: writing, facts: [], replies: [] }] : list
  }, [built, filter, writing])
  const target = useMemo(() => place ? items.findLast((i) => i.facts.some((f) => f.seq + '.' + f.n === place))?.key : undefined, [place, facts !== null])
  if (error && !facts) return html`<${Problem} of=${error} retry=${load} />`
  if (!facts) return html`<${Wait} />`
  const panel = selected && html`<${Panel} title=${nameOf(selected)} close=${() => select(null)}><${Details} item=${selected} on=${{ fork: on.fork, replay: on.replay }} /><//>`
  const shown = replay && html`<${Panel} title="Replay" close=${() => setReplay(null)}><${Replayed} of=${replay} /><//>`
  return html`<section class="thread" aria-label=${name || 'Timeline'}>
    <div class="thread-head">${name && html`<h2>${name}</h2>`}
      <div class="chips" role="group" aria-label="Show">${Object.entries(filters).map(([id, label]) => html`<button key=${id} type="button" class="chip" aria-pressed=${filter === id} onClick=${() => setFilter(id)}>${label}</button>`)}</div>
      <p class="sums">${[plural(built.total.runs, 'run'), plural(built.total.models, 'model call'), plural(built.total.tools, 'tool'), tokens(built.total), money(built.total.cost)].map((s) => html`<span>${s}</span>`)}</p></div>
    ${items.length ? html`<${VirtualList} label=${name ? name + ": events" : "Events"} items=${items} keyOf=${(i) => i.key} estimate=${92} follow=${!place} target=${target} className="timeline"
      row=${(item) => html`<${Row} item=${item} selected=${selected?.key === item.key} on=${{ open: select, answer: on.answer }} />`} />` : html`<${Empty}>Nothing of this kind.<//>`}
    ${shown || panel}
  </section>`
}

// useWriting is what the model writes just now, before it is in the log.
function useWriting(agent, sid, built, load) {
  const [said, set] = useState(null)
  useEffect(() => {
    let written = '', last = null, soon = 0
    return follow(agent, sid, {
      event: load,
      chunk: (c) => {
        if (c.restart || c.offset === 0 && c.text) written = ''
        if (c.text) written += c.text
        last = c
        soon ||= requestAnimationFrame(() => { soon = 0; set({ run: last.run, turn: last.turn, text: written }) })
      },
    })
  }, [])
  const run = said && built.runs.find((r) => r.id === said.run)
  return !said || run && (run.closed || run.said >= said.turn) ? '' : said.text
}

// Panel is beside the timeline, or over it where there is no room. It has the focus as soon as it
// is seen: an Escape that came before would not reach it.
function Panel({ title, close, children }) {
  const box = useRef()
  useLayoutEffect(() => {
    const before = document.activeElement
    box.current.focus()
    return () => before?.isConnected && before.focus()
  }, [])
  return html`<aside class="panel" ref=${box} tabindex="-1" aria-label=${title} onKeyDown=${(e) => { if (e.key === 'Escape') close() }}>
    <div class="panel-head"><h2>${title}</h2><button type="button" class="button bare" aria-label="Close" onClick=${close}><${Icon} name="close" /></button></div>${children}</aside>`
}

const sums = (x) => [(x.input || x.output) && tokens(x), x.priced && money(x.cost)].filter(Boolean).map((t) => html`<span>${t}</span>`)
const Answer = ({ of }) => html`<div class="bubble">${of.text ? html`<p class="plain">${of.text}</p>` : html`<p class="soft">No text.</p>`}${(of.calls ?? []).map((c) => html`<p class="args mono">calls ${typeof c === 'string' ? c : c.name + ' ' + c.args}</p>`)}</div><p class="facts">${sums(of)}</p>`

// Replayed shows what the model says now beside what it said then, from a place on.
function Replayed({ of }) {
  if (of.wait) return html`<${Wait} />`
  if (of.error) return html`<${Problem} of=${of.error} />`
  return html`${of.runs.map((r) => html`<div class="beside" key=${r.run}><p class="soft">${r.said}</p><p class="facts"><span>recorded up to ${r.at}</span></p><h3>As it went on</h3><${Answer} of=${r.then} /><h3>Now</h3>${r.now.error && html`<p class="bad">${r.now.error}</p>`}${(r.now.text || r.now.calls || !r.now.error) && html`<${Answer} of=${r.now} />`}</div>`)}`
}

// Composer is for an operator: in the agent's place where the chat was taken over, and
// to the agent in a session of programs.
function Composer({ head, taken }) {
  const hint = taken ? 'Write in the place of ' + head.agent : 'Write to ' + head.agent + ' in this session'
  const [text, set] = useState('')
  const send = async (e) => {
    e.preventDefault()
    if (text.trim() && await act(() => post(taken ? 'sessions/say' : 'agents/send', { agent: head.agent, session: head.key, text }), 'Sent')) set('')
  }
  return html`<form class="composer" onSubmit=${send}><label><span class="unseen">${hint}</span><textarea rows="2" value=${text} placeholder=${hint} onInput=${(e) => set(e.target.value)} onKeyDown=${(e) => { if (e.key === 'Enter' && !e.shiftKey) send(e) }}></textarea></label><button class="button primary">Send</button></form>`
}
