// The pieces that all pages are made of.
import { html, useEffect, useLayoutEffect, useRef, useState } from './vendor/preact-htm.js'
import { show } from './markdown.js'
import { ago, date, money, real } from './format.js'

const paths = {
  now: 'M3 12h4l3-8 4 16 3-8h4', sessions: 'M4 5h16v11H9l-5 4z', why: 'M9.5 9a2.6 2.6 0 1 1 3.6 2.4c-.8.4-1.1 1-1.1 1.8M12 17h.01M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18',
  dead: 'M4 6h16v12H4zM4 7l8 6 8-6M9 21l6-6', schedules: 'M12 7v5l3 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18', cost: 'M4 20V10m5 10V4m5 16v-7m5 7V8',
  fleet: 'M4 5h16v5H4zM4 14h16v5H4zM8 7.5h.01M8 16.5h.01', agents: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4 21c0-4 3.5-6 8-6s8 2 8 6',
  tokens: 'M13.5 12a4 4 0 1 1-8 0 4 4 0 0 1 8 0M13.5 12H21M18 12v4', pause: 'M9 6v12M15 6v12', play: 'M8 5l11 7-11 7z', power: 'M12 3v8M7 6.5a8 8 0 1 0 10 0',
  playground: 'M9 3h6M10 3v6l-5 9a2 2 0 0 0 2 3h10a2 2 0 0 0 2-3l-5-9V3M7.5 15h9', audit: 'M7 3h10v18l-5-3-5 3zM10 8h4M10 12h4',
  menu: 'M4 7h16M4 12h16M4 17h16', close: 'M6 6l12 12M18 6 6 18', search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14M20 20l-4-4', chat: 'M4 5h16v11H9l-5 4z',
  fork: 'M7 4v16M7 12h5a4 4 0 0 0 4-4V4', replay: 'M4 12a8 8 0 1 0 3-6.2M4 4v4h4', stop: 'M7 7h10v10H7z', trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13', check: 'M5 13l4 4L19 7',
  model: 'M12 3l2.2 5.8L20 11l-5.8 2.2L12 19l-2.2-5.8L4 11l5.8-2.2z', tool: 'M14 6a4 4 0 0 0 5 5l-8 8a2.5 2.5 0 0 1-4-4l8-8z', person: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4 21c0-4 3.5-6 8-6s8 2 8 6',
  ask: 'M12 8v5M12 16.5h.01M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18', flag: 'M6 21V4h12l-3 4 3 4H6', crash: 'M13 3 5 14h6l-1 7 8-11h-6z', note: 'M5 12h14', reply: 'M10 8 5 12l5 4M5 12h9a5 5 0 0 1 5 5',
  hand: 'M5 12h13M13 6l6 6-6 6', hook: 'M15 3v10a5 5 0 0 1-10 0v-3l3 3', down: 'M12 5v14M6 13l6 6 6-6', more: 'M9 6l6 6-6 6',
}

export const Icon = ({ name }) => html`<svg viewBox="0 0 24 24" aria-hidden="true" class="icon"><path d=${paths[name] ?? paths.note} /></svg>`

// Page is the frame of a page.
export function Page({ title, lead, actions, children, full }) {
  useEffect(() => { document.title = (title ? title + ' · ' : '') + 'agenthost' }, [title])
  return html`<div class=${'page' + (full ? ' full' : '')}>
    <header class="top"><div class="titles"><h1>${title}</h1>${lead && html`<p class="lead">${lead}</p>`}</div>${actions && html`<div class="actions">${actions}</div>`}</header>
    ${children}
  </div>`
}

export const Card = ({ title, extra, children, flush, ...rest }) => html`<section class=${'card' + (flush ? ' flush' : '')} ...${rest}>
  ${title && html`<div class="card-head"><h2>${title}</h2>${extra}</div>`}${children}</section>`

