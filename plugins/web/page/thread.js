// The conversation that is open: its lines, the text that is being written, and
// whether an agent is at work on an answer.

import { make } from './markdown.js'
import { dayOf, line, update } from './lines.js'

// justWritten reports whether a line is of the person and so new that a history that
// was asked for before it may lack it.
const justWritten = (item) => item.mine && !item.failed && Date.now() - Date.parse(item.at) < 10_000

const quietAfter = 120_000 // without a sign of life no agent is shown at work
const $ = (id) => document.getElementById(id)

export class Thread {
  constructor(place, on) {
    this.place = place
    this.on = on
    this.lines = new Map() // id → element
    this.open = new Set() // ids of what was sent and is not answered
    this.done = new Set() // ids of what is answered
    this.ended = new Set() // runs that have given their last reply
    this.running = false // as the log has it
    this.live = null // { run, turn, attempt, item, element }
    this.doing = ''
    this.heard = Date.now()
    this.timer = setInterval(() => this.showState(), 5000)
    $('log').replaceChildren()
  }

  close() { clearInterval(this.timer) }

  // load shows what the host has of the conversation. Lines that are shown already
  // stay; what is being written stays too.
  load(history, unsent) {
    const keep = this.live
    for (const e of [...$('log').children]) if (e !== keep?.element) e.remove()
    const before = this.lines
    this.lines = new Map()
    this.open.clear()
    if (history.more) this.addMore(history.items[0].id)
    for (const item of history.items) {
      const e = before.get(item.id)
      this.place_(e ? update(e, { ...item }) : line(item, this.on), keep?.element)
      this.track(item)
    }
    for (const item of unsent) this.add(item)
    for (const [id, e] of before) if (!this.lines.has(id) && justWritten(e.item)) this.place_(e, keep?.element)
    this.running = history.running
    this.doing = history.tools.length ? 'Using ' + history.tools.join(', ') : ''
    this.heard = Date.now()
    if (!history.running && keep) this.dropLive()
    this.showState()
    this.toEnd(true)
  }

  addMore(first) {
    const button = make('button', { type: 'button', class: 'more' }, 'Earlier messages')
    button.addEventListener('click', async () => {
      const older = await this.on.earlier(first)
      button.remove()
      const top = $('log').firstChild
      if (older.more) { this.addMore(older.items[0].id); $('log').prepend($('log').lastChild) }
      for (const item of older.items) if (!this.lines.has(item.id)) this.place_(line(item, this.on), top)
    })
    $('log').append(button)
  }

  // place_ puts an element into the log, before another or at its end.
  place_(e, before = null) {
    this.lines.set(e.item.id, e)
    const last = before ? before.previousElementSibling : $('log').lastElementChild
    const day = dayOf(e.item.at ?? Date.now())
    if (!last || (last.item && dayOf(last.item.at ?? Date.now()) !== day)) $('log').insertBefore(make('p', { class: 'day' }, day), before)
    $('log').insertBefore(e, before)
  }

  track(item) {
    if (item.mine && !this.done.has(item.id)) this.open.add(item.id)
    if (!item.final) return
    this.ended.add(item.run)
    for (const id of item.in_reply_to ?? []) { // it may be faster than the word that the message is stored
      this.done.add(id)
      this.open.delete(id)
    }
  }

  // add shows a line that is new, or what has changed of it.
  add(item) {
    const atEnd = this.atEnd()
    const known = this.lines.get(item.id)
    if (item.final && item.code === 'cancelled') this.keepLive(item.run)
    if (known) update(known, { ...known.item, ...item })
    else if (this.live && !item.mine && item.run === this.live.item.run && item.kind === 'reply') this.settleLive(item)
    else this.place_(line(item, this.on), item.mine ? this.answerTo(item.id) : this.live?.element)
    if (item.mine && !item.sending && !item.failed) this.track(item)
    if (!item.mine) this.heardOf(item)
    this.showState()
    this.toEnd(atEnd || item.mine)
  }

