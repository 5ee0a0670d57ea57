// Tokens for HTTP: made, listed and revoked while hosts run.
import { html, useState } from '../vendor/preact-htm.js'
import { post, useData } from '../api.js'
import { Ago, Button, Card, Copy, Empty, Loaded, Page, Table, Tag, act, ask } from '../ui.js'
import { real } from '../format.js'

const roles = [{ value: 'read', label: 'read: sees everything' }, { value: 'chat', label: 'chat: talks to agents' }, { value: 'admin', label: 'admin: may do all' }]

export function Tokens({ may }) {
  const list = useData(may.whole && may.has('tokens') && 'tokens', {})
  const [made, show] = useState(null)
  const add = async () => {
    const want = await ask({ title: 'Make a token', yes: 'Make it', fields: [
      { name: 'name', label: 'Name: a-z, 0-9, _ and -', required: true, placeholder: 'dashboard' }, { name: 'role', label: 'Role', options: roles },
      { name: 'agents', label: 'Agents that it is good for, with commas (none: all)', placeholder: 'ana, bob' }, { name: 'expires', label: 'Ends after, or on (none: never)', placeholder: '30d' },
    ] })
    if (!want) return
    const agents = want.agents.split(',').map((a) => a.trim()).filter(Boolean)
    const done = await act(() => post('tokens/add', { name: want.name.trim(), role: want.role, agents: agents.length ? agents : undefined, expires: want.expires.trim() || undefined }))
    if (done) { show(done); list.reload() }
  }
  const revoke = async (t) => {
    if (!await ask({ title: 'Revoke ' + t.name + '?', text: 'Within a second no host lets it in, and its logins end. This cannot be undone; a new token can be made.', yes: 'Revoke', danger: true })) return
    if (await act(() => post('tokens/revoke', { name: t.name }), t.name + ' is revoked')) { if (made?.name === t.name) show(null); list.reload() }
  }
  return html`<${Page} title="Tokens" lead="For programs and people that use this host over HTTP. Those of the configuration are not among them." actions=${may.whole && may.has('tokens/add') && html`<${Button} icon="tokens" kind="primary" onClick=${add}>Make a token<//>`}>
    ${!may.whole ? html`<${Empty} title="Not for you">Only the role admin for all agents sees and makes tokens.<//>` : html`
      ${made && html`<${Card} title=${'The token ' + made.name} extra=${html`<${Button} kind="small" onClick=${() => show(null)}>Done<//>`}><p>Copy it now: it is shown this once, and kept nowhere.</p><p><${Copy} text=${made.token} /></p><p class="soft small">It is sent as <span class="mono">Authorization: Bearer …</span>, or typed at <span class="mono">/login</span>.</p><//>`}
      <${Loaded} of=${list}>${({ tokens }) => html`<section class="card flush"><${Table} label="Tokens" keyOf=${(t) => t.name} rows=${tokens ?? []} empty="No token was made yet." columns=${[
        { name: 'Name', main: true, cell: (t) => html`<b>${t.name}</b>` },
        { name: 'Role', cell: (t) => html`<${Tag} kind=${t.role === 'admin' ? 'warn' : ''}>${t.role}<//>` },
        { name: 'Agents', cell: (t) => t.agents?.length ? t.agents.join(', ') : 'all' },
        { name: 'Made', cell: (t) => html`<${Ago} of=${t.made_at} />${t.by && html` <span class="soft">by ${t.by}</span>`}` },
        { name: 'Ends', cell: (t) => real(t.expires) ? html`<span class=${new Date(t.expires) < Date.now() ? 'bad' : ''}><${Ago} of=${t.expires} /></span>` : 'never' },
        { name: '', title: 'Revoke', end: true, cell: (t) => html`<${Button} kind="small deny" onClick=${() => revoke(t)} aria-label=${'Revoke ' + t.name}>Revoke<//>` },
      ]} /></section>`}<//>`}
  <//>`
}