const good = new Set(['ready', 'connected', 'closed', 'settled', 'answered', 'ok', 'serving', 'delivered', 'online'])
const busy = new Set(['running', 'model', 'tools', 'starting', 'storing', 'queued', 'merged', 'connecting', 'busy', 'half-open', 'standby'])
const asks = new Set(['waiting', 'operator', 'approval', 'question', 'degraded', 'paused', 'draining', 'stopped', 'waits', 'open'])
export const tone = (state) => good.has(state) ? 'good' : busy.has(state) ? 'busy' : asks.has(state) ? 'warn' : state === 'idle' || !state ? 'idle' : 'bad'

export const State = ({ is, as, children }) => html`<span class=${'state ' + (as ?? tone(is))}><i aria-hidden="true"></i>${children ?? is}</span>`
export const Tag = ({ children, kind = '', title }) => html`<span class=${'tag ' + kind} title=${title}>${children}</span>`

// One clock makes all times go on.
const ticks = new Set()
setInterval(() => { if (!document.hidden) for (const f of ticks) f((n) => n + 1) }, 10_000)
export function Ago({ of }) {
  const [, tick] = useState(0)
  useEffect(() => { ticks.add(tick); return () => ticks.delete(tick) }, [])
  return real(of) ? html`<time datetime=${of} title=${date(of)}>${ago(of)}</time>` : html`<span class="soft">–</span>`
}

export const Money = ({ of }) => html`<span class=${'num' + (of ? '' : ' soft')}>${money(of)}</span>`

export function Copy({ text, shown }) {
  const [done, set] = useState(false)
  const copy = async () => {
    try { await navigator.clipboard.writeText(text); set(true); setTimeout(() => set(false), 1500) } catch { say('The browser does not allow copying here', 'bad') }
  }
  return html`<button type="button" class="copy-id" onClick=${copy} title=${'Copy ' + text}>${done ? 'copied' : shown ?? text}</button>`
}

export function Markdown({ text }) {
  const box = useRef()
  useLayoutEffect(() => { show(box.current, text ?? '') }, [text])
  return html`<div class="text" ref=${box}></div>`
}

export const Empty = ({ children, title }) => html`<div class="empty">${title && html`<p class="empty-title">${title}</p>`}<p>${children}</p></div>`

export function Problem({ of, retry }) {
  if (!of) return null
  const missing = of.status === 404 || of.status === 501
  return html`<div class=${'problem' + (missing ? ' mild' : '')} role="alert"><p>${of.status === 403 ? 'Your role may not see this. ' : ''}${of.message}</p>${retry && html`<button type="button" onClick=${retry}>Try again</button>`}</div>`
}

export const Wait = () => html`<div class="wait" role="status"><span class="unseen">Loading</span><i></i><i></i><i></i></div>`

// Loaded shows what a useData has, what is wrong with it, or that it is coming.
export function Loaded({ of, children }) {
  if (of.data !== undefined && of.data !== null) return html`${of.error && html`<${Problem} of=${of.error} retry=${of.reload} />`}${children(of.data)}`
  return of.error ? html`<${Problem} of=${of.error} retry=${of.reload} />` : html`<${Wait} />`
}

// Table is a table that turns into cards where there is no room.
export function Table({ columns, rows, keyOf, label, empty, onRow }) {
  if (!rows.length) return html`<${Empty}>${empty ?? 'Nothing here.'}<//>`
  const shown = columns.filter(Boolean)
  return html`<div class="table-box"><table role="table" aria-label=${label}>
    <thead role="rowgroup"><tr role="row">${shown.map((c) => html`<th role="columnheader" scope="col" class=${c.end ? 'end' : ''}>${c.name || html`<span class="unseen">${c.title ?? 'Actions'}</span>`}</th>`)}</tr></thead>
    <tbody role="rowgroup">${rows.map((row, i) => html`<tr role="row" key=${keyOf ? keyOf(row) : i} class=${onRow ? 'opens' : ''} onClick=${onRow && ((e) => { if (!e.target.closest('button, a, input, select')) onRow(row) })}>
      ${shown.map((c) => html`<td role="cell" data-label=${c.name} class=${['end', 'wide', 'main', 'least'].filter((name) => c[name]).join(' ')}>${c.cell(row)}</td>`)}</tr>`)}</tbody>
  </table></div>`
}

