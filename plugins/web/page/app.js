// The chat page: who is here, which conversation is open, and what comes in.

import { embedded, follow, get, randomHex, tokenOfSite } from './api.js'
import { Composer } from './composer.js'
import { make } from './markdown.js'
import { Outbox } from './outbox.js'
import { Thread } from './thread.js'

const $ = (id) => document.getElementById(id)

const state = { me: null, agent: '', list: [], unread: new Set(), thread: null, stop: () => {}, outbox: null }

let isOpened
const opened = new Promise((done) => { isOpened = done })

const say = (text) => { $('link').textContent = text }

async function start() {
  document.documentElement.classList.toggle('embedded', embedded)
  const composer = new Composer({ send: (text, files) => send(text, files) }) // at once: a quick person writes already
  if (embedded && parent !== window) await tokenOfSite()
  state.me = await untilThere(() => get('me'))
  const { me } = state
  state.outbox = new Outbox(me.person, { show: (item) => { if (isOpen(item)) state.thread.add(item) } })
  composer.limits = me
  $('agent').replaceChildren(...me.agents.map((a) => make('option', { value: a.id }, a.id)))
  $('agent-field').hidden = me.agents.length < 2
  $('leave').hidden = me.open || embedded
  $('who').textContent = me.name
  if (!me.may_write) document.body.classList.add('reads')
  if (!me.agents.length) {
    $('title').textContent = 'No agent is here'
    $('about').textContent = 'Give an agent the channel web: channels: [web].'
    $('composer').hidden = $('log').hidden = true
    return
  }
  $('agent').addEventListener('change', () => chooseAgent($('agent').value, '', goTo))
  $('new').addEventListener('click', () => { openConversation(randomHex(), goTo); showSide(false); $('text').focus() })
  $('open-side').addEventListener('click', () => showSide(true))
  $('close-side').addEventListener('click', () => showSide(false))
  $('shade').addEventListener('click', () => showSide(false))
  $('latest').addEventListener('click', () => { state.thread.toEnd(true); $('text').focus() })
  $('scroll').addEventListener('scroll', () => { $('latest').hidden = state.thread.atEnd() }, { passive: true })
  $('stop').addEventListener('click', stop)
  addEventListener('keydown', (e) => { if (e.key === 'Escape') showSide(false) })
  addEventListener('popstate', fromAddress)
  await fromAddress()
  $('text').focus()
}

// untilThere tries again while the host is not there.
async function untilThere(ask) {
  for (let pause = 500; ; pause = Math.min(pause * 2, 10_000)) {
    try { return await ask() } catch (e) {
      if (e.status && !e.passes) { say(e.message); throw e }
      say('The host cannot be reached. Trying again…')
      await new Promise((done) => setTimeout(done, pause))
    }
  }
}

// The address names the conversation, so that a reload and a bookmark find it.
async function fromAddress() {
  const [agent, conversation] = location.hash.slice(1).split('/')
  const known = state.me.agents.some((a) => a.id === agent)
  await chooseAgent(known ? agent : state.me.agents[0].id, known ? conversation : '')
}

async function chooseAgent(id, conversation = '', to = stay) {
  state.agent = id
  $('agent').value = id
  state.list = []
  const { conversations } = await untilThere(() => get('conversations', { agent: id }))
  state.list = conversations
  const wanted = /^(main|[a-z0-9]{8,40})$/.test(conversation) ? conversation : state.list[0]?.id ?? 'main'
  await openConversation(wanted, to)
}

// A conversation that a person chooses is a step that the browser's button goes back;
// within another site's page it is not.
const stay = (address) => history.replaceState(null, '', address)
const goTo = (address) => embedded || address === location.hash ? stay(address) : history.pushState(null, '', address)