  // answerTo is the line that answers a message: it may come before the message does.
  answerTo(id) { return [...this.lines.values()].find((e) => e.item.in_reply_to?.includes(id)) ?? null }

  heardOf(item) {
    this.track(item)
    this.doing = ''
    this.heard = Date.now()
    if (!item.final) return
    this.running = false
    if (this.live && (!item.run || item.run === this.live.item.run)) this.dropLive()
    for (const e of this.lines.values()) { // what the run has asked waits no more
      if (e.item.call && e.item.run === item.run && !e.item.closed) update(e, { ...e.item, closed: true })
    }
  }

  remove(id) {
    this.lines.get(id)?.remove()
    this.lines.delete(id)
    this.open.delete(id)
    this.showState()
  }

  // answered marks what was asked as answered, here or in another tab.
  answered(call, answer) {
    for (const e of this.lines.values()) {
      if (e.item.call === call && !e.item.answer) update(e, { ...e.item, answer, closed: true })
    }
    this.running = true
    this.heard = Date.now()
    this.showState()
  }

  // delta adds a piece of the text that is being written.
  delta(c) {
    if (this.ended.has(c.run) || (c.end && !c.text)) return // its reply was faster
    const atEnd = this.atEnd()
    this.heard = Date.now()
    this.running = true
    if (c.call) this.doing = 'Using ' + (c.tool || 'a tool') + (c.progress ? ': ' + c.progress : '')
    else if (c.reasoning) this.doing = 'Thinking'
    const l = this.live
    if (c.text || c.restart) {
      if (!l || l.item.run !== c.run) this.openLive(c)
      else if (l.turn !== c.turn || l.attempt !== c.attempt || c.restart || (c.offset === 0 && c.text)) l.item.text = ''
      Object.assign(this.live, { turn: c.turn, attempt: c.attempt })
      this.live.item.text += c.text ?? ''
      this.doing = ''
      this.paint(atEnd)
    }
    this.showState()
  }

  openLive(c) {
    this.dropLive()
    const item = { id: 'live-' + c.run, run: c.run, agent: this.place.agent, kind: 'reply', text: '', live: true, at: new Date().toISOString() }
    const element = line(item, this.on)
    this.live = { item, element }
    $('log').append(element)
  }

  // paint shows the text once a frame, however many pieces come.
  paint(atEnd) {
    if (this.painting) return
    this.painting = requestAnimationFrame(() => {
      this.painting = 0
      if (!this.live) return
      update(this.live.element, this.live.item)
      this.toEnd(atEnd)
    })
  }

  settleLive(item) {
    const e = this.live.element
    this.live = null
    e.setAttribute('data-id', item.id)
    update(e, item)
    this.lines.set(item.id, e)
  }

  // keepLive leaves what was written of a run before it was stopped: the person may have read it.
  keepLive(run) {
    if (!this.live?.item.text || this.live.item.run !== run) return
    this.settleLive({ ...this.live.item, live: false })
  }

  dropLive() {
    this.live?.element.remove()
    this.live = null
  }

  busy() { return this.open.size > 0 || this.running }
  asked() { return [...this.lines.values()].some((e) => e.item.call && !e.item.closed) }

  showState() {
    const asked = this.asked()
    const quiet = Date.now() - this.heard > quietAfter
    const shown = this.busy() && (asked || !quiet) && !(this.live?.item.text && !this.doing)
    $('state').hidden = !shown
    $('state').classList.toggle('waits', asked)
    const words = asked ? 'Waiting for your answer' : this.doing || this.place.agent + ' is thinking'
    if ($('doing').textContent !== words) $('doing').textContent = words
    $('stop').hidden = !this.busy()
    $('log').setAttribute('aria-busy', this.busy() && !asked)
  }

  atEnd() {
    const s = $('scroll')
    return s.scrollHeight - s.scrollTop - s.clientHeight < 80
  }

  toEnd(really) {
    const s = $('scroll')
    if (really) s.scrollTop = s.scrollHeight
    $('latest').hidden = this.atEnd()
  }
}
