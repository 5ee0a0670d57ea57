// Dead letters: messages that could not be handled.
import { html, useState } from '../vendor/preact-htm.js'
import { get, post, useData } from '../api.js'
import { Ago, Button, Copy, Empty, Icon, Loaded, Page, Tag, act, ask, say } from '../ui.js'
import { VirtualList } from '../virtual.js'
import { date, plural, pretty } from '../format.js'

// readAll reads page after page: the newest are on the last. more is whether there are
// others still.
async function readAll(path, query) {
  const letters = []
  let after = 0
  for (let pages = 0; pages < 10; pages++) {
    const page = await get(path, { ...query, after: after || undefined })
    letters.push(...page.letters ?? [])
    after = page.after ?? 0
    if (!after) break
  }
  return { letters, more: after > 0 }
}

// useLetters are the dead letters, the oldest first.
export const useLetters = () => useData('dead', { query: { limit: 1000 }, topics: ['alarm'], read: readAll })

// outcome is what to say of what was done to letters, with the first reason why some are left.
const outcome = (done, failed) => failed.length === 0 ? [done] : [`${done}. ${plural(failed.length, 'dead letter')} left: ${failed[0].error}`, 'bad']

export function Dead({ may }) {
  const letters = useLetters()
  const [chosen, choose] = useState(new Set())
  const [open, show] = useState(null)
  const list = (letters.data?.letters ?? []).toReversed()
  const picked = list.filter((l) => chosen.has(l.dead_seq))
  const retry = async (some) => {
    const done = await act(() => post('dead/retry', { dead_seqs: some.map((l) => l.dead_seq) }))
    if (done) say(...outcome('Sent again: ' + plural(done.retried?.length ?? 0, 'message'), done.failed ?? []))
    choose(new Set())
    letters.reload()
  }
  const purge = async (some) => {
    if (!await ask({ title: 'Delete ' + plural(some.length, 'dead letter') + ' for good?', text: 'The messages in them are lost. This cannot be undone.', quote: some.slice(0, 4).map((l) => l.dead_seq + '  ' + l.agent + '  ' + l.reason).join('\n') + (some.length > 4 ? '\n…' : ''), yes: 'Delete', danger: true })) return
    const done = await act(() => post('dead/purge', { dead_seqs: some.map((l) => l.dead_seq) }))
    if (done) say(...outcome('Deleted: ' + plural(done.deleted?.length ?? 0, 'dead letter'), done.failed ?? []))
    choose(new Set())
    letters.reload()
  }
  const toggle = (seq) => choose((s) => { const next = new Set(s); next.has(seq) ? next.delete(seq) : next.add(seq); return next })
  return html`<${Page} full title="Dead letters" lead="Messages that made no sense, failed their host too often, or could not be delivered. Kept for 30 days."
    actions=${may.act && picked.length > 0 && html`<${Button} icon="replay" onClick=${() => retry(picked)}>Retry ${picked.length}<//><${Button} icon="trash" kind="deny" onClick=${() => purge(picked)}>Delete ${picked.length}<//>`}>
    <${Loaded} of=${letters}>${() => list.length === 0 ? html`<${Empty} title="None">Every message was handled.<//>` : html`<p class="hint" role="status">${plural(list.length, 'dead letter')}${letters.data.more ? ', and newer ones' : ''}</p>
      <${VirtualList} label="Dead letters" items=${list} keyOf=${(l) => l.dead_seq} estimate=${84} row=${(l) => html`<div class="letter">
      <div class="letter-head">
        ${may.act && html`<input type="checkbox" aria-label=${'Choose dead letter ' + l.dead_seq} checked=${chosen.has(l.dead_seq)} onChange=${() => toggle(l.dead_seq)} />`}
        <div class="what"><p class="line"><b>${l.agent || 'no agent'}</b><${Tag} kind="bad">${l.code || 'dead'}<//><span class="soft"><${Ago} of=${l.at} /></span>${l.attempts > 0 && html`<span class="soft">${plural(l.attempts, 'attempt')}</span>`}</p>
          <p class="plain">${l.reason}</p></div>
        <div class="letter-actions"><button type="button" class="button small" aria-expanded=${open === l.dead_seq} onClick=${() => show(open === l.dead_seq ? null : l.dead_seq)}>Inspect</button>
          ${may.act && html`<${Button} kind="small" onClick=${() => retry([l])}>Retry<//><${Button} kind="small deny" onClick=${() => purge([l])}>Delete<//>`}</div>
      </div>
      ${open === l.dead_seq && html`<${Inside} of=${l.dead_seq} />`}
    </div>`} />`}<//>
  <//>`
}

function Inside({ of }) {
  const letter = useData('dead/show', { query: { dead_seq: of }, every: 0 })
  return html`<div class="letter-inside"><${Loaded} of=${letter}>${(l) => html`<${Letter} l=${l} />`}<//></div>`
}

function Letter({ l }) {
  const text = l.payload ?? (l.payload_base64 ? 'base64: ' + l.payload_base64 : '')
  return html`<dl class="ids"><dt>Number</dt><dd>${l.dead_seq}</dd><dt>Id</dt><dd>${l.id ? html`<${Copy} text=${l.id} /> <a href=${'#/why/' + encodeURIComponent(l.id)}>why</a>` : 'none'}</dd>
    <dt>At</dt><dd>${date(l.at)}</dd><dt>Subject</dt><dd class="mono">${l.subject}</dd><dt>From</dt><dd class="mono">${l.stream} ${l.seq}</dd><dt>Host</dt><dd>${l.host}</dd></dl>
    <h3>Message</h3>${l.omitted ? html`<p class="soft">It is too large to be kept here; it is in ${l.stream}.</p>` : html`<pre class="code" tabindex="0" aria-label="Message">${pretty(text)}</pre>`}
    ${l.header && html`<h3>Headers</h3><pre class="code" tabindex="0" aria-label="Headers">${pretty(l.header)}</pre>`}`
}
