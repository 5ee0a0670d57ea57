// What is on its way to the host. A message is sent again, under the same id, until
// the host has stored it or refuses it; its text outlives a reload.

import { post, randomHex } from './api.js'

const pauses = [1000, 2000, 4000, 8000, 15_000, 30_000]

export class Outbox {
  // on.show(item) shows a message and how far it is; person is whose they are.
  constructor(person, on) {
    this.on = on
    this.name = 'agenthost-unsent-' + person
    this.kept = this.restore()
    addEventListener('online', () => { for (const wake of this.sleeping) wake() })
    this.sleeping = new Set()
  }

  restore() {
    try { return JSON.parse(localStorage.getItem(this.name) ?? '[]') } catch { return [] }
  }

  keep() {
    try { localStorage.setItem(this.name, JSON.stringify(this.kept.slice(-50))) } catch { /* no storage: not kept */ }
  }

  // unsent are the messages of a conversation that no host has.
  unsent(place) {
    return this.kept.filter((m) => m.agent === place.agent && m.conversation === place.conversation)
      .map((m) => ({ ...this.item(m, []), failed: 'the page was closed before it was stored' }))
  }

  item(m, files) {
    return { id: m.id, agent: m.agent, conversation: m.conversation, mine: true, kind: 'message', text: m.text, at: m.at, local: true,
      files: files.map((f) => ({ name: f.name, size: f.size, mime: f.type })) }
  }

  send(place, text, files) {
    const m = { id: 'web-' + randomHex(), ...place, text, at: new Date().toISOString() }
    if (text) { this.kept.push(m); this.keep() }
    return this.deliver(m, files)
  }

  again(item) {
    const m = this.kept.find((k) => k.id === item.id) ?? { id: item.id, agent: item.agent, conversation: item.conversation, text: item.text, at: item.at }
    return this.deliver(m, item.blobs ?? [])
  }

  forget(id) {
    this.kept = this.kept.filter((m) => m.id !== id)
    this.keep()
  }

  // order sends what is no line: an answer, or the order to stop.
  async order(message) {
    const m = { id: 'web-' + randomHex(), ...message }
    for (let n = 0; ; n++) {
      try { return await post(m) } catch (e) {
        if (n === 3 || (e.status && !e.passes)) throw e
        await this.sleep(pauses[n])
      }
    }
  }

  async deliver(m, files) {
    const item = { ...this.item(m, files), blobs: files, failed: undefined }
    this.on.show({ ...item, sending: files.length ? 'sending files…' : 'sending…' })
    for (let n = 0; ; n++) {
      try {
        await post({ id: m.id, agent: m.agent, conversation: m.conversation, text: m.text }, files)
        this.forget(m.id)
        this.on.show({ ...item, sending: undefined, local: false })
        return
      } catch (e) {
        if (e.status && !e.passes || n >= pauses.length) {
          this.on.show({ ...item, sending: undefined, failed: e.status ? e.message : 'the host cannot be reached' })
          return
        }
        this.on.show({ ...item, sending: 'not sent yet, trying again…' })
        await this.sleep(Math.max(pauses[n], (e.after ?? 0) * 1000))
      }
    }
  }

  sleep(ms) {
    return new Promise((done) => {
      const wake = () => { clearTimeout(timer); this.sleeping.delete(wake); done() }
      const timer = setTimeout(wake, ms)
      this.sleeping.add(wake)
    })
  }
}