async function openConversation(id, to = stay) {
  state.stop()
  state.thread?.close()
  const place = { agent: state.agent, conversation: id }
  const thread = state.thread = new Thread(place, {
    answer: (item, text) => giveAnswer(item, text),
    retry: (item) => state.outbox.again(item),
    discard: (item) => { state.outbox.forget(item.id); thread.remove(item.id) },
    earlier: (before) => get('history', { ...place, before }),
  })
  isOpened()
  state.unread.delete(id)
  to('#' + state.agent + '/' + id)
  $('about').textContent = state.me.agents.find((a) => a.id === state.agent)?.description ?? ''
  showList()
  const past = await untilThere(() => get('history', place))
  if (state.thread !== thread) return
  thread.load(past, state.outbox.unsent(place))
  say('')
  state.stop = follow(place, past.after, {
    open: async (again) => { say(''); if (again) await reload(thread) },
    closed: () => { if (state.thread === thread) say('Connection lost. Connecting again…') },
    refused: (e) => say(e.message),
    event: (name, data) => { if (state.thread === thread) take(thread, name, data) },
  })
}

// reload reads the conversation again: what another tab has sent meanwhile is in it.
async function reload(thread) {
  try {
    const past = await get('history', thread.place)
    if (state.thread === thread) thread.load(past, state.outbox.unsent(thread.place))
  } catch { /* the next break, or the next line, reads it */ }
}

function isOpen(item) {
  const p = state.thread?.place
  return p?.agent === item.agent && p.conversation === item.conversation
}

function take(thread, name, data) {
  if (name === 'reset') { reload(thread); return }
  if (name === 'delta') { thread.delta(data); return }
  if (name !== 'line') return
  if (data.kind === 'answer') { if (isOpen(data)) thread.answered(data.call, data.text); return }
  note(data)
  if (isOpen(data)) {
    thread.add({ ...data, sending: undefined, failed: undefined, local: false })
    if (!data.mine) read(data)
  }
}

// read has a screen reader read a line that is complete.
function read(item) {
  const kind = { approval: 'asks for your approval: ', question: 'asks: ' }[item.kind] ?? 'says: '
  $('said').textContent = item.agent + ' ' + kind + item.text.slice(0, 2000)
}

// note moves a conversation to the top of the list.
function note(item) {
  if (item.agent !== state.agent) return
  const known = state.list.find((c) => c.id === item.conversation)
  const title = known?.title || (item.mine ? headline(item.text) : '')
  state.list = [{ id: item.conversation, agent: item.agent, title, at: item.at }, ...state.list.filter((c) => c !== known)]
  if (!isOpen(item) && !item.mine) state.unread.add(item.conversation)
  showList()
}

function headline(text) {
  const words = text.trim().replace(/\s+/g, ' ')
  return words.length > 60 ? words.slice(0, 60) + '…' : words
}

function showList() {
  const open = state.thread?.place.conversation
  const list = state.list.some((c) => c.id === open) || !open ? state.list : [{ id: open, title: '' }, ...state.list]
  $('list').replaceChildren(...list.map((c) => {
    const name = c.title || (c.id === 'main' ? 'First conversation' : 'New conversation')
    const b = make('button', { type: 'button', 'aria-current': c.id === open ? 'true' : false }, make('span', {}, name))
    if (state.unread.has(c.id)) b.append(make('span', { class: 'new' }, make('span', { class: 'unseen' }, 'new message')))
    b.addEventListener('click', () => { openConversation(c.id, goTo); showSide(false) })
    return make('li', {}, b)
  }))
  const title = list.find((c) => c.id === open)?.title
  $('title').textContent = title || state.agent
  document.title = (title || state.agent) + ' · Chat'
}

async function send(text, files) {
  await opened
  const { place } = state.thread
  note({ ...place, mine: true, text: text || files.map((f) => f.name).join(', '), at: new Date().toISOString() })
  state.outbox.send(place, text, files)
}

async function giveAnswer(item, text) {
  const { thread } = state
  try {
    await state.outbox.order({ agent: item.agent, conversation: item.conversation, text, answers: item.call })
    thread.answered(item.call, text)
    $('text').focus()
    return true
  } catch (e) {
    $('wrong').textContent = 'Your answer was not stored: ' + e.message
    return false
  }
}

async function stop() {
  $('stop').disabled = true
  try { await state.outbox.order({ ...state.thread.place, stop: true }) } catch (e) { $('wrong').textContent = 'It was not stopped: ' + e.message }
  $('stop').disabled = false
  $('text').focus()
}

function showSide(open) {
  const was = document.body.classList.contains('side')
  document.body.classList.toggle('side', open)
  $('open-side').setAttribute('aria-expanded', open)
  if (open) $('new').focus()
  else if (was) $('open-side').focus()
}

start()
