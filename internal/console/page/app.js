// The shell: navigation, who is logged in, and the page that the address names.
import { html, render, useEffect, useRef, useState } from './vendor/preact-htm.js'
import { chats, get, offers, useData, useLink } from './api.js'
import { Dialogs, Icon, Problem, Toasts, Wait } from './ui.js'
import { Now } from './pages/now.js'
import { Sessions } from './pages/sessions.js'
import { Session } from './pages/session.js'
import { Why } from './pages/why.js'
import { Dead } from './pages/dead.js'
import { Schedules } from './pages/schedules.js'
import { Cost } from './pages/cost.js'
import { Fleet } from './pages/fleet.js'
import { Agents } from './pages/agents.js'
import { Playground } from './pages/playground.js'
import { Audit } from './pages/audit.js'
import { Tokens } from './pages/tokens.js'

const pages = [
  ['now', 'Now', Now], ['sessions', 'Sessions', Sessions], ['why', 'Why', Why], ['dead', 'Dead letters', Dead], ['schedules', 'Schedules', Schedules],
  ['cost', 'Cost', Cost], ['fleet', 'Fleet', Fleet], ['agents', 'Agents', Agents], ['playground', 'Playground', Playground], ['tokens', 'Tokens', Tokens], ['audit', 'Audit', Audit],
]

function route() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?')
  const parts = path.split('/').map((p) => { try { return decodeURIComponent(p) } catch { return p } })
  return { page: parts[0] || 'now', parts: parts.slice(1), query: new URLSearchParams(query), whole: location.hash }
}

function App() {
  const [where, go] = useState(route())
  const [menu, open] = useState(false)
  const main = useRef()
  useEffect(() => {
    const changed = () => { go(route()); open(false); main.current?.focus({ preventScroll: true }) }
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  useEffect(() => {
    const key = (e) => {
      if (e.key === 'Escape') open(false)
      if (e.key !== '/' || e.ctrlKey || e.metaKey || e.altKey || e.target.closest('input, textarea, select, dialog')) return
      const field = document.querySelector('main input[type=search]')
      e.preventDefault()
      if (field) field.focus()
      else location.hash = '#/sessions?find=1'
    }
    addEventListener('keydown', key)
    return () => removeEventListener('keydown', key)
  }, [])
  const [me, setMe] = useState(null)
  useEffect(() => {
    Promise.all([get('me'), offers(), chats()]).then(([who, has, chat]) => setMe({ ...who, has, chat }), (error) => setMe({ error }))
  }, [])
  const barred = me?.error?.status === 403
  const Shown = where.page === 'session' ? Session : pages.find(([id]) => id === where.page)?.[2]
  const current = where.page === 'session' ? 'sessions' : where.page
  return html`
    <a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); main.current.focus() }}>To the page</a>
    <header class="bar"><button type="button" class="button bare" aria-label="Menu" aria-expanded=${menu} onClick=${() => open(!menu)}><${Icon} name=${menu ? 'close' : 'menu'} /></button><span class="brand">agenthost</span></header>
    ${menu && html`<div class="shade" onClick=${() => open(false)}></div>`}
    <aside class=${'side' + (menu ? ' open' : '')}>
      <a class="brand" href="#/now"><img src="/console/icon.svg" alt="" width="26" height="26" />agenthost</a>
      ${!barred && html`<nav aria-label="Pages"><ul>${pages.map(([id, name]) => html`<li key=${id}><a href=${'#/' + id} aria-current=${current === id ? 'page' : undefined}><${Icon} name=${id} /><span>${name}</span><${Badge} of=${id} /></a></li>`)}</ul></nav>`}
      <${Foot} me=${me} />
    </aside>
    <main id="main" tabindex="-1" ref=${main}>${me === null ? html`<${Wait} />` : barred ? html`<div class="page"><h1>Not for you</h1><p>A token of the role chat is for the <a href="/chat">chat page</a>. For the console log in with one of the role admin or read.</p><${LogOut} /></div>` : me.error ? html`<div class="page"><h1>The host does not answer</h1><${Problem} of=${me.error} retry=${() => location.reload()} /></div>` : Shown ? html`<${Shown} key=${where.page + '/' + (where.page === 'session' ? where.parts.join('/') : '')} ...${where} me=${me} may=${may(me)} />` : html`<div class="page"><h1>There is no such page</h1><p><a href="#/now">To what happens now</a></p></div>`}</main>
    <${Toasts} /><${Dialogs} />`
}

// may is what the role allows, and whole whether it is for all agents; the host checks
// each request anyway.
const may = (me) => ({ act: me.role === 'admin', whole: me.role === 'admin' && !me.limited, has: me.has, chat: me.chat })

function Badge({ of }) {
  const path = { now: 'approvals', dead: 'dead' }[of]
  const { data } = useData(path, { query: of === 'dead' ? { limit: 100 } : undefined, topics: [of === 'now' ? 'waiting' : 'alarm'], every: 30_000 })
  const n = list(data).filter((x) => x.kind !== 'delegate').length
  return n > 0 ? html`<span class=${'badge' + (of === 'now' ? ' warn' : '')}>${n > 99 ? '99+' : n}<span class="unseen"> ${of === 'now' ? 'to settle' : 'in all'}</span></span>` : null
}

const list = (data) => data?.waiting ?? data?.letters ?? []

const LogOut = () => html`<form method="post" action="/logout"><button class="button small">Log out</button></form>`

function Foot({ me }) {
  const link = useLink()
  return html`<div class="foot">
    <p class=${'link-state ' + (link ? 'good' : 'bad')} role="status"><i aria-hidden="true"></i>${link ? 'live' : 'connecting again'}</p>
    ${me?.name && html`<p class="me"><span><b>${me.name}</b> <span class="soft">${me.role}</span></span>${!me.open && html`<${LogOut} />`}</p>`}
    <p class="soft small">${me?.chat && html`<a href="/chat">Chat</a> · `}${me?.version}</p>
  </div>`
}

render(html`<${App} />`, document.getElementById('app'))
