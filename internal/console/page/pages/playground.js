// The playground: talk to an agent with another model or prompt, side by side.
// Nothing is stored and nothing is delivered.
import { html, useEffect, useState } from '../vendor/preact-htm.js'
import { post, useData } from '../api.js'
import { Button, Empty, Loaded, Markdown, Page, Tag, Wait } from '../ui.js'
import { brief } from '../rows.js'
import { agentsOf } from '../fleet.js'
import { duration, money, tokens } from '../format.js'

const most = 3 // beside each other

export function Playground({ parts, may }) {
  const fleet = useData('status', { every: 0 })
  const agents = agentsOf(fleet.data ?? [])
  const models = [...new Set((fleet.data ?? []).flatMap((h) => (h.models ?? []).map((m) => m.name)))]
  const [agent, setAgent] = useState(parts[0] ?? '')
  const id = agent || agents[0]?.id
  if (!may.act) return html`<${Page} title="Playground"><${Empty}>Your role may not ask models.<//><//>`
  return html`<${Page} full title="Playground" lead="The real agent with another model or other instructions. Nothing is stored, nothing is delivered."
    actions=${html`<label class="inline"><span>Agent</span><select value=${id} onChange=${(e) => setAgent(e.target.value)}>${agents.map((a) => html`<option key=${a.id} value=${a.id}>${a.id}</option>`)}</select></label>`}>
    <${Loaded} of=${fleet}>${() => id ? html`<${Bench} key=${id} agent=${id} models=${models} />` : html`<${Empty}>No host reports an agent.<//>`}<//>
  <//>`
}

let number = 0
const variant = (model = '', system = '') => ({ id: ++number, model, system, turns: [] })

function Bench({ agent, models }) {
  const shown = useData('agents/prompt', { query: { agent }, every: 0 })
  const [list, set] = useState(() => [variant(), variant(models[1] ?? '')])
  const [text, type] = useState('')
  const change = (id, part) => set((l) => l.map((v) => v.id === id ? { ...v, ...(typeof part === 'function' ? part(v) : part) } : v))
  const send = (e) => {
    e.preventDefault()
    const said = text.trim()
    if (!said) return
    type('')
    for (const v of list) ask(v, said)
  }
  const ask = async (v, said) => {
    const history = v.turns.filter((t) => !t.error && !t.wait && t.text).flatMap((t) => [{ role: 'user', text: t.said }, { role: 'assistant', text: t.text ?? '' }])
    const turn = { said, wait: true, key: ++number }
    change(v.id, (was) => ({ turns: [...was.turns, turn] }))
    const began = performance.now()
    let got
    try { got = await post('agents/play', { agent, model: v.model || undefined, system: v.system || undefined, messages: [...history, { role: 'user', text: said }] }) } catch (error) { got = { error } }
    change(v.id, (was) => ({ turns: was.turns.map((t) => t.key === turn.key ? { ...t, wait: false, ms: Math.round(performance.now() - began), ...got } : t) }))
  }
  return html`<div class="bench">
    <div class=${'variants n' + list.length}>${list.map((v, i) => html`<section class="variant card" key=${v.id} aria-label=${'Variant ' + (i + 1)}>
      <div class="variant-head"><label class="inline"><span>Model</span><select value=${v.model} onChange=${(e) => change(v.id, { model: e.target.value })}><option value="">of the agent${shown.data?.models ? ' (' + shown.data.models[0] + ')' : ''}</option>${models.map((m) => html`<option key=${m} value=${m}>${m}</option>`)}</select></label>
        ${list.length > 1 && html`<button type="button" class="link" onClick=${() => set((l) => l.filter((x) => x.id !== v.id))} aria-label=${'Remove variant ' + (i + 1)}>Remove</button>`}</div>
      <label class="field"><span>Instructions</span><textarea rows="3" value=${v.system} placeholder=${shown.data?.system || 'those of the agent'} onInput=${(e) => change(v.id, { system: e.target.value })}></textarea></label>
      <div class="turns" role="log" aria-label=${'Answers of variant ' + (i + 1)} tabindex="0">${v.turns.length === 0 && html`<p class="soft small">Its answers stand here.</p>`}${v.turns.map((t) => html`<div key=${t.key} class="turn"><div class="bubble mine"><p class="plain">${t.said}</p></div>
        ${t.wait ? html`<${Wait} />` : t.error ? html`<p class="bad" role="alert">${t.error.message}</p>` : html`<div class="bubble"><${Markdown} text=${t.text ?? ''} /></div>${(t.calls ?? []).map((c) => html`<p class="args mono"><${Tag}>would call ${c.name}<//> ${brief(c.args)}</p>`)}<p class="facts">${t.model && html`<span>${t.model}</span>`}<span>${tokens(t)}</span>${t.priced && html`<span>${money(t.cost)}</span>`}<span>${duration(t.ms)}</span></p>`}</div>`)}</div>
    </section>`)}</div>
    <form class="composer" onSubmit=${send}><label><span class="unseen">Message to all variants</span><textarea rows="2" value=${text} placeholder=${'Say something to ' + (list.length > 1 ? 'all ' + list.length : agent)} onInput=${(e) => type(e.target.value)} onKeyDown=${(e) => { if (e.key === 'Enter' && !e.shiftKey) send(e) }}></textarea></label>
      <button class="button primary">Send</button>${list.length < most && html`<${Button} onClick=${() => set((l) => [...l, variant()])}>Add one<//>`}<${Button} onClick=${() => set((l) => l.map((v) => ({ ...v, turns: [] })))}>Start over<//></form>
  </div>`
}
