// The facts of a session's log as what a person understands: a call and its result
// are one item, a run has a beginning, an end and what it cost.

const textOf = (message, type = 'text') => (message?.parts ?? []).filter((p) => p.type === type).map((p) => p.text ?? '').join('')
const mediaOf = (message) => (message?.parts ?? []).filter((p) => p.media).map((p) => p.media)
const ms = (t) => new Date(t).getTime()

export function build(facts) {
  const items = [], runs = new Map(), calls = new Map(), asked = new Map()
  const total = { cost: 0, input: 0, output: 0, models: 0, tools: 0, runs: 0 }
  let run = null, lastSeq = 0, lastAt = 0
  const place = (f) => f.seq + '.' + f.n
  const add = (f, kind, more = {}) => {
    const item = { key: place(f), seq: f.seq, n: f.n, at: f.at, kind, run: run && f.of === run.id ? run : null, facts: [f], before, replies: [], ...more }
    items.push(item)
    return item
  }
  // What hooks did stands where its time is: a call and its result are one item.
  const addHooks = (f) => {
    const acts = [...(f.hooks ?? []), ...[f.input, ...(f.inputs ?? []).filter((i) => !i.checked)].flatMap((i) => i?.hooks ?? [])]
    acts.forEach((act, i) => {
      const at = ms(act.at)
      const item = { key: place(f) + '.hook' + i, seq: f.seq, n: f.n, at: act.at, kind: 'hook', run: run && f.of === run.id ? run : null, facts: [f], before, replies: [], act, from: at, to: at }
      let k = items.length
      while (k > 0 && ms(items[k - 1].at) > at && items[k - 1].kind !== 'run') k--
      items.splice(k, 0, item)
    })
  }
  let before = '' // the place of the fact before
  for (const f of facts) {
    const t = ms(f.at)
    if (run && run.pause && f.type !== 'run.suspended' && f.type !== 'reply') {
      run.pauses.push([run.pause, Math.max(run.pause, t)])
      run.pause = 0
    }
    switch (f.type) {
      case 'run.started': {
        const known = runs.get(f.run)
        run = known ?? { id: f.run, at: t, end: t, trigger: f.trigger, inputs: f.inputs ?? [], cost: 0, input: 0, output: 0, models: 0, tools: 0, said: 0, pauses: [], pause: 0, attempts: 1, item: null }
        if (!known) { runs.set(f.run, run); total.runs++ }
        if (known || (f.attempt ?? 0) > 1) {
          run.attempts = Math.max(f.attempt ?? 0, known ? run.attempts + 1 : 2)
          add(f, 'takeover', { orderly: (f.handed ?? 0) >= run.attempts - 1, attempt: run.attempts, lost: f.lost })
        }
        if (!known) run.item = add(f, 'run', { run })
        break
      }
      case 'message': {
        const m = f.message ?? {}
        const media = mediaOf(m)
        if (m.role === 'user') add(f, 'user', { text: textOf(m), who: m.name, media, origin: originOf(run, f) })
        else if (m.role === 'assistant') {
          if (run) run.said++
          const text = textOf(m), thought = textOf(m, 'reasoning')
          if (text.trim() || media.length || thought) add(f, 'agent', { text, thought, media, partial: m.partial })
        }
        break
      }
      case 'model.called': {
        const item = add(f, 'model', { entry: f.entry, model: f.model, provider: f.provider, usage: f.usage, cost: f.cost ?? 0, priced: f.priced, took: f.ms ?? 0, error: f.error, skipped: f.skipped, reason: f.reason, status: f.status, attempt: f.attempt })
        item.from = t - item.took
        item.to = t
        for (const sum of [total, run].filter(Boolean)) {
          sum.cost += item.cost
          sum.input += f.usage?.input ?? 0
          sum.output += f.usage?.output ?? 0
          if (!f.skipped) sum.models++
          sum.entry ??= f.skipped ? undefined : f.entry
        }
        break
      }
      case 'tool.requested': {
        const item = add(f, 'tool', { name: f.name, args: f.args, call: f.call, from: t, to: 0 })
        calls.set(f.of + '/' + f.call, item)
        total.tools++
        if (run) run.tools++
        break
      }
      case 'tool.finished': {
        const item = calls.get(f.of + '/' + f.call) ?? add(f, 'tool', { name: f.name, call: f.call, from: t })
        if (item.facts[0] !== f) item.facts.push(f)
        Object.assign(item, { result: f.result ?? '', ok: !!f.ok, source: f.source, to: t, done: true })
        break
      }
      case 'approval.asked': case 'question.asked': {
        const item = add(f, 'ask', { question: f.type === 'question.asked', prompt: f.prompt, options: f.options ?? [], name: f.name, args: f.args, call: f.call, wait: f.wait, deadline: f.deadline, budget: f.for })
        asked.set(f.of + '/' + (f.call ?? ''), item)
        const tool = calls.get(f.of + '/' + f.call)
        if (tool) tool.asked = item
        break
      }
      case 'approval.answered': case 'question.answered': {
        const item = asked.get(f.of + '/' + (f.call ?? '')) ?? add(f, 'ask', { options: [], prompt: '' })
        if (item.facts[0] !== f) item.facts.push(f)
        item.answer = { text: f.answer, by: f.by, scope: f.scope, door: f.door, at: f.at }
        const tool = calls.get(f.of + '/' + f.call)
        if (tool) tool.from = t // what it waited for a person is not its own time
        break
      }
      case 'delegated': {
        const item = calls.get(f.of + '/' + f.call)
        if (item) { item.facts.push(f); item.delegate = f.to } else add(f, 'note', { text: 'hands over to ' + f.to })
        break
      }
      case 'reply': {
        const last = items.findLast((i) => ['agent', 'ask', 'end'].includes(i.kind) && i.facts[0].of === f.of)
        if (last) { last.replies.push(f.reply); last.facts.push(f) } else add(f, 'note', { text: 'a reply is published', replies: [f.reply] })
        break
      }
      case 'input.added': {
        if (f.message) add(f, 'user', { text: textOf(f.message), who: f.message.name, media: mediaOf(f.message), joined: true })
        else if (!f.run) {
          const e = envelopeOf(f.input)
          add(f, 'note', { text: 'waits for its turn: ' + [e.from_name ?? e.from, e.text].filter(Boolean).join(': ') })
        }
        break
      }
      case 'input.refused': add(f, 'note', { bad: true, text: 'message refused: ' + (envelopeOf(f.reply).text ?? '') }); break
      case 'input.passed_on': add(f, 'note', { text: 'message passed on to a run of another session' }); break
      case 'input.taken': add(f, 'note', { text: 'message taken as the answer to a tool' }); break
      case 'input.withdrawn': add(f, 'note', { text: 'message withdrawn' }); break
      case 'compacted': add(f, 'compacted', { text: f.summary, through: f.through, before: f.before, after: f.after }); break
      case 'run.suspended': if (run) run.pause = t; break
      case 'run.finished': {
        add(f, 'end', { outcome: f.outcome, error: f.error, by: f.by })
        if (run) { run.outcome = f.outcome; run.error = f.error; run.closed = true }
        break
      }
      case 'operator.joined': add(f, 'operator', { text: 'takes the chat over', by: f.by }); break
      case 'operator.left': add(f, 'operator', { text: 'hands the chat back', by: f.by }); break
      case 'operator.heard': add(f, 'user', { text: textOf(f.message), who: f.message?.name, media: mediaOf(f.message) }); break
      case 'operator.said': add(f, 'said', { text: textOf(f.message), by: f.by, replies: f.reply ? [f.reply] : [] }); break
      default: add(f, 'note', { text: f.type + (f.text ? ': ' + f.text : '') })
    }
    addHooks(f)
    before = place(f)
    if (run && f.of === run.id) run.end = Math.max(run.end, t)
    lastSeq = Math.max(lastSeq, f.seq)
    lastAt = t
  }
  for (const r of runs.values()) scale(r)
  for (const i of items) i.last = i.facts.map((f) => [f.seq, f.n]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).at(-1).join('.')
  return { items, runs: [...runs.values()], total, lastSeq, lastAt }
}

const envelopeOf = (x) => (typeof x?.envelope === 'string' ? safely(x.envelope) : x?.envelope) ?? {}
const safely = (text) => { try { return JSON.parse(text) } catch { return {} } }

function originOf(run, f) {
  const input = run && run.id === f.of ? run.inputs[0] : null
  if (!input) return null
  const e = envelopeOf(input)
  return { id: input.id, from: e.from_name ?? e.name ?? e.from, subject: input.subject }
}

// scale makes the run's time one without what it waited for people: place(t) is
// between 0 and 1.
function scale(run) {
  const active = (t) => t - run.at - run.pauses.reduce((sum, [a, b]) => sum + Math.max(0, Math.min(t, b) - a), 0)
  run.took = Math.max(0, active(run.end))
  run.waited = run.pauses.reduce((sum, [a, b]) => sum + b - a, 0)
  const from = run.at, length = Math.max(1, run.took)
  run.place = (t) => Math.max(0, Math.min(1, active(Math.max(t, from)) / length))
}
