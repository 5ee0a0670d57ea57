// The operators' log: who did what, by which door.
import { html, useState } from '../vendor/preact-htm.js'
import { useData } from '../api.js'
import { Ago, Empty, Loaded, Page, Table, Tag } from '../ui.js'
import { date } from '../format.js'

export function Audit({ may }) {
  const [who, set] = useState('')
  const log = useData(may.act && may.has('audit') && 'audit', { query: { limit: 500 }, topics: ['waiting', 'run', 'alarm', 'agent'] })
  const rows = log.data?.entries ?? []
  const people = [...new Set(rows.map((e) => e.by).filter(Boolean))].sort()
  const shown = rows.filter((e) => !who || (e.by) === who)
  return html`<${Page} title="Audit" lead="Who approved, stopped, deleted, reloaded, tripped and took over, and by which door"
    actions=${people.length > 1 && html`<label class="inline"><span>Who</span><select value=${who} onChange=${(e) => set(e.target.value)}><option value="">everybody</option>${people.map((p) => html`<option key=${p} value=${p}>${p}</option>`)}</select></label>`}>
    ${!may.act ? html`<${Empty} title="Not for you">Only the role admin sees what operators have done.<//>` : !may.has('audit') ? html`<${Empty} title="Not here">This host keeps no log of what operators do.<//>` : html`<${Loaded} of=${log}>${() => shown.length === 0 ? html`<${Empty} title="Nothing yet">What people do with commands, pages and programs stands here.<//>` : html`<section class="card flush"><${Table} label="Audit log" keyOf=${(e) => e.seq} rows=${shown} columns=${[
      { name: 'When', cell: (e) => html`<span title=${date(e.at)}><${Ago} of=${e.at} /></span>` },
      { name: 'Who', least: true, cell: (e) => html`<b>${e.by}</b>` },
      { name: 'Did', least: true, cell: (e) => html`<${Tag}>${e.action}<//>` },
      { name: 'What', main: true, wide: true, cell: (e) => [e.agent, e.session, e.target, e.detail].filter(Boolean).join(' · ') },
      { name: 'Host', cell: (e) => html`<span class="soft">${e.host}</span>` },
      { name: 'Door', cell: (e) => html`<span class="soft">${e.door}</span>` },
    ]} /></section>`}<//>`}
  <//>`
}
