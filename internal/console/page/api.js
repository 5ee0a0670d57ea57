// The API of the host: requests, events, and data that a page shows.
import { useCallback, useEffect, useRef, useState } from './vendor/preact-htm.js'

// A Refusal is an answer of the host that is not good.
export class Refusal extends Error {
  constructor(status, why) {
    super(why)
    this.status = status
  }
}

async function call(method, path, { query, body, signal } = {}) {
  const request = { method, headers: { Accept: 'application/json' }, signal }
  if (body !== undefined) {
    request.headers['Content-Type'] = 'application/json'
    request.body = JSON.stringify(body)
  }
  let response
  try { response = await fetch(address(path, query), request) } catch (e) {
    if (e.name === 'AbortError') throw e
    throw new Refusal(0, 'the host does not answer; is it running?')
  }
  if (response.status === 401) {
    location.assign('/login?to=' + encodeURIComponent('/' + location.hash))
    await new Promise(() => {})
  }
  if (response.ok) return response.status === 204 ? null : response.json()
  let why = ''
  try { why = (await response.json()).error } catch { /* no JSON: a proxy's answer */ }
  if (why?.message) why = why.message
  throw new Refusal(response.status, why || 'the host answers with ' + response.status)
}

function address(path, query) {
  const wanted = Object.entries(query ?? {}).filter(([, v]) => v !== undefined && v !== null && v !== '')
  return '/api/' + path + (wanted.length ? '?' + new URLSearchParams(wanted) : '')
}

export const get = (path, query, signal) => call('GET', path, { query, signal })
export const post = (path, body = {}) => call('POST', path, { body })

let offered = null

// offers is which paths below /api this host has.
export function offers() {
  offered ??= get('openapi.json').then((d) => {
    const paths = new Set(Object.keys(d.paths ?? {}).map((p) => p.replace(/^\/api/, '')))
    return (path) => paths.has('/' + path)
  })
  return offered
}

// chats is whether this host has a chat page: then it is among what the host says it serves.
export const chats = () => fetch('/', { headers: { Accept: 'application/json' } }).then((r) => r.json()).then((d) => '/chat' in d.paths, () => false)

// Events of the whole fleet, by one connection that all pages share. The browser
// connects again by itself and goes on behind the last event.
const listeners = new Set()
const linkListeners = new Set()
let source = null, connected = true

export function listen(f) {
  listeners.add(f)
  connect()
  return () => listeners.delete(f)
}

const kinds = ['session', 'run', 'waiting', 'agent', 'alarm', 'channels', 'heartbeat', 'reset']

let connecting = false

async function connect() {
  if (connecting || source && source.readyState !== EventSource.CLOSED) return
  connecting = true
  const has = await offers().catch(() => () => false)
  connecting = false
  if (!has('events')) return
  source = new EventSource('/api/events')
  const take = (e) => {
    let data = {}
    try { data = JSON.parse(e.data) } catch { /* nothing to look at */ }
    for (const f of [...listeners]) f(e.type === 'reset' ? 'again' : e.type, data)
  }
  for (const kind of kinds) source.addEventListener(kind, take)
  source.onopen = () => tell(true)
  source.onerror = () => {
    tell(false)
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, 5000)
  }
}

function tell(is) {
  const again = is && !connected
  connected = is
  for (const f of [...linkListeners]) f(is)
  if (again) for (const f of [...listeners]) f('again', {})
}

// useLink is whether events come.
export function useLink() {
  const [is, set] = useState(connected)
  useEffect(() => {
    linkListeners.add(set)
    return () => linkListeners.delete(set)
  }, [])
  return is
}

// follow listens to one session: on.chunk gets what its model writes.
export function follow(agent, session, on) {
  let stopped = false, one = null
  offers().then((has) => {
    if (stopped || !has('events')) return
    one = new EventSource(address('events', { agent, session }))
    one.addEventListener('delta', (e) => on.chunk(JSON.parse(e.data)))
    one.addEventListener('event', () => on.event())
  })
  return () => { stopped = true; one?.close() }
}

const patience = 20_000 // what has no event is looked at again so often
const together = 400 // events that come within count as one

// useData is what a path answers: again when an event of one of the topics comes.
export function useData(path, { query, topics = [], read = get, every = patience } = {}) {
  const [state, set] = useState({ loading: true })
  const name = path && address(path, query)
  const current = useRef(name)
  const load = useCallback(async () => {
    if (!name) return
    current.current = name
    try {
      const data = await read(path, query)
      if (current.current === name) set({ data, of: name })
    } catch (error) {
      if (current.current === name) set((s) => ({ data: s.of === name ? s.data : undefined, of: name, error }))
    }
  }, [name])
  useEffect(() => {
    set((s) => s.of === name ? s : { loading: true })
    load()
    let soon = null
    const stop = listen((kind) => {
      if (kind !== 'again' && !topics.includes(kind)) return
      soon ??= setTimeout(() => { soon = null; load() }, together)
    })
    const timer = every && setInterval(() => { if (!document.hidden) load() }, every)
    return () => { stop(); clearTimeout(soon); clearInterval(timer) }
  }, [name])
  return { ...state, reload: load }
}
