// What is scheduled, and when it is due.
import { html } from '../vendor/preact-htm.js'
import { post, useData } from '../api.js'
import { Ago, Button, Loaded, Page, Table, Tag, act, ask } from '../ui.js'
import { date, duration } from '../format.js'

function spec(s = {}) {
  if (s.cron) return s.cron + (s.timezone ? ' ' + s.timezone : '')
  if (s.every) return 'every ' + (typeof s.every === 'number' ? duration(s.every / 1e6) : s.every)
  if (s.at) return 'once, ' + (/(Z|[+-]\d\d:\d\d)$/.test(s.at) ? date(s.at) : s.at + ' ' + (s.timezone || 'UTC'))
  return typeof s === 'string' ? s : Object.values(s).join(' ')
}

export function Schedules({ may }) {
  const list = useData('schedules', { topics: ['heartbeat', 'agent'] })
  const cancel = async (s) => {
    if (!await ask({ title: 'Cancel this reminder?', text: s.agent + ' will not be reminded of “' + s.prompt + '”.', yes: 'Cancel the reminder', no: 'Keep it', danger: true })) return
    if (await act(() => post('schedules/cancel', { agent: s.agent, name: s.name }), 'Cancelled')) list.reload()
  }
  return html`<${Page} title="Schedules" lead="Schedules of the configuration, and reminders that agents were asked for">
    <${Loaded} of=${list}>${(all) => html`<section class="card flush"><${Table} label="Schedules" keyOf=${(s) => s.agent + '/' + s.name} rows=${all.schedules ?? []} empty="Nothing is scheduled." columns=${[
      { name: 'Agent', cell: (s) => html`<b>${s.agent}</b>` },
      { name: 'What', main: true, wide: true, cell: (s) => html`<span>${s.prompt || s.name}</span> ${s.source === 'reminder' && html`<${Tag}>reminder${s.by ? ' by ' + s.by : ''}<//>`}` },
      { name: 'When', cell: (s) => html`<span class="mono">${spec(s.spec)}</span>` },
      { name: 'Next', cell: (s) => html`<${Ago} of=${s.next} />` },
      { name: 'Answers to', cell: (s) => s.origin ? [s.origin.channel, s.origin.chat ?? s.origin.from].filter(Boolean).join(' ') : '' },
      may.act && { name: '', title: 'Cancel', end: true, cell: (s) => s.source === 'reminder' ? html`<${Button} kind="small deny" onClick=${() => cancel(s)} aria-label=${'Cancel the reminder ' + s.name}>Cancel<//>` : '' },
    ]} /></section>`}<//>
  <//>`
}