// useOnward keeps the focus in a list when the item that has it goes: then it is on the item behind
// it, or before it, or on the heading of the page. It is not on a button, so that a key which is
// pressed twice does not answer twice.
export function useOnward() {
  const box = useRef()
  useLayoutEffect(() => {
    const item = box.current
    return () => {
      if (item.contains(document.activeElement)) rest(item.nextElementSibling ?? item.previousElementSibling ?? document.querySelector('main h1'))
    }
  }, [])
  return box
}

// rest puts the focus on what takes no input.
export function rest(on) {
  if (!on) return
  on.tabIndex = -1
  on.focus({ preventScroll: true })
}

export const Bar = ({ part, kind = '' }) => html`<div class=${'meter ' + kind}><i style=${{ width: Math.max(0, Math.min(100, part * 100)) + '%' }}></i></div>`

export function Button({ icon, children, kind = '', busy, ...rest }) {
  return html`<button type="button" class=${'button ' + kind} disabled=${busy || rest.disabled} ...${rest}>${icon && html`<${Icon} name=${icon} />`}<span>${children}</span></button>`
}

// Toasts say what became of what was done.
let toast = () => {}
export const say = (text, kind = '') => toast({ text, kind, id: Math.random() })

export function Toasts() {
  const [list, set] = useState([])
  toast = (t) => {
    set((l) => [...l.slice(-3), t])
    setTimeout(() => set((l) => l.filter((x) => x.id !== t.id)), t.kind === 'bad' ? 9000 : 4500)
  }
  return html`<div class="toasts" role="status" aria-live="polite">${list.map((t) => html`<div key=${t.id} class=${'toast ' + t.kind}>${t.text}</div>`)}</div>`
}

// act does something and says what became of it.
export async function act(what, done) {
  try {
    const result = await what()
    if (done) say(typeof done === 'function' ? done(result) : done)
    return result ?? true
  } catch (e) {
    say(e.message, 'bad')
    return null
  }
}

// ask shows a dialog, and answers what was entered: null when it was closed.
let openDialog = () => Promise.resolve(null)
export const ask = (options) => openDialog(options)

export function Dialogs() {
  const [open, set] = useState(null)
  const box = useRef()
  openDialog = (options) => new Promise((done) => set({ ...options, done }))
  useEffect(() => { if (open) box.current.showModal() }, [open])
  if (!open) return null
  const end = (value) => { box.current.close(); set(null); open.done(value) }
  const submit = (e) => { e.preventDefault(); end(Object.fromEntries(new FormData(e.target))) }
  return html`<dialog ref=${box} class="dialog" aria-labelledby="dialog-title" onCancel=${(e) => { e.preventDefault(); end(null) }} onClick=${(e) => { if (e.target === box.current) end(null) }}>
    <form onSubmit=${submit}>
      <h2 id="dialog-title">${open.title}</h2>
      ${open.text && html`<p>${open.text}</p>`}
      ${open.quote && html`<pre class="quote" tabindex="0">${open.quote}</pre>`}
      ${(open.fields ?? []).map((f, i) => html`<label class="field"><span>${f.label}</span>${
        f.options ? html`<select name=${f.name} autofocus=${i === 0}>${f.options.map((o) => html`<option value=${o.value ?? o} selected=${(o.value ?? o) === f.value}>${o.label ?? o}</option>`)}</select>`
          : f.long ? html`<textarea name=${f.name} rows="5" required=${f.required} autofocus=${i === 0} placeholder=${f.placeholder}>${f.value ?? ''}</textarea>`
            : html`<input name=${f.name} value=${f.value ?? ''} required=${f.required} autofocus=${i === 0} placeholder=${f.placeholder} autocomplete="off" />`}</label>`)}
      <div class="dialog-actions"><button type="button" class="button" onClick=${() => end(null)}>${open.no ?? 'Cancel'}</button><button class=${'button ' + (open.danger ? 'danger' : 'primary')} autofocus=${!(open.fields ?? []).length && !open.danger}>${open.yes ?? 'OK'}</button></div>
    </form>
  </dialog>`
}
