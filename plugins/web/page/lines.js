// The lines of a conversation as elements.

import { blob, embedded, fileURL } from './api.js'
import { link, make, show } from './markdown.js'

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' })

export function dayOf(at) { return day.format(new Date(at)) }

// line makes the element of an item; on.answer, on.retry and on.discard are what its
// buttons do.
export function line(item, on) {
  const e = make('article', { class: 'line ' + (item.mine ? 'mine' : 'agent'), 'data-id': item.id })
  e.on = on
  update(e, item)
  return e
}

// update shows what has changed of an item. Its text stays where it is.
export function update(e, item) {
  e.item = item
  const who = item.mine ? 'You' : item.agent
  e.className = 'line ' + (item.mine ? 'mine' : 'agent') + ' ' + look(item) + (item.live ? ' live' : '')
  e.setAttribute('aria-label', who + (item.at ? ', ' + clock.format(new Date(item.at)) : ''))
  if (!e.parts) {
    e.parts = { head: make('div', { class: 'head' }), text: make('div', { class: 'text' }), rest: make('div', { class: 'rest' }) }
    e.append(e.parts.head, make('div', { class: 'bubble' }, e.parts.text, e.parts.rest))
  }
  e.parts.head.replaceChildren(...head(item, who))
  if (item.mine) e.parts.text.textContent = item.text
  else show(e.parts.text, item.text || '')
  e.parts.text.hidden = !item.text
  if (!item.live) e.parts.rest.replaceChildren(...rest(e, item))
  return e
}

const look = (item) => item.code === 'cancelled' ? 'stopped' : item.kind

const kinds = { approval: 'asks for your approval', question: 'asks', notice: 'tells you', error: 'could not do this' }

function head(item, who) {
  const parts = [make('span', { class: 'name' }, who)]
  if (kinds[look(item)]) parts.push(make('span', { class: 'kind' }, kinds[look(item)]))
  if (item.at) parts.push(make('time', { datetime: item.at, title: new Date(item.at).toLocaleString() }, clock.format(new Date(item.at))))
  if (item.mine && item.sending) parts.push(make('span', { class: 'sending' }, item.sending))
  return parts
}

function rest(e, item) {
  const parts = []
  if (item.whole) parts.push(make('pre', { class: 'whole', tabindex: '0', 'aria-label': 'What is to be run' }, item.whole))
  if (item.files?.length) parts.push(make('ul', { class: 'files', 'aria-label': 'Files' }, ...item.files.map((f, n) => make('li', {}, file(item, f, n)))))
  if (item.failed) parts.push(failure(e, item))
  if (item.call && (item.kind === 'approval' || item.kind === 'question')) parts.push(asking(e, item))
  if (item.kind === 'error' && item.code && item.code !== 'cancelled') parts.push(make('p', { class: 'code-of' }, 'Code: ' + item.code.replaceAll('_', ' ')))
  return parts
}

function failure(e, item) {
  const again = make('button', { type: 'button' }, 'Try again')
  const drop = make('button', { type: 'button', class: 'plain' }, 'Discard')
  again.addEventListener('click', () => e.on.retry(item))
  drop.addEventListener('click', () => e.on.discard(item))
  return make('div', { class: 'failed', role: 'alert' }, make('p', {}, 'Not sent: ' + item.failed), again, drop)
}

const approvals = [['approve', 'Approve', 'act'], ['approve session', 'Approve for this conversation', ''], ['deny', 'Deny', 'deny']]
const said = { approve: 'Approved', 'approve session': 'Approved for this conversation', deny: 'Denied' }

function asking(e, item) {
  if (item.answer) return make('p', { class: 'answered' }, said[item.answer] ?? 'Answered: ' + item.answer)
  if (item.closed) return make('p', { class: 'answered' }, 'No answer is needed any more.')
  const choices = item.kind === 'approval' ? approvals : (item.options ?? []).map((o) => [o, o, ''])
  const buttons = choices.map(([text, label, look]) => {
    const b = make('button', { type: 'button', class: look }, label)
    b.addEventListener('click', async () => {
      for (const other of buttons) other.disabled = true
      if (!await e.on.answer(item, text)) for (const other of buttons) other.disabled = false
    })
    return b
  })
  if (!buttons.length) return make('p', { class: 'hint' }, 'Write your answer below.')
  return make('div', { class: 'choices', role: 'group', 'aria-label': item.kind === 'approval' ? 'Approve or deny' : 'Answers' }, ...buttons)
}

function size(bytes) {
  return bytes < 1000 ? bytes + ' B' : bytes < 1e6 ? Math.round(bytes / 1000) + ' KB' : (bytes / 1e6).toFixed(1) + ' MB'
}

function file(item, f, n) {
  const words = [make('span', { class: 'file-name' }, f.name), make('span', { class: 'file-size' }, f.size ? size(f.size) : '')]
  if (f.url) return link(f.url, words, f.name)
  if (item.local) return make('span', { class: 'file' }, ...words)
  const query = { agent: item.agent, conversation: item.conversation, message: item.id, n }
  const e = make('a', { class: 'file', href: fileURL(query), download: f.name }, ...words)
  if (embedded) {
    e.addEventListener('click', async (click) => {
      click.preventDefault()
      const address = URL.createObjectURL(await blob(query))
      make('a', { href: address, download: f.name }).click()
      setTimeout(() => URL.revokeObjectURL(address), 60_000)
    })
  }
  if (f.image) {
    const image = make('img', { alt: f.name, loading: 'lazy' })
    if (embedded) blob(query).then((b) => { image.src = URL.createObjectURL(b) }, () => image.remove())
    else image.src = fileURL(query)
    e.prepend(image)
    e.classList.add('picture')
    if (!embedded) { e.removeAttribute('download'); e.target = '_blank'; e.rel = 'noopener' }
  }
  return e
}
