// Numbers, times and names as people read them.

const dollar = 100_000_000 // in micro-cents

export function money(microCents) {
  const n = (microCents ?? 0) / dollar
  if (n === 0) return '$0.00'
  if (n < 0.0001) return '< $0.0001'
  return '$' + n.toFixed(n < 0.01 ? 4 : n < 0.1 ? 3 : 2)
}

export const dollars = (microCents) => (microCents ?? 0) / dollar

export function count(n) {
  n ??= 0
  if (n < 10_000) return n.toLocaleString('en')
  if (n < 1e6) return (n / 1e3).toFixed(n < 1e5 ? 1 : 0) + 'k'
  return (n / 1e6).toFixed(n < 1e7 ? 2 : 1) + 'M'
}

export const plural = (n, one, many = one + 's') => count(n) + ' ' + (n === 1 ? one : many)

export function duration(ms) {
  if (!(ms >= 0)) return ''
  if (ms < 1) return '< 1 ms'
  if (ms < 1000) return Math.round(ms) + ' ms'
  const s = ms / 1000
  if (s < 60) return s.toFixed(s < 10 ? 1 : 0) + ' s'
  const m = s / 60
  if (m < 60) return Math.floor(m) + ' min' + (m < 10 && Math.round(s % 60) ? ' ' + Math.round(s % 60) % 60 + ' s' : '')
  const h = m / 60
  if (h < 48) return Math.floor(h) + ' h' + (Math.floor(m % 60) ? ' ' + Math.floor(m % 60) + ' min' : '')
  return Math.floor(h / 24) + ' days'
}

export const real = (t) => t && !String(t).startsWith('0001-') // Go's zero time is none

export function ago(t) {
  if (!real(t)) return ''
  const ms = Date.now() - new Date(t)
  if (ms < 0) return 'in ' + duration(-ms)
  if (ms < 5000) return 'just now'
  return duration(ms) + ' ago'
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const whole = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
const dayOnly = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' })
export const time = (t) => real(t) ? clock.format(new Date(t)) : ''
export const date = (t) => real(t) ? whole.format(new Date(t)) : ''
const dayShort = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
export const shortDay = (t) => dayShort.format(new Date(t))
export const day = (t) => real(t) ? dayOnly.format(new Date(t)) : ''

// person is the id of a person as a name; a guest of the chat page has a long one.
export const person = (id = '') => id.replace(/^guest-([0-9a-f]{6})[0-9a-f]{20,}$/, 'guest $1')

// keyParts is whom a session is with, from its key: channel/dm/7, channel/group/x.
export function keyParts(key = '') {
  const [channel, kind, ...rest] = key.split('/')
  const who = rest.join('/')
  if (channel === 'route') return { channel: kind ?? '', who, kind: 'route' }
  return { channel, kind: kind ?? '', who }
}

// doing is what a session is doing, and what it waits for.
export function doing({ state, for: what }) {
  if (state === 'operator') return 'taken over' + (what?.length ? ' by ' + what.join(', ') : '')
  return state + (what?.length ? ' for ' + what.join(', ') : '')
}

export function short(id = '', n = 10) { return id.length > n + 2 ? id.slice(0, n) + '…' : id }

export function tokens(usage) {
  if (!usage) return ''
  const parts = [count((usage.input ?? 0)) + ' in', count(usage.output ?? 0) + ' out']
  if (usage.cache_read) parts.push(count(usage.cache_read) + ' cached')
  return parts.join(', ')
}

export function bytes(n) {
  if (n < 1024) return n + ' B'
  return n < 1 << 20 ? (n / 1024).toFixed(0) + ' kB' : (n / (1 << 20)).toFixed(1) + ' MB'
}

export function pretty(value) {
  if (typeof value === 'string') {
    try { return JSON.stringify(JSON.parse(value), null, 2) } catch { return value }
  }
  return JSON.stringify(value, null, 2) ?? ''
}
