// Why: one id, the whole way of its message.
import { html, useState } from '../vendor/preact-htm.js'
import { useData } from '../api.js'
import { Copy, Empty, Icon, Loaded, Page, State, Tag } from '../ui.js'
import { date, duration, time } from '../format.js'
import { sessionLink } from './now.js'

const states = { waiting: 'It waits', running: 'It is being worked on', answered: 'It was answered', merged: 'It joined a run that was under way', dead: 'It is a dead letter' }
const icons = { accepted: 'down', 'run started': 'flag', 'model called': 'model', replied: 'reply', 'run ended': 'check', delivered: 'check', dead: 'dead' }
const iconOf = (what) => icons[what] ?? (/tool|call/.test(what) ? 'tool' : /wait|ask/.test(what) ? 'ask' : /answer/.test(what) ? 'person' : /deliver|publish/.test(what) ? 'reply' : /dead|refus/.test(what) ? 'dead' : /took|taken|crash/.test(what) ? 'crash' : 'note')

export function Why({ parts }) {
  const [id] = parts
  const [text, set] = useState(id ?? '')
  const go = (e) => { e.preventDefault(); if (text.trim()) location.hash = '#/why/' + encodeURIComponent(text.trim()) }
  return html`<${Page} title="Why" lead="Where a message is, and the way it has come">
    <form class="filters" role="search" onSubmit=${go}><label class="search"><${Icon} name="search" /><span class="unseen">Id</span><input type="search" value=${text} onInput=${(e) => set(e.target.value)} placeholder="Id of a message, a reply, a run or a call" /></label><button class="button primary">Show</button></form>
    ${id ? html`<${Way} key=${id} id=${id} />` : html`<${Empty} title="One id, the whole way">Logs, envelopes and the timeline of a session show ids. The page tells where it was accepted, which run took it, what models and tools did, whom it waits for, and who has delivered the answer.<//>`}
  <//>`
}

function Way({ id }) {
  const way = useData('why', { query: { id }, topics: ['session', 'alarm'] })
  if (way.error?.status === 404) return html`<${Empty} title="Nothing is known of this id">No stream has anything of “${id}”. It may be older than what is kept.<//>`
  return html`<${Loaded} of=${way}>${(w) => html`<section class="card">
    <p class="way-state"><${State} is=${w.state}>${states[w.state] ?? w.state}<//> <${Tag}>${w.kind}<//> <${Copy} text=${w.id} /></p>
    <ol class="way">${w.steps.map((s, i) => {
      const before = i > 0 ? new Date(s.at) - new Date(w.steps[i - 1].at) : 0
      return html`<li key=${i}><span class="mark"><${Icon} name=${iconOf(s.what)} /></span><div class="what">
        <p class="line"><b>${s.what}</b>${s.name && html`<span class="mono">${s.name}</span>`}${s.detail && html`<span>${s.detail.replace(/^, /, '')}</span>`}</p>
        <p class="facts"><time datetime=${s.at} title=${date(s.at)}>${time(s.at)}</time>${before >= 1 && html`<span>${duration(before)} later</span>`}${s.agent && html`<span>${s.agent}</span>`}${s.session && html`<a href=${sessionLink(s.agent, s.session)}>${s.session}</a>`}
          ${s.host && html`<span>on ${s.host}</span>`}${s.subject && html`<span class="mono">${s.subject}</span>`}${s.stream && html`<span class="mono">${s.stream} ${s.seq}</span>`}${s.id && s.id !== w.id && html`<a href=${'#/why/' + encodeURIComponent(s.id)}>${s.id}</a>`}</p></div></li>`
    })}</ol></section>`}<//>`
}
