// The API of the host: requests, and events that go on after a break.

// Embedded in another site, the page has a token of that site in place of a cookie,
// and an id for this visitor. The site keeps both: browsers give a frame no storage.
export const embedded = new URLSearchParams(location.search).has('embed')
let token = '', visitor = ''

export function randomHex() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('')
}

// tokenOfSite waits for what the script of the site hands over.
export function tokenOfSite() {
  return new Promise((done) => {
    addEventListener('message', function take(e) {
      if (e.source !== parent || e.data?.agenthost !== 'token') return
      removeEventListener('message', take)
      token = String(e.data.token ?? '')
      visitor = /^[0-9a-f]{32}$/.test(e.data.visitor ?? '') ? e.data.visitor : randomHex()
      done()
    })
    parent.postMessage({ agenthost: 'ready' }, '*') // says nothing but that the page is there
  })
}

function headers(more = {}) {
  const h = { ...more }
  if (visitor) h['Agenthost-Visitor'] = visitor
  if (token) h.Authorization = 'Bearer ' + token
  return h
}

// A Refusal is an answer of the host that is not good.
export class Refusal extends Error {
  constructor(status, why, after) {
    super(why)
    this.status = status
    this.after = after // seconds, when to try again
    this.passes = status === 429 || status >= 500
  }
}

async function check(response) {
  if (response.ok) return response
  if (response.status === 401 && !embedded) {
    location.assign('/login?to=' + encodeURIComponent(location.pathname + location.search + location.hash))
    await new Promise(() => {})
  }
  let why = ''
  try { why = (await response.json()).error } catch { /* no JSON: a proxy's answer */ }
  throw new Refusal(response.status, why || 'the host answers with ' + response.status, Number(response.headers.get('Retry-After')) || 0)
}

const path = (what, query) => '/chat/api/' + what + (query ? '?' + new URLSearchParams(query) : '')

export async function get(what, query) {
  return (await check(await fetch(path(what, query), { headers: headers() }))).json()
}

// post sends a message, with files beside it.
export async function post(message, files = []) {
  let request = { method: 'POST', headers: headers({ 'Content-Type': 'application/json' }), body: JSON.stringify(message) }
  if (files.length) {
    const form = new FormData()
    form.append('message', JSON.stringify(message))
    for (const f of files) form.append('file', f, f.name)
    request = { method: 'POST', headers: headers(), body: form }
  }
  return (await check(await fetch(path('messages'), request))).json()
}

export const fileURL = (query) => path('file', query)

// blob reads a file where an address alone would not be let in.
export async function blob(query) {
  return (await check(await fetch(path('file', query), { headers: headers() }))).blob()
}

const silence = 25_000 // the host says something every ten seconds

// follow reads events until stop is called. After a break it goes on behind the last
// one. on.open(again), on.closed(), on.event(name, data).
export function follow(query, after, on) {
  const control = new AbortController()
  let last = String(after ?? ''), again = false, pause = 500
  const run = async () => {
    while (!control.signal.aborted) {
      const attempt = new AbortController()
      const stop = () => attempt.abort()
      control.signal.addEventListener('abort', stop)
      let quiet = setTimeout(stop, silence)
      try {
        const response = await check(await fetch(path('events', query), { headers: headers(last ? { 'Last-Event-ID': last } : {}), signal: attempt.signal }))
        on.open(again)
        again = true
        pause = 500
        await read(response.body, () => { clearTimeout(quiet); quiet = setTimeout(stop, silence) }, (e) => {
          if (e.id) last = e.id
          on.event(e.name, JSON.parse(e.data))
        })
      } catch (e) {
        if (!control.signal.aborted && e instanceof Refusal && !e.passes) { on.refused(e); return }
        if (e instanceof Refusal && e.after) pause = Math.max(pause, e.after * 1000)
      } finally {
        clearTimeout(quiet)
        control.signal.removeEventListener('abort', stop)
      }
      if (control.signal.aborted) return
      on.closed()
      await new Promise((done) => setTimeout(done, pause * (0.7 + Math.random() * 0.6)))
      pause = Math.min(pause * 2, 10_000)
    }
  }
  run()
  return () => control.abort()
}

// read takes a stream of server-sent events apart.
async function read(body, alive, emit) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = '', event = { name: 'message', data: [] }
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    alive()
    const lines = (rest + value).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      if (line === '') {
        if (event.data.length) emit({ name: event.name, id: event.id, data: event.data.join('\n') })
        event = { name: 'message', data: [] }
      } else if (line.startsWith('id: ')) event.id = line.slice(4)
      else if (line.startsWith('event: ')) event.name = line.slice(7)
      else if (line.startsWith('data: ')) event.data.push(line.slice(6))
    }
  }
}
