// The accounts of channels, as a table.
import { html } from './vendor/preact-htm.js'
import { Ago, State, Table } from './ui.js'
import { count } from './format.js'

export const channelName = (c) => c.channel + (c.instance ? '.' + c.instance : '')

// ChannelTable shows accounts; last is a column of the caller's.
export function ChannelTable({ list, last }) {
  return html`<${Table} label="Channels" keyOf=${channelName} empty="No account of a chat platform is configured. The chat page, HTTP and NATS need none." rows=${list} columns=${[
    { name: 'Channel', main: true, cell: (c) => html`<b>${channelName(c)}</b> <span class="soft">${c.as || (c.agents ?? []).join(', ')}</span>` },
    { name: 'State', cell: (c) => html`${c.state ? html`<${State} is=${c.state} />` : html`<span class="soft">${c.channel === 'web' ? 'the chat page' : "a program's own, over NATS"}</span>`}${c.last_error && html`<span class="small bad"> ${c.last_error}</span>`}` },
    { name: 'In', end: true, cell: (c) => html`<span class="num">${c.state ? count(c.in) : '–'}</span>` },
    { name: 'Out', end: true, cell: (c) => html`<span class="num">${c.state ? count(c.out) : '–'}</span>` },
    { name: 'Lag', end: true, cell: (c) => c.waiting ? html`<span class="bad">${count(c.waiting)}, <${Ago} of=${c.oldest_undelivered} /></span>` : html`<span class="soft">none</span>` },
    last,
  ]} />`
}

// channelsOf is the accounts, what agents are bound to besides, and what else is paused.
export function channelsOf(accounts, agents, pauses) {
  const list = [...accounts], known = new Map(accounts.map((a) => [channelName(a), null]))
  const add = (name, agent) => {
    if (name.includes('*')) return
    if (known.has(name)) {
      if (agent) known.get(name)?.push(agent)
      return
    }
    const [channel, instance = ''] = name.split('.'), bound = agent ? [agent] : []
    known.set(name, bound)
    list.push({ channel, instance, agents: bound })
  }
  for (const a of agents) for (const name of a.profile?.channels ?? []) add(name, a.id)
  for (const p of pauses) if (p.channel) add(p.channel)
  return list
}
