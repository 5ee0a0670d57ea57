// Pausing: nothing new starts for an agent, a channel or all, and everything is kept.
import { html } from './vendor/preact-htm.js'
import { post, useData } from './api.js'
import { Ago, Button, act, ask } from './ui.js'

// usePauses is what is paused, once it is known.
export const usePauses = (may) => useData(may.has('pauses') && 'pauses', { topics: ['agent', 'alarm'] })

const same = (a, b) => (a.agent ?? '') === (b.agent ?? '') && (a.channel ?? '') === (b.channel ?? '')

// everything is the target that is all agents.
export const everything = { all: true }

// pauseOf is the pause of exactly that target: {agent}, {channel} or everything.
export const pauseOf = (pauses, target) => (pauses.data?.pauses ?? []).find((p) => same(p, target))

export const nameOf = (p) => p.agent ? p.agent : p.channel ? 'channel ' + p.channel : 'all agents'

// wordsOf says by whom something is paused, and why.
export const wordsOf = (p) => 'paused' + (p.by ? ' by ' + p.by : '') + (p.reason ? ': ' + p.reason : '')

export const Paused = ({ of }) => of ? html`<span class="state warn"><i aria-hidden="true"></i><span>${wordsOf(of)}, <${Ago} of=${of.since} /></span></span>` : null

// PauseButton pauses a target, or lets it go on.
export function PauseButton({ target, pauses, may, small, done, children }) {
  if (!(target.agent ? may.act : may.whole) || !may.has('pauses/begin') || !pauses.data) return null
  const name = nameOf(target), kind = small ? 'small' : ''
  const reload = () => { pauses.reload(); done?.() }
  const pause = async () => {
    const given = await ask({
      title: 'Pause ' + name + '?', text: 'Nothing new starts on any host until it goes on. All that comes is kept, in its order. Runs under way go on.', yes: 'Pause', danger: true,
      fields: [{ name: 'reason', label: 'Reason, for those who look (optional)' }],
    })
    if (given && await act(() => post('pauses/begin', { ...target, reason: given.reason || undefined }), name + ' is paused')) reload()
  }
  const resume = async () => { if (await act(() => post('pauses/end', target), name + ' goes on')) reload() }
  return pauseOf(pauses, target)
    ? html`<${Button} icon="play" kind=${'primary ' + kind} onClick=${resume} aria-label=${'Let ' + name + ' go on'}>Resume${children}<//>`
    : html`<${Button} icon="pause" kind=${kind} onClick=${pause} aria-label=${'Pause ' + name}>Pause${children}<//>`
}
